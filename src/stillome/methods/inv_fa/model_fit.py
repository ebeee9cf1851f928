"""The fit of all parts of `InvFA`: the effect of motion first, then the encoder, then the decoder.

Counts with a floor, or with zeros that the negative binomial does not explain, are fitted in
rounds: with drawn counts in place of zeros after the first (`imputation`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.groups import Levels, renumbered
from stillome.cohort.subject_rows import AnyRows
from stillome.counts.edge_tables import EdgeTable, StoredTable, Tile
from stillome.kept_memory import kept_memory
from stillome.methods.inv_fa.calibrating import calibrate
from stillome.methods.inv_fa.canonical_order import confound_order, edge_ranks, subject_order
from stillome.methods.inv_fa.decoder_fit import fit_decoder
from stillome.methods.inv_fa.encoder import encoder_input, fit_encoder
from stillome.methods.inv_fa.equal_covariates import fit_effect_at_equal_covariates
from stillome.methods.inv_fa.imputing import imputed
from stillome.methods.inv_fa.inference import ConfoundInference
from stillome.methods.inv_fa.ordered_table import in_canonical_order, in_single
from stillome.methods.inv_fa.parts import STAGES, InvariantModel, log_rate_table
from stillome.methods.inv_fa.remaining import fit_association
from stillome.methods.inv_fa.tuning import TUNING, Tuning
from stillome.methods.inv_fa.weights import fit_spread
from stillome.methods.own_units import CountRows, OwnUnits
from stillome.methods.stages.convergence import Iterations
from stillome.methods.stages.motion_effect.basis import MotionBasis, MotionFunctions
from stillome.methods.stages.motion_effect.chance_share import ChanceVariances
from stillome.methods.stages.motion_effect.edge_design import EdgeDesign
from stillome.methods.stages.motion_effect.effect import log_means
from stillome.methods.stages.motion_effect.effect_spread import fit_effect_spread
from stillome.methods.stages.replay.calibration import Calibration
from stillome.methods.stages.replay.count_law import logits_below
from stillome.methods.stages.replay.counterfactual import Laws
from stillome.methods.stages.replay.presence import Presence
from stillome.methods.stages.replay.presence_fit import fit_presence
from stillome.methods.stages.replay.small_values import SmallValues
from stillome.methods.stages.replay.support import Extent, Support, is_counted, lattice_step
from stillome.methods.stages.replay.zeros import fit_zero_model, no_zero_model
from stillome.methods.weight_units import weight_unit

_LEAST_SIZE = 0.1  # of a function of inferred motion, which may hardly vary
# The first round has zeros for zeros. Further ones lower leakage through small counts, and can
# cost fidelity.
_ROUNDS = 3
_LEAST_DEVIATION = 0.1  # of probits; below it, and without a floor, one round is enough


def fit_model(
    edges: AnyRows,
    confounds: Floats,
    *,
    n_regions: int,
    n_components: int,
    lengths: Floats | None,
    covariates: Floats | None,
    groups: Levels | None = None,
    tuning: Tuning = TUNING,
    person: "PersonPart | None" = None,
    memory: float | None = None,
) -> tuple[InvariantModel, Floats]:
    """Fit all parts; return the model and z (n, K).

    The result does not depend on the order of subjects, nor, up to rounding errors, on the order
    of confounds or regions.

    Parameters
    ----------
    edges : array or SubjectRows of shape (n, E)
        `CountRows` where subjects have units of their own.
    confounds : array of shape (n, C)
        Without missing values.
    n_regions, n_components : int
    lengths : array of shape (E,) in mm, or None
    covariates : array of shape (n, Q), or None
    groups : array of shape (n, 1) or (n, 3), optional
        Who is never divided; see `group_levels`.
    tuning : Tuning
    person : callable, optional
        Another model of the person, put on the stages (`ModelFit`) before presence is fitted.
    memory : float, optional
        Bytes that blocks may take; what takes more is kept in a temporary file.
    """
    order = subject_order(edges, confounds)
    table = in_canonical_order(edges, order, memory)
    given, confounds = confounds, confounds[order]
    covariates = None if covariates is None else covariates[order]
    levels = None if groups is None else renumbered(groups[order])
    with kept_memory(4 * len(table) * table.plan.width):
        known = table, confounds, covariates, levels, n_regions, lengths, n_components, tuning
        fit = replace(ModelFit.prepare(*known), person=person)
        model, latent = fit.model_of_counts() if fit.whole else fit.model_of_weights()
        model = fit.with_unknown_motion(model)
        if isinstance(edges, CountRows):
            model = replace(model, own_units=OwnUnits.fit(edges, model.basis(given)))
    n_iterations = np.array([fit.iterations.n_iter.get(stage, 0) for stage in STAGES])
    in_given_order = np.empty_like(latent)
    in_given_order[order] = latent
    return replace(model, n_iterations=n_iterations), in_given_order


class _Known(NamedTuple):
    """What a round of fitting takes from the round before."""

    presence: Presence | None = None
    effect_chance: ChanceVariances | None = None
    presence_chance: ChanceVariances | None = None


@dataclass(frozen=True, eq=False)
class ModelFit:
    """The training subjects, in the units of the model and in canonical order."""

    counts: EdgeTable
    edges: StoredTable
    floors: Floats
    confounds: Floats
    covariates: Floats | None
    unit: float
    whole: bool
    support: Support
    ranks: NDArray[np.intp]
    basis: MotionBasis
    motion: MotionFunctions
    design: EdgeDesign
    inference: ConfoundInference
    left_out: Floats
    n_components: int
    tuning: Tuning
    iterations: Iterations
    person: "PersonPart | None" = None

    @classmethod
    def prepare(
        cls,
        edges: StoredTable,
        confounds: Floats,
        covariates: Floats | None,
        groups: Levels | None,
        n_regions: int,
        lengths: Floats | None,
        n_components: int,
        tuning: Tuning,
    ) -> "ModelFit":
        """Describe the data: their unit and support, functions of motion, what edges share."""
        step = lattice_step(edges)
        whole = is_counted(step)
        unit = 1 / step if whole else weight_unit(edges)
        counts = edges.pointwise(partial(in_single, unit))
        support = Support.find(edges, unit, step)
        basis = MotionBasis.fit(confounds, confound_order(edges, confounds), tuning.stages)
        inference, left_out = ConfoundInference.fit(counts, confounds, tuning, groups)
        ranks = edge_ranks(edges)
        return cls(
            counts=counts,
            edges=edges,
            floors=support.floors(Extent.of(counts)),
            confounds=confounds,
            covariates=covariates,
            unit=unit,
            whole=whole,
            support=support,
            ranks=ranks,
            basis=basis,
            motion=MotionFunctions.given(basis(confounds), covariates, groups),
            design=EdgeDesign.from_edges(
                *(log_means(counts), lengths, n_regions),
                *(counts.pointwise(lambda block: block > 0), ranks),
            ),
            inference=inference,
            left_out=left_out,
            n_components=n_components,
            tuning=tuning,
            iterations=Iterations(tuning.stages),
        )

    def model_of_weights(self) -> tuple[InvariantModel, Floats]:
        """Fit to weights, which follow no known distribution; return the model and z (n, K)."""
        model, latent, _ = self.core(self.counts)
        if self.person is not None:
            model, _ = self.person(self, model, self.counts)
            latent = model.encode_known(self.counts, self.motion.values)
        laws = model.laws(latent, self.confounds, self.confounds, self.counts)
        log_rates = log_rate_table(laws, self.counts)
        spread, grain = fit_spread(self.counts, log_rates)
        none = np.zeros_like(model.decoder.dispersion_slopes)
        decoder = replace(model.decoder, dispersion=spread, grain=grain, dispersion_slopes=none)
        functions_ = self.basis(self.confounds)
        tuning = self.tuning.stages
        zeros = fit_zero_model(
            *(self.counts, functions_, self.design, tuning, self.iterations, self.motion.groups)
        )
        return replace(model, decoder=decoder, zeros=zeros), latent

    def model_of_counts(self) -> tuple[InvariantModel, Floats]:
        """Fit to counts, in rounds where zeros are more than counts of 0."""
        counts: EdgeTable = self.counts
        known = _Known()
        for number in range(_ROUNDS):
            model, latent, effect_chance = self.core(counts, known.effect_chance)
            counts = counts if self.person else self.counts  # presence needs no drawn ones
            model, presence_chance = self._with_presence(model, latent, known)
            known = _Known(model.presence, effect_chance, presence_chance)
            if number == _ROUNDS - 1 or not self._worth_another_round(model.presence):
                break
            counts = imputed(self.edges, model, latent, self.confounds, self.floors, number)
        if self.person is not None:
            model, changed = self.person(self, model, counts)
            if changed:
                latent = model.encode_known(self.counts, self.motion.values)
                model, _ = self._with_presence(model, latent, known)
        laws = model.laws(latent, self.confounds, self.confounds, self.counts)
        stages = self.tuning.stages
        calibration, small = calibrate(self.counts, laws, self.ranks, self.floors, stages)
        functions, groups = self.motion.values, self.motion.groups
        spread = fit_effect_spread(self.counts, model.effect, functions, groups)
        model = replace(model, effect_spread=np.array(spread))
        return replace(model, calibration=calibration, small=small), latent

    def with_unknown_motion(self, model: InvariantModel) -> InvariantModel:
        """Regress z on inferred motion, for subjects whose motion is not known."""
        functions = self.basis(self.left_out)
        size = np.maximum(np.sqrt((functions**2).mean(axis=0)), _LEAST_SIZE)
        some = self.counts.rows(slice(len(self.left_out)))
        latent = model.encode_known(some, functions)
        kept = None if self.covariates is None else self.covariates[: len(self.left_out)]
        groups = self.groups_of(slice(len(self.left_out)))
        inferred = MotionFunctions.given(functions / size, kept, groups)
        slopes = fit_association(latent, inferred) / size[:, None]
        return replace(model, unknown_slopes=slopes)

    def some(self, rows: NDArray[np.intp]) -> "ModelFit":
        """Return the fit of some of these subjects, with the same functions of motion."""
        kept = None if self.covariates is None else self.covariates[rows]
        return replace(
            self,
            counts=self.counts.rows(rows),
            floors=self.floors[rows],
            confounds=self.confounds[rows],
            covariates=kept,
            motion=MotionFunctions.given(
                self.basis(self.confounds[rows]), kept, self.groups_of(rows)
            ),
            iterations=Iterations(self.tuning.stages),
        )

    def groups_of(self, rows: NDArray[np.intp] | slice) -> Levels | None:
        """Return the groups of some of these subjects; None where there are none."""
        return None if self.motion.groups is None else self.motion.groups[rows]

    def core(
        self, counts: EdgeTable, by_chance: ChanceVariances | None = None
    ) -> tuple[InvariantModel, Floats, ChanceVariances]:
        """Fit effect, encoder and decoder; rates to `counts`, z (n, K) to the observed ones."""
        functions, tuning, iterations = self.motion.values, self.tuning, self.iterations
        effect, by_chance = fit_effect_at_equal_covariates(
            counts, self.motion, self.design, tuning, iterations, by_chance
        )
        values = encoder_input(self.counts, effect, functions, whole=self.whole).stored()
        encoder = fit_encoder(
            values, self.motion, self.design, self.n_components, tuning, iterations
        )
        latent = encoder.encode(values, functions)
        del values  # as large as all connectomes, and the decoder does not need it
        z = encoder.decoder_input(latent, functions, functions)
        shares = self.basis.confound_shares
        decoder = fit_decoder(
            counts, effect, functions, z, shares, tuning, iterations, self.motion.groups
        )
        n_functions, n_edges = self.basis.n_functions, counts.shape[1]
        model = InvariantModel(
            unit=np.array(self.unit),
            whole=np.array(self.whole),
            support=self.support,
            edge_ranks=self.ranks,
            basis=self.basis,
            effect=effect,
            encoder=encoder,
            decoder=decoder,
            zeros=no_zero_model(self.counts, n_functions),
            presence=Presence.none(n_functions, n_edges),
            inference=self.inference,
            unknown_slopes=np.zeros((n_functions, self.n_components)),
            calibration=Calibration.none(),
            small=SmallValues.none(),
            effect_spread=np.zeros(()),
            own_units=OwnUnits.none(n_functions),
            n_iterations=np.zeros(len(STAGES), np.intp),
        )
        return model, latent, by_chance

    def _with_presence(
        self, model: InvariantModel, latent: Floats, known: "_Known"
    ) -> tuple[InvariantModel, ChanceVariances | None]:
        """Return the model with the probability of empty edges of z (n, K), and chance."""
        presence, by_chance = fit_presence(
            self.counts.pointwise(lambda block: block == 0),
            self._below(model.laws(latent, self.confounds, self.confounds, self.counts)),
            self._below(model.laws(np.zeros_like(latent), self.confounds, None, self.counts)),
            self.motion,
            self.design,
            self.tuning.stages,
            self.iterations,
            known.presence,
            known.presence_chance,
        )
        return replace(model, presence=presence), by_chance

    def _below(self, laws: Laws) -> EdgeTable:
        """Return logits of a count below the floor, in the law of every subject."""
        floors = self.floors

        def look(edges: slice) -> Tile:
            law = laws(edges)
            return lambda rows: logits_below(*law(rows), floors[rows])

        return self.counts.beside(look)

    def _worth_another_round(self, presence: Presence) -> bool:
        has_floor = self.support.is_relative or bool(self.support.floor > 1)
        return has_floor or float(presence.deviations.std()) > _LEAST_DEVIATION


# From the fit, the model of the factors and the counts its rates were fitted to, to a model with
# another person part, and whether that differs from the factors.
PersonPart = Callable[[ModelFit, InvariantModel, EdgeTable], tuple[InvariantModel, bool]]
