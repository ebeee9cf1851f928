"""The fitted parts of `InvFA` as one thing: counts and motion in, person and laws out."""

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.counts.negative_binomial import nb_scores
from stillome.methods.inv_fa.decoder import Decoder, fit_decoder
from stillome.methods.inv_fa.encoder import Encoder, encoder_input, fit_association, fit_encoder
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.inv_fa.weights import fit_spread, is_whole, weight_unit
from stillome.methods.stages.motion_effect.basis import MotionBasis, MotionFunctions
from stillome.methods.stages.motion_effect.effect import (
    MotionEffect,
    fit_motion_effect,
    log_means,
    refit_baseline,
)
from stillome.methods.stages.motion_effect.pooling import EdgeDesign
from stillome.methods.stages.replay.calibration import Calibration, some_counts
from stillome.methods.stages.replay.counterfactual import Law, ZeroShares, positions_in_step
from stillome.methods.stages.replay.zeros import ZeroModel, fit_zero_model, no_zero_model

_LEAST_SIZE = 0.1


@dataclass(frozen=True)
class InvariantModel:
    """Everything `InvFA` learns about connectomes.

    Attributes
    ----------
    unit : array of shape ()
        Weights are multiplied by this before anything else; 1 for counts.
    whole : array of shape ()
        Whether it was fitted to whole-number counts.
    unknown_slopes : array of shape (P, K)
        What of z goes with *inferred* motion, taken out when motion was not measured.
    """

    unit: Floats
    whole: NDArray[np.bool_]
    basis: MotionBasis
    effect: MotionEffect
    encoder: Encoder
    decoder: Decoder
    zeros: ZeroModel
    inference: ConfoundInference
    unknown_slopes: Floats
    calibration: Calibration = field(default_factory=Calibration)

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
    ) -> Self:
        """Fit motion's effect first, then the person; see the parts for what each does."""
        unit, whole = weight_unit(edges), is_whole(edges)
        counts = (edges * unit).astype(np.float32)
        basis = MotionBasis.fit(confounds)
        motion = MotionFunctions.given(basis(confounds), covariates)
        design = EdgeDesign.from_edges(log_means(counts), lengths, n_regions)
        effect = _fit_effect(counts, motion, design)
        values = encoder_input(counts, effect, motion.values, whole=whole)
        encoder = fit_encoder(values, motion, design, n_components)
        latent = encoder.encode(values, motion.values)
        shown = encoder.shown(latent, motion.values, motion.values)
        decoder = fit_decoder(counts, effect, motion.values, shown, basis.confound_shares)
        # Counts need neither: their own law says how they scatter and how often they are empty.
        zeros = no_zero_model(counts, basis.n_functions)
        if not whole:
            spread, grain = fit_spread(counts, decoder.log_rates(effect, motion.values, shown))
            none = np.zeros(basis.n_functions)
            decoder = replace(decoder, dispersion=spread, grain=grain, dispersion_slopes=none)
            zeros = fit_zero_model(counts, basis(confounds), design)
        inference, left_out = ConfoundInference.fit(counts, confounds)
        model = cls(
            np.array(unit),
            np.array(whole),
            basis,
            effect,
            encoder,
            decoder,
            zeros,
            inference,
            np.zeros((basis.n_functions, n_components)),
        )
        kept = None if covariates is None else covariates[: len(left_out)]
        model = replace(model, unknown_slopes=model._fit_unknown(counts, left_out, kept))
        if whole:
            model = replace(model, calibration=model._fit_calibration(counts, latent, confounds))
        return model

    def encode(self, edges: NDArray[Any], confounds: Floats) -> tuple[Floats, Floats]:
        """Return z (n, K) and the confounds (n, C) with unknown values filled in."""
        counts = self.counts(edges)
        missing = np.isnan(confounds)
        if not missing.any():
            return self._encode_known(counts, self.basis(confounds)), confounds
        inferred, middle = self.inference.infer(counts).mean, self.inference.intercept
        filled = np.where(missing, inferred, confounds)
        latent = self._encode_known(counts, self.basis(filled))
        # Only what was inferred speaks here: 0 for whoever has every confound.
        inferred = np.where(missing, inferred, middle)
        latent -= (self.basis(inferred) - self.basis(middle[None])) @ self.unknown_slopes
        return latent, filled

    def law(self, latent: Floats, confounds: Floats, scanned_at: Floats | None = None) -> Law:
        """Return what these people would show at this motion, per edge.

        `scanned_at` is the motion at which z was read; without it, z is believed as on average.
        """
        functions = self.basis(confounds)
        read = np.zeros_like(functions) if scanned_at is None else self.basis(scanned_at)
        shown = self.encoder.shown(latent, functions, read)
        log_rates = self.decoder.log_rates(self.effect, functions, shown).astype(np.float64)
        dispersions = self.decoder.dispersions(functions).astype(np.float64)
        if self.decoder.grain > 0:
            dispersions += self.decoder.grain * np.exp(-log_rates)
        return Law(log_rates, dispersions)

    def zero_shares(self, confounds: Floats, reference: Floats) -> ZeroShares:
        """Return the probability of an empty edge here and at the reference."""
        here = self.zeros.shares(self.basis(confounds))
        there = self.zeros.shares(self.basis(reference[None]))
        return ZeroShares(here, np.broadcast_to(there, here.shape))

    def log_ratio_sd(self, latent: Floats, confounds: Floats, reference: Floats) -> Floats:
        """Return how unsure log rate(reference) − log rate(motion) is, (n, E)."""
        difference = self.decoder.felt(self.basis(confounds) - self.basis(reference[None]), latent)
        return np.sqrt(difference**2 @ self.effect.uncertainties**2)

    def typical_log_ratio_sd(self, reference: Floats) -> Floats:
        """Return the same for a person like most, root mean square over training motion, (1, E)."""
        # Over them the functions have mean 0 and variance 1.
        squares = 1 + self.basis(reference[None]) ** 2
        return np.sqrt(squares @ self.effect.uncertainties**2)

    def weighted(self, weight: float) -> Self:
        """Return the model with this share of what remains of motion in z taken out."""
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

    def _fit_unknown(
        self, counts: NDArray[np.float32], left_out: Floats, covariates: Floats | None
    ) -> Floats:
        """Find what of z goes with motion that was inferred, beyond chance."""
        functions = self.basis(left_out)
        size = np.maximum(np.sqrt((functions**2).mean(axis=0)), _LEAST_SIZE)
        latent = self._encode_known(counts[: len(left_out)], functions)
        inferred = MotionFunctions.given(functions / size, covariates)
        return fit_association(latent, inferred) / size[:, None]

    def _fit_calibration(
        self, counts: NDArray[np.float32], latent: Floats, confounds: Floats
    ) -> Calibration:
        law, chosen = self.law(latent, confounds, confounds), some_counts(*counts.shape)
        log_rates = law.log_rates.ravel()[chosen]
        positions = positions_in_step(counts.reshape(1, -1)[:, chosen], [0])[0]
        sizes = 1 / law.dispersions.ravel()[chosen]
        scores = nb_scores(counts.ravel()[chosen], np.exp(log_rates), sizes, positions)
        return Calibration.fit(scores, log_rates)

    def _encode_known(self, counts: NDArray[np.float32], functions: Floats) -> Floats:
        single = functions.astype(np.float32)
        values = encoder_input(counts, self.effect, single, whole=bool(self.whole))
        return self.encoder.encode(values, single)


