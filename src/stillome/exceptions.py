"""The one family of errors and warnings that stillome raises.

Every message is a sentence that says what is wrong, where, and what to do about it.
"""


class StillomeError(Exception):
    """Anything stillome knows to be wrong; the command line answers it with exit code 2."""


class InputError(StillomeError, ValueError):
    """Data or a parameter given to a function cannot be used as it is."""


class ConfoundsError(InputError):
    """Motion (or another confound) is missing, constant, or does not match the subjects."""


class MissingConfoundError(ConfoundsError):
    """A value of a subject is missing where it is needed: in which argument, row and column."""

    def __init__(self, message: str, argument: str = "", row: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.argument, self.row, self.column = argument, row, column


class FileError(StillomeError):
    """A file or folder cannot be read as what it should be, or would be overwritten."""


class FitError(StillomeError, RuntimeError):
    """A model could not be fitted to data that are valid in themselves."""


class NotFittedError(StillomeError, ValueError, AttributeError):
    """A fitted model was needed; call ``fit`` first. Methods raise scikit-learn's as well."""


class StillomeWarning(UserWarning):
    """Something the reader of a result must know, though a result was reached."""
