"""What a page that anybody may see leaves out: ids, file names, groups of very few subjects."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stillome.cohort.scan_ids import person_of
from stillome.run.folder import RunFolder
from stillome.run.run_files import ID
from stillome.run.settings import RunSettings, command_line
from stillome.run.steps.sliding import FEWEST_OF_A_GROUP

HIDDEN = "(id hidden)"
SMALL_GROUPS = (
    f"the group with small or with large motion has fewer than {FEWEST_OF_A_GROUP} subjects, whose "
    "mean would show single subjects"
)
_NAMING_FILES = ("connectomes", "motion", "traits", "labels", "lengths", "truth", "subjects")
# A whole number this short may also be a count, and is an id only where the text says so.
_SHORT_NUMBER = re.compile(r"0|[1-9][0-9]{0,4}")
Hide = Callable[[str], str]


def hider(ids: Sequence[str]) -> Hide:
    """Return a function that replaces the ids of subjects in a text.

    Parameters
    ----------
    ids : sequence of str

    Examples
    --------
    >>> hide = hider(["NDAR01", "7", "001"])
    >>> hide("sub-NDAR01_dwi.csv: 7 edges are missing in 'sub-7'.")
    "(id hidden)_dwi.csv: 7 edges are missing in '(id hidden)'."
    >>> hide("001 is left out, p < 0.001")
    '(id hidden) is left out, p < 0.001'
    >>> hider(["A01_ses-2"])("sub-A01/ses-2/sub-A01_ses-2.csv")
    '(id hidden)/ses-2/(id hidden).csv'
    """
    # The longest first: an id may be the beginning of another.
    named = {name for one in ids for name in (str(one), person_of(str(one))) if name}
    ordered = sorted(named, key=len, reverse=True)

    def hide(text: str) -> str:
        for one in ordered:
            if one in text:
                text = _pattern(one).sub(HIDDEN, text)
        return text

    return hide


def _pattern(one: str) -> re.Pattern[str]:
    start, end = r"(?<![0-9A-Za-z])", r"(?![0-9A-Za-z])"
    if one.isdigit():
        # Not the digits of another number: 0.001, 12,001.
        start, end = r"(?<![0-9A-Za-z.,])", r"(?![0-9A-Za-z]|[.,][0-9])"
    if _SHORT_NUMBER.fullmatch(one):
        return re.compile(rf"{start}(?:sub-{one}|(?<=subject ){one}|(?<=['\"]){one}(?=['\"])){end}")
    return re.compile(rf"(?:{start}sub-)?{start}{re.escape(one)}{end}")


def hider_of(folder: RunFolder) -> Hide:
    """Return what hides the ids of a run: of the cohort, and of those who were dropped."""
    return hider([*folder.cohort.subject_ids, *map(str, folder.dropped[ID])])


def shown_command(settings: RunSettings) -> str:
    """Return the command of a run with placeholders for files, whose names often hold ids.

    Examples
    --------
    >>> settings = RunSettings(connectomes=("sub-01.csv", "sub-02.csv"), motion=("motion.tsv",))
    >>> shown_command(settings)
    'stillome run --connectomes CONNECTOMES --motion MOTION --out RESULTS'
    """
    named: dict[str, Any] = {}
    for name in _NAMING_FILES:
        value = getattr(settings, name)
        if value:
            named[name] = (name.upper(),) if isinstance(value, tuple) else name.upper()
    return command_line(replace(settings, **named), "RESULTS")


def large_groups(folder: RunFolder) -> bool:
    """Whether means of the groups with small and with large motion show no single subject."""
    groups = folder.motion_effects.groups
    return min(len(groups.small), len(groups.large)) >= FEWEST_OF_A_GROUP
