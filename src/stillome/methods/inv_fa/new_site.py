"""The effects of a site that training never saw, from some of its people.

The mean log rate of every edge at the new site is estimated with the motion effect of the trained
model, and pooled over edges as motion effects are: what the site does to edges is shared by their
strength, presence and length, by regions, and by the patterns in which the trained sites differ.
Individual differences of a few people go together over edges, and are accounted for as such.
"""

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import Levels, design_effect
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.stages.motion_effect.basis import MotionBasis
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.motion_effect.individual_differences import IndividualDifferences
from stillome.methods.stages.motion_effect.pooling import PooledEffect, pool_effects
from stillome.methods.stages.motion_effect.shared_errors import strongest_directions
from stillome.methods.stages.numeric_limits import LARGEST_SLOPE, LARGEST_STEP
from stillome.methods.stages.replay.counterfactual import positions_in_step
from stillome.methods.stages.replay.imputation import without_zeros

_LEAST_DEVIATION = 0.1  # of probits of presence, as in the fit
_ROUNDS, _CONVERGED = 20, 1e-3  # of likelihood steps and pooling; largest change of a log rate
_LEAST_INFORMATION = 1e-3
_UNKNOWN_SD = 0.5  # of the dummy of a site that was not named

Model = TypeVar("Model", bound=InvariantModel)


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
    if bool(model.whole):
        counts = _imputed(model, counts, confounds)
    individual = IndividualDifferences(
        model.decoder.loadings.T * latent_sd, np.ones((1, len(latent_sd)))
    )
    usual = EdgeDesign.from_edges(model.effect.baseline, lengths, n_regions)
    features = np.hstack([usual.features, _patterns(model, confounds.shape[1], sites)])
    design = replace(usual, features=features)
    effects = np.zeros(counts.shape[1])
    for _ in range(_ROUNDS):
        raw, variances, alike = _step(model.effect, effects, counts, functions, groups)
        # The new mean is compared with that of the training subjects, whose number is about this.
        n = 1 / (alike / len(counts) + 1 / float(model.basis.longest) ** 2)
        own = individual.own_variances(variances * len(counts) / n, n)
        pooled = pool_effects(raw, own, design, individual, n)
        change, effects = pooled.effects - effects, pooled.effects
        if np.abs(change).max() < _CONVERGED:
            break
    there = functions.mean(axis=0, dtype=np.float64)
    chance = alike / len(counts) + (1 + there @ there) / float(model.basis.longest) ** 2
    return _with_reference(pooled, model.effect, there, individual, chance, len(counts))


def _step(
    effect: MotionEffect,
    site: Floats,
    counts: NDArray[np.float32],
    functions: NDArray[np.float32],
    groups: Levels | None,
) -> tuple[Floats, Floats, float]:
    """Take a likelihood step from the effects of a site (E,).

    Precision is that of the rates expected, not of the counts observed: with the latter, weak
    edges that happen to have fibres in a few people count as well known, and all others as
    unknown, so that weak edges seem to gain.

    Returns
    -------
    raw, variances : arrays of shape (E,)
        Where it leads, and its variances if scans are independent.
    alike : float
        How many times larger they are; see `design_effect`.
    """
    rates = replace(effect, baseline=effect.baseline + site).rates(functions)
    shrink = 1 / (1 + rates * effect.dispersion.astype(rates.dtype))
    residual = (counts - rates) * shrink
    information = (rates * shrink).sum(axis=0, dtype=np.float64) + _LEAST_INFORMATION
    step = residual.sum(axis=0, dtype=np.float64) / information
    raw = np.clip(site + np.clip(step, -LARGEST_STEP, LARGEST_STEP), -LARGEST_SLOPE, LARGEST_SLOPE)
    return raw, 1 / information, design_effect(residual, groups)


def _with_reference(
    pooled: PooledEffect,
    effect: MotionEffect,
    functions: Floats,
    individual: IndividualDifferences,
    chance: float,
    n_subjects: int,
) -> SiteEffect:
    """Add the error of the reference site to that of the new one.

    The effect is the difference of the new site from what the model expects of the same people at
    the reference site. However many people there are, the difference is not known better than
    that expectation: the model's slopes times the mean functions (P,) of these people.

    People also differ in the number of fibres of their whole brain, which looks like a site that
    changes all edges alike. So the mean over edges is known as well as the difference of two
    samples of people, whose mean z differ by chance with the variance `chance`, and no better.
    """
    of_reference = functions[:, None, None] * effect.errors
    shared = np.vstack([pooled.shared_errors.directions(), *of_reference])
    variances = pooled.uncertainties**2 + functions**2 @ effect.uncertainties**2
    least = chance * (individual.loadings.mean(axis=0) ** 2).sum()
    missing = max(least - (shared.mean(axis=1) ** 2).sum(), 0.0)
    errors = strongest_directions(np.vstack([shared, np.full(len(variances), missing**0.5)]).T)
    own = np.maximum(variances - (errors**2).sum(axis=0), 0)
    mean = float(pooled.effects.mean())
    half = 1.96 * float(np.sqrt((errors.mean(axis=1) ** 2).sum() + own.sum() / len(own) ** 2))
    return SiteEffect(
        n_subjects, pooled.effects, np.sqrt(variances), errors, mean, mean - half, mean + half
    )


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


def with_site(model: Model, site: SiteEffect) -> Model:
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
        own_units=model.own_units.with_function(),
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
