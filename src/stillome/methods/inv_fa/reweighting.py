"""`InvFA.with_invariance_weight`: another share of the remaining dependence, without a new fit."""

from abc import abstractmethod
from copy import copy
from typing import Self

from numpy.typing import ArrayLike

from stillome.exceptions import InputError
from stillome.methods.inv_fa.adapting import AdaptingFactors
from stillome.methods.inv_fa.training_subjects import KnownSubjects, check_weight, known_subjects
from stillome.methods.storage import training_hash


class ReweightedFactors(AdaptingFactors):
    """The part of `InvFA` that changes its `invariance_weight`."""

    invariance_weight: float

    def with_invariance_weight(
        self,
        weight: float,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        confounds: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Return a fitted copy with another `invariance_weight`; no effect is fitted again.

        Parameters
        ----------
        weight : float between 0 and 1
        X, y, confounds, groups
            The subjects that this model was fitted to.

        Raises
        ------
        InputError
            If `X` are other subjects.
        """
        self._check_fitted()
        copied = copy(self).set_params(invariance_weight=check_weight(weight))
        data = copied._training_data(X, y, confounds, None, groups, allow_missing=True)
        if training_hash(data.edges) != self.training_hash_:
            raise InputError("X: not the connectomes that this InvFA was fitted to. Pass those.")
        copied._use_weight(copied.invariance_weight, known_subjects(data))
        return copied

    @abstractmethod
    def _use_weight(self, weight: float, known: KnownSubjects) -> None:
        """Set what depends on the weight; see `InvFA`."""
