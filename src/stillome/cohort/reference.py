"""The confounds that connectomes are adjusted to, given as numbers or by name."""

from collections.abc import Mapping, Sequence

import numpy as np

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.cohort.motion_names import measure_of
from stillome.exceptions import InputError

GivenReference = Sequence[float] | Mapping[str, float | str]


def resolve_reference(coding: ConfoundCoding, given: GivenReference) -> list[float]:
    """Return the reference of every confound, in their order; 0 where none is given.

    Parameters
    ----------
    coding : ConfoundCoding
    given : sequence of float, or mapping of str to float or str
        One number for each measure of motion (a single 0 stands for all); or values by the
        name of the column: ``{"rms_mm": 0.1, "site": "B"}``.

    Raises
    ------
    InputError
        If they are too many or too few, not finite, negative for a measure of motion, or name a
        column or level that is unknown.

    Examples
    --------
    >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")})
    >>> resolve_reference(coding, [0.1]), resolve_reference(coding, {"site": "B"})
    ([0.1, 0.0], [0.0, 1.0])
    """
    if isinstance(given, Mapping):
        level = _by_name(coding, given)
    else:
        level = _by_position(coding, [float(one) for one in given])
    if not np.isfinite(level).all():
        raise InputError(f"reference: {_said(given)}; expected finite numbers.")
    for name, value in zip(coding.motion, level, strict=False):
        if value < 0 and measure_of(name):
            raise InputError(
                f"reference: {name} {value:g} is negative, and nobody moves less than not at all. "
                "Give a value of at least 0."
            )
    return level


def _by_position(coding: ConfoundCoding, numbers: list[float]) -> list[float]:
    if numbers == [0.0] or not numbers:
        return [0.0] * len(coding.names)
    if not coding.motion:
        raise InputError("reference: the model was fitted without motion. Leave it out.")
    if len(numbers) != len(coding.motion):
        raise InputError(
            f"reference: {len(numbers)} value(s) for {len(coding.motion)} confounds "
            f"({', '.join(coding.motion)}). Give one each."
        )
    return [*numbers, *[0.0] * (len(coding.names) - len(numbers))]


def _by_name(coding: ConfoundCoding, given: Mapping[str, float | str]) -> list[float]:
    names = [*coding.motion, *coding.others]
    known: dict[str, float | str] = {}
    for name, value in given.items():
        if name not in names:
            raise InputError(
                f"reference: no confound {name!r}; the model is fitted with {', '.join(names)}."
            )
        if name in coding.levels:
            known[name] = _level(name, value, coding.levels[name])
        else:
            known[name] = _number(name, value)
    return coding.reference(known).tolist()


def _level(name: str, value: float | str, levels: Sequence[str]) -> str:
    if str(value) not in levels:
        raise InputError(f"reference: {name} {value!r} is not among {', '.join(levels)}.")
    return str(value)


def _number(name: str, value: float | str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise InputError(f"reference: {name} {value!r} is not a number.") from error


def _said(given: GivenReference) -> str:
    pairs = given.items() if isinstance(given, Mapping) else None
    return ", ".join(f"{n} {v}" for n, v in pairs) if pairs else ", ".join(map(str, given))
