"""Words for the rows of a cohort: subjects, or scans where somebody was scanned more than once.

Texts are written about subjects. Where the rows are scans, `row_words` returns what turns "240
subjects" into "240 scans", and subjects whom a model has not seen into people.
"""

import re
from collections.abc import Callable, Sequence

from stillome.cohort.scan_ids import person_of

Words = Callable[[str], str]

# Not in names of files, options, classes and attributes: "subjects.tsv", "--subjects".
_SUBJECT = re.compile(
    r"(?<![-/\w.#])(?!(?<=\")subjects?\")([Ss])ubject(s?)(?![-\w/=]|\.\w)"
    r"( who\b| on whom\b| (?:the model|they) ha(?:s|d|ve) not seen\b|)"
)


def in_scans(text: str) -> str:
    """Return a text about subjects as one about scans, and about people where those are meant.

    Examples
    --------
    >>> in_scans("Each subject is a point. 12 subjects are in subjects.tsv.")
    'Each scan is a point. 12 scans are in subjects.tsv.'
    >>> in_scans("Motion is gone in subjects the model has not seen.")
    'Motion is gone in people the model has not seen.'
    >>> in_scans("Fit the model to more subjects.")
    'Fit the model to more people.'
    """

    def said(match: re.Match[str]) -> str:
        first, several, person = match.groups()
        word = "scan" + several
        if person or match.string[: match.start()].lower().endswith("more "):
            word = "people" if several else "person"
        return (word.capitalize() if first == "S" else word) + person

    return _SUBJECT.sub(said, text)


def row_words(ids: Sequence[str]) -> Words:
    """Return `in_scans` if people have several of these scans, else what changes nothing.

    Examples
    --------
    >>> row_words(["A_ses-1", "A_ses-2"])("2 subjects"), row_words(["A", "B"])("2 subjects")
    ('2 scans', '2 subjects')
    """
    return in_scans if len({person_of(scan) for scan in ids}) < len(ids) else str


def rows_counted(ids: Sequence[str], kind: str = "") -> str:
    """Say how many subjects there are, or how many scans of how many people.

    Parameters
    ----------
    ids : sequence of str
        Of scans.
    kind : str, optional
        What they are, such as "simulated".

    Examples
    --------
    >>> rows_counted(["A_ses-1", "A_ses-2", "B_ses-1"]), rows_counted(["A"], "simulated")
    ('3 scans of 2 people', '1 simulated subject')
    """
    n, n_people = len(ids), len({person_of(scan) for scan in ids})
    kind = f"{kind} " if kind else ""
    if n_people == n:
        return f"{n:,} {kind}subject{'' if n == 1 else 's'}"
    return f"{n:,} {kind}scans of {n_people:,} {'person' if n_people == 1 else 'people'}"
