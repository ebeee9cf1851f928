"""A graph VAE that may stand on the stages of inv-FA; `InvVAE` has its parameters."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from stillome.arrays import Floats
from stillome.cohort.validation import check_lengths, check_random_state
from stillome.exceptions import InputError
from stillome.methods.answer_place import check_out, write_subjects
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
from stillome.methods.inv_fa.new_site import SiteEffect
from stillome.methods.inv_fa.training_subjects import MIN_SUBJECTS, check_memory, known_subjects
from stillome.methods.storage import ModelState, check_unchanged, training_hash
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.uncertain_answers import (
    AdjustedConnectomes,
    AdjustingOptions,
    AdjustingWithIntervals,
)

_SIZES = ("n_regions_", "n_features_in_", "n_confounds_", "_one_trait")


def _on_factors(model: "StagedVAE") -> bool:
    return model.departures.decoder == "linear+graph"


def _on_stages(model: "StagedVAE") -> bool:
    return model.departures.on_stages


class StagedVAE(AdjustingWithIntervals, GraphVAE):
    """The paper's network as published, or on the stages of inv-FA where it departs from it.

    What is asked of a model on stages is answered by a `ReplayedNetwork`.
    """

    memory: float | None
    _staged: ReplayedNetwork | None
    site_effect_: SiteEffect

    @property
    def departures(self) -> Departures:
        """The departures from the paper, validated."""
        return Departures.of(self)

    @property
    def reads_parts(self) -> bool:  # type: ignore[override]
        """Whether connectomes may stay where they are: not as published."""
        return self.departures.on_stages

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
        self.training_hash_ = training_hash(data.edges)
        staged = self._new_staged()
        staged.train(known, person, self._sizes)
        check_unchanged(data.edges, self.training_hash_)
        self._use(staged)
        self.diagnostics_ = staged.diagnostics_
        self.history_ = history_table(person.progress.history)
        warn_if_collapsed(self.diagnostics_, "Fit more subjects.")
        return self

    def _posterior(
        self, X: ArrayLike, confounds: ArrayLike | None, *, with_std: bool
    ) -> tuple[Floats, Floats | None]:
        self._check_fitted()
        if self._staged is None:
            return super()._posterior(X, confounds, with_std=with_std)
        return self._staged._posterior(X, confounds, with_std=with_std)

    def reconstruct(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> NDArray[Any]:
        """Return the expected counts of the subjects at their own confounds, shaped like `X`."""
        self._check_fitted()
        if self._staged is None:
            return super().reconstruct(X, confounds=confounds)
        return self._staged.reconstruct(X, confounds=confounds)

    def _adjusted(
        self, X: ArrayLike, interval: float | None, options: AdjustingOptions
    ) -> NDArray[Any] | AdjustedConnectomes:
        self._check_fitted()
        if self._staged is not None:
            if options["method"] is None:
                options["method"] = "decode" if self.adjusting == "decode" else "counterfactual"
            return self._staged._adjusted(X, interval, options)
        if (
            options["n_draws"] is not None
            or interval is not None
            or (options["method"] == "counterfactual")
        ):
            raise InputError(
                f"This {type(self).__name__} is as published: it decodes, and draws nothing. Leave "
                "out n_draws, interval and method, or fit with adjusting='replay'."
            )
        given = {"confounds": options["confounds"], "reference": options["reference"]}
        answer, out = GraphVAE.adjust(self, X, **given), options["out"]
        if out is None:
            return answer
        check_out(out, answer.shape)
        write_subjects(out, slice(0, len(answer)), answer)
        return out

    @available_if(_on_stages)
    def infer_confounds(self, X: ArrayLike) -> InferredConfounds:
        """Infer motion from connectomes, with its uncertainty, in the users' units."""
        self._check_fitted()
        assert self._staged is not None
        return self._staged.infer_confounds(X)

    @available_if(_on_factors)
    def adapt(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Return a copy that knows one more site; see `InvFA.adapt`.

        The site is part of the pooled effect, which the network does not change: with
        ``decoder="linear+graph"`` only. Other networks read confounds or counts themselves, and
        would have to be trained again.
        """
        self._check_fitted()
        assert self._staged is not None
        adapted, staged = copy(self), self._staged.adapt(X, y, confounds=confounds, groups=groups)
        adapted._use(staged)
        adapted.n_confounds_, adapted.site_effect_ = staged.n_confounds_, staged.site_effect_
        return adapted

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

    def log_likelihood(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> float:
        """Return the mean log p(A | z, c) per subject, at its own z and motion, in nats.

        As published it is the evidence bound, a lower bound on log p(A | c).
        """
        self._check_fitted()
        if self._staged is None:
            return super().log_likelihood(X, confounds=confounds)
        return self._staged.log_likelihood(X, confounds=confounds)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        _ = self.departures
        check_memory(self.memory)

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
            self.n_components,
            lengths=self.lengths,
            random_state=self.random_state,
            memory=self.memory,
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
