"""A graph VAE that may stand on the stages of inv-FA; `InvVAE` has its parameters."""

from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from stillome.arrays import Floats
from stillome.cohort.validation import check_lengths, check_random_state
from stillome.exceptions import InputError
from stillome.methods.diagnostics import warn_if_collapsed
from stillome.methods.graph_vae.departures import Departures
from stillome.methods.graph_vae.estimator import GraphVAE
from stillome.methods.graph_vae.graph_settings import GraphSettings, warn_of_batches
from stillome.methods.graph_vae.graph_training import choose_device
from stillome.methods.graph_vae.history import history_table
from stillome.methods.graph_vae.network_model import NetworkModel
from stillome.methods.graph_vae.person_fit import PersonFit
from stillome.methods.graph_vae.replayed_network import ReplayedNetwork
from stillome.methods.graph_vae.torch_threads import torch_on_one_thread
from stillome.methods.inv_fa.inference import InferredConfounds
from stillome.methods.inv_fa.training_subjects import MIN_SUBJECTS, known_subjects
from stillome.methods.stages.replay.coupling import Coupling
from stillome.methods.storage import ModelState, training_hash
from stillome.methods.synthetic import SyntheticCohort

_SIZES = ("n_regions_", "n_features_in_", "n_confounds_", "_one_trait")
_METHODS = {"replay": "counterfactual", "decode": "decode"}


def _on_stages(model: "StagedVAE") -> bool:
    return model.departures.on_stages


