"""Answers with their uncertainty: `transform` with standard deviations, `adjust` with intervals.

What is returned depends on an argument. The type says so, here and for all methods alike.
"""

from abc import abstractmethod
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillome.arrays import Floats
from stillome.methods.stages.replay.coupling import Coupling
from stillome.methods.storage import Storable


class AdjustedConnectomes(NamedTuple):
    """Motion-adjusted connectomes with bounds, all in the shape of the input.

    Attributes
    ----------
    connectomes : array
        With ``n_draws``, the draws are a first axis.
    lower, upper : array
        Contain the count at the reference with the probability asked for.
    """

    connectomes: NDArray[Any]
    lower: Floats
    upper: Floats


class AdjustingOptions(TypedDict, total=False):
    """Arguments of `adjust` on which the type of the answer does not depend."""

    confounds: ArrayLike | None
    reference: ArrayLike | None
    method: Literal["counterfactual", "decode"] | None
    n_draws: int | None
    coupling: Coupling
    random_state: int | np.random.Generator | None
    out: Any


class LatentSpread(Storable):
    """A method whose latents have a posterior distribution."""

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
    ) -> Floats | tuple[Floats, Floats]:
        """Return posterior means of z, and their standard deviations if asked for.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
        confounds : array-like of shape (n,) or (n, C), optional
            NaN where motion is unknown: it is inferred from the connectome. Without any it is
            inferred for everybody, with a warning. GATE, and InvVAE as published, use none.
        return_std : bool, default=False

        Returns
        -------
        Z : array of shape (n, n_components)
        std : array of shape (n, n_components)
            Only with ``return_std=True``.
        """
        mean, std = self._posterior(X, confounds, with_std=return_std)
        if not return_std:
            return mean
        assert std is not None
        return mean, std

    @abstractmethod
    def _posterior(
        self, X: ArrayLike, confounds: ArrayLike | None, *, with_std: bool
    ) -> tuple[Floats, Floats | None]:
        """Return means (n, K) and, if asked for, standard deviations (n, K) of z."""


class AdjustingWithIntervals(LatentSpread):
    """A method that draws connectomes at the reference, and bounds them."""

    @overload
    def adjust(
        self, X: ArrayLike, *, interval: None = ..., **options: Unpack[AdjustingOptions]
    ) -> NDArray[Any]: ...

    @overload
    def adjust(
        self, X: ArrayLike, *, interval: float, **options: Unpack[AdjustingOptions]
    ) -> AdjustedConnectomes: ...

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
        out: Any = None,
    ) -> NDArray[Any] | AdjustedConnectomes:
        """Return the connectomes as they would be at the reference motion.

        Parameters
        ----------
        X : array-like of shape (n, V, V) or (n, V(V-1)/2)
            Counts stay whole numbers; weights stay weights. Nothing becomes negative.
        confounds : array-like of shape (n,) or (n, C), optional
            Inferred where missing (NaN), and with a warning without any. A subject at the
            reference is returned unchanged.
        reference : float or array-like of shape (C,), default 0
            In the users' units.
        method : {"counterfactual", "decode"}, optional
            "counterfactual" (of `InvFA` the default) keeps the quantile of every observed count;
            "decode" returns the paper's A*, the expected connectome at the reference given z,
            which keeps of a person only what z represents. The default of `InvVAE` is what its
            parameter `adjusting` says; as published it decodes, and draws nothing.
        n_draws : int, optional
            Number of imputations: the result gets a first axis of this length. Each is a draw of
            what is not known: motion effects (the same error for all subjects of a draw), z, the
            position of counts within their steps, and the noise that `coupling` describes.
            Without, one connectome per subject at the estimated effects.
        interval : float, optional
            Also return bounds that hold with this probability, e.g. 0.9, for every edge (counts
            only). Bounds of totals and graph measures are quantiles over draws.
        coupling : {"thinning", "quantile"}, default="thinning"
            For draws and intervals: how a count at the reference hangs together with the observed
            one. "thinning": motion lost streamlines one by one, and which ones is not known.
            "quantile": a count keeps its quantile, and motion added no noise.
        random_state : int or Generator, optional
            Another seed than the constructor's.
        out : array, memory map or array in a store, optional
            Of the shape of `X`. Adjusted connectomes are written there as they are made, a few
            subjects at a time, and it is returned. Not for draws and intervals.

        Returns
        -------
        array, or AdjustedConnectomes with ``interval``
        """
        options: AdjustingOptions = {
            "confounds": confounds,
            "reference": reference,
            "method": method,
            "n_draws": n_draws,
            "coupling": coupling,
            "random_state": random_state,
            "out": out,
        }
        return self._adjusted(X, interval, options)

    @abstractmethod
    def _adjusted(
        self, X: ArrayLike, interval: float | None, options: AdjustingOptions
    ) -> NDArray[Any] | AdjustedConnectomes:
        """Answer `adjust`: with bounds if there is an interval, else without."""
