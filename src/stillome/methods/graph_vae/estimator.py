"""The paper's graph VAE as an estimator: what inv-VAE as published and GATE have in common."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.cohort.edges import edges_to_matrices, matrices_to_edges, shaped_like
from stillome.cohort.validation import check_count, check_lengths, check_random_state
from stillome.exceptions import InputError, NotFittedError, StillomeWarning
from stillome.methods.diagnostics import (
    LatentDiagnostics,
    latent_diagnostics,
    warn_if_collapsed,
)
from stillome.methods.graph_vae.graph_settings import GraphSettings
from stillome.methods.graph_vae.graph_training import GraphTraining, choose_device
from stillome.methods.graph_vae.history import history_table
from stillome.methods.graph_vae.preparation import NetworkData
from stillome.methods.graph_vae.train import EpochRecord
from stillome.methods.graph_vae.trained_network import TrainedNetwork, below
from stillome.methods.storage import ModelState, Storable, training_hash
from stillome.methods.synthetic import SyntheticCohort

_KEPT = ("n_regions_", "n_features_in_", "n_confounds_", "_one_trait", "training_hash_")


class GraphVAE(Storable):
    """Encoder, graph decoder and trait regression of the paper's Section 3, trained together.

    `InvVAE` documents the parameters; `GATE` is the same machine without confounds
    (``conditional=False``) and without the invariance term (``invariance_weight=0``).
    """

    def __init__(
        self,
        n_components: int = 68,
        *,
        hidden: Sequence[int] = (256,),
        n_dimensions: int = 5,
        n_layers: int = 2,
        n_neighbors: int | Sequence[int] = 32,
        invariance_weight: float = 1.0,
        conditional: bool = True,
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
        self.n_components = n_components
        self.hidden = hidden
        self.n_dimensions = n_dimensions
        self.n_layers = n_layers
        self.n_neighbors = n_neighbors
        self.invariance_weight = invariance_weight
        self.conditional = conditional
        self.n_samples = n_samples
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tolerance = tolerance
        self.gradient_clip = gradient_clip
        self.lengths = lengths
        self.random_state = random_state
        self.device = device
        self.checkpoint_dir = checkpoint_dir
        self.callback = callback

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> Self:
        """Train on fibre counts, with traits and confounds of the same subjects.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        y : array-like of shape (n,) or (n, T), optional
            Traits in any units; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion in any units; needed when ``conditional``.

        Raises
        ------
        FitError
            When the loss is not finite. The model then holds the best weights until there and
            can be used.
        """
        settings = GraphSettings.of(self)
        rng = check_random_state(self.random_state)
        device = choose_device(self.device)
        judged = self._training_data(X, y, confounds, needs_confounds=self.conditional)
        nothing = np.empty((len(judged.edges), 0))
        used = judged.confounds if self.conditional else None
        data = NetworkData(
            judged.edges,
            nothing if used is None else used,
            nothing if judged.traits is None else judged.traits,
        )
        self.training_hash_ = training_hash(data.edges)
        lengths = check_lengths(self.lengths, self.n_regions_)
        run = GraphTraining.prepare(data, settings, lengths, int(rng.integers(2**63 - 1)))
        try:
            run.run(data, device, checkpoint_dir=self.checkpoint_dir, callback=self.callback)
        finally:
            self.network_ = run.trained(data)
            self.history_ = history_table(run.progress.history)
        training = data.edges[run.training_rows]
        self.diagnostics_ = latent_diagnostics(*self.network_.posterior(training))
        advice = "Train longer or with a higher learning_rate."
        warn_if_collapsed(self.diagnostics_, advice)
        return self

    def transform(
        self, X: ArrayLike, *, confounds: ArrayLike | None = None, return_std: bool = False
    ) -> Any:
        """Return posterior means of z (n, K), with ``return_std`` also standard deviations.

        Confounds are not looked at: the paper's encoder never sees them.
        """
        edges = self._new_edges(X)
        self._judge_unused(confounds, len(edges))
        mean, log_variance = self.network_.posterior(edges)
        return (mean, np.exp(0.5 * log_variance)) if return_std else mean

    def reconstruct(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[Any]:
        """Return the expected counts of the subjects at their own confounds, shaped like `X`."""
        connectomes = self._new_connectomes(X)
        c = None
        if self.conditional:
            c = self._new_confounds(confounds, len(connectomes))
        return self._decode(connectomes, c)

    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Return the expected counts at the reference confounds, the paper's A*, shaped like `X`.

        Without confounds in the decoder (GATE) this is the reconstruction.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : ignored
            The paper decodes every subject at the same level, whatever its own.
        reference : float or array-like of shape (C,), optional
            In the users' units. The default is 0, with a warning when no training subject was
            that still.
        """
        connectomes = self._new_connectomes(X)
        self._judge_unused(confounds, len(connectomes))
        c = None
        if self.n_confounds_:
            level = self._reference(reference)
            if self.conditional and reference is None:
                self._warn_if_far(level)
            c = np.tile(level, (len(connectomes), 1))
        return self._decode(connectomes, c)

    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return trait predictions z'β + b in the users' units: (n,) for one trait, else (n, T)."""
        edges = self._new_edges(X)
        self._judge_unused(confounds, len(edges))
        if not self.network_.architecture.n_traits:
            raise InputError(
                f"This {type(self).__name__} was fitted without traits. Pass y to fit to predict."
            )
        mean, _ = self.network_.posterior(edges)
        return self._shaped_traits(self.network_.traits(mean))

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> float:
        """Return R² of the traits, or without `y` the log-likelihood of new subjects.

        The latter is the evidence bound E_q[log p(A | z, c)] − KL(q ‖ p), a lower bound on
        log p(A | c), in nats per subject; its noise is the same at every call.
        """
        if y is not None:
            return super().score(X, y, confounds=confounds)
        edges = self._new_edges(X)
        c = np.empty((len(edges), 0))
        if self.conditional:
            c = self._new_confounds(confounds, len(edges))
        return self.network_.evidence_bound(edges, c)

    def sample(
        self, n_subjects: int, *, random_state: int | np.random.Generator | None = 0
    ) -> SyntheticCohort:
        """Draw connectomes, confounds and traits jointly from the fitted model (Section 6).

        z comes from the prior, c from a Gaussian copula of the training confounds, A from the
        Poisson law given both, y from the regression on the same z with its own noise.
        """
        self._check_fitted()
        n_subjects = check_count(n_subjects, "n_subjects", minimum=1)
        rng = check_random_state(random_state)
        drawn = self.network_.draw(n_subjects, rng)
        traits = self._shaped_traits(drawn.traits) if drawn.traits.shape[1] else None
        return SyntheticCohort(edges_to_matrices(drawn.edges), drawn.confounds, traits)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        GraphSettings.of(self)
        check_random_state(self.random_state)
        choose_device(self.device)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not hasattr(self, "network_"):
            raise NotFittedError(f"The fit of this {type(self).__name__} failed. Fit it again.")

    def _decode(
        self, connectomes: NDArray[Any], confounds: NDArray[np.float64] | None
    ) -> NDArray[Any]:
        mean, _ = self.network_.posterior(matrices_to_edges(connectomes, check=False))
        used = confounds if self.conditional else None
        return shaped_like(self.network_.rates(mean, used), connectomes)

    def _judge_unused(self, confounds: ArrayLike | None, n_subjects: int) -> None:
        """Refuse confounds of other subjects or another kind even where they are not needed."""
        if confounds is not None and self.n_confounds_:
            self._new_confounds(confounds, n_subjects, allow_missing=True)

    def _shaped_traits(self, traits: NDArray[np.float64]) -> NDArray[np.float64]:
        return traits[:, 0] if self._one_trait else traits

    def _warn_if_far(self, level: NDArray[np.float64]) -> None:
        known, scales = self.network_.confound_distribution, self.network_.preparation.confounds
        if known is None:
            return
        low, high = known.bounds
        gap = np.maximum(low - level, level - high)
        worst = int(np.argmax(gap / scales.scale))
        if gap[worst] > 0:
            warnings.warn(
                f"reference={level[worst]:g} lies {gap[worst]:.3g} "
                f"({gap[worst] / scales.scale[worst]:.2g} standard deviations) outside the "
                f"training range {low[worst]:.3g} to {high[worst]:.3g} of confound "
                f"{worst}: the model extrapolates. Pass reference=... to decode at a "
                "level it has seen.",
                StillomeWarning,
                stacklevel=3,
            )

    def _get_state(self) -> ModelState:
        values, arrays = self.network_.state()
        arrays |= {f"history.{name}": v.to_numpy() for name, v in self.history_.items()}
        diagnostics = getattr(self, "diagnostics_", None)  # a fit that broke off has none
        if diagnostics is not None:
            arrays["diagnostics.kl_per_dimension"] = diagnostics.kl_per_dimension
        values |= {name: getattr(self, name) for name in _KEPT}
        values["active_units"] = None if diagnostics is None else diagnostics.active_units
        values["history_columns"] = list(self.history_.columns)
        return ModelState(values, arrays)

    def _set_state(self, state: ModelState) -> None:
        self.network_ = TrainedNetwork.from_state(state)
        history = below(state.arrays, "history.")
        columns = state.values["history_columns"]
        self.history_ = pd.DataFrame({name: history[name] for name in columns})
        if state.values["active_units"] is not None:
            kl = state.arrays["diagnostics.kl_per_dimension"]
            self.diagnostics_ = LatentDiagnostics(kl, int(state.values["active_units"]))
        for name in _KEPT:
            setattr(self, name, state.values[name])
