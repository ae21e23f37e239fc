"""Faults that the trainer reports; their kinds are those of the contract."""


class TrainerFault(Exception):
    """The update cannot be made. `kind`: bad_batch, bad_checkpoint, not_finite, exploded, storage or backend."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
