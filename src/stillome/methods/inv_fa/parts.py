"""The fitted parts of `InvFA` in one model: counts and motion in, z and distributions out."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.methods.inv_fa.canonical_order import confound_order, edge_ranks, subject_order
from stillome.methods.inv_fa.decoder import Decoder
from stillome.methods.inv_fa.decoder_fit import fit_decoder
from stillome.methods.inv_fa.encoder import (
    FactorEncoder,
    encoder_input,
    fit_association,
    fit_encoder,
)
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.inv_fa.weights import fit_spread, weight_unit
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import MotionBasis, MotionFunctions
from stillome.methods.stages.motion_effect.effect import (
    MotionEffect,
    fit_motion_effect,
    log_means,
    refit_baseline,
)
from stillome.methods.stages.motion_effect.pooling import EdgeDesign
from stillome.methods.stages.replay.calibration import Calibration, some_counts
from stillome.methods.stages.replay.count_law import CountLaw, probability_below
from stillome.methods.stages.replay.counterfactual import (
    WeightLaw,
    ZeroShares,
    positions_in_step,
)
from stillome.methods.stages.replay.presence import Presence, fit_presence
from stillome.methods.stages.replay.support import Support, is_counted, lattice_step
from stillome.methods.stages.replay.zeros import ZeroModel, fit_zero_model, no_zero_model

STAGES = (
    "motion effect",
    "baseline",
    "pooling",
    "variance components",
    "pattern",
    "decoder",
    "dispersion",
)
_LEAST_SIZE = 0.1  # of a function of inferred motion, which may hardly vary


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
    n_iterations: NDArray[np.intp]

    @classmethod
    def fit(
        cls,
        edges: NDArray[Any],
        confounds: Floats,
        *,
        n_regions: int,
        n_components: int,
        lengths: Floats | None,
        covariates: Floats | None,
        tuning: Tuning = TUNING,
    ) -> Self:
        """Fit the effect of motion first, then the encoder, then the decoder.

        The result does not depend on the order of subjects, nor, up to rounding errors, on the
        order of confounds or regions.

        Parameters
        ----------
        edges : array of shape (n, E)
        confounds : array of shape (n, C)
            Without missing values.
        n_regions, n_components : int
        lengths : array of shape (E,) in mm, or None
        covariates : array of shape (n, Q), or None
        tuning : Tuning
        """
        order = subject_order(edges, confounds)
        edges, confounds = edges[order], confounds[order]
        covariates = None if covariates is None else covariates[order]
        iterations, whole = Iterations(tuning.stages), is_counted(edges)
        unit = 1 / lattice_step(edges) if whole else weight_unit(edges)
        counts = (edges * unit).astype(np.float32)
        basis = MotionBasis.fit(confounds, confound_order(edges, confounds), tuning.stages)
        motion = MotionFunctions.given(basis(confounds), covariates)
        design = EdgeDesign.from_edges(log_means(counts), lengths, n_regions)
        effect = _fit_effect(counts, motion, design, tuning, iterations)
        values = encoder_input(counts, effect, motion.values, whole=whole)
        encoder = fit_encoder(values, motion, design, n_components, tuning, iterations)
        z = encoder.encode(values, motion.values)
        z = encoder.decoder_input(z, motion.values, motion.values)
        shares = basis.confound_shares
        decoder = fit_decoder(counts, effect, motion.values, z, shares, tuning, iterations)
        zeros = no_zero_model(counts, basis.n_functions)
        if not whole:
            log_rates = decoder.log_rates(effect, motion.values, z)
            decoder = _scattered_like(counts, log_rates, decoder)
            zeros = fit_zero_model(counts, basis(confounds), design, tuning.stages, iterations)
        inference, left_out = ConfoundInference.fit(counts, confounds, tuning)
        model = cls(
            unit=np.array(unit),
            whole=np.array(whole),
            support=Support.find(edges, unit),
            edge_ranks=edge_ranks(edges),
            basis=basis,
            effect=effect,
            encoder=encoder,
            decoder=decoder,
            zeros=zeros,
            presence=Presence.none(basis.n_functions, counts.shape[1]),
            inference=inference,
            unknown_slopes=np.zeros((basis.n_functions, n_components)),
            calibration=Calibration.none(),
            n_iterations=np.zeros(len(STAGES), np.intp),
        )
        kept = None if covariates is None else covariates[: len(left_out)]
        model = replace(model, unknown_slopes=model._fit_unknown(counts, left_out, kept))
        if whole:
            model = model._with_hurdle(counts, confounds, motion, design, tuning, iterations)
        n_iterations = np.array([iterations.n_iter.get(stage, 0) for stage in STAGES])
        return replace(model, n_iterations=n_iterations)

    @property
    def n_iter(self) -> dict[str, int]:
        """Iterations of every stage."""
        return {stage: int(n) for stage, n in zip(STAGES, self.n_iterations, strict=True)}

    def encode(self, edges: NDArray[Any], confounds: Floats) -> tuple[Floats, Floats]:
        """Return z (n, K) and the confounds (n, C) with unknown values filled in."""
        counts = self.counts(edges)
        missing = np.isnan(confounds)
        if not missing.any():
            return self._encode_known(counts, self.basis(confounds)), confounds
        inferred, middle = self.inference.infer(counts).mean, self.inference.intercept
        filled = np.where(missing, inferred, confounds)
        latent = self._encode_known(counts, self.basis(filled))
        # Only inferred values count here: 0 for subjects with every confound.
        inferred = np.where(missing, inferred, middle)
        latent -= (self.basis(inferred) - self.basis(middle[None])) @ self.unknown_slopes
        return latent, filled

    def law(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None = None
    ) -> WeightLaw:
        """Return rates and dispersions of these subjects at this motion, per edge.

        `scanned_at` is the motion at which z was encoded; average motion without.
        """
        functions = self.basis(confounds)
        read = np.zeros_like(functions) if scanned_at is None else self.basis(scanned_at)
        z = self.encoder.decoder_input(latent, functions, read)
        log_rates = self.decoder.log_rates(self.effect, functions, z).astype(np.float64)
        dispersions = self.decoder.dispersions(functions).astype(np.float64)
        if self.decoder.grain > 0:
            dispersions += self.decoder.grain * np.exp(-log_rates)
        return WeightLaw(log_rates, dispersions)

    def count_law(
        self,
        latent: Floats,
        confounds: Floats,
        floors: Floats,
        scanned_at: Floats | None = None,
    ) -> CountLaw:
        """Return the distribution of these subjects' counts at this motion, with floors (n, 1)."""
        log_rates, dispersions = self.law(latent, confounds, scanned_at)
        below = probability_below(log_rates, dispersions, floors)
        empty = self.presence.probabilities(below, self.basis(confounds))
        ceiling = float(self.support.ceiling)
        return CountLaw(
            log_rates, dispersions, floors, below, empty, self.calibration, ceiling
        )

    def expected(
        self, latent: Floats, confounds: Floats, scanned_at: Floats | None = None
    ) -> Floats:
        """Return the expected edges (n, E) in the users' unit."""
        if self.whole:
            floors = np.full((len(latent), 1), float(self.support.floor))
            means = self.count_law(latent, confounds, floors, scanned_at).means()
        else:
            means = np.exp(self.law(latent, confounds, scanned_at).log_rates)
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
        return np.sqrt(susceptible**2 @ self.effect.uncertainties**2)

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

    def _with_hurdle(
        self,
        counts: NDArray[np.float32],
        confounds: Floats,
        motion: MotionFunctions,
        design: EdgeDesign,
        tuning: Tuning,
        iterations: Iterations,
    ) -> Self:
        """Return the model of counts with its presence, and its quantiles calibrated."""
        latent = self._encode_known(counts, self.basis(confounds))
        floors = self.support.floors(counts)
        log_rates, dispersions = self.law(latent, confounds, confounds)
        below = probability_below(log_rates, dispersions, floors)
        empty = (counts == 0).astype(np.float32)
        presence = fit_presence(empty, below, motion, design, tuning.stages, iterations)
        law = CountLaw(log_rates, dispersions, floors, below, below, self.calibration)
        calibration = self._fit_calibration(counts, law, tuning)
        return replace(self, presence=presence, calibration=calibration)

    def _fit_unknown(
        self, counts: NDArray[np.float32], left_out: Floats, covariates: Floats | None
    ) -> Floats:
        """Regress z on inferred motion; keep what exceeds chance."""
        functions = self.basis(left_out)
        size = np.maximum(np.sqrt((functions**2).mean(axis=0)), _LEAST_SIZE)
        latent = self._encode_known(counts[: len(left_out)], functions)
        inferred = MotionFunctions.given(functions / size, covariates)
        return fit_association(latent, inferred) / size[:, None]

    def _fit_calibration(
        self, counts: NDArray[np.float32], law: CountLaw, tuning: Tuning
    ) -> Calibration:
        """Calibrate the quantiles of counts that are present."""
        rows, ranks = some_counts(len(counts), counts.shape[1], tuning.stages)
        columns = np.argsort(self.edge_ranks)[ranks]
        present = counts[rows, columns] > 0
        rows, columns = rows[present], columns[present]
        positions = positions_in_step(counts[rows, columns][None], [0])
        chosen = law.at(rows, columns)
        scores = chosen.scores_if_present(counts[rows, columns][None], positions)
        return Calibration.fit(scores[0], chosen.log_rates[0], tuning.stages)

    def _encode_known(self, counts: NDArray[np.float32], functions: Floats) -> Floats:
        single = functions.astype(np.float32)
        values = encoder_input(counts, self.effect, single, whole=bool(self.whole))
        return self.encoder.encode(values, single)


def _fit_effect(
    counts: NDArray[np.float32],
    motion: MotionFunctions,
    design: EdgeDesign,
    tuning: Tuning,
    iterations: Iterations,
) -> MotionEffect:
    effect = fit_motion_effect(counts, motion.estimating, design, tuning.stages, iterations)
    if motion.estimating is motion.values:
        return effect
    effect = replace(
        effect,
        slopes=effect.slopes / motion.spread[:, None],
        uncertainties=effect.uncertainties / motion.spread[:, None],
        errors=effect.errors / motion.spread[:, None, None],
        dispersion_slopes=effect.dispersion_slopes / motion.spread,
    )
    return refit_baseline(counts, motion.values, effect, iterations)


def _scattered_like(
    weights: NDArray[np.float32], log_rates: NDArray[Any], decoder: Decoder
) -> Decoder:
    """Replace the dispersions of counts by those of weights, which follow no known distribution."""
    spread, grain = fit_spread(weights, log_rates)
    none = np.zeros_like(decoder.dispersion_slopes)
    return replace(decoder, dispersion=spread, grain=grain, dispersion_slopes=none)