class StagedVAE(GraphVAE):
    """The paper's network as published, or on the stages of inv-FA where it departs from it.

    What is asked of a model on stages is answered by a `ReplayedNetwork`.
    """

    _staged: ReplayedNetwork | None

    @property
    def departures(self) -> Departures:
        """The departures from the paper, validated."""
        return Departures.of(self)

    @property
    def keeps_covariates(self) -> bool:  # type: ignore[override]
        """Whether `covariates_to_keep` are kept: by the pooled motion effect."""
        return self.departures.motion_effect == "pooled"

    @property
    def _conditional(self) -> bool:
        return self.departures.motion_effect == "concatenated"

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
        """Fit the motion effect, then train the network.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Fibre counts, or weights ≥ 0.
        y : array-like of shape (n,) or (n, T), optional
            Traits, part of the objective; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion and other variables to remove. Subjects with NaN do not enter the fit.
        covariates_to_keep : array-like of shape (n,) or (n, Q), optional
            Variables that are correlated with motion (age, sex, diagnosis) and must not be
            removed with it.
        groups : array-like of shape (n,) or (n, 2), optional
            Families, or scans of one person: see `InvFA.fit`. The validation part does not
            divide them either.

        Raises
        ------
        FitError
            If training diverges.
        """
        departures = self.departures
        self._staged = None
        if not departures.on_stages:
            given = {"confounds": confounds, "covariates_to_keep": covariates_to_keep}
            return super().fit(X, y, groups=groups, **given)
        settings = GraphSettings.of(self, self._invariance_weight)
        rng, device = check_random_state(self.random_state), choose_device(self.device)
        data = self._training_data(
            *(X, y, confounds, covariates_to_keep, groups),
            allow_missing=True,
            min_subjects=MIN_SUBJECTS,
        )
        known = known_subjects(data)
        warn_of_batches(settings.plan.batch_size, len(known.edges))
        lengths = check_lengths(self.lengths, self.n_regions_)
        person = PersonFit(
            settings,
            linear=departures.decoder == "linear+graph",
            pooled=departures.motion_effect == "pooled",
            poisson=departures.likelihood == "poisson",
            reads="residual" if departures.encoder_input == "residual" else "log-counts",
            traits=np.empty((len(known.edges), 0)),
            lengths=lengths,
            seed=int(rng.integers(2**63 - 1)),
            device=device,
            checkpoint_dir=self.checkpoint_dir,
            callback=self.callback,
        )
        staged = self._new_staged()
        staged.train(known, person, self._sizes)
        self._use(staged)
        self.diagnostics_ = staged.diagnostics_
        self.history_ = history_table(person.progress.history)
        self.training_hash_ = training_hash(data.edges)
        warn_if_collapsed(self.diagnostics_, "Fit more subjects.")
        return self

    @overload
    def transform(
        self, X: ArrayLike, *, confounds: ArrayLike | None = None, return_std: Literal[False] = ...
    ) -> Floats: ...

    @overload
    def transform(
        self, X: ArrayLike, *, confounds: ArrayLike | None = None, return_std: Literal[True]
    ) -> tuple[Floats, Floats]: ...

    def transform(
        self, X: ArrayLike, *, confounds: ArrayLike | None = None, return_std: bool = False
    ) -> Any:
        """Return posterior means of z (n, K), with ``return_std`` also standard deviations.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : array-like of shape (n,) or (n, C), optional
            NaN, or nothing at all, where motion is unknown: it is inferred from the connectome.
            Not used as published.
        return_std : bool, default=False
        """
        self._check_fitted()
        more: Any = {"return_std": return_std}
        if self._staged is None:
            return super().transform(X, confounds=confounds, **more)
        return self._staged.transform(X, confounds=confounds, **more)

    def reconstruct(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[Any]:
        """Return the expected counts of the subjects at their own confounds, shaped like `X`."""
        self._check_fitted()
        if self._staged is None:
            return super().reconstruct(X, confounds=confounds)
        return self._staged.reconstruct(X, confounds=confounds)

    def adjust(
        self,
        X: ArrayLike,
        *,
        confounds: ArrayLike | None = None,
        reference: ArrayLike | None = None,
        method: Literal["counterfactual", "decode"] | None = None,
        n_draws: int | None = None,
        interval: float | None = None,
        coupling: Coupling = "thinning",
        random_state: int | np.random.Generator | None = None,
    ) -> Any:
        """Return the connectomes as they would be at the reference motion, shaped like `X`.

        Parameters are those of `InvFA.adjust`; `method` is by default what the parameter
        `adjusting` says. As published, all subjects are decoded at the reference, and nothing is
        drawn.
        """
        self._check_fitted()
        if self._staged is not None:
            chosen: Any = _METHODS[self.adjusting] if method is None else method
            return self._staged.adjust(
                X,
                confounds=confounds,
                reference=reference,
                method=chosen,
                n_draws=n_draws,
                interval=interval,
                coupling=coupling,
                random_state=random_state,
            )
        if n_draws is not None or interval is not None or method == "counterfactual":
            raise InputError(
                f"This {type(self).__name__} is as published: it decodes, and draws nothing. Leave "
                "out n_draws, interval and method, or fit with adjusting='replay'."
            )
        return super().adjust(X, confounds=confounds, reference=reference)

    @available_if(_on_stages)
    def infer_confounds(self, X: ArrayLike) -> InferredConfounds:
        """Infer motion from connectomes, with its uncertainty, in the users' units."""
        self._check_fitted()
        assert self._staged is not None
        return self._staged.infer_confounds(X)

    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return trait predictions in the users' units: (n,) for one trait, else (n, T)."""
        self._check_fitted()
        if self._staged is None:
            return super().predict(X, confounds=confounds)
        if self._staged.people_.traits is None:
            raise InputError(
                f"This {type(self).__name__} was fitted without traits. Pass y to fit to predict."
            )
        return self._staged.predict(X, confounds=confounds)

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, *, confounds: ArrayLike | None = None
    ) -> float:
        """Return R² of the traits or, without `y`, the mean log-likelihood per subject.

        As published the latter is the evidence bound of `GraphVAE.score`.
        """
        self._check_fitted()
        if self._staged is None or y is not None:
            return super().score(X, y, confounds=confounds)
        return self._staged.score(X, confounds=confounds)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        _ = self.departures

    def _draw(self, n_subjects: int, rng: np.random.Generator) -> SyntheticCohort:
        if self._staged is None:
            return super()._draw(n_subjects, rng)
        return self._staged._draw(n_subjects, rng)

    def _check_fitted(self) -> None:
        if getattr(self, "_staged", None) is None:
            super()._check_fitted()

    @property
    def _sizes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SIZES}

    def _new_staged(self) -> ReplayedNetwork:
        return ReplayedNetwork(
            self.n_components, lengths=self.lengths, random_state=self.random_state
        )

    def _use(self, staged: ReplayedNetwork) -> None:
        self._staged = staged
        if hasattr(self, "feature_names_in_"):
            staged.feature_names_in_ = self.feature_names_in_
        self.model_: NetworkModel = staged.network_model
        self.people_ = staged.people_
        self.confound_distribution_ = staged.confound_distribution_
        self.n_iter_ = staged.n_iter_

    def _get_state(self) -> ModelState:
        if self._staged is None:
            return super()._get_state()
        values, arrays = self._staged.state()
        return self._with_learning(values, arrays)

    def _set_state(self, state: ModelState) -> None:
        self._staged = None
        if not self.departures.on_stages:
            super()._set_state(state)
            return
        self._set_learning(state)
        staged = self._new_staged()
        staged.restore(state, self._sizes)
        self._use(staged)
