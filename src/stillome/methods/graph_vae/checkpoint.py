"""A training run on disk: one safetensors file, replaced atomically after every epoch."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from stillome.exceptions import FileError
from stillome.methods.graph_vae.train import (
    EpochRecord,
    EpochTerms,
    Progress,
    TrainableNetwork,
)
from stillome.persistence import written_aside

FORMAT = "stillome-checkpoint-1"
_KEPT = ("best_loss", "best_epoch", "epochs_waited", "milestone", "history")


def write_checkpoint(
    path: Path,
    module: TrainableNetwork,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
    progress: Progress,
) -> None:
    """Write weights, Adam's moments, the generator and the history to one file.

    The file is written aside and moved over the old one, so that whenever the process dies a
    whole checkpoint remains.
    """
    tensors = {f"weights/{name}": values for name, values in module.state_dict().items()}
    tensors |= {f"best/{name}": values for name, values in progress.best_weights.items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{index}/{name}": values for name, values in moments.items()}
    tensors["generator"] = generator.get_state()
    kept = {name: getattr(progress, name) for name in _KEPT}
    payload = save(
        {name: values.detach().cpu().contiguous() for name, values in tensors.items()},
        metadata={"format": FORMAT, "progress": json.dumps(kept)},
    )
    with written_aside(path, overwrite=True) as aside:
        aside.write_bytes(payload)


def read_checkpoint(
    path: Path,
    module: TrainableNetwork,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> Progress:
    """Put network, optimizer and generator where they stood; return the progress until there.

    Raises
    ------
    FileError
        If the file is damaged, foreign, or of another network.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("format") != FORMAT:
            raise FileError(f"{path}: not a stillome checkpoint. Choose another checkpoint_dir.")
        module.load_state_dict(_below(tensors, "weights/"))
        _restore_moments(optimizer, _below(tensors, "adam/"))
        generator.set_state(tensors["generator"])
        return _progress(json.loads(metadata["progress"]), _below(tensors, "best/"))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FileError(
            f"{path}: the checkpoint is damaged ({error}). Delete it to start afresh."
        ) from error


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _restore_moments(optimizer: torch.optim.Optimizer, moments: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, values in moments.items():
        index, moment = name.split("/")
        state.setdefault(int(index), {})[moment] = values
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


def _progress(kept: dict[str, Any], best_weights: dict[str, Tensor]) -> Progress:
    history = [
        EpochRecord(epoch, EpochTerms(*terms), None if checked is None else EpochTerms(*checked))
        for epoch, terms, checked in kept.pop("history")
    ]
    return Progress(best_weights=best_weights, history=history, **kept)
