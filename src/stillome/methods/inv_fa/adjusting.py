"""From a fitted model to adjusted connectomes, their bounds, and the likelihood of data."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.validation import check_share
from stillome.counts.negative_binomial import nb_pmf
from stillome.exceptions import InputError
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.weights import is_whole
from stillome.methods.stages.replay.counterfactual import (
    count_interval,
    positions_in_step,
    replay_counts,
    replay_weights,
)


class AdjustedConnectomes(NamedTuple):
    """Motion-adjusted connectomes with bounds, all in the shape of the input.

    Attributes
    ----------
    connectomes : array
    lower, upper : array
        Contain the count at the reference with the probability asked for.
    """

    connectomes: NDArray[Any]
    lower: Floats
    upper: Floats


def replay(
    model: InvariantModel,
    edges: NDArray[Any],
    latent: Floats,
    motion: Floats,
    level: Floats,
    seed: list[int],
) -> NDArray[Any]:
    """Return edges (n, E) of the same subjects at this level of motion.

    Parameters
    ----------
    model : InvariantModel
    edges : array of shape (n, E)
    latent : array of shape (n, K)
    motion : array of shape (n, C)
        Without missing values.
    level : array of shape (C,)
    seed : list of int
    """
    here = model.law(latent, motion, motion)
    there = model.law(latent, np.broadcast_to(level, motion.shape), motion)
    positions = positions_in_step(edges, seed, model.edge_ranks)
    if model.whole and is_whole(edges):
        moved = replay_counts(edges, here, there, positions, model.calibration)
    else:
        unit = float(model.unit)
        zeros = model.zero_shares(motion, level)
        # The posterior sd grows with motion. At least its average is used for everybody, so that
        # the width of the draws does not reveal motion.
        typical = model.typical_log_ratio_sd(level)
        effect_sd = np.maximum(model.log_ratio_sd(latent, motion, level), typical)
        moved = replay_weights(edges * unit, here, there, zeros, effect_sd, positions) / unit
        if edges.dtype.kind == "f":
            moved = moved.astype(edges.dtype)
    there_already = (motion == level).all(axis=1)
    return np.where(there_already[:, None], edges, moved)


def bounds(
    model: InvariantModel,
    edges: NDArray[Any],
    latent: Floats,
    motion: Floats,
    level: Floats,
    interval: float,
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds (n, E) of the counts at this level of motion."""
    check_share(interval, "interval")
    if not (model.whole and is_whole(edges)):
        raise InputError("interval: bounds are there for whole-number counts only; leave it out.")
    here = model.law(latent, motion, motion)
    there = model.law(latent, np.broadcast_to(level, motion.shape), motion)
    return count_interval(edges, here, there, model.log_ratio_sd(latent, motion, level), interval)


def log_likelihood(model: InvariantModel, edges: NDArray[Any], confounds: Floats) -> float:
    """Return the mean log-likelihood per subject given its own z and motion, in nats."""
    latent, motion = model.encode(edges, confounds)
    law = model.law(latent, motion, motion)
    counts = np.round(model.counts(edges).astype(np.float64))
    likely = nb_pmf(counts, np.exp(law.log_rates), 1 / law.dispersions)
    return float(np.log(np.maximum(likely, 1e-300)).sum(axis=1).mean())
