"""From a fitted model to adjusted connectomes, their bounds, and the likelihood of data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from stillome.arrays import Floats
from stillome.cohort.validation import check_share
from stillome.counts.negative_binomial import nb_pmf
from stillome.exceptions import InputError
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.stages.numeric_limits import LOG_RATE_RANGE
from stillome.methods.stages.replay.counterfactual import (
    WeightLaw,
    count_interval,
    positions_in_step,
    replay_counts,
    replay_weights,
)
from stillome.methods.stages.replay.coupling import check_coupling, quantile_correlation

# Streams of random numbers, beside that of the positions within steps.
_OF_Z, _OF_COUPLING, _OF_STRENGTH = 1, 2, 3


class Asked(NamedTuple):
    """What `adjust` was asked for; the attributes are its arguments, validated.

    Attributes
    ----------
    level : array of shape (C,)
    method, coupling : str
    n_draws : int or None
    interval : float or None
    seed : int
    dtype : numpy.dtype
    """

    level: Floats
    method: str
    n_draws: int | None
    interval: float | None
    coupling: str
    seed: int
    dtype: np.dtype[Any]

    def check(self) -> None:
        """Refuse what does not go together."""
        check_coupling(self.coupling)
        if self.method not in ("counterfactual", "decode"):
            raise InputError(f"method={self.method!r}; expected 'counterfactual' or 'decode'.")
        if self.method == "decode" and (self.n_draws is not None or self.interval is not None):
            raise InputError("method='decode' draws nothing; leave out n_draws and interval.")
        if self.interval is not None:
            check_share(self.interval, "interval")

    def connectomes(
        self, model: InvariantModel, edges: NDArray[Any], confounds: Floats
    ) -> NDArray[Any]:
        """Return edges (m, E) at the level, or draws (m, D, E) of them."""
        latent, motion = model.encode(edges, confounds)
        if self.method == "decode":
            return model.expected(latent, np.broadcast_to(self.level, motion.shape))
        task = Adjusting(model, edges, latent, motion, self.level, self.seed, self.dtype)
        if self.n_draws is None:
            return task.estimate()
        return np.stack([task.draw(i, self.coupling) for i in range(self.n_draws)], axis=1)

    def bounds(self, model: InvariantModel, edges: NDArray[Any], confounds: Floats) -> Floats:
        """Return lower and upper bounds (m, 2, E) of the counts."""
        assert self.interval is not None
        latent, motion = model.encode(edges, confounds)
        task = Adjusting(model, edges, latent, motion, self.level, self.seed, self.dtype)
        return np.stack(task.bounds(self.interval, self.coupling), axis=1)


@dataclass(frozen=True, eq=False)
class Adjusting:
    """Subjects to be brought to one level of motion.

    Attributes
    ----------
    model : InvariantModel
    edges : array of shape (n, E)
    latent : array of shape (n, K)
    motion : array of shape (n, C)
        Without missing values.
    level : array of shape (C,)
    seed : int
    dtype : numpy.dtype
        Of the answer, where it can hold it.
    """

    model: InvariantModel
    edges: NDArray[Any]
    latent: Floats
    motion: Floats
    level: Floats
    seed: int
    dtype: np.dtype[Any]

    def estimate(self) -> NDArray[Any]:
        """Return edges (n, E) at the estimated effects, each count at its own quantile."""
        return self._by_kind(Adjusting._estimated)

    def _estimated(self) -> NDArray[Any]:
        positions = positions_in_step(self.edges, [self.seed, 0], self.model.edge_ranks)
        if not self._counted.all():
            # The posterior sd grows with motion. At least its average is used for everybody, so
            # that the width of what is added does not reveal motion.
            typical = self.model.typical_log_ratio_sd(self.level)
            sd = np.maximum(self._log_ratio_sd, typical)
            return self._unless_there(
                self._replayed_weights(self.model, self.latent, positions, sd)
            )
        rates = self._rates(self.model, self.latent)
        return self._unless_there(self._replayed(self.model, rates, positions))

    def draw(self, number: int, coupling: str) -> NDArray[Any]:
        """Return edges (n, E) with all that is not known drawn; `number` 0, 1, ..."""
        return self._by_kind(lambda task: task._drawn(number, coupling))

    def _drawn(self, number: int, coupling: str) -> NDArray[Any]:
        seed = [self.seed, number]
        ranks = self.model.edge_ranks
        positions = positions_in_step(self.edges, seed, ranks)
        model = self.model.drawn(np.random.default_rng(seed))
        latent = self.latent + self._latent_sd * self._normal([*seed, _OF_Z], self.latent.shape[1])
        if not self._counted.all():
            # Effects are drawn already; what is added makes all draws as wide as on average.
            typical = self.model.typical_log_ratio_sd(self.level)
            sd = np.sqrt(np.maximum(typical**2 - self._log_ratio_sd**2, 0))
            return self._unless_there(self._replayed_weights(model, latent, positions, sd))
        here, there = self._rates(model, latent)
        strength = model.effect_spread * self._normal([*seed, _OF_STRENGTH], 1)
        stronger = there.log_rates + strength * (there.log_rates - here.log_rates)
        rates = here, there._replace(log_rates=np.clip(stronger, *LOG_RATE_RANGE))
        uniform = positions_in_step(self.edges, [*seed, _OF_COUPLING], ranks)
        noise = special.ndtri(uniform)
        return self._unless_there(self._replayed(model, rates, positions, coupling, noise))

    def bounds(self, interval: float, coupling: str) -> tuple[Floats, Floats]:
        """Return lower and upper bounds (n, E) of the counts."""
        if not self._counted.all():
            raise InputError("interval: bounds are there for fibre counts only; leave it out.")
        floors = self.model.support.floors(self._counts)
        rates_here, rates_there = self._rates(self.model, self.latent)
        here = self.model.count_law(rates_here, self.motion, floors)
        there = self.model.count_law(rates_there, self._there, floors)
        correlation = quantile_correlation(here, there, coupling)
        found = count_interval(self._counts, here, there, self._log_ratio_sd, correlation, interval)
        lower, upper = (self._unless_there(bound / float(self.model.unit)) for bound in found)
        return lower, upper

    def _by_kind(self, adjusted: Callable[["Adjusting"], NDArray[Any]]) -> NDArray[Any]:
        """Adjust subjects with counts and subjects with weights, each as if they were alone."""
        counted = self._counted
        if counted.all() or not counted.any():
            return adjusted(self)
        answer = np.empty(self.edges.shape)
        for rows in (np.flatnonzero(counted), np.flatnonzero(~counted)):
            subjects = {name: getattr(self, name)[rows] for name in ("edges", "latent", "motion")}
            answer[rows] = adjusted(replace(self, **subjects))
        return self._in_users_unit(answer * float(self.model.unit))

    @property
    def _counted(self) -> NDArray[np.bool_]:
        """Whether the law of counts holds for a subject (n,): counts, as in the training data."""
        scaled = self.edges * float(self.model.unit)
        multiples = (np.abs(scaled - np.round(scaled)) < 1e-3).all(axis=1)
        return np.asarray(multiples & bool(self.model.whole))

    @property
    def _counts(self) -> Floats:
        return np.asarray(np.round(self.edges * float(self.model.unit)), dtype=np.float64)

    def _rates(self, model: InvariantModel, latent: Floats) -> tuple[WeightLaw, WeightLaw]:
        """Return rates and dispersions at the motion of the scan and at the level."""
        here = model.law(latent, self.motion, self.motion)
        return here, model.law(latent, self._there, self.motion)

    @property
    def _log_ratio_sd(self) -> Floats:
        """The posterior sd of the motion effect of each subject and edge, (n, E)."""
        return self.model.log_ratio_sd(self.latent, self.motion, self.level)

    @cached_property
    def _latent_sd(self) -> Floats:
        return self.model.latent_sd(self.edges, self.motion)

    @property
    def _there(self) -> Floats:
        return np.broadcast_to(self.level, self.motion.shape)

    def _replayed(
        self,
        model: InvariantModel,
        rates: tuple[WeightLaw, WeightLaw],
        positions: Floats,
        coupling: str = "quantile",
        noise: Floats | None = None,
    ) -> NDArray[Any]:
        counts, floors = self._counts, model.support.floors(self._counts)
        here = model.count_law(rates[0], self.motion, floors)
        there = model.count_law(rates[1], self._there, floors)
        correlation = None if noise is None else quantile_correlation(here, there, coupling)
        moved = replay_counts(counts, here, there, positions, correlation, noise)
        if model.support.is_relative:
            # The floor at the reference depends on the largest or total count there.
            floors = model.support.floors_after(moved, counts)
            there = model.count_law(rates[1], self._there, floors)
            moved = replay_counts(counts, here, there, positions, correlation, noise)
            moved = model.support.raised(moved, counts)
        return self._in_users_unit(moved)

    def _replayed_weights(
        self, model: InvariantModel, latent: Floats, positions: Floats, effect_sd: Floats
    ) -> NDArray[Any]:
        here, there = self._rates(model, latent)
        zeros = model.zero_shares(self.motion, self.level)
        weights = self.edges * float(model.unit)
        moved = replay_weights(weights, here, there, zeros, effect_sd, positions)
        support = model.support
        written = support.written(moved, support.floors(weights))
        return self._in_users_unit(
            support.raised(written, weights) if support.is_relative else written
        )

    def _in_users_unit(self, values: Floats) -> NDArray[Any]:
        """Return values in the unit, and where it can hold them in the dtype, of the input."""
        answer = values / float(self.model.unit)
        dtype = self.dtype
        if dtype.kind == "f":
            fits = answer.max(initial=0) <= np.finfo(dtype).max
            return answer.astype(dtype if fits else np.float64)
        whole = np.round(answer)
        if dtype.kind in "iu" and (np.abs(answer - whole) < 1e-6).all():
            fits = whole.max(initial=0) <= np.iinfo(dtype).max
            return whole.astype(dtype if fits else np.int64)
        return answer

    def _unless_there(self, moved: NDArray[Any]) -> NDArray[Any]:
        """Return a subject that is at the level already as it is."""
        there_already = (self.motion == self.level).all(axis=1)
        return np.where(there_already[:, None], self.edges.astype(moved.dtype), moved)

    def _normal(self, seed: list[int], n_numbers: int) -> Floats:
        """Return standard normal numbers (n, n_numbers), the same for a subject in any company."""
        return np.asarray(special.ndtri(positions_in_step(self.edges, seed, None, n_numbers)))


def log_likelihoods(
    model: InvariantModel, edges: NDArray[Any], latent: Floats, motion: Floats
) -> Floats:
    """Return log p(A | z, c) of every subject (n,), in nats; motion without missing values."""
    counts = np.round(model.counts(edges).astype(np.float64))
    floors = model.support.floors(counts) if model.whole else np.ones((len(counts), 1))
    law = model.count_law(model.law(latent, motion, motion), motion, floors)
    likely = nb_pmf(counts, np.exp(law.log_rates), 1 / law.dispersions)
    if model.whole:
        present = (1 - law.empty) / (1 - law.below) * likely
        likely = np.where(counts > 0, present, law.empty)
    return np.asarray(np.log(np.maximum(likely, 1e-300)).sum(axis=1))
