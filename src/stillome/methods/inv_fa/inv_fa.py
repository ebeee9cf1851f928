"""InvFA: motion-invariant factor analysis of connectomes."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import shaped_like
from stillome.cohort.subject_rows import SubjectRows
from stillome.cohort.validation import check_count, check_random_state
from stillome.cohort.validation.number_dtypes import answer_dtype
from stillome.exceptions import InputError, NotFittedError
from stillome.methods.answer_place import check_out
from stillome.methods.cautions import warn_if_unlike_training, warn_of_inference
from stillome.methods.diagnostics import latent_diagnostics, warn_if_collapsed
from stillome.methods.inv_fa.adjusting import Asked
from stillome.methods.inv_fa.by_subjects import (
    by_subjects,
    in_own_units,
    mean_log_likelihood,
    posteriors,
)
from stillome.methods.inv_fa.inference import InferredConfounds
from stillome.methods.inv_fa.model_fit import PersonPart, fit_model
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.people import People
from stillome.methods.inv_fa.reweighting import ReweightedFactors
from stillome.methods.inv_fa.training_subjects import (
    MIN_SUBJECTS,
    KnownSubjects,
    check_memory,
    check_seed,
    check_weight,
    known_subjects,
)
from stillome.methods.inv_fa.tuning import TUNING
from stillome.methods.own_units import CountRows, own_units_of
from stillome.methods.storage import check_unchanged, training_hash
from stillome.methods.synthetic import SyntheticCohort
from stillome.methods.uncertain_answers import AdjustedConnectomes, AdjustingOptions
from stillome.threads import one_thread


class InvFA(ReweightedFactors):
    """Motion-invariant factor analysis with counterfactual connectomes.

    The effect of motion on every edge is fitted first, by negative binomial regression pooled over
    edges. Factor analysis of the residuals gives z, the person. Both predict the counts of this
    person at any motion, presence and size apart. `adjust` maps the quantile of every count to
    the distribution at the reference. The paper's graph variational auto-encoder is `InvVAE`.

    Parameters
    ----------
    n_components : int, default=68
        Largest number of factors; factors that would only hold noise stay empty.
    invariance_weight : float between 0 and 1, default=1.0
        Share of the remaining dependence between z and motion that is removed.
        `choose_invariance_weight` finds the smallest share whose certificate passes.
    lengths : array-like of shape (V, V), optional
        Mean fibre lengths in mm; a covariate of the pooled motion effects.
    random_state : int, Generator or None, default=0
        For the randomised quantiles of counts in `adjust`.
    memory : float, optional
        Bytes that a fit may use for what it keeps of the connectomes; more is kept in a temporary
        file (in ``TMPDIR``). A quarter of the free memory without. It changes no answer by more
        than rounding errors.

    Attributes
    ----------
    model_ : InvariantModel
        The fitted parts of the model.
    diagnostics_ : LatentDiagnostics
        KL per unit in nats, and active units.
    invariance_weight_ : float
        The share that was used.
    people_ : People
        The distribution of z, the confounds and the traits.
    confound_distribution_ : ConfoundDistribution
    n_iter_ : dict of str to int
        Iterations of every stage of the fit until it converged.
    n_regions_, n_confounds_, n_features_in_ : int

    References
    ----------
    Y. Zhang et al., Motion-invariant variational auto-encoding of brain structural connectomes,
    Imaging Neuroscience, 2024.

    Examples
    --------
    >>> from stillome.simulate import simulate_cohort
    >>> simulated = simulate_cohort(60, regime="thinning", random_state=0)
    >>> model = InvFA(n_components=10).fit(simulated.X, confounds=simulated.confounds)
    >>> model.transform(simulated.X, confounds=simulated.confounds).shape
    (60, 10)
    >>> model.adjust(simulated.X, confounds=simulated.confounds).dtype == simulated.X.dtype
    True
    """

    def __init__(
        self,
        n_components: int = 68,
        *,
        invariance_weight: float = 1.0,
        lengths: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = 0,
        memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.invariance_weight = invariance_weight
        self.lengths = lengths
        self.random_state = random_state
        self.memory = memory

    reads_parts = True
    _tuning = TUNING  # benchmarks/sensitivity.py fits with other records
    _person: PersonPart | None = None  # another model of the person on the same stages

    @one_thread()
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike | None = None,
        covariates_to_keep: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the motion effect, the factors and, if given, the traits.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Fibre counts, or weights ≥ 0. A memory map or an array in a store (zarr, HDF5, Dask)
            stays where it is and is read in slices; this holds for all methods of this class.
        y : array-like of shape (n,) or (n, T), optional
            Traits; NaN is missing.
        confounds : array-like of shape (n,) or (n, C)
            Motion and other variables to remove. Subjects with NaN do not enter the fit.
        covariates_to_keep : array-like of shape (n,) or (n, Q), optional
            Variables that are correlated with motion (age, sex, diagnosis) and must not be
            removed with it.
        groups : array-like of shape (n,) or (n, 2), optional
            Families, or scans of one person: see `group_levels`. They stay together in halves,
            folds and permutations inside the fit, and variances account for their likeness.
        """
        weight = check_weight(self.invariance_weight)
        check_random_state(self.random_state)
        data = self._training_data(
            *(X, y, confounds, covariates_to_keep, groups),
            allow_missing=True,
            min_subjects=MIN_SUBJECTS,
        )
        known = known_subjects(data)
        self.training_hash_ = training_hash(data.edges)
        self._full_model, latent = self._fit_model(known)
        self._use_weight(weight, known, latent if weight == 1 else None)
        check_unchanged(data.edges, self.training_hash_)
        warn_if_collapsed(self.diagnostics_, "Fit more subjects.")
        return self

    def _use_weight(
        self, weight: float, known: KnownSubjects, latent: Floats | None = None
    ) -> None:
        """Set what depends on the weight: the encoder, and the distribution of z and traits.

        `latent` is z (n, K) of these subjects where it is known.
        """
        self.invariance_weight_ = weight
        self.model_ = self._full_model.weighted(weight)
        self.n_iter_ = self.model_.n_iter
        if latent is None:
            latent, sd = posteriors(self.model_, known.edges, known.motion)
        else:
            sd = np.broadcast_to(self.model_.encoder.posterior_sd, latent.shape)
        self.diagnostics_ = latent_diagnostics(latent, 2 * np.log(np.maximum(sd, 1e-6)))
        self.people_ = People.fit(latent, known.motion, known.traits, known.groups)
        self.confound_distribution_ = self.people_.confounds

    @one_thread()
    def _posterior(
        self, X: ArrayLike, confounds: ArrayLike | None, *, with_std: bool
    ) -> tuple[Floats, Floats | None]:
        rows = self._new_rows(X, confounds)
        latent, sd = posteriors(self.model_, rows, self._motion(confounds, len(rows)))
        return latent, sd if with_std else None

    @one_thread()
    def infer_confounds(self, X: ArrayLike) -> InferredConfounds:
        """Infer motion from connectomes, with its uncertainty, in the users' units."""
        rows, model = self._new_rows(X), self.model_
        infer = model.inference.infer
        both = by_subjects(rows, lambda _, e: np.stack(infer(model.counts(e)), axis=1))
        return InferredConfounds(both[:, 0], both[:, 1])

    @one_thread()
    def reconstruct(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return the expected connectomes at the subjects' own motion, shaped like `X`."""
        rows = self._new_rows(X, confounds)
        model, motion = self.model_, self._motion(confounds, len(rows))
        like, units = rows.form, own_units_of(rows)

        def of_block(place: slice, edges: NDArray[Any]) -> Floats:
            latent, filled = model.encode(edges, motion[place])
            expected = model.expected(latent, filled, filled)
            return shaped_like(expected if units is None else expected * units[place, None], like)

        answer: Floats = by_subjects(rows, of_block)
        return answer

    @one_thread()
    def _adjusted(
        self, X: ArrayLike, interval: float | None, options: AdjustingOptions
    ) -> NDArray[Any] | AdjustedConnectomes:
        confounds, given, out = options["confounds"], options["random_state"], options["out"]
        rows = self._new_rows(X, confounds)
        level, motion = self._reference(options["reference"]), self._motion(confounds, len(rows))
        seed = check_seed(self.random_state if given is None else given)
        n_draws = options["n_draws"]
        n = None if n_draws is None else check_count(n_draws, "n_draws", minimum=1)
        method = options["method"] or "counterfactual"
        asked = Asked(level, method, n, interval, options["coupling"], seed, answer_dtype(X))
        asked.check()
        if out is not None and (n is not None or interval is not None):
            raise InputError("out: for one connectome per subject; leave out n_draws and interval.")
        if out is not None:
            check_out(out, rows.source.shape)

        model, like, units = self.model_, rows.form, own_units_of(rows)

        def answers(asking: Any) -> Callable[[slice, NDArray[Any]], NDArray[Any]]:
            def of_block(place: slice, edges: NDArray[Any]) -> NDArray[Any]:
                given = (model, edges, motion[place])
                answer = asking(*given)
                if units is not None:
                    estimated = answer if asking == asked.connectomes else asked.connectomes(*given)
                    answer = in_own_units(answer, estimated, units[place], given, level)
                return shaped_like(answer, like)

            return of_block

        answer = by_subjects(rows, answers(asked.connectomes), out)
        answer = answer if n is None else np.moveaxis(answer, 1, 0)
        if interval is None:
            return answer
        both = by_subjects(rows, answers(asked.bounds))
        return AdjustedConnectomes(answer, both[:, 0], both[:, 1])

    def _new_rows(self, X: ArrayLike, confounds: ArrayLike | None = None) -> SubjectRows:
        """Validate subjects given to a fitted model; weights become counts as in training."""
        rows = super()._new_rows(X, confounds)
        return CountRows.read(rows) if self.model_.own_units.found else rows

    @one_thread()
    def predict(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> Floats:
        """Return trait predictions in the users' units: (n,) for one trait, else (n, T)."""
        rows = self._new_rows(X, confounds)
        latent, _ = posteriors(self.model_, rows, self._motion(confounds, len(rows)))
        if self.people_.traits is None:
            raise NotFittedError(
                f"{self._name} was fitted without traits. Call fit(X, y, ...) first."
            )
        return self._shaped_traits(self.people_.traits.predict(latent))

    @one_thread()
    def log_likelihood(self, X: ArrayLike, *, confounds: ArrayLike | None = None) -> float:
        """Return the mean log p(A | z, c) per subject, at its own z and motion, in nats."""
        rows = self._new_rows(X, confounds)
        motion = self._motion(confounds, len(rows))
        return mean_log_likelihood(self.model_, rows, motion)

    def _draw(self, n_subjects: int, rng: np.random.Generator) -> SyntheticCohort:
        return self.people_.draw(self.model_, n_subjects, rng)

    def check_parameters(self) -> None:
        """Validate the parameters, before any data are read; `fit` does so as well."""
        super().check_parameters()
        check_weight(self.invariance_weight)
        check_seed(self.random_state)
        check_memory(self.memory)

    def _fit_model(self, known: KnownSubjects) -> tuple[InvariantModel, Floats]:
        return fit_model(
            known.edges,
            known.motion,
            n_regions=self.n_regions_,
            n_components=check_count(self.n_components, "n_components", minimum=1),
            lengths=self._edge_lengths(),
            covariates=known.covariates,
            groups=known.groups,
            tuning=self._tuning,
            person=self._person,
            memory=check_memory(self.memory),
        )

    def _motion(self, confounds: ArrayLike | None, n_subjects: int) -> Floats:
        if confounds is None and self.n_confounds_:
            warn_of_inference()
            return np.full((n_subjects, self.n_confounds_), np.nan)
        motion = self._new_confounds(confounds, n_subjects, allow_missing=True)
        low, high = self.people_.confounds.bounds
        warn_if_unlike_training(motion, low, high, self.model_.basis.scales)
        return motion
