"""The one family of errors and warnings that stillome raises.

Every message is a sentence that says what is wrong, where, and what to do about it.
"""

from importlib.util import find_spec


class StillomeError(Exception):
    """Anything stillome knows to be wrong; the command line answers it with exit code 2.

    Examples
    --------
    >>> from stillome import read_cohort
    >>> try:
    ...     read_cohort("no such folder")
    ... except StillomeError as error:
    ...     print(error)
    no such folder: no such file or folder. Check the path.
    """


class InputError(StillomeError, ValueError):
    """Data or a parameter given to a function cannot be used as it is."""


class ConfoundsError(InputError):
    """Motion (or another confound) is missing, constant, or does not match the subjects."""


class ConfoundValueError(ConfoundsError):
    """One value of a subject cannot be used: in which argument, row and column, and why."""

    def __init__(
        self, message: str, argument: str = "", row: int = 0, column: int = 0, reason: str = ""
    ) -> None:
        super().__init__(message)
        self.argument, self.row, self.column, self.reason = argument, row, column, reason


class MissingConfoundError(ConfoundValueError):
    """A value of a subject is missing where it is needed."""


class FileError(StillomeError):
    """A file or folder cannot be read as what it should be, or would be overwritten."""


class FitError(StillomeError, RuntimeError):
    """A model could not be fitted to data that are valid in themselves."""


class ClusterError(StillomeError, RuntimeError):
    """The cluster that should compute cannot, or is gone."""


class MissingExtraError(StillomeError, ImportError):
    """A package is not installed that only some parts of stillome need."""


class NotFittedError(StillomeError, ValueError, AttributeError):
    """A fitted model was needed; call ``fit`` first. Methods raise scikit-learn's as well."""


class StillomeWarning(UserWarning):
    """Something the reader of a result must know, though a result was reached.

    Examples
    --------
    >>> import warnings
    >>> from stillome import InvFA, simulate_cohort
    >>> data = simulate_cohort(30, random_state=0)
    >>> model = InvFA(5).fit(data.X, confounds=data.confounds)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", StillomeWarning)
    ...     _ = model.adjust(data.X, confounds=data.confounds, reference=9.0)
    >>> str(caught[0].message)
    'reference=9 lies ... outside the training range ...: the model extrapolates. ...'
    """


def require_extra(package: str, extra: str, what: str) -> None:
    """Check that an optional package is installed, without importing it.

    Parameters
    ----------
    package : str
        The name by which it is imported and installed.
    extra : str
        The extra of stillome that installs it.
    what : str
        The part of stillome that needs it: the subject of the message.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    Examples
    --------
    >>> require_extra("no_such_package", "vae", "inv-vae")
    Traceback (most recent call last):
    stillome.exceptions.MissingExtraError: inv-vae needs no_such_package, which is not installed.
    Install it with: pip install 'stillome[vae]' (see docs/install.md)
    """
    if find_spec(package) is None:
        raise MissingExtraError(
            f"{what} needs {package}, which is not installed. "
            f"Install it with: pip install 'stillome[{extra}]' (see docs/install.md)"
        )
