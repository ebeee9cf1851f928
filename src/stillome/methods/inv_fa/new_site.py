"""The effects of a site that training never saw, from some of its people.

The mean log rate of every edge at the new site is estimated with the motion effect of the trained
model, and pooled over edges as motion effects are: what the site does to edges is shared by their
strength, presence and length, by regions, and by the patterns in which the trained sites differ.
Individual differences of a few people go together over edges, and are accounted for as such.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import Levels, design_effect
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.stages.motion_effect.basis import MotionBasis
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import refit_baseline
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import pool_effects
from stillome.methods.stages.numeric_limits import LARGEST_SLOPE
from stillome.methods.stages.replay.counterfactual import positions_in_step
from stillome.methods.stages.replay.imputation import without_zeros

_LEAST_DEVIATION = 0.1  # of probits of presence, as in the fit
_SOMETIMES_PRESENT, _UNKNOWN_VARIANCE = 3, 100.0  # people; of an edge that fewer have
_UNKNOWN_SD = 0.5  # of the dummy of a site that was not named


class SiteEffect(NamedTuple):
    """What a new site does to the log rate of every edge, relative to the reference site.

    Attributes
    ----------
    n_subjects : int
        People it was estimated from.
    effects, sd : arrays of shape (E,)
        Posterior mean and standard deviation.
    errors : array of shape (R, E)
        The part of the uncertainty that edges share.
    mean : float
        Of the effects, over edges.
    low, high : float
        95 % interval of the mean.
    """

    n_subjects: int
    effects: Floats
    sd: Floats
    errors: Floats
    mean: float
    low: float
    high: float


def estimate_site(
    model: InvariantModel,
    edges: NDArray[Any],
    confounds: Floats,
    n_regions: int,
    lengths: Floats | None,
    latent_sd: Floats,
    sites: NDArray[np.intp],
    groups: Levels | None,
) -> SiteEffect:
    """Estimate the effects of a site from scans there.

    Parameters
    ----------
    model : InvariantModel
    edges : array of shape (n, E)
    confounds : array of shape (n, C)
        Of the trained model, without missing values; those of sites are 0.
    n_regions : int
    lengths : array of shape (E,) in mm, or None
    latent_sd : array of shape (K,)
        Of z among the training subjects.
    sites : array of int
        Which confounds are dummies of trained sites.
    groups : array of shape (n, 1) or (n, 3), or None
        See `group_levels`.
    """
    counts = model.counts(edges)
    functions = model.basis(confounds).astype(np.float32)
    present = counts > 0
    if bool(model.whole):
        counts = _imputed(model, counts, confounds)
    there = refit_baseline(counts, functions, model.effect)
    raw = np.clip(there.baseline - model.effect.baseline, -LARGEST_SLOPE, LARGEST_SLOPE)
    rates = there.rates(functions)
    shrink = 1 / (1 + rates * model.effect.dispersion.astype(rates.dtype))
    information = (rates * shrink).sum(axis=0, dtype=np.float64)
    alike = design_effect((counts - rates) * shrink, groups)
    # The new mean is compared with that of the training subjects, whose number is about this.
    n = 1 / (alike / len(counts) + 1 / float(model.basis.longest) ** 2)
    individual = IndividualDifferences(
        model.decoder.loadings.T * latent_sd, np.ones((1, len(latent_sd)))
    )
    design = EdgeDesign.from_edges(model.effect.baseline, lengths, n_regions)
    patterns = _patterns(model, confounds.shape[1], sites)
    design = EdgeDesign(
        np.hstack([design.features, patterns]), n_regions, design.mapped, _least_variances(present)
    )
    own = individual.own_variances(len(counts) / n / (information + 1e-3), n)
    own = np.maximum(own, design.least_variances)
    pooled = pool_effects(raw, own, design, individual, n)
    errors = pooled.shared_errors.directions()
    mean = float(pooled.effects.mean())
    rest = np.maximum(pooled.uncertainties**2 - (errors**2).sum(axis=0), 0).sum() / len(raw) ** 2
    half = 1.96 * float(np.sqrt((errors.mean(axis=1) ** 2).sum() + rest))
    return SiteEffect(
        len(counts), pooled.effects, pooled.uncertainties, errors, mean, mean - half, mean + half
    )


def _least_variances(present: NDArray[np.bool_]) -> Floats:
    """Return the least variances (E,) of effects; see `EdgeDesign`. Few people know few edges."""
    n_present = present.sum(axis=0)
    least = 1 / np.maximum(n_present, 1) - 1 / len(present)
    return np.where(n_present >= _SOMETIMES_PRESENT, least, _UNKNOWN_VARIANCE)


def _imputed(
    model: InvariantModel, counts: NDArray[np.float32], confounds: Floats
) -> NDArray[np.float32]:
    """Draw counts in place of zeros where zeros are more than counts of 0, as the fit did."""
    has_floor = model.support.is_relative or bool(model.support.floor > 1)
    if not has_floor and float(model.presence.deviations.std()) <= _LEAST_DEVIATION:
        return counts
    latent = model.encode_known(counts, model.basis(confounds))
    rates = model.law(latent, confounds, confounds)
    law = model.count_law(rates, confounds, model.support.floors(counts))
    level, lot = (positions_in_step(counts, [0, stream], model.edge_ranks) for stream in (0, 1))
    return without_zeros(counts, law, level, lot)


def _patterns(model: InvariantModel, n_confounds: int, sites: NDArray[np.intp]) -> Floats:
    """Return the effects of the trained sites (E, J), each of unit length over edges."""
    nowhere = model.basis(np.zeros((1, n_confounds)))
    columns = []
    for site in sites:
        there = np.zeros((1, n_confounds))
        there[0, site] = 1
        effect = ((model.basis(there) - nowhere) @ model.effect.slopes)[0]
        effect = effect - effect.mean()
        if effect.std() > 0:
            columns.append(effect / effect.std())
    return np.column_stack([np.zeros((model.effect.slopes.shape[1], 0)), *columns])


def with_site(model: InvariantModel, site: SiteEffect) -> InvariantModel:
    """Return the model with one more confound: 1 at the new site, 0 elsewhere."""
    basis = _with_dummy(model.basis)
    effect = replace(
        model.effect,
        slopes=_row(model.effect.slopes, site.effects),
        uncertainties=_row(model.effect.uncertainties, site.sd),
        errors=_errors(model.effect.errors, site.errors),
        dispersion_slopes=_row(model.effect.dispersion_slopes),
        chance=_row(model.effect.chance),
    )
    names = ("drift", "association", "scale_slopes", "common_scale", "unit_scale")
    encoder = replace(model.encoder, **{n: _row(getattr(model.encoder, n)) for n in names})
    decoder = replace(
        model.decoder,
        dispersion_slopes=_row(model.decoder.dispersion_slopes),
        susceptibility=_row(model.decoder.susceptibility),
        shares=basis.confound_shares,
    )
    presence = replace(
        model.presence,
        slopes=_row(model.presence.slopes),
        uncertainties=_row(model.presence.uncertainties),
        errors=_errors(model.presence.errors, model.presence.errors[0, :0]),
    )
    inference = replace(
        model.inference,
        weights=_row(model.inference.weights.T).T,
        intercept=_row(model.inference.intercept),
        sd=_row(model.inference.sd, np.array(_UNKNOWN_SD)),
    )
    return replace(
        model,
        basis=basis,
        effect=effect,
        encoder=encoder,
        decoder=decoder,
        presence=presence,
        inference=inference,
        zeros=replace(model.zeros, slopes=_row(model.zeros.slopes)),
        unknown_slopes=_row(model.unknown_slopes),
    )


def with_dummy(known: ConfoundDistribution, sites: NDArray[np.intp]) -> ConfoundDistribution:
    """Return the distribution of the confounds with one more: the dummy of a new, rare site."""
    size = len(known.correlation)
    quantiles = np.column_stack([known.quantiles, np.zeros(len(known.quantiles))])
    quantiles[-1, -1] = 1
    correlation = np.eye(size + 1)
    correlation[:size, :size] = known.correlation
    if len(sites):
        # With the score of the other sites, so that nobody who is drawn is at two sites.
        correlation[size, :size] = correlation[:size, size] = known.correlation[sites[0]]
        quantiles[-1, sites] = 0
    return ConfoundDistribution(quantiles, correlation, np.append(known.few_values, True))


def _with_dummy(basis: MotionBasis) -> MotionBasis:
    """Return the functions of motion and, as the last, the dummy itself."""
    rotation = np.zeros((len(basis.rotation) + 1, basis.n_functions + 1))
    rotation[:-1, :-1] = basis.rotation
    rotation[-1, -1] = 1
    return replace(
        basis,
        knots=_row(basis.knots, np.full(basis.knots.shape[1], np.nan)),
        scales=_row(basis.scales, np.ones(())),
        means=_row(basis.means),
        rotation=rotation,
        hinges=_row(basis.hinges, np.full(basis.hinges.shape[1], np.nan)),
        order=np.append(basis.order, len(basis.order)),
        limits=np.column_stack([basis.limits, [0.0, 1.0]]),
    )


def _row(values: Floats, last: Floats | None = None) -> Floats:
    """Append a row along the first axis; of zeros without `last`."""
    added = np.zeros(values.shape[1:]) if last is None else last
    return np.concatenate([values, added[None]])


def _errors(errors: Floats, last: Floats) -> Floats:
    """Append the errors (R, E) of one more function to errors (P, R', E)."""
    longest = max(errors.shape[1], len(last))

    def padded(rows: Floats) -> Floats:
        return np.pad(rows, ((0, longest - len(rows)), (0, 0)))

    return np.stack([padded(rows) for rows in (*errors, last)])
