"""The options that name files, given to every verb that reads a study, in one way.

A verb takes one record, ``files``; `reads_files` puts the options in its place. So all verbs have
the same options with the same help, and read through `stillome.run.study_files`.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Any

from stillome.cli.options import (
    Atlas,
    Connectomes,
    Labels,
    Lengths,
    Measure,
    Motion,
    Session,
    Subjects,
    Symmetrize,
    Traits,
)

Verb = Callable[..., None]

_FIRST = {"connectomes": Connectomes, "motion": Motion, "traits": Traits}
_THEN = {
    "labels": Labels,
    "lengths": Lengths,
    "atlas": Atlas,
    "measure": Measure,
    "symmetrize": Symmetrize,
    "session": Session,
    "subjects": Subjects,
}
# In the help, the rest of the options on files stands before the first of these.
_LAST = ("dropped", "report", "resume", "overwrite", "quiet")


def reads_files(*, without: Sequence[str] = (), **changed: Any) -> Callable[[Verb], Verb]:
    """Replace the parameter ``files`` of a verb by the options that name files.

    Parameters
    ----------
    without : sequence of str
        Options that the verb does not have.
    **changed
        Options that the verb declares in another way, by name.

    Examples
    --------
    >>> @reads_files(without=["lengths", "subjects"])
    ... def count(files: "StudyFiles", quiet: bool = False) -> None:
    ...     print(files.motion)
    >>> list(inspect.signature(count).parameters)
    ['connectomes', 'motion', 'traits', 'labels', 'atlas', 'measure', 'symmetrize', 'session', \
'quiet']
    >>> count(connectomes=["counts"], motion=["motion.tsv"])
    ('motion.tsv',)
    """

    def decorate(verb: Verb) -> Verb:
        first, then = (
            [
                _option(name, changed.get(name, kind))
                for name, kind in group.items()
                if name not in without
            ]
            for group in (_FIRST, _THEN)
        )
        names = [one.name for one in (*first, *then)]

        @wraps(verb)
        def with_options(**given: Any) -> None:
            files = study_files(**{name: given.pop(name, None) for name in names})
            verb(files=files, **given)

        parameters = list(_in_order(verb, first, then))
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {one.name: one.annotation for one in parameters}
        del with_options.__wrapped__  # its signature is another
        return with_options

    return decorate


def study_files(
    *,
    subjects: Sequence[str] | None = None,
    **options: str | Sequence[str] | None,
) -> Any:
    """Return the record of the files that options name; what was not given stays at its default.

    Examples
    --------
    >>> study_files(connectomes=["counts"], subjects=["sub-01"], atlas=None).subjects
    ('01',)
    """
    from stillome.run.study_files import StudyFiles

    given: dict[str, Any] = {n: value for n, value in options.items() if value is not None}
    return StudyFiles(subjects=tuple(ids_of(subjects)), **given)


def ids_of(words: Sequence[str] | None) -> list[str]:
    """Read the ids that ``--subjects`` names: each word is an id, or a file of them.

    Raises
    ------
    FileError
        If a word is the name of a file that is not there.

    Examples
    --------
    >>> ids_of(["sub-01", "02"])
    ['01', '02']
    """
    from stillome.io.connectomes import read_subject_ids

    found: list[str] = []
    for word in words or ():
        is_file = Path(word).is_file() or Path(word).suffix in (".txt", ".tsv", ".csv")
        found += read_subject_ids(word if is_file or "/" in word else [word])
    return found


def _option(name: str, kind: Any) -> Parameter:
    needed = type(None) not in getattr(kind.__origin__, "__args__", ())
    default = Parameter.empty if needed else None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _in_order(verb: Verb, first: list[Parameter], then: list[Parameter]) -> Iterator[Parameter]:
    rest = list(then)
    for one in inspect.signature(verb).parameters.values():
        if one.name in _LAST:
            yield from rest
            rest = []
        if one.name == "files":
            yield from first
        else:
            yield one.replace(kind=Parameter.KEYWORD_ONLY)
    yield from rest
