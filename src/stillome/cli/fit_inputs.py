"""Reading what a method is fitted to, the same for `fit` and `compare`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stillome.cohort.confound_choice import Removed
    from stillome.methods.contract import ConnectomeMethod
    from stillome.run.study_files import StudyData, StudyFiles


class FitInputs(NamedTuple):
    """What was read, and which of its columns are removed."""

    study: "StudyData"
    removed: "Removed"


def read_to_fit(
    files: "StudyFiles",
    columns: Sequence[str],
    confound: Sequence[str] | None,
    group: str | None,
    methods: "Iterable[ConnectomeMethod]",
    *,
    dropped: Path | None,
    overwrite: bool,
) -> FitInputs:
    """Read a study, choose its confounds, and give methods the fibre lengths that they use.

    Parameters
    ----------
    files : StudyFiles
    columns : sequence of str
        Columns of the traits that are needed besides the group; without any, all are read.
    confound, group, dropped, overwrite
        As the options say.
    methods : iterable of ConnectomeMethod
        Unfitted.

    Raises
    ------
    FileError, InputError
        One sentence that says what is wrong, where, and what to do.
    """
    from stillome.cohort.confound_choice import choose_removed
    from stillome.run.method_parameters import with_lengths
    from stillome.run.study_files import read_study

    needed = [*columns, *([group] if group else [])] or None
    study = read_study(
        files,
        needed,
        confound or (),
        distinct=True,
        group=group,
        dropped=dropped,
        overwrite=overwrite,
    )
    cohort = study.cohort
    for method in methods:
        with_lengths(method, cohort.lengths)
    return FitInputs(study, choose_removed(cohort.motion, cohort.traits, confound or ()))
