"""The paper's graph VAE as an estimator: the common part of inv-VAE and GATE."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edges_to_matrices, matrices_to_edges, shaped_like
from stillome.cohort.validation import check_lengths, check_random_state
from stillome.exceptions import InputError, NotFittedError
from stillome.methods.diagnostics import (
    LatentDiagnostics,
    latent_diagnostics,
    warn_if_collapsed,
)
from stillome.methods.graph_vae.graph_settings import GraphSettings, warn_of_batches
from stillome.methods.graph_vae.graph_training import GraphTraining, choose_device
from stillome.methods.graph_vae.history import history_table
from stillome.methods.graph_vae.preparation import NetworkData
from stillome.methods.graph_vae.torch_threads import torch_on_one_thread
from stillome.methods.graph_vae.train import EpochRecord
from stillome.methods.graph_vae.trained_network import TrainedNetwork, below
from stillome.methods.storage import ModelState, training_hash
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.uncertain_answers import LatentSpread
from stillome.methods.weight_units import in_unit, weight_unit

_KEPT = ("n_regions_", "n_features_in_", "n_confounds_", "_one_trait", "training_hash_")


@dataclass(eq=False, repr=False)  # writes an `__init__` that only stores, with a full signature
class GraphVAE(LatentSpread):
    """Encoder, graph decoder and trait regression of the paper's Section 3, trained together.

    Its parameters, which `InvVAE` documents, are shared by all graph VAEs. In this class
    the decoder does not see the confounds and there is no invariance term.
    """

    keeps_covariates: ClassVar[bool] = False

    n_components: int = 68
    _: KW_ONLY
    hidden: Sequence[int] = (256,)
    n_dimensions: int = 5
    n_layers: int = 2
    n_neighbors: int | Sequence[int] = 32
    n_samples: int = 1
    learning_rate: float = 2e-5
    batch_size: int = 32
    max_epochs: int = 200
    validation_fraction: float = 0.1
    patience: int | None = None
    tolerance: float = 1e-4
    gradient_clip: float | None = None
    lengths: ArrayLike | None = None
    random_state: int | np.random.Generator | None = 0
    device: str = "auto"
    checkpoint_dir: str | Path | None = None
    callback: Callable[[EpochRecord], Any] | None = None

    @property
    def _conditional(self) -> bool:
        """Whether the decoder sees the confounds."""
        return False

    @property
    def _invariance_weight(self) -> float:
        """λ, the weight of the mutual-information bound."""
        return 0.0

    @torch_on_one_thread()
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike | None = None,
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train on fibre counts, with traits and confounds of the same subjects.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        y : array-like of shape (n,) or (n, T), optional
            Traits in any units; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion in any units; needed if the decoder sees confounds.
        covariates_to_keep : array-like of shape (n,) or (n, Q), optional
            Not used, with a warning: the paper's model has no term for them.
        groups : array-like of shape (n,) or (n, 2), optional
            Families, or scans of one person, which the validation part does not divide.

        Raises
        ------
        FitError
            If the loss is not finite. The model then holds the best weights until there and
            can be used.
        """
        settings = GraphSettings.of(self, self._invariance_weight)
        rng = check_random_state(self.random_state)
        device = choose_device(self.device)
        given = self._training_data(
            X, y, confounds, covariates_to_keep, groups, needs_confounds=self._conditional
        )
        self.unit_ = weight_unit(given.edges)
        nothing = np.empty((len(given.edges), 0))
        used = given.confounds if self._conditional else None
        data = NetworkData(
            in_unit(given.edges, self.unit_),
            nothing if used is None else used,
            nothing if given.traits is None else given.traits,
        )
        warn_of_batches(settings.plan.batch_size, len(data.edges))
        self._whole = given.whole
        self.training_hash_ = training_hash(given.edges)
        lengths = check_lengths(self.lengths, self.n_regions_)
        seed = int(rng.integers(2**63 - 1))
        run = GraphTraining.prepare(data, settings, lengths, seed, given.groups)
        try:
            run.run(data, device, checkpoint_dir=self.checkpoint_dir, callback=self.callback)
        finally:
            self.network_ = run.trained(data)
            self.confound_distribution_ = self.network_.confound_distribution
            self.history_ = history_table(run.progress.history)
        training = data.edges[run.training_rows]
        self.diagnostics_ = latent_diagnostics(*self.network_.posterior(training))
        advice = "Train longer or with a higher learning_rate."
        warn_if_collapsed(self.diagnostics_, advice)
        return self

    def _posterior(
        self, X: ArrayLike, confounds: ArrayLike | None, *, with_std: bool
    ) -> tuple[Floats, Floats | None]:
        # Confounds are not used: the paper's encoder does not see them.
        edges = self._new_edges(X, confounds)
        self._judge_unused(confounds, len(edges))
        mean, log_variance = self.network_.posterior(in_unit(edges, self.unit_))
        return mean, np.exp(0.5 * log_variance) if with_std else None

    def reconstruct(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[Any]:
        """Return the expected counts of the subjects at their own confounds, shaped like `X`."""
        connectomes = self._new_connectomes(X, confounds)
        c = None
        if self._conditional:
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
        confounds : not used
            The paper decodes all subjects at the same level, whatever their own confounds.
        reference : float or array-like of shape (C,), default=0
            In the users' units.
        """
        connectomes = self._new_connectomes(X, confounds)
        self._judge_unused(confounds, len(connectomes))
        c = None
        if self.n_confounds_:
            c = np.tile(self._reference(reference), (len(connectomes), 1))
        return self._decode(connectomes, c)

    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return trait predictions z'β + b in the users' units: (n,) for one trait, else (n, T)."""
        edges = self._new_edges(X, confounds)
        self._judge_unused(confounds, len(edges))
        if not self.network_.architecture.n_traits:
            raise InputError(
                f"This {type(self).__name__} was fitted without traits. Pass y to fit to predict."
            )
        mean, _ = self.network_.posterior(in_unit(edges, self.unit_))
        return self._shaped_traits(self.network_.traits(mean))

    def log_likelihood(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> float:
        """Return a lower bound on log p(A | c), mean per subject, in nats.

        The evidence bound E_q[log p(A | z, c)] − KL(q ‖ p); its noise is the same at every call.
        """
        edges = self._new_edges(X, confounds)
        c = np.empty((len(edges), 0))
        if self._conditional:
            c = self._new_confounds(confounds, len(edges))
        return self.network_.evidence_bound(in_unit(edges, self.unit_), c)

    def _draw(self, n_subjects: int, rng: np.random.Generator) -> SyntheticCohort:
        """Draw z from the prior, c from its copula, A and y given them (Section 6).

        A is Poisson, as in the model, if the training connectomes were weights too.
        """
        drawn = self.network_.draw(n_subjects, rng)
        edges = drawn.edges if self._whole else drawn.edges / self.unit_
        traits = drawn.traits if drawn.traits.shape[1] else None
        return SyntheticCohort(edges_to_matrices(edges), drawn.confounds, traits)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        GraphSettings.of(self, self._invariance_weight)
        check_random_state(self.random_state)
        choose_device(self.device)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not hasattr(self, "network_"):
            raise NotFittedError(f"The fit of this {type(self).__name__} failed. Fit it again.")

    def _decode(self, connectomes: NDArray[Any], confounds: Floats | None) -> NDArray[Any]:
        edges = matrices_to_edges(connectomes, check=False)
        mean, _ = self.network_.posterior(in_unit(edges, self.unit_))
        used = confounds if self._conditional else None
        return shaped_like(self.network_.rates(mean, used) / self.unit_, connectomes)

    def _judge_unused(self, confounds: ArrayLike | None, n_subjects: int) -> None:
        """Validate confounds that are not used: they must belong to these subjects."""
        if confounds is not None and self.n_confounds_:
            self._new_confounds(confounds, n_subjects, allow_missing=True)

    def _get_state(self) -> ModelState:
        values, arrays = self.network_.state()
        return self._with_learning(values | {"whole": self._whole, "unit": self.unit_}, arrays)

    def _set_state(self, state: ModelState) -> None:
        self.network_ = TrainedNetwork.from_state(state)
        self.confound_distribution_ = self.network_.confound_distribution
        self._whole = state.values["whole"]
        self.unit_ = float(state.values["unit"])
        self._set_learning(state)

    def _with_learning(self, values: dict[str, Any], arrays: dict[str, Any]) -> ModelState:
        """Add the course of the training, and what every graph VAE keeps."""
        arrays = arrays | {f"history.{name}": v.to_numpy() for name, v in self.history_.items()}
        diagnostics = getattr(self, "diagnostics_", None)  # none if the fit failed
        if diagnostics is not None:
            arrays["diagnostics.kl_per_dimension"] = diagnostics.kl_per_dimension
        values = values | {name: getattr(self, name) for name in _KEPT}
        values["active_units"] = None if diagnostics is None else diagnostics.active_units
        values["history_columns"] = list(self.history_.columns)
        return ModelState(values, arrays)

    def _set_learning(self, state: ModelState) -> None:
        history = below(state.arrays, "history.")
        columns = state.values["history_columns"]
        self.history_ = pd.DataFrame({name: history[name] for name in columns})
        if state.values["active_units"] is not None:
            kl = state.arrays["diagnostics.kl_per_dimension"]
            self.diagnostics_ = LatentDiagnostics(kl, int(state.values["active_units"]))
        for name in _KEPT:
            setattr(self, name, state.values[name])
