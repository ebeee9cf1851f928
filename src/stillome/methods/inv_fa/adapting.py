"""`InvFA.adapt`: a fitted model learns a site that its training never saw."""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.cohort.edges import edge_indices
from stillome.cohort.groups import group_levels
from stillome.cohort.validation import check_lengths, check_traits
from stillome.exceptions import InputError, StillomeWarning
from stillome.methods.inv_fa.new_site import SiteEffect, estimate_site, with_dummy, with_site
from stillome.methods.inv_fa.parts import InvariantModel
from stillome.methods.inv_fa.stored_factors import StoredFactors

MIN_PEOPLE = 10
_FAR_APART = 0.5  # standard deviations between the means of a trait


class AdaptingFactors(StoredFactors):
    """The part of `InvFA` that learns a new site."""

    lengths: ArrayLike | None
    site_effect_: SiteEffect

    def adapt(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Return a copy that knows one more site, with the trained ones as prior.

        Nothing of what was fitted changes. The copy has one confound more than this model, the
        last: 1 for scans of the new site, 0 for all others. Its intervals contain the uncertainty
        of the new site's effects.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Scans of at least 10 people at the new site.
        y : array-like of shape (n,) or (n, T), optional
            Their traits, if the model knows traits: if they are unlike those of the training
            subjects, a warning says that site and trait cannot be told apart.
        confounds : array-like of shape (n,) or (n, C)
            Those of this model; 0 for the trained sites.
        groups : array-like of shape (n,) or (n, 2), optional
            Scans of one person, or families; see `group_levels`.

        Returns
        -------
        InvFA
            With ``site_effect_``: the estimated effects, and how sure they are.

        Raises
        ------
        InputError
            If there are fewer than 10 people.

        Examples
        --------
        >>> from stillome import InvFA, simulate_cohort
        >>> data = simulate_cohort(80, random_state=0)
        >>> model = InvFA(5).fit(data.X[:60], confounds=data.confounds[:60])
        >>> new = 2 * data.X[60:]
        >>> adapted = model.adapt(new, confounds=data.confounds[60:])
        >>> bool(abs(adapted.site_effect_.mean - np.log(2)) < 0.2)
        True
        >>> there = np.column_stack([data.confounds[60:], np.ones(20)])
        >>> adapted.adjust(new, confounds=there).shape == new.shape
        True
        """
        edges = self._new_edges(X, confounds)
        motion = self._new_confounds(confounds, len(edges))
        levels = None if groups is None else group_levels(groups, len(edges))
        n_people = len(edges) if levels is None else len(np.unique(levels[:, 0]))
        if n_people < MIN_PEOPLE:
            who = "1 person" if n_people == 1 else f"{n_people} people"
            raise InputError(
                f"X: {who} of the new site; at least {MIN_PEOPLE} are needed to estimate its "
                "effects. Give more, or leave their site unknown (NaN)."
            )
        self._warn_of_traits(y, len(edges))
        sites = self._dummies()
        site = estimate_site(
            *(self._full_model, edges, motion, self.n_regions_, self._edge_lengths()),
            *(self.people_.latent_sd, sites, levels),
        )
        adapted = copy(self)
        adapted._full_model = self._model_with(site)
        adapted.model_ = adapted._full_model.weighted(self.invariance_weight_)
        known = with_dummy(self.people_.confounds, sites)
        adapted.people_ = replace(self.people_, confounds=known)
        adapted.confound_distribution_ = known
        adapted.n_confounds_ = self.n_confounds_ + 1
        adapted.site_effect_ = site
        return adapted

    def _model_with(self, site: SiteEffect) -> InvariantModel:
        """Return the fitted parts with one more confound."""
        return with_site(self._full_model, site)

    def _dummies(self) -> NDArray[np.intp]:
        """Return which confounds are 0 or 1, as the dummies of trained sites are."""
        known = self.people_.confounds.quantiles
        return np.flatnonzero(((known == 0) | (known == 1)).all(axis=0))

    def _edge_lengths(self) -> Floats | None:
        if self.lengths is None:
            return None
        matrix: Any = check_lengths(self.lengths, self.n_regions_)
        return np.asarray(matrix)[edge_indices(self.n_regions_)]

    def _warn_of_traits(self, y: ArrayLike | None, n_subjects: int) -> None:
        """Warn if the people of the new site have other traits than the training subjects."""
        known = self.people_.traits
        if y is None:
            return
        if known is None:
            warnings.warn(
                "y is not used: the model was fitted without traits, so that it is not known "
                "whether the people of the new site differ in them. Fit with y to be told.",
                StillomeWarning,
                stacklevel=3,
            )
            return
        traits = check_traits(y, n_subjects=n_subjects, name="y")
        explained = ((known.coefficients * self.people_.latent_sd) ** 2).sum(axis=1)
        spread = np.sqrt(known.noise**2 + explained)
        apart = np.abs(np.nanmean(traits, axis=0) - known.intercepts) / np.maximum(spread, 1e-12)
        if (apart > _FAR_APART).any():
            warnings.warn(
                f"The people of the new site differ from the training subjects by "
                f"{float(apart.max()):.1f} standard deviations of trait {int(apart.argmax())}: "
                "what goes with this trait and what the site does cannot be told apart, and both "
                "are removed. Adapt with people alike.",
                StillomeWarning,
                stacklevel=3,
            )
