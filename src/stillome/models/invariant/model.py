"""The fitted parts of `InvVAE` as one thing: counts and motion in, person and laws out."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stillome.models.invariant.basis import MotionBasis, MotionFunctions
from stillome.models.invariant.counterfactual import Law, ZeroShares
from stillome.models.invariant.effect import (
    MotionEffect,
    fit_motion_effect,
    log_means,
    refit_baseline,
)
from stillome.models.invariant.factors import (
    Decoder,
    Encoder,
    encoder_input,
    fit_association,
    fit_decoder,
    fit_encoder,
)
from stillome.models.invariant.inference import ConfoundInference
from stillome.models.invariant.pooling import EdgeDesign
from stillome.models.invariant.zeros import ZeroModel, fit_zero_model, no_zero_model

_TYPICAL_WEIGHT = 20.0
_LARGEST_MEDIAN = 1000.0
_LEAST_SIZE = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InvariantModel:
    """Everything `InvVAE` learns about connectomes.

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
        unit = weight_unit(edges)
        counts = (edges * unit).astype(np.float32)
        basis = MotionBasis.fit(confounds)
        motion = MotionFunctions.given(basis(confounds), covariates)
        design = EdgeDesign.from_edges(log_means(counts), lengths, n_regions)
        effect = _fit_effect(counts, motion, design)
        values = encoder_input(counts, effect, motion.values, whole=is_whole(edges))
        encoder = fit_encoder(values, motion, design, n_components)
        latent = encoder.encode(values, motion.values)
        inference, left_out = ConfoundInference.fit(counts, confounds)
        model = cls(
            np.array(unit),
            np.array(is_whole(edges)),
            basis,
            effect,
            encoder,
            fit_decoder(counts, effect, motion.values, encoder.shown(latent, motion.values)),
            # Counts need none: their own law says how often an edge is empty.
            no_zero_model(counts, basis.n_functions)
            if is_whole(edges)
            else fit_zero_model(counts, basis(confounds), design),
            inference,
            np.zeros((basis.n_functions, n_components)),
        )
        kept = None if covariates is None else covariates[: len(left_out)]
        return replace(model, unknown_slopes=model._fit_unknown(counts, left_out, kept))

    def encode(self, edges: NDArray[Any], confounds: Floats) -> tuple[Floats, Floats]:
        """Return z (n, K) and the confounds (n, C) with unknown values filled in."""
        counts = self.counts(edges)
        missing = np.isnan(confounds)
        if not missing.any():
            return self._encode_known(counts, self.basis(confounds)), confounds
        filled = np.where(missing, self.inference.infer(counts).mean, confounds)
        functions = self.basis(filled)
        latent = self._encode_known(counts, functions)
        unknown = missing.any(axis=1)
        latent[unknown] -= functions[unknown] @ self.unknown_slopes
        return latent, filled

    def law(self, latent: Floats, confounds: Floats) -> Law:
        """Return what these people would show at this motion, per edge."""
        functions = self.basis(confounds)
        shown = self.encoder.shown(latent, functions)
        return Law(
            self.decoder.log_rates(self.effect, functions, shown).astype(np.float64),
            self.decoder.dispersions(functions).astype(np.float64),
        )

    def zero_shares(self, confounds: Floats, reference: Floats) -> ZeroShares:
        """Return the probability of an empty edge here and at the reference."""
        here = self.zeros.shares(self.basis(confounds))
        there = self.zeros.shares(self.basis(reference[None]))
        return ZeroShares(here, np.broadcast_to(there, here.shape))

    def log_ratio_sd(self, confounds: Floats, reference: Floats) -> Floats:
        """Return how unsure log rate(reference) − log rate(motion) is, (n, E)."""
        difference = self.basis(confounds) - self.basis(reference[None])
        return np.sqrt(difference**2 @ self.effect.uncertainties**2)

    def weighted(self, weight: float) -> Self:
        """Return the model with this share of what remains of motion in z taken out."""
        encoder = replace(
            self.encoder,
            drift=weight * self.encoder.drift,
            association=weight * self.encoder.association,
            scale_slopes=weight * self.encoder.scale_slopes,
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

    def _encode_known(self, counts: NDArray[np.float32], functions: Floats) -> Floats:
        single = functions.astype(np.float32)
        values = encoder_input(counts, self.effect, single, whole=bool(self.whole))
        return self.encoder.encode(values, single)


def weight_unit(edges: NDArray[Any]) -> float:
    """Return 1 for whole numbers; weights are brought to the size of typical counts."""
    if is_whole(edges):
        return 1.0
    positive = edges[edges > 0]
    median = float(np.median(positive)) if positive.size else 1.0
    return 1.0 if 1 <= median <= _LARGEST_MEDIAN else _TYPICAL_WEIGHT / median


def is_whole(edges: NDArray[Any]) -> bool:
    """Whether these are fibre counts rather than weights."""
    return edges.dtype.kind in "iu" or bool((edges == np.floor(edges)).all())


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
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value):
            arrays |= to_arrays(value, f"{prefix}{field.name}.")
        else:
            arrays[prefix + field.name] = np.asarray(value)
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
    }
    built = {
        name: kind(**{field.name: arrays[f"{name}.{field.name}"] for field in fields(kind)})
        for name, kind in parts.items()
    }
    unit, whole = (arrays[name].reshape(()) for name in ("unit", "whole"))
    return InvariantModel(unit=unit, whole=whole, unknown_slopes=arrays["unknown_slopes"], **built)
