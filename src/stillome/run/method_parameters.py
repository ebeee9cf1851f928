"""Methods with the parameters that a user asked for, judged before any file is read."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import ArrayLike

from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod
from stillome.methods.registry import make_method

WEIGHT, AUTO = "invariance_weight", "auto"
# Set from what is read or shown, never by a value that can be written down.
_NOT_VALUES = {"lengths": "Pass lengths=... with a file instead.", "callback": "Leave it out."}


def settable(method: ConnectomeMethod) -> list[str]:
    """Return the names of the parameters of a method that a user can give a value.

    Examples
    --------
    >>> settable(make_method("edgewise"))
    ['n_components']
    """
    return sorted(method.get_params().keys() - _NOT_VALUES.keys())


class ChosenWeight(NamedTuple):
    """A method whose invariance weight is a number, and how that was found."""

    method: ConnectomeMethod
    frontier: pd.DataFrame | None  # leakage by weight; None if the weight was given


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that a method does not have, or values that it cannot use.

    Parameters
    ----------
    name : str
        A name in `METHODS`.
    parameters : mapping of str to value
        ``invariance_weight="auto"`` is allowed; see `choose_weight`.

    Raises
    ------
    InputError
        One sentence, which lists the parameters of the method if one is unknown.

    Examples
    --------
    >>> check_parameters("edgewise", {"n_components": 10})
    >>> check_parameters("edgewise", {"n_components": 0})
    Traceback (most recent call last):
    stillome.exceptions.InputError: n_components=0; expected a whole number ≥ 1.
    """
    new_method(name, parameters)


def new_method(
    name: str, parameters: Mapping[str, Any], *, seed: int = 0, lengths: ArrayLike | None = None
) -> ConnectomeMethod:
    """Return an unfitted method with the parameters asked for.

    Parameters
    ----------
    name : str
        A name in `METHODS`.
    parameters : mapping of str to value
    seed : int, default=0
        For methods with a ``random_state``, unless `parameters` has one.
    lengths : array-like of shape (V, V), optional
        For methods that use fibre lengths.

    Raises
    ------
    InputError
        As `check_parameters`.
    """
    known = make_method(name).get_params()
    for one in sorted(parameters.keys() & known.keys() & _NOT_VALUES.keys()):
        raise InputError(f"The parameter {one!r} cannot be set by a value. {_NOT_VALUES[one]}")
    for one in sorted(parameters.keys() - known.keys() - {"preset"}):
        names = ", ".join(settable(make_method(name)))
        raise InputError(f"The method {name!r} has no parameter {one!r}; it has {names}.")
    method = make_method(name, **parameters)
    weight = parameters.get(WEIGHT)
    if weight == AUTO:
        # Not every method knows the word; the number is found when there are data.
        method.set_params(**{WEIGHT: 0.0}).check_parameters()
        method.set_params(**{WEIGHT: AUTO})
    else:
        method.check_parameters()
    if "random_state" in known and "random_state" not in parameters:
        method.set_params(random_state=seed)
    return with_lengths(method, lengths)


def with_lengths(method: ConnectomeMethod, lengths: ArrayLike | None) -> ConnectomeMethod:
    """Give fibre lengths (V, V), where they are known, to a method that uses them."""
    if lengths is not None and "lengths" in method.get_params():
        method.set_params(lengths=lengths)
    return method


def choose_weight(
    method: ConnectomeMethod,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    confounds: ArrayLike,
    covariates_to_keep: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
) -> ChosenWeight:
    """Find the number that ``invariance_weight="auto"`` stands for; else change nothing.

    Parameters
    ----------
    method : ConnectomeMethod
        Unfitted.
    X, y, confounds, covariates_to_keep
        As for its ``fit``.
    groups : array-like of shape (n,), optional
        Families or sites, which are never divided between training and test subjects.
    seed : int, default=0

    Returns
    -------
    ChosenWeight
        The method is still unfitted.
    """
    if method.get_params().get(WEIGHT) != AUTO:
        return ChosenWeight(method, None)
    from stillome.evaluate.invariance_frontier import choose_invariance_weight

    found = choose_invariance_weight(
        method,
        X,
        y,
        confounds=confounds,
        covariates_to_keep=covariates_to_keep,
        groups=groups,
        random_state=seed,
    )
    return ChosenWeight(method.set_params(**{WEIGHT: found.weight}), found.table)
