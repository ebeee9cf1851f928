"""The training of a network on the stages of inv-FA, as a person part for `fit_model`."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.groups import Levels, held_out
from stillome.counts.edge_tables import EdgeTable
from stillome.methods.graph_vae.equations import log_factorial, negative_binomial_constant
from stillome.methods.graph_vae.frozen_stages import frozen_stages, single, without_factors
from stillome.methods.graph_vae.graph_settings import GraphSettings
from stillome.methods.graph_vae.layers import (
    ScoreEncoder,
    closeness_of_regions,
    neighbor_mask,
)
from stillome.methods.graph_vae.network_model import NetworkModel, Reads, TrainedPerson
from stillome.methods.graph_vae.person_network import PersonNetwork, PersonSizes, StagedSubjects
from stillome.methods.graph_vae.preparation import SPREAD_FLOOR, Standardizer
from stillome.methods.graph_vae.stored_rows import parts_of, rows_of
from stillome.methods.graph_vae.train import EpochRecord, Progress, copy_weights
from stillome.methods.graph_vae.training_loop import checkpoint_name, run_training
from stillome.methods.inv_fa.model_fit import ModelFit
from stillome.methods.inv_fa.ordered_table import subject_blocks
from stillome.methods.inv_fa.parts import InvariantModel, log_rate_table
from stillome.methods.inv_fa.remaining import RemainingDependence
from stillome.methods.stages.motion_effect.dispersion import (
    fit_dispersion_slopes,
    likely_dispersion,
)
from stillome.methods.trait_regression import TraitRegression

_LEAST_VARIANCE = 1e-6  # of a posterior, before the logarithm


@dataclass
class PersonFit:
    """Trains a network on fitted stages; called by `fit_model`.

    Attributes
    ----------
    settings : GraphSettings
    linear, pooled, poisson : bool
        The linear path of the factors; the pooled motion effect; Poisson counts.
    reads : {"residual", "log-counts"}
        What an encoder without factors reads.
    traits : array of shape (n, T)
        In canonical order; NaN = missing.
    lengths : array of shape (V, V), or None
    seed : int
    device : torch.device
    checkpoint_dir, callback
        As in `InvVAE`.
    progress : Progress
        Of the training, afterwards.
    """

    settings: GraphSettings
    linear: bool
    pooled: bool
    poisson: bool
    reads: Reads
    traits: Floats
    lengths: Floats | None
    seed: int
    device: torch.device
    checkpoint_dir: str | Path | None = None
    callback: Callable[[EpochRecord], Any] | None = None
    progress: Progress = field(default_factory=lambda: Progress({}))

    def __call__(
        self, fit: ModelFit, base: InvariantModel, counts: EdgeTable
    ) -> tuple[InvariantModel, bool]:
        """Train; return the model, and whether it differs from the factors."""
        generator = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(len(counts), generator=generator).numpy()
        n_held_out = round(len(counts) * self.settings.validation_fraction)
        chosen, validation = held_out(order, n_held_out, fit.motion.groups)
        if not self.linear:
            rows = (chosen, validation)
            model = self._trained(fit, without_factors(base), counts, rows, generator)
            return self._finished(model, fit, counts), True
        plan = self.settings.plan
        if n_held_out:
            # Scores of subjects to whom the factors were fitted are too sure of themselves. So the
            # number of epochs is found with factors that have not seen the subjects held out.
            apart, *_ = fit.some(chosen).core(counts.rows(chosen))
            self._trained(fit, apart, counts, (chosen, validation), generator)
            plan = replace(plan, max_epochs=max(self.progress.best_epoch, 1), patience=None)
            generator = torch.Generator().manual_seed(self.seed)
        course, rows = self.progress, (np.arange(len(counts)), validation[:0])
        if n_held_out and course.best_epoch == 0:
            return self._finished_at_factors(fit, base, generator), False
        again = replace(self, settings=replace(self.settings, plan=plan), callback=None)
        model = (again if n_held_out else self)._trained(fit, base, counts, rows, generator)
        self.progress = course if n_held_out else self.progress
        return self._finished(model, fit, counts), True

    def _finished_at_factors(
        self, fit: ModelFit, base: InvariantModel, generator: torch.Generator
    ) -> NetworkModel:
        """Return the factors, as a model whose network adds nothing."""
        model = NetworkModel.on(base, self._untrained(fit, base, generator), pooled=True)
        self._start(model, self._subjects(fit, model, fit.counts), fit.counts, fit.motion.groups)
        return _at_rest(model)

    def _trained(
        self,
        fit: ModelFit,
        base: InvariantModel,
        counts: EdgeTable,
        rows: tuple[NDArray[np.intp], NDArray[np.intp]],
        generator: torch.Generator,
    ) -> NetworkModel:
        """Train a network on stages; `rows` learn, and choose the epoch."""
        model = NetworkModel.on(base, self._untrained(fit, base, generator), pooled=self.pooled)
        network = model.person.network
        subjects = self._subjects(fit, model, counts)
        self._start(model, subjects, counts, fit.motion.groups)
        self.progress = Progress(copy_weights(network))
        training, validation = (subjects.some(torch.from_numpy(part)) for part in rows)
        run_training(
            network,
            self.settings.plan,
            training,
            validation if len(rows[1]) else None,
            generator,
            self.progress,
            self.device,
            keep_start=self.linear,
            checkpoint=self._checkpoint(network, training, validation, model.person.mask),
            callback=self.callback,
        )
        return _at_rest(model)

    def _untrained(
        self, fit: ModelFit, base: InvariantModel, generator: torch.Generator
    ) -> TrainedPerson:
        settings, n_confounds = self.settings, 0 if self.pooled else fit.confounds.shape[1]
        mean_counts = edges_to_matrices(
            fit.counts.each(lambda block: block.mean(axis=0, dtype=np.float64))
        )
        mask = neighbor_mask(
            closeness_of_regions(self.lengths, mean_counts),
            settings.n_neighbors,
            len(settings.n_neighbors),
        )
        sizes = PersonSizes(
            settings.n_components,
            settings.hidden,
            settings.n_layers,
            n_confounds,
            self.traits.shape[1],
            self.linear,
            self.poisson,
        )
        network = PersonNetwork(sizes, torch.from_numpy(mask), generator)
        network.stages = frozen_stages(base, pooled=self.pooled)
        means, spread = fit.counts.each(_log_moments)
        edges = Standardizer(means, spread + SPREAD_FLOOR)
        reads: Reads = "scores" if self.linear else self.reads
        return TrainedPerson(network, mask, reads, edges, Standardizer.fit(fit.confounds))

    def _subjects(self, fit: ModelFit, model: NetworkModel, counts: EdgeTable) -> StagedSubjects:
        network, functions = model.person.network, single(fit.motion.values)
        assert network.stages is not None
        scaled = model.person.confounds.apply(fit.confounds)[:, : network.architecture.n_confounds]
        given = rows_of(counts)
        constant = torch.empty(len(functions))
        for rows in subject_blocks(given.shape):
            some = given.index_select(0, torch.arange(rows.start, rows.stop))
            sizes = (-network.stages.log_dispersions(functions[rows])).exp()
            constant[rows] = (
                log_factorial(some) if self.poisson else negative_binomial_constant(some, sizes)
            )
        inputs = single(model.inputs(fit.counts, fit.motion.values))
        traits = Standardizer.fit(self.traits).apply(self.traits)
        return StagedSubjects(inputs, given, constant, functions, single(scaled), single(traits))

    def _start(
        self,
        model: NetworkModel,
        subjects: StagedSubjects,
        counts: EdgeTable,
        groups: Levels | None,
    ) -> None:
        """Set the first weights: the factors, or ξ at the mean network as in the paper's model."""
        network = model.person.network
        with torch.no_grad():
            if isinstance(network.encoder, ScoreEncoder):
                variance = np.maximum(model.encoder.posterior_sd**2, _LEAST_VARIANCE)
                network.encoder.log_variance.copy_(single(np.log(variance)))
                network.encoder.used.copy_(single(model.encoder.posterior_sd < 1))
                self._start_traits(network, subjects, groups)
            else:
                nobody = torch.zeros(1, network.architecture.n_components)
                nowhere = torch.zeros(1, network.architecture.n_confounds)
                level = -network.deviation(nobody, nowhere)[0]
                if not self.pooled:
                    mean = counts.each(lambda block: block.mean(axis=0, dtype=np.float64))
                    level += single(np.log(np.maximum(mean, 0.5 / len(counts))))
                network.decoder.baseline.copy_(level)

    def _start_traits(
        self, network: PersonNetwork, subjects: StagedSubjects, groups: Levels | None
    ) -> None:
        if self.traits.shape[1]:
            latent, traits = subjects.inputs.double().numpy(), subjects.traits.double().numpy()
            found = TraitRegression.fit(latent, traits, groups)
            network.regression.weight.copy_(single(found.coefficients))
            network.regression.bias.copy_(single(found.intercepts))
            network.log_sigma.copy_(single(np.log(np.maximum(found.noise, 0.1))))
            # The ridge penalty was chosen by left-out subjects; Adam would undo it.
            network.regression.requires_grad_(False)
            network.log_sigma.requires_grad_(False)

    def _checkpoint(
        self,
        network: PersonNetwork,
        training: StagedSubjects,
        validation: StagedSubjects,
        mask: NDArray[np.bool_],
    ) -> Path | None:
        if self.checkpoint_dir is None:
            return None
        arrays = chain.from_iterable(parts_of(values) for values in (*training, *validation))
        name = checkpoint_name(self.settings.plan, network, chain(arrays, [mask]))
        return Path(self.checkpoint_dir) / name

    def _finished(self, model: NetworkModel, fit: ModelFit, counts: EdgeTable) -> NetworkModel:
        """Remove what of z still depends on motion, and fit dispersions around the new rates."""
        functions = fit.motion.values
        inputs = model.inputs(fit.counts, functions)
        latent, sd = model.person.posterior(inputs)
        if model.person.reads != "log-counts":
            share = np.clip(1 - (sd**2).mean(axis=0), 0, 1) * latent.any(axis=0)
            remaining = RemainingDependence.fit(latent, fit.motion, share, fit.tuning)
            model = replace(model, remaining=remaining)
        if self.poisson or not fit.whole:
            return model
        laws = model.laws(
            *(model.remaining.removed(latent, functions), fit.confounds, fit.confounds, counts)
        )
        log_rates = log_rate_table(laws, fit.counts)
        rates = log_rates.pointwise(lambda block: np.exp(block).astype(np.float32))
        dispersion = likely_dispersion(counts, rates, model.decoder.dispersion, fit.iterations)
        groups = fit.motion.groups
        slopes = fit_dispersion_slopes(counts, rates, dispersion, functions, groups)
        decoder = replace(model.decoder, dispersion=dispersion, dispersion_slopes=slopes)
        return replace(model, decoder=decoder)


def _log_moments(counts: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return means and standard deviations (e,) of log(1 + counts)."""
    logs = np.log1p(counts)
    return logs.mean(axis=0, dtype=np.float64), logs.std(axis=0, dtype=np.float64)


def _at_rest(model: NetworkModel) -> NetworkModel:
    """Leave the network without what only training needs: on the CPU, in double precision."""
    model.person.network.stages = None
    model.person.network.cpu().double().requires_grad_(False)
    return model
