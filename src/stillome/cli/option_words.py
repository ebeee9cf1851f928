"""Messages of the library, said in the options of the verb at hand.

The library speaks of parameters: "Pass measure=... to override.". On the command line the same
sentence reads "Pass --measure to override.". Names that are no option of the verb stay.
"""

import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple

# Parameter → options it may be called on the command line, the first that the verb has.
_OTHER_NAMES = {
    "baselines": ("baseline",),
    "columns": ("trait",),
    "confounds": ("confound", "motion"),
    "covariates_to_keep": ("keep",),
    "cv": ("folds",),
    "event": ("event", "session"),
    "form": ("format",),
    "groups": ("group",),
    "methods": ("method",),
    "motion_free": ("truth",),
    "n_components": ("components",),
    "n_draws": ("draws",),
    "n_jobs": ("jobs", "n-procs"),
    "n_permutations": ("permutations",),
    "parameters": ("set",),
    "probe": ("leakage",),
    "random_state": ("seed",),
    "session": ("session", "session-label"),
    "subjects": ("subjects", "participant-label"),
    "traits": ("traits", "participants"),
}
_QUOTED = r"'[^']*'|\"[^\"]*\""
_PARAMETER = re.compile(
    # Not within a word, a path, a quotation or the words after --set; but after "atlas=.../".
    rf"(?<![\w.\-'\"=\[])(?<!(?<!\.\.\.)/)(?<!--set )(?<!--reference )(?P<name>[a-z]\w*)="
    rf"(?:(?P<dots>\.\.\.)(?P<end>\.?$|\.(?= )|(?= [A-Z]))?"
    rf"|(?P<quoted>(?:{_QUOTED})(?:(?:, or|,| or| and) (?:{_QUOTED}))*)"
    rf"|(?P<plain>\([^)]*\)|\[[^\]]*\]|[^\s,;()'\"]*[^\s,;:.()'\"]))"
)


class Option(NamedTuple):
    """An option: its name, and for a flag the one that turns it off ("" if there is none)."""

    name: str
    is_flag: bool = False
    off: str = ""


_NOTHING: Mapping[str, Option] = MappingProxyType({})
_spoken: ContextVar[Mapping[str, Option]] = ContextVar("_spoken", default=_NOTHING)
_set: ContextVar[frozenset[str]] = ContextVar("_set", default=frozenset())


def speak_as(parameters: list[Any]) -> None:
    """Have `in_options` know the options of a verb, given as the parameters of its command."""
    options = {}
    for one in parameters:
        for word in (word for word in one.opts if word.startswith("--")):
            off = (*one.secondary_opts, "")[0]
            flag = bool(getattr(one, "is_flag", False))
            options[word.removeprefix("--")] = Option(word, flag, off)
    _spoken.set(options)
    _set.set(frozenset())


def speak_of_set(names: Iterable[str]) -> None:
    """Have `in_options` know which parameters were given by ``--set``, to speak of them so."""
    _set.set(frozenset(names))


def in_options(message: str) -> str:
    """Say a message of the library in the options of the verb that runs.

    Examples
    --------
    >>> _ = _spoken.set({"measure": Option("--measure"), "symmetrize": Option("--symmetrize")})
    >>> speak_of_set([])
    >>> in_options("Pass measure=... to override.")
    'Pass --measure to override.'
    >>> in_options("Use symmetrize='max', 'mean' or 'upper'.")
    'Use --symmetrize max, mean or upper.'
    >>> in_options("n_components=0; expected a whole number ≥ 1.")
    'n_components=0; expected a whole number ≥ 1.'
    >>> _ = _spoken.set({})
    """
    return _PARAMETER.sub(_translated, message)


def _translated(found: re.Match[str]) -> str:
    options = _spoken.get()
    name = found["name"]
    if name in _set.get() and not found["dots"]:
        return f"--set {found[0]}"
    names = _OTHER_NAMES.get(name, (name.replace("_", "-"),))
    option = next((options[one] for one in names if one in options), None)
    if option is None:
        return found[0]
    if found["dots"]:
        # The dots of "traits=..." at the end of a sentence are also its full stop.
        return option.name + ("" if found["end"] is None else ".")
    if option.is_flag and found["plain"] in ("True", "False"):
        word = option.name if found["plain"] == "True" else option.off
        return word or found[0]
    value = found["plain"] or re.sub(r"['\"]", "", found["quoted"])
    return f"{option.name} {value}"
