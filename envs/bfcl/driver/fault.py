"""
Faults, as the bridge tells them.
"""


class Fault(Exception):
    """What the environment cannot do; the agent is not to blame."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
