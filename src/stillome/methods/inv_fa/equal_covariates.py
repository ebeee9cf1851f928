"""The effect of motion among people of the same age, sex or diagnosis."""

from dataclasses import replace

from stillome.counts.edge_tables import EdgeTable
from stillome.methods.inv_fa.tuning import Tuning
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import MotionFunctions
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import MotionEffect
from stillome.methods.stages.motion_effect.effect_fit import (
    fit_effect_and_chance,
    refit_baseline,
)


def fit_effect_at_equal_covariates(
    counts: EdgeTable,
    motion: MotionFunctions,
    design: EdgeDesign,
    tuning: Tuning,
    iterations: Iterations,
    by_chance: ChanceVariances | None,
) -> tuple[MotionEffect, ChanceVariances]:
    """Fit the effect of motion at equal covariates; return also what chance gives effects.

    Parameters
    ----------
    counts : table of shape (n, E)
    motion : MotionFunctions
        Slopes are estimated with what the covariates do not explain of the functions, and hold for
        the functions as they are.
    design : EdgeDesign
    tuning : Tuning
    iterations : Iterations
    by_chance : ChanceVariances, or None
        See `fit_effect_and_chance`.
    """
    effect, by_chance = fit_effect_and_chance(
        counts, motion.estimating, design, tuning.stages, iterations, by_chance, motion.groups
    )
    if motion.estimating is motion.values:
        return effect, by_chance
    effect = replace(
        effect,
        slopes=effect.slopes / motion.spread[:, None],
        uncertainties=effect.uncertainties / motion.spread[:, None],
        errors=effect.errors / motion.spread[:, None, None],
        dispersion_slopes=effect.dispersion_slopes / motion.spread,
    )
    return refit_baseline(counts, motion.values, effect, iterations), by_chance
