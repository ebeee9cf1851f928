"""The parameters of the graph VAE, validated once at the start of `fit`."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillome.cohort.validation import check_count
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.graph_vae.network import Architecture
from stillome.methods.graph_vae.train import TrainingPlan

_USUAL_BATCH = 32  # the default, as published


@dataclass(frozen=True)
class GraphSettings:
    """Sizes of the network and its training, validated."""

    n_components: int
    hidden: tuple[int, ...]
    n_layers: int
    n_neighbors: tuple[int, ...]  # one for each of the R dimensions
    validation_fraction: float
    plan: TrainingPlan

    @classmethod
    def of(cls, model: Any, invariance_weight: float) -> "GraphSettings":
        """Validate the parameters of a `GraphVAE`.

        Raises
        ------
        InputError
            Naming the parameter that cannot be used.
        """
        n_dimensions = check_count(model.n_dimensions, "n_dimensions", minimum=1)
        clip = model.gradient_clip
        patience = model.patience
        plan = TrainingPlan(
            learning_rate=_positive(model.learning_rate, "learning_rate"),
            batch_size=check_count(model.batch_size, "batch_size", minimum=2),
            max_epochs=check_count(model.max_epochs, "max_epochs", minimum=1),
            invariance_weight=_number(invariance_weight, "invariance_weight"),
            n_samples=check_count(model.n_samples, "n_samples", minimum=1),
            patience=None if patience is None else check_count(patience, "patience", minimum=1),
            tolerance=_number(model.tolerance, "tolerance"),
            gradient_clip=None if clip is None else _positive(clip, "gradient_clip"),
        )
        return cls(
            n_components=check_count(model.n_components, "n_components", minimum=1),
            hidden=tuple(
                check_count(h, "hidden", minimum=1) for h in _list(model.hidden, "hidden")
            ),
            n_layers=check_count(model.n_layers, "n_layers", minimum=1),
            n_neighbors=_neighbors(model.n_neighbors, n_dimensions),
            validation_fraction=_number(
                model.validation_fraction, "validation_fraction", below=0.9
            ),
            plan=plan,
        )

    def architecture(self, n_confounds: int, n_traits: int) -> Architecture:
        """Return the sizes of the network for so many confounds and traits."""
        return Architecture(self.n_components, self.hidden, self.n_layers, n_confounds, n_traits)


def warn_of_batches(batch_size: int, n_subjects: int) -> None:
    """Warn if a batch was asked for that is larger than the cohort; the default needs no words."""
    if batch_size > max(n_subjects, _USUAL_BATCH):
        warnings.warn(
            f"batch_size={batch_size} is larger than the {n_subjects} subjects: every step uses "
            "all of them, and an epoch is one step. Lower batch_size.",
            StillomeWarning,
            stacklevel=3,
        )


def _neighbors(value: Any, n_dimensions: int) -> tuple[int, ...]:
    if not isinstance(value, list | tuple | np.ndarray):
        return (check_count(value, "n_neighbors", minimum=1),) * n_dimensions
    if len(value) != n_dimensions:
        raise InputError(
            f"n_neighbors: {len(value)} values for n_dimensions={n_dimensions}. "
            "Give one number, or one for each dimension."
        )
    return tuple(check_count(k, "n_neighbors", minimum=1) for k in value)


def _list(value: Sequence[int], name: str) -> Sequence[int]:
    if not isinstance(value, list | tuple | np.ndarray):
        raise InputError(f"{name}={value!r}; expected a list of sizes, such as (256,).")
    return value


def _number(value: float, name: str, *, below: float = np.inf) -> float:
    number = isinstance(value, int | float | np.integer | np.floating)
    if not number or isinstance(value, bool) or not 0 <= value < below:
        wanted = "of at least 0" if below == np.inf else f"from 0 to below {below:g}"
        raise InputError(f"{name}={value!r}; expected a number {wanted}.")
    return float(value)


def _positive(value: float, name: str) -> float:
    if _number(value, name) == 0:
        raise InputError(f"{name}={value!r}; expected a number above 0.")
    return float(value)
