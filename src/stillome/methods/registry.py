"""The table of methods that the command line, `compare_methods` and the contract tests read."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from stillome.exceptions import InputError
from stillome.methods.contract import ConnectomeMethod


class MethodTable(Mapping[str, type[ConnectomeMethod]]):
    """Names of methods and their classes, each imported when it is first asked for."""

    def __init__(self, places: Mapping[str, tuple[str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> type[ConnectomeMethod]:
        module, class_name = self._places[name]
        method: type[ConnectomeMethod] = getattr(import_module(module), class_name)
        return method

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"MethodTable({list(self._places)})"

    def class_named(self, class_name: str) -> type[ConnectomeMethod] | None:
        """Return the class of that name, without importing any other; None if there is none."""
        names = (name for name, (_, found) in self._places.items() if found == class_name)
        name = next(names, None)
        return None if name is None else self[name]


# torch takes seconds to import, so a table of names must not need it.
METHODS = MethodTable(
    {
        "inv-fa": ("stillome.methods.inv_fa.inv_fa", "InvFA"),
        "inv-vae": ("stillome.methods.graph_vae.inv_vae", "InvVAE"),
        "gate": ("stillome.methods.graph_vae.gate", "GATE"),
        "combat": ("stillome.methods.linear.combat", "ComBat"),
        "covbat": ("stillome.methods.linear.covbat", "CovBat"),
        "combat-gam": ("stillome.methods.linear.combat_gam", "ComBatGAM"),
        "gamma-glm": ("stillome.methods.linear.gamma_glm", "GammaGLM"),
        "quantile-matching": ("stillome.methods.linear.quantile_matching", "QuantileMatching"),
        "leace": ("stillome.methods.linear.leace", "LEACE"),
        "sog": ("stillome.methods.linear.sog", "SOG"),
        "pca-regression": ("stillome.methods.linear.pca_regression", "PCARegression"),
        "edgewise": ("stillome.methods.linear.edgewise", "EdgewiseRegression"),
        "raw": ("stillome.methods.linear.raw", "RawConnectomes"),
    }
)
RAW = "raw"  # the method that removes nothing, with which all others are compared


def make_method(name: str, **parameters: Any) -> ConnectomeMethod:
    """Return an unfitted method by its name in `METHODS`.

    Parameters
    ----------
    name : str
    **parameters
        Parameters of the method. Their names are checked here, their values by its `fit`.
        ``preset="published"`` starts from the settings of the paper, where the method has them
        (`InvVAE`); other parameters change these.

    Raises
    ------
    InputError
        If there is no such method, or the method has no such parameter.

    Examples
    --------
    >>> make_method("edgewise", n_components=10)
    EdgewiseRegression(n_components=10)
    """
    if not isinstance(name, str) or name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose among {', '.join(METHODS)}.")
    method = METHODS[name]()
    if "preset" in parameters:
        presets, chosen = getattr(method, "presets", {}), parameters["preset"]
        if chosen not in presets:
            there = f"it has {', '.join(presets)}" if presets else "it has none"
            raise InputError(f"The method {name!r} has no preset {chosen!r}; {there}.")
        parameters = presets[chosen] | {n: v for n, v in parameters.items() if n != "preset"}
    unknown = sorted(set(parameters) - set(method.get_params()))
    if unknown:
        raise InputError(
            f"The method {name!r} has no parameter {unknown[0]!r}; it has "
            f"{', '.join(sorted(method.get_params()))}."
        )
    return method.set_params(**parameters)
