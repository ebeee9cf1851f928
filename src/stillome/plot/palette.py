"""One colour and one marker for each method, the same in every figure."""

from collections.abc import Iterable
from typing import NamedTuple

from stillome.methods.registry import METHODS
from stillome.plot.style import GREY, INK


class Look(NamedTuple):
    """How a method is drawn: a colour, and a marker that distinguishes it in grey."""

    colour: str
    marker: str


# Okabe and Ito, light and dark in turn; purple is darker than all of them. Those of the ComBat
# family are greens. With so many, only the marker is sure to differ to every eye.
_LOOKS = {
    "raw": Look(GREY, "o"),
    "inv-fa": Look("#0072b2", "D"),
    "inv-vae": Look("#6a3d9a", "h"),
    "gate": Look("#e69f00", "s"),
    "combat": Look("#009e73", "^"),
    "covbat": Look("#44aa66", "8"),
    "combat-gam": Look("#117733", "H"),
    "gamma-glm": Look("#882255", "*"),
    "quantile-matching": Look("#999933", "d"),
    "leace": Look("#5566aa", "p"),
    "sog": Look("#cc79a7", "v"),
    "pca-regression": Look("#56b4e9", "P"),
    "edgewise": Look("#d55e00", "X"),
}
_OTHERS = (Look(INK, "<"), Look("#a3c900", ">"), Look("#a6761d", "1"))


def order_methods(names: Iterable[str]) -> list[str]:
    """Put methods into the order of every figure: raw, those of `METHODS`, then the others.

    Examples
    --------
    >>> order_methods(["mine", "gate", "raw", "inv-vae", "inv-fa", "gate"])
    ['raw', 'inv-fa', 'inv-vae', 'gate', 'mine']
    """
    given = list(dict.fromkeys(names))
    known = [name for name in dict.fromkeys(("raw", *METHODS)) if name in given]
    return [*known, *(name for name in given if name not in known)]


def method_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each method, in the order of `order_methods`; `GATE` is `gate`.

    Examples
    --------
    >>> looks = method_looks(["gate", "GATE", "mine"])
    >>> looks["mine"], looks["GATE"] == looks["gate"]
    (Look(colour='#222222', marker='<'), True)
    """
    ordered = order_methods(names)
    others = [name for name in ordered if name.lower() not in _LOOKS]
    looks = {name: _OTHERS[i % len(_OTHERS)] for i, name in enumerate(others)}
    return {name: looks.get(name) or _LOOKS[name.lower()] for name in ordered}
