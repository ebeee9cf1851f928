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
GROUP_FRACTION = 0.1
MOST_OF_A_GROUP = 64


class Shown(NamedTuple):
    """One entry of the slider: its label, and the subjects whose mean it is."""

    key: str
    members: NDArray[np.intp]


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
        matrices=np.stack(found, axis=1),
        observed=_means(X, places),
        observed_motion=np.array([folder.confounds[e.members, 0].mean() for e in shown]),
    )
    slider.save(folder.place("slider"))


def choose_references(motion: NDArray[np.float64], reference: float) -> NDArray[np.float64]:
    """Return motion from the least (or none) to what few subjects exceed, with the reference.

    Examples
    --------
    >>> choose_references(np.linspace(0.1, 0.9, 101), 0.0)[[0, 1, -1]]
    array([0.   , 0.1075, 0.86  ])
    """
    top = float(np.quantile(motion, 0.95))
    low = min(0.0, reference, float(motion.min()))
    if top <= low:
        top = float(motion.max())
    top = float(f"{top:.2g}")
    return np.unique(np.append(np.linspace(low, max(top, reference), N_REFERENCES), reference))


def choose_shown(
    motion: NDArray[np.float64], known: NDArray[np.intp], ids: Sequence[str]
) -> list[Shown]:
    """Choose the groups, and subjects spread evenly from least to most motion.

    Of large groups some stand for all, likewise spread evenly; their label says so.

    Parameters
    ----------
    motion : array of shape (n,)
        NaN where unknown.
    known : array of positions
    ids : sequence of str
    """
    ordered = known[np.argsort(motion[known], kind="stable")]
    size = max(1, round(GROUP_FRACTION * len(ordered)))
    picked = np.unique(np.linspace(0, len(ordered) - 1, N_SUBJECTS).round().astype(int))
    return [
        _group("all subjects", ordered),
        _group("10 % least motion", ordered[:size]),
        _group("10 % most motion", ordered[-size:]),
        *(Shown(ids[ordered[i]], ordered[i : i + 1]) for i in picked),
    ]


def _group(label: str, ordered: NDArray[np.intp]) -> Shown:
    n = len(ordered)
    if n <= MOST_OF_A_GROUP:
        return Shown(label, ordered)
    # From the middle of equal parts, so that the extremes do not weigh more than others.
    places = ((np.arange(MOST_OF_A_GROUP) + 0.5) * n / MOST_OF_A_GROUP).astype(int)
    return Shown(f"{MOST_OF_A_GROUP} of {label}", ordered[places])


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
