"""Algorithm 1: mini-batches, Adam, and a record of every epoch."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from stillome.exceptions import FitError
from stillome.methods.graph_vae.network import GraphVAEModule, Subjects
from stillome.methods.graph_vae.person_network import PersonNetwork, StagedSubjects

# The paper's network with its subjects, or that on the stages with its own.
TrainableNetwork: TypeAlias = GraphVAEModule | PersonNetwork
AnySubjects: TypeAlias = Subjects | StagedSubjects

# A unit is active when its posterior mean differs between subjects by more than this variance
# (Burda, Grosse and Salakhutdinov, 2016).
ACTIVE_VARIANCE = 0.01
_VALIDATION_SEED = 2024


@dataclass(frozen=True)
class TrainingPlan:
    """How to train: everything Algorithm 1 needs beside the network and the data."""

    learning_rate: float
    batch_size: int
    max_epochs: int
    invariance_weight: float = 0.0
    n_samples: int = 1
    patience: int | None = None
    tolerance: float = 1e-4
    gradient_clip: float | None = None


class EpochTerms(NamedTuple):
    """The terms of the loss over one pass, in nats per subject, and how many units are used."""

    loss: float
    nll: float
    kl: float
    marginal_kl: float
    trait_nll: float
    active_units: int


class EpochRecord(NamedTuple):
    """One row of the history; `validation` is None when no subjects were set aside."""

    epoch: int
    training: EpochTerms
    validation: EpochTerms | None

    @property
    def watched(self) -> float:
        """The loss that decides which weights are best."""
        return (self.validation or self.training).loss


@dataclass
class Progress:
    """The state of a training run; with weights and generator, enough to resume it exactly."""

    best_weights: dict[str, Tensor]
    best_loss: float = float("inf")
    best_epoch: int = 0
    epochs_waited: int = 0
    milestone: float = float("inf")
    history: list[EpochRecord] = field(default_factory=list)

    def note_start(self, start: EpochRecord) -> None:
        """Enter the untrained network as epoch 0, to be improved on."""
        self.history.append(start)
        self.best_loss = self.milestone = start.watched


def run_epoch(
    module: TrainableNetwork,
    subjects: AnySubjects,
    plan: TrainingPlan,
    generator: torch.Generator,
    optimizer: torch.optim.Optimizer | None = None,
) -> EpochTerms:
    """Pass once over the subjects in random batches; learn when an optimizer is given.

    Batches are as equal in size as can be, so that no subject weighs more than another because
    it came last.

    Parameters
    ----------
    module : GraphVAEModule or PersonNetwork
    subjects : Subjects or StagedSubjects
    plan : TrainingPlan
    generator : torch.Generator
        On the CPU; draws the order and the noise.
    optimizer : torch.optim.Optimizer, optional
        None to evaluate only.
    """
    n_subjects = subjects.number
    device = subjects.counts.device
    order = torch.randperm(n_subjects, generator=generator).to(device)
    sums = torch.zeros(5, device=device)
    means = []
    noise_shape = (plan.n_samples, module.architecture.n_components)
    with torch.set_grad_enabled(optimizer is not None):
        for rows in order.tensor_split(-(-n_subjects // plan.batch_size)):
            noise = torch.randn(noise_shape[0], len(rows), noise_shape[1], generator=generator)
            batch: Any = subjects.take(rows)  # of the kind that belongs to the module
            loss = module.loss(batch, noise.to(device), plan.invariance_weight)
            if optimizer is not None:
                _step(module, loss.total.mean(), optimizer, plan.gradient_clip)
            sums += torch.stack(loss[:5]).detach().sum(1)
            means.append(loss.posterior.mean.detach())
    total, nll, kl, marginal_kl, trait_nll = (sums / n_subjects).tolist()
    return EpochTerms(total, nll, kl, marginal_kl, trait_nll, active_units(torch.cat(means)))


def evaluate(module: TrainableNetwork, subjects: AnySubjects, plan: TrainingPlan) -> EpochTerms:
    """Pass once without learning.

    The noise is the same every time, so that epochs differ by their weights and nothing else.
    """
    return run_epoch(module, subjects, plan, torch.Generator().manual_seed(_VALIDATION_SEED))


def active_units(means: Tensor) -> int:
    """Count the latent dimensions whose posterior means (n, K) differ between subjects."""
    if len(means) < 2:
        return 0
    return int((means.var(0) > ACTIVE_VARIANCE).sum())


def make_optimizer(module: TrainableNetwork, plan: TrainingPlan) -> torch.optim.Adam:
    """Return Adam in one kernel: with < 1 M parameters the loop over tensors would cost more."""
    return torch.optim.Adam(module.parameters(), lr=plan.learning_rate, fused=True)


def train(
    module: TrainableNetwork,
    training: AnySubjects,
    validation: AnySubjects | None,
    plan: TrainingPlan,
    generator: torch.Generator,
    *,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    after_epoch: Callable[[EpochRecord, Progress], None] | None = None,
) -> None:
    """Train until converged or `max_epochs`; the network ends with its best weights.

    Parameters
    ----------
    module, training, plan, generator, optimizer
        As for `run_epoch`.
    validation : Subjects or None
        Decide which weights are best; without them the training loss does.
    progress : Progress
        Fresh, or read from a checkpoint; extended in place.
    after_epoch : callable, optional
        Told every record as it comes, with the progress so far: for progress bars, checkpoints.

    Raises
    ------
    FitError
        When the loss is not finite. However training ends, the network holds its best weights.
    """
    try:
        done = progress.history[-1].epoch if progress.history else 0
        for epoch in range(done + 1, plan.max_epochs + 1):
            if plan.patience is not None and progress.epochs_waited >= plan.patience:
                break
            terms = run_epoch(module, training, plan, generator, optimizer)
            checked = None if validation is None else evaluate(module, validation, plan)
            record = EpochRecord(epoch, terms, checked)
            _check_finite(record, plan)
            _note(record, module, plan, progress)
            if after_epoch is not None:
                after_epoch(record, progress)
    finally:
        module.load_state_dict(progress.best_weights)


def copy_weights(module: TrainableNetwork) -> dict[str, Tensor]:
    """Return a copy of all weights that later steps do not change."""
    return {name: values.detach().clone() for name, values in module.state_dict().items()}


def _step(
    module: TrainableNetwork, loss: Tensor, optimizer: torch.optim.Optimizer, clip: float | None
) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    if clip is not None:
        clip_grad_norm_(module.parameters(), clip)
    optimizer.step()


def _check_finite(record: EpochRecord, plan: TrainingPlan) -> None:
    seen = torch.tensor([record.training.loss, record.watched])
    if not bool(torch.isfinite(seen).all()):
        raise FitError(
            f"Training diverged: the loss is not finite in epoch {record.epoch}, and there is no "
            f"model. Lower learning_rate (now {plan.learning_rate:g}) or set gradient_clip (now "
            f"{plan.gradient_clip})."
        )


def _note(
    record: EpochRecord, module: TrainableNetwork, plan: TrainingPlan, progress: Progress
) -> None:
    """Enter the epoch into the history; keep its weights if they are the best so far."""
    progress.history.append(record)
    if record.watched < progress.best_loss:
        progress.best_loss, progress.best_epoch = record.watched, record.epoch
        progress.best_weights = copy_weights(module)
    first = progress.milestone == float("inf")
    if first or record.watched < progress.milestone - plan.tolerance * abs(progress.milestone):
        progress.milestone, progress.epochs_waited = record.watched, 0
    else:
        progress.epochs_waited += 1
