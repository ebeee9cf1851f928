"""GATE: the graph VAE the paper compares with, which knows nothing of motion."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stillome.methods.graph_vae.estimator import GraphVAE
from stillome.methods.graph_vae.train import EpochRecord


class GATE(GraphVAE):
    """The machine of `InvVAE` without confounds in the decoder and with λ = 0.

    Confounds may be passed to every method and are not used; `adjust` is the reconstruction,
    which is what the paper shows for GATE. The parameters are those of `InvVAE`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> person = np.exp(rng.standard_normal((60, 1)) * rng.standard_normal(15))
    >>> X = rng.poisson(20 * person)
    >>> GATE(n_components=4, learning_rate=1e-2, max_epochs=30).fit(X).reconstruct(X).shape
    (60, 15)
    """

    def __init__(
        self,
        n_components: int = 68,
        *,
        hidden: Sequence[int] = (256,),
        n_dimensions: int = 5,
        n_layers: int = 2,
        n_neighbors: int | Sequence[int] = 32,
        n_samples: int = 1,
        learning_rate: float = 2e-5,
        batch_size: int = 32,
        max_epochs: int = 200,
        validation_fraction: float = 0.1,
        patience: int | None = None,
        tolerance: float = 1e-4,
        gradient_clip: float | None = None,
        lengths: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = 0,
        device: str = "auto",
        checkpoint_dir: str | Path | None = None,
        callback: Callable[[EpochRecord], Any] | None = None,
    ) -> None:
        super().__init__(
            n_components,
            hidden=hidden,
            n_dimensions=n_dimensions,
            n_layers=n_layers,
            n_neighbors=n_neighbors,
            invariance_weight=0.0,
            conditional=False,
            n_samples=n_samples,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            validation_fraction=validation_fraction,
            patience=patience,
            tolerance=tolerance,
            gradient_clip=gradient_clip,
            lengths=lengths,
            random_state=random_state,
            device=device,
            checkpoint_dir=checkpoint_dir,
            callback=callback,
        )
