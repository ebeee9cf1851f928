"""From judged data to a trained network: split, prepare, build, train, leave checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices
from stillome.cohort.groups import Levels, held_out
from stillome.exceptions import InputError
from stillome.methods.confound_distribution import ConfoundDistribution
from stillome.methods.graph_vae.graph_settings import GraphSettings
from stillome.methods.graph_vae.layers import closeness_of_regions, neighbor_mask
from stillome.methods.graph_vae.network import GraphVAEModule
from stillome.methods.graph_vae.preparation import NetworkData, Preparation
from stillome.methods.graph_vae.train import EpochRecord, Progress, TrainingPlan, copy_weights
from stillome.methods.graph_vae.trained_network import TrainedNetwork
from stillome.methods.graph_vae.training_loop import checkpoint_name, run_training

# The mean count of an edge that no subject has: half a fibre in the whole cohort.
_HALF_A_FIBRE = 0.5


@dataclass
class GraphTraining:
    """One training run of the graph VAE.

    Everything but the weights is ready after `prepare`; `run` trains. Whatever ends the run, the
    network holds its best weights.
    """

    plan: TrainingPlan
    preparation: Preparation
    module: GraphVAEModule
    mask: NDArray[np.bool_]
    training_rows: NDArray[np.intp]
    validation_rows: NDArray[np.intp]
    generator: torch.Generator
    progress: Progress

    @classmethod
    def prepare(
        cls,
        data: NetworkData,
        settings: GraphSettings,
        lengths: Floats | None,
        seed: int,
        groups: Levels | None = None,
    ) -> "GraphTraining":
        """Split the subjects, learn the scales from the training part, and build the network."""
        generator = torch.Generator().manual_seed(seed)
        n_subjects = len(data.edges)
        n_validation = round(n_subjects * settings.validation_fraction)
        order = torch.randperm(n_subjects, generator=generator).numpy()
        chosen, validation = held_out(order, n_validation, groups)
        training = data.take(chosen)
        mean_counts = np.maximum(
            training.edges.mean(0, dtype=np.float64), _HALF_A_FIBRE / len(chosen)
        )
        closeness = closeness_of_regions(lengths, edges_to_matrices(mean_counts))
        mask = neighbor_mask(closeness, settings.n_neighbors, len(settings.n_neighbors))
        architecture = settings.architecture(data.confounds.shape[1], data.traits.shape[1])
        module = GraphVAEModule(architecture, torch.from_numpy(mask), generator)
        module.start_at(torch.from_numpy(mean_counts).float())
        progress = Progress(copy_weights(module))
        preparation = Preparation.fit(training)
        return cls(
            settings.plan, preparation, module, mask, chosen, validation, generator, progress
        )

    def run(
        self,
        data: NetworkData,
        device: torch.device,
        *,
        checkpoint_dir: str | Path | None = None,
        callback: Callable[[EpochRecord], Any] | None = None,
    ) -> None:
        """Train, going on from the checkpoint of the same run if there is one."""
        checkpoint = None
        if checkpoint_dir is not None:
            rows = (self.training_rows, self.validation_rows)
            arrays = [values for part in rows for values in data.take(part)]
            name = checkpoint_name(self.plan, self.module, [*arrays, self.mask])
            checkpoint = Path(checkpoint_dir) / name
        validation = data.take(self.validation_rows)
        subjects = self.preparation.subjects(data.take(self.training_rows))
        run_training(
            self.module,
            self.plan,
            subjects,
            self.preparation.subjects(validation) if len(validation.edges) else None,
            self.generator,
            self.progress,
            device,
            checkpoint=checkpoint,
            callback=callback,
        )

    def trained(self, data: NetworkData) -> TrainedNetwork:
        """Return the network as it is now, with what it needs to answer in the users' units."""
        confounds = data.confounds[self.training_rows]
        known = ConfoundDistribution.fit(confounds) if confounds.shape[1] else None
        return TrainedNetwork(self.module, self.preparation, self.mask, known)


def choose_device(device: str) -> torch.device:
    """Return the device asked for; "auto" is a GPU where there is one.

    Examples
    --------
    >>> choose_device("cpu")
    device(type='cpu')
    """
    name = device
    if device == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(name)
        torch.empty(0, device=chosen)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InputError(
            f'device={device!r} cannot be used here ({error}); choose "auto" or "cpu".'
        ) from error
    return chosen
