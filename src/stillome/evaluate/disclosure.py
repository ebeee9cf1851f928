"""Membership disclosure: whether a synthetic cohort reveals who was in the training data."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.stats import norm

from stillome.arrays import Floats
from stillome.cohort.edges import matrices_to_edges
from stillome.cohort.validation import check_connectomes, check_random_state
from stillome.exceptions import InputError


class AttackResult(NamedTuple):
    """AUC of a membership inference attack: 0.5 is chance, 1 is certainty.

    Attributes
    ----------
    auc : float
    low, high : float
        DeLong's 95 % interval, over subjects.
    """

    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class DisclosureReport:
    """What `disclosure_report` found; distances are Euclidean between log(1 + count).

    Attributes
    ----------
    distance_ratio : float
        Median distance of a synthetic subject to the nearest training subject, divided by that to
        the nearest of as many held-out subjects. 1 if training subjects are no nearer.
    share_nearer : float
        Share of synthetic subjects that are nearer to a training subject; 0.5 by chance.
    nearest : AttackResult
        Scored by the distance to the nearest synthetic subject.
    mean : AttackResult
        Scored by the similarity of a subject's deviation from the held-out mean to that of the
        synthetic mean (Homer et al. 2008); no synthetic subject needs to resemble a member.

    Examples
    --------
    >>> people = np.random.default_rng(0).poisson(20, (40, 15))
    >>> report = disclosure_report(people[:20], people[:20], people[20:])  # "synthetic" copies
    >>> report.share_nearer, report.nearest.auc
    (1.0, 1.0)
    """

    distance_ratio: float
    share_nearer: float
    nearest: AttackResult
    mean: AttackResult


def disclosure_report(
    synthetic: ArrayLike,
    training: ArrayLike,
    strangers: ArrayLike,
    *,
    random_state: int | np.random.Generator | None = 0,
) -> DisclosureReport:
    """Attack a synthetic cohort: given connectomes, infer who was in the training data.

    Parameters
    ----------
    synthetic : array-like of shape (m, V, V) or (m, V(V-1)/2)
        The cohort to be released.
    training : array-like of shape (n, V, V) or (n, V(V-1)/2)
        The training subjects (members), at least 10.
    strangers : array-like of shape (k, V, V) or (k, V(V-1)/2)
        Held-out subjects of the same population (non-members), at least 10.
    random_state : int, numpy.random.Generator or None, default=0
        Draws equally many members and non-members for the comparison of distances.

    References
    ----------
    Homer et al. (2008), PLoS Genetics 4:e1000167; DeLong et al. (1988), Biometrics 44.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> training, strangers = rng.poisson(9, (2, 50, 45))
    >>> report = disclosure_report(training, training, strangers)  # the study itself, published
    >>> report.distance_ratio, report.nearest.auc
    (0.0, 1.0)
    """
    drawn = _log_edges(synthetic, "synthetic", 2)
    members, others = _log_edges(training, "training", 10), _log_edges(strangers, "strangers", 10)
    if len({part.shape[1] for part in (drawn, members, others)}) > 1:
        raise InputError("synthetic, training, strangers: different regions; give the same.")
    rng = check_random_state(random_state)
    to_members, to_others = cdist(members, drawn), cdist(others, drawn)
    size = min(len(members), len(others))
    near, far = (
        distances[rng.permutation(len(distances))[:size]].min(axis=0)
        for distances in (to_members, to_others)
    )
    means = _mean_attack(members, others, drawn.mean(axis=0))
    ties = (near == far).mean() / 2
    return DisclosureReport(
        distance_ratio=float(np.median(near) / np.median(far)) if np.median(far) > 0 else 1.0,
        share_nearer=float((near < far).mean() + ties),
        nearest=attack_auc(-to_members.min(axis=1), -to_others.min(axis=1)),
        mean=attack_auc(*means),
    )


def attack_auc(members: ArrayLike, others: ArrayLike) -> AttackResult:
    """Return the probability that a member scores above a non-member, with DeLong's 95 % interval.

    Parameters
    ----------
    members : array-like of shape (n,)
    others : array-like of shape (k,)

    Examples
    --------
    >>> attack_auc([3.0, 4.0], [1.0, 2.0]).auc
    1.0
    """
    high, low = np.asarray(members, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if high.ndim != 1 or low.ndim != 1 or min(len(high), len(low)) < 2:
        raise InputError(f"scores of shape {high.shape} and {low.shape}; give two of each or more.")
    above = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    auc = float(above.mean())
    variance = above.mean(axis=1).var(ddof=1) / len(high) + above.mean(axis=0).var(ddof=1) / len(
        low
    )
    reach = float(norm.ppf(0.975) * np.sqrt(variance))
    return AttackResult(auc, max(auc - reach, 0.0), min(auc + reach, 1.0))


def _mean_attack(members: Floats, others: Floats, released: Floats) -> tuple[Floats, Floats]:
    """Score subjects by the similarity of their deviations to those of the released mean."""
    reference = others.mean(axis=0)
    # Leave-one-out reference: a non-member is part of the mean, which would bias its score down.
    without = (len(others) * reference - others) / (len(others) - 1)
    return (
        np.asarray((members - reference) @ (released - reference)),
        np.asarray(((others - without) * (released - without)).sum(axis=1)),
    )


def _log_edges(values: ArrayLike, name: str, fewest: int) -> Floats:
    connectomes = check_connectomes(values, name=name, min_subjects=fewest)
    return np.log1p(matrices_to_edges(connectomes, check=False).astype(np.float64))
