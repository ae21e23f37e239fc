"""
Faults, as the bridge tells them.
"""


class Fault(Exception):
    """A failure of the environment; the agent is not to blame."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
