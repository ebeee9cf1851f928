"""Words of the command line that stand for values: NAME=VALUE, a reference, a weight."""

import ast
from collections.abc import Sequence
from typing import Any

from stillome.cli.option_words import speak_of_set
from stillome.exceptions import InputError


def parameters_of(settings: Sequence[str] | None, weight: str | None = None) -> dict[str, Any]:
    """Read the parameters of a method from ``--set`` and ``--invariance-weight``.

    Examples
    --------
    >>> parameters_of(["n_components=20", "hidden=(64, 32)"], "auto")
    {'n_components': 20, 'hidden': (64, 32), 'invariance_weight': 'auto'}
    """
    parameters: dict[str, Any] = {}
    for setting in settings or ():
        name, mark, value = setting.partition("=")
        if not mark or not name.strip():
            raise InputError(f"--set {setting}: expected NAME=VALUE, such as n_components=20.")
        if name.strip() in parameters:
            raise InputError(f"--set {name.strip()} was given twice. Give it once.")
        parameters[name.strip()] = value_of(value)
    speak_of_set(name.rpartition(".")[2] for name in parameters)
    if weight is not None:
        if "invariance_weight" in parameters:
            raise InputError(
                "--invariance-weight and --set invariance_weight are the same. Give one of them."
            )
        parameters["invariance_weight"] = value_of(weight)
    return parameters


def parameters_by_method(
    settings: Sequence[str] | None, methods: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Read ``--set`` for several methods: METHOD.NAME=VALUE, or NAME=VALUE for all that have it.

    Raises
    ------
    InputError
        If no method has a parameter, or a method is not among those compared.

    Examples
    --------
    >>> parameters_by_method(["n_components=5", "combat.n_batches=3"], ["combat", "edgewise"])
    {'combat': {'n_components': 5, 'n_batches': 3}, 'edgewise': {'n_components': 5}}
    """
    from stillome.methods import make_method
    from stillome.run.method_parameters import settable

    made = {method: make_method(method) for method in methods}
    known = {name: method.get_params() for name, method in made.items()}
    found: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for name, value in parameters_of(settings).items():
        method, mark, own = name.rpartition(".")
        if mark and method not in known:
            raise InputError(f"--set {name}: {method!r} is not among {', '.join(known)}.")
        takers = [method] if mark else [one for one in known if name in known[one]]
        if not takers:
            listed = "; ".join(f"{one} has {', '.join(settable(made[one]))}" for one in made)
            raise InputError(f"None of the methods has a parameter {name!r}; {listed}.")
        for taker in takers:
            found[taker][own] = value
    return found


def value_of(word: str) -> Any:
    """Read a value; what is no number, truth value, list or the like is text.

    Examples
    --------
    >>> value_of("0.5"), value_of("auto"), value_of("None"), value_of("false")
    (0.5, 'auto', None, False)
    """
    if word.strip().lower() in ("true", "false"):
        return word.strip().lower() == "true"
    try:
        return ast.literal_eval(word.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word.strip()


def reference_of(words: Sequence[str]) -> "tuple[float, ...] | dict[str, float | str]":
    """Return what to adjust to: numbers for motion, or values by name.

    Raises
    ------
    InputError
        If a word is no number, or numbers and names are mixed.

    Examples
    --------
    >>> reference_of(["0.1"]), reference_of(["rms_mm=0.1", "site=B"])
    ((0.1,), {'rms_mm': '0.1', 'site': 'B'})
    """
    named = [word for word in words if "=" in word]
    if not named:
        return tuple(_number(word) for word in words)
    if len(named) < len(words):
        raise InputError(
            f"--reference {' '.join(words)}: give numbers only, or NAME=VALUE for each confound."
        )
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def baselines_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods to compare with.

    Examples
    --------
    >>> baselines_of(["none"]), baselines_of(["edgewise", "sog"])
    ((), ('edgewise', 'sog'))
    """
    return () if list(names) == ["none"] else tuple(names)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise InputError(f"--reference: {word!r} is not a number.") from error