def _fit_effect(
    counts: NDArray[np.float32], motion: MotionFunctions, design: EdgeDesign
) -> MotionEffect:
    effect = fit_motion_effect(counts, motion.estimating, design)
    if motion.estimating is motion.values:
        return effect
    effect = replace(
        effect,
        slopes=effect.slopes / motion.spread[:, None],
        uncertainties=effect.uncertainties / motion.spread[:, None],
        dispersion_slopes=effect.dispersion_slopes / motion.spread,
    )
    return refit_baseline(counts, motion.values, effect)


def to_arrays(part: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a dataclass of arrays and such dataclasses, by dotted names."""
    arrays: dict[str, NDArray[Any]] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if is_dataclass(value):
            arrays |= to_arrays(value, f"{prefix}{item.name}.")
        else:
            arrays[prefix + item.name] = np.asarray(value)
    return arrays


def from_arrays(arrays: dict[str, NDArray[Any]]) -> InvariantModel:
    """Rebuild a model from what `to_arrays` gave."""
    parts: dict[str, Any] = {
        "basis": MotionBasis,
        "effect": MotionEffect,
        "encoder": Encoder,
        "decoder": Decoder,
        "zeros": ZeroModel,
        "inference": ConfoundInference,
        "calibration": Calibration,
    }
    built = {
        # What an earlier version did not know yet keeps its default.
        name: kind(
            **{
                item.name: arrays[f"{name}.{item.name}"]
                for item in fields(kind)
                if f"{name}.{item.name}" in arrays
            }
        )
        for name, kind in parts.items()
    }
    unit, whole = (arrays[name].reshape(()) for name in ("unit", "whole"))
    return InvariantModel(unit=unit, whole=whole, unknown_slopes=arrays["unknown_slopes"], **built)
