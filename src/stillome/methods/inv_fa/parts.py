"""The fitted parts of `InvFA` in one model: counts and motion in, z and distributions out.

`model_fit` fits them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import AnyFloats, Floats
from stillome.counts.edge_tables import AnyTable, EdgeTable, Tile
from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.encoder import (
    FactorEncoder,
    encoder_input,
)
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.own_units import OwnUnits
from stillome.methods.stages.motion_effect.basis import MotionBasis
from stillome.methods.stages.motion_effect.effect import (
    MotionEffect,
)
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.count_law import CountLaw, probability_below
from stillome.methods.stages.replay.counterfactual import (
    Laws,
    WeightLaw,
    ZeroShares,
)
from stillome.methods.stages.replay.presence import Presence
from stillome.methods.stages.replay.small_values import SmallValues
from stillome.methods.stages.replay.support import Support
from stillome.methods.stages.replay.zeros import ZeroModel

STAGES = (
    "motion effect",
    "baseline",
    "pooling",
    "variance components",
    "pattern",
    "decoder",
    "dispersion",
)


@dataclass(frozen=True)
class InvariantModel:
    """Everything `InvFA` learns about connectomes.

    Attributes
    ----------
    unit : array of shape ()
        Edges are multiplied by this before anything else; 1 for whole-number counts.
    whole : array of shape ()
        Whether it was fitted to counts rather than weights.
    support : Support
        Which values the training subjects have, in this unit.
    edge_ranks : array of shape (E,)
        Ties random draws to edges, whatever their order (see `canonical_order`).
    unknown_slopes : array of shape (P, K)
        Slopes of z on *inferred* motion, used where motion was not measured.
    effect_spread : array of shape ()
        Standard deviation over subjects of the strength of the motion effect, relative to its
        mean, that z does not explain.
    own_units : OwnUnits
        Of subjects whose weights are counts in a unit of their own.
    n_iterations : array of shape (7,)
        Iterations of each of `STAGES`; 0 for a stage that did not run.
    """

    unit: Floats
    whole: NDArray[np.bool_]
    support: Support
    edge_ranks: NDArray[np.intp]
    basis: MotionBasis
    effect: MotionEffect
    encoder: FactorEncoder
    decoder: Decoder
    zeros: ZeroModel
    presence: Presence
    inference: ConfoundInference
    unknown_slopes: Floats
    calibration: Calibration
    small: SmallValues
    effect_spread: Floats
    own_units: OwnUnits
    n_iterations: NDArray[np.intp]

    @property
    def n_iter(self) -> dict[str, int]:
        """Iterations of every stage."""
        return {stage: int(n) for stage, n in zip(STAGES, self.n_iterations, strict=True)}

    def of_edges(self, edges: slice) -> Self:
        """Return the model of some edges."""
        return replace(
            self,
            edge_ranks=self.edge_ranks[edges],
            effect=self.effect.of_edges(edges),
            encoder=self.encoder.of_edges(edges),
            decoder=self.decoder.of_edges(edges),
            zeros=self.zeros.of_edges(edges),
            presence=self.presence.of_edges(edges),
        )

    def encode(self, edges: NDArray[Any], confounds: Floats) -> tuple[Floats, Floats]:
        """Return z (n, K) and the confounds (n, C) with unknown values filled in."""
        counts = self.counts(edges)
        missing = np.isnan(confounds)
        if not missing.any():
            return self.encode_known(counts, self.basis(confounds)), confounds
        inferred, middle = self.inference.infer(counts).mean, self.inference.intercept
        filled = np.where(missing, inferred, confounds)
        latent = self.encode_known(counts, self.basis(filled))
        # Only inferred values count here: 0 for subjects with every confound.
        inferred = np.where(missing, inferred, middle)
        latent -= (self.basis(inferred) - self.basis(middle[None])) @ self.unknown_slopes
        return latent, filled

    def law(self, latent: Floats, confounds: Floats, scanned_at: Floats | None = None) -> WeightLaw:
        """Return rates and dispersions of these subjects at this motion, per edge.

        `scanned_at` is the motion at which z was encoded; average motion without.
        """
        z, functions = self._seen(latent, confounds, scanned_at)
        log_rates = self.log_rates(z, functions, confounds).astype(np.float64)
        return WeightLaw(log_rates, self.dispersions(log_rates, functions))

    def laws(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None, like: EdgeTable
    ) -> Laws:
        """Return `law` by blocks of edges and by subjects, for a table of these subjects.

        In single precision, which is enough for fitting.
        """
        seen = self._seen(latent, confounds, scanned_at)  # the same for all blocks
        z, functions = (part.astype(np.float32) for part in seen)
        used = np.flatnonzero(self.decoder.loadings.any(axis=1))  # empty units take as long
        z, model = z[:, used], replace(self, decoder=self.decoder.of_units(used))

        def of_block(edges: slice) -> Callable[[slice], WeightLaw]:
            own = model.of_edges(edges)

            def of_subjects(rows: slice) -> WeightLaw:
                log_rates = own.log_rates(z[rows], functions[rows], confounds[rows])
                return WeightLaw(log_rates, own.dispersions(log_rates, functions[rows]))

            return of_subjects

        return of_block

    def _seen(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None
    ) -> tuple[Floats, AnyFloats]:
        """Return what the decoder reads: z̃ (n, K) and functions of motion (n, P)."""
        functions = self.basis(confounds)
        read = np.zeros_like(functions) if scanned_at is None else self.basis(scanned_at)
        return self.decoder_input(latent, functions, read), functions

    def dispersions(self, log_rates: AnyFloats, functions: AnyFloats) -> AnyFloats:
        """Return the dispersion (n, E) around these rates at this motion, in their precision."""
        dispersions = self.decoder.dispersions(functions).astype(log_rates.dtype, copy=False)
        if self.decoder.grain > 0:
            dispersions += self.decoder.grain * np.exp(-log_rates)
        return dispersions

    def decoder_input(self, latent: Floats, functions: AnyFloats, scanned_at: AnyFloats) -> Floats:
        """Return z̃ (n, K), what the decoder reads; see `FactorEncoder.decoder_input`."""
        return self.encoder.decoder_input(latent, functions, scanned_at)

    def log_rates(self, z: AnyFloats, functions: AnyFloats, confounds: Floats) -> AnyFloats:
        """Return log rates (n, E) of z̃ at this motion, given as functions and as confounds."""
        return self.decoder.log_rates(self.effect, functions, z)

    def latent_sd(self, edges: NDArray[Any], confounds: Floats) -> Floats:
        """Return the posterior standard deviation of z (n, K); confounds as for `encode`."""
        shape = (len(edges), len(self.encoder.posterior_sd))
        return np.broadcast_to(self.encoder.posterior_sd, shape)

    def count_law(self, rates: WeightLaw, confounds: Floats, floors: Floats) -> CountLaw:
        """Return the distribution of counts with these rates at this motion, floors (n, 1)."""
        below = probability_below(*rates.double, floors)
        usual = self.usual_below(confounds, floors)
        empty = self.presence.probabilities(below, usual, self.basis(confounds))
        ceiling = float(self.support.ceiling)
        return CountLaw(*rates.double, floors, below, empty, self.calibration, self.small, ceiling)

    def usual_below(self, confounds: Floats, floors: Floats) -> Floats:
        """Return the probability of a count below the floor for z = 0 at this motion, (n, E)."""
        nobody = np.zeros((len(confounds), len(self.decoder.loadings)))
        return probability_below(*self.law(nobody, confounds).double, floors)

    def expected(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None = None
    ) -> Floats:
        """Return the expected edges (n, E) in the users' unit."""
        rates = self.law(latent, confounds, scanned_at)
        if self.whole:
            floors = np.full((len(latent), 1), float(self.support.floor))
            means = self.count_law(rates, confounds, floors).means()
        else:
            means = np.exp(rates.log_rates)
        return np.asarray(means / float(self.unit))

    def drawn(self, rng: np.random.Generator) -> Self:
        """Return the model with motion effects drawn from their posterior."""
        return replace(self, effect=self.effect.drawn(rng), presence=self.presence.drawn(rng))

    def zero_shares(self, confounds: Floats, reference: Floats) -> ZeroShares:
        """Return the probability of an empty edge here and at the reference."""
        here = self.zeros.shares(self.basis(confounds))
        there = self.zeros.shares(self.basis(reference[None]))
        return ZeroShares(here, np.broadcast_to(there, here.shape))

    def log_ratio_sd(self, latent: Floats, confounds: Floats, reference: Floats) -> Floats:
        """Return the posterior sd of log rate(reference) − log rate(motion), (n, E)."""
        distance = self.basis(confounds) - self.basis(reference[None])
        susceptible = self.decoder.susceptible(distance, latent)
        of_slopes = susceptible**2 @ self.effect.uncertainties**2
        of_strength = (self.effect_spread * (susceptible @ self.effect.slopes)) ** 2
        return np.sqrt(of_slopes + of_strength)

    def typical_log_ratio_sd(self, reference: Floats) -> Floats:
        """Return the same as a root mean square over the training subjects, (1, E)."""
        # Over them the functions of motion have mean 0 and variance 1.
        squares = 1 + self.basis(reference[None]) ** 2
        return np.sqrt(squares @ self.effect.uncertainties**2)

    def weighted(self, weight: float) -> Self:
        """Return the model that removes this share of the dependence of z on motion."""
        encoder = replace(
            self.encoder,
            drift=weight * self.encoder.drift,
            association=weight * self.encoder.association,
            scale_slopes=weight * self.encoder.scale_slopes,
            common_scale=weight * self.encoder.common_scale,
            unit_scale=weight * self.encoder.unit_scale,
        )
        return replace(self, encoder=encoder)

    def counts(self, edges: NDArray[Any]) -> NDArray[np.float32]:
        """Return edges in the units of the model."""
        return (edges * float(self.unit)).astype(np.float32)

    def encode_known(self, counts: AnyTable, functions: AnyFloats) -> Floats:
        """Return z (n, K) from counts (n, E) in the model's unit and functions of known motion."""
        single = functions.astype(np.float32)
        table = EdgeTable.of(counts)
        values = encoder_input(table, self.effect, single, whole=bool(self.whole))
        return self.encoder.encode(values, single)


def log_rate_table(laws: Laws, like: EdgeTable) -> EdgeTable:
    """Return the log rates (n, E) of laws as a table, in the blocks of another."""

    def look(edges: slice) -> Tile:
        law = laws(edges)
        return lambda rows: law(rows).log_rates

    return like.beside(look)
