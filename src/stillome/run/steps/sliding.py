"""Connectomes of groups and of some subjects at several references, for the report."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.methods.contract import ConnectomeMethod
from stillome.run.folder import RunFolder
from stillome.run.parallel import Workers
from stillome.run.slider import Slider

N_REFERENCES = 9
N_SUBJECTS = 12
MOST_OF_A_GROUP = 64
# The mean of fewer subjects says too much about each of them.
FEWEST_OF_A_GROUP = 3
ALL = "all subjects"
_THIRDS = ("third with the least motion", "middle third", "third with the most motion")


class Shown(NamedTuple):
    """One entry of the slider: its label, and the subjects whose mean it is."""

    key: str
    members: NDArray[np.intp]
    group: bool


def slider_step(folder: RunFolder, workers: Workers) -> None:
    """Adjust those who are shown to several references; keep means of groups, and some subjects."""
    shown = choose_shown(folder.confounds[:, 0], folder.known, folder.cohort.subject_ids)
    members = np.unique(np.concatenate([entry.members for entry in shown]))
    X, motion = folder.cohort.connectomes[members], folder.confounds[members]
    places = [np.searchsorted(members, entry.members) for entry in shown]
    references = choose_references(folder.confounds[folder.known, 0], folder.reference[0])
    rows = np.tile(folder.reference, (len(references), 1))
    rows[:, 0] = references
    jobs = [partial(_at_reference, folder.model, X, motion, places, one) for one in rows]
    found = workers.run(jobs)
    slider = Slider(
        references=references,
        keys=tuple(entry.key for entry in shown),
        n_groups=sum(entry.group for entry in shown),
        matrices=np.stack(found, axis=1),
        observed=_means(X, places),
        observed_motion=np.array([folder.confounds[e.members, 0].mean() for e in shown]),
    )
    slider.save(folder.place("slider"))


def choose_references(motion: NDArray[np.float64], reference: float) -> NDArray[np.float64]:
    """Return motion from the least (or none) to the largest of the cohort, with the reference.

    Equal steps lead to what few subjects exceed; one last step leads to the largest motion.

    Examples
    --------
    >>> choose_references(np.array([0.2] * 90 + [0.8] * 10 + [2.5]), 0.0)[[0, 1, -2, -1]]
    array([0. , 0.1, 0.8, 2.5])
    """
    largest = float(motion.max())
    low = min(0.0, reference, float(motion.min()))
    top = float(f"{np.quantile(motion, 0.95):.2g}")
    if not low < top < largest:
        top = largest
    steps = np.linspace(low, max(top, reference), N_REFERENCES)
    return np.unique([*steps, reference, largest])


def choose_shown(
    motion: NDArray[np.float64], known: NDArray[np.intp], ids: Sequence[str]
) -> list[Shown]:
    """Choose everybody, the thirds by motion, and subjects from the least to the most motion.

    Of large groups some stand for all, spread evenly over motion; their label says so. Groups of
    fewer than `FEWEST_OF_A_GROUP` subjects are left out.

    Parameters
    ----------
    motion : array of shape (n,)
        NaN where unknown.
    known : array of positions
    ids : sequence of str
    """
    ordered = known[np.argsort(motion[known], kind="stable")]
    groups = {ALL: ordered} | motion_thirds(motion, known)
    picked = np.unique(np.linspace(0, len(ordered) - 1, N_SUBJECTS).round().astype(int))
    return [
        *(_group(label, members) for label, members in groups.items()),
        *(Shown(ids[ordered[i]], ordered[i : i + 1], group=False) for i in picked),
    ]


def motion_thirds(
    motion: NDArray[np.float64], known: NDArray[np.intp]
) -> dict[str, NDArray[np.intp]]:
    """Return positions of the subjects of each third by motion, or of all where they are few.

    Parameters
    ----------
    motion : array of shape (n,)
    known : array of positions

    Examples
    --------
    >>> motion_thirds(np.array([0.1, 0.3, 0.2]), np.arange(3))
    {'all subjects': array([0, 2, 1])}
    >>> list(motion_thirds(np.arange(9.0), np.arange(9)))
    ['third with the least motion', 'middle third', 'third with the most motion']
    """
    ordered = known[np.argsort(motion[known], kind="stable")]
    thirds = np.array_split(ordered, len(_THIRDS))
    if min(map(len, thirds)) < FEWEST_OF_A_GROUP:
        return {ALL: ordered}
    return dict(zip(_THIRDS, thirds, strict=True))


def _group(label: str, ordered: NDArray[np.intp]) -> Shown:
    n = len(ordered)
    if n <= MOST_OF_A_GROUP:
        return Shown(f"{label} ({n})", ordered, group=True)
    # From the middle of equal parts, so that the extremes do not weigh more than others.
    places = ((np.arange(MOST_OF_A_GROUP) + 0.5) * n / MOST_OF_A_GROUP).astype(int)
    return Shown(f"{label} ({MOST_OF_A_GROUP} of {n:,})", ordered[places], group=True)


def _at_reference(
    model: ConnectomeMethod,
    X: NDArray[Any],
    motion: NDArray[np.float64],
    places: list[NDArray[np.intp]],
    reference: NDArray[np.float64],
) -> NDArray[np.float32]:
    return _means(model.adjust(X, confounds=motion, reference=reference), places)


def _means(matrices: NDArray[Any], places: list[NDArray[np.intp]]) -> NDArray[np.float32]:
    means = [matrices[members].mean(axis=0, dtype=np.float64) for members in places]
    return np.stack(means).astype(np.float32)
