"""One training on a device: from the start or a checkpoint to the best weights, or an error."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stillome.exceptions import FitError
from stillome.methods.graph_vae.checkpoint import read_checkpoint, write_checkpoint
from stillome.methods.graph_vae.train import (
    AnySubjects,
    EpochRecord,
    Progress,
    TrainableNetwork,
    TrainingPlan,
    evaluate,
    make_optimizer,
    train,
)

# A loss that is higher by this share, with no better epoch in between, is no noise of a batch.
_DIVERGED = 0.1


def run_training(
    module: TrainableNetwork,
    plan: TrainingPlan,
    training: AnySubjects,
    validation: AnySubjects | None,
    generator: torch.Generator,
    progress: Progress,
    device: torch.device,
    *,
    keep_start: bool = False,
    checkpoint: Path | None = None,
    callback: Callable[[EpochRecord], Any] | None = None,
) -> None:
    """Train, going on from the checkpoint of the same run if there is one.

    Parameters
    ----------
    module, plan, training, validation, generator, progress
        As for `train`; `progress` is extended in place, whatever ends the run.
    device : torch.device
    keep_start : bool, default=False
        Whether the first weights are a result, which training must improve on: epoch 0.
    checkpoint : path, optional
        The file; see `checkpoint_name`.
    callback : callable, optional
        Called with every epoch's record.

    Raises
    ------
    FitError
        If the loss is not finite, or if no epoch was better than the untrained network.
    """
    module.to(device)
    training = training.to(device)
    validation = None if validation is None else validation.to(device)
    start = EpochRecord(
        0,
        evaluate(module, training, plan),
        None if validation is None else evaluate(module, validation, plan),
    )
    optimizer = make_optimizer(module, plan)
    if checkpoint is not None and checkpoint.exists():
        vars(progress).update(vars(read_checkpoint(checkpoint, module, optimizer, generator)))
    elif keep_start:
        progress.note_start(start)

    def after_epoch(record: EpochRecord, so_far: Progress) -> None:
        if checkpoint is not None:
            write_checkpoint(checkpoint, module, optimizer, generator, so_far)
        if callback is not None:
            callback(record)

    train(
        module,
        training,
        validation,
        plan,
        generator,
        optimizer=optimizer,
        progress=progress,
        after_epoch=after_epoch,
    )
    _check_improved(start, progress, plan)


def checkpoint_name(
    plan: TrainingPlan, module: TrainableNetwork, arrays: Iterable[NDArray[Any]]
) -> str:
    """Name the file by everything that decides the bits of the run, except its length."""
    digest = hashlib.sha256()
    digest.update(repr((replace(plan, max_epochs=0), module.architecture)).encode())
    for values in module.state_dict().values():
        digest.update(values.detach().cpu().numpy().tobytes())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return f"{digest.hexdigest()[:16]}.safetensors"


def _check_improved(start: EpochRecord, progress: Progress, plan: TrainingPlan) -> None:
    """Refuse a training that only made things worse: its weights are no result."""
    last = progress.history[-1]
    bound = start.training.loss + _DIVERGED * abs(start.training.loss)
    if progress.best_loss >= start.watched and last.training.loss > bound:
        raise FitError(
            f"Training diverged: after {last.epoch} epochs the loss is {last.training.loss:.6g}, "
            f"and {start.training.loss:.6g} before the first. Lower learning_rate (now "
            f"{plan.learning_rate:g})."
        )
