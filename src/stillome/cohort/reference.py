"""What connectomes are adjusted to, as it is written on a command line: 0.1, rms_mm=0.1, site=B."""

from collections.abc import Sequence

import numpy as np

from stillome.cohort.confound_coding import ConfoundCoding
from stillome.exceptions import InputError


def reference_of_run(coding: ConfoundCoding, given: Sequence[float | str]) -> list[float]:
    """Return the reference of every confound: numbers are for motion, in its order.

    Parameters
    ----------
    coding : ConfoundCoding
    given : sequence of float or str
        One number for each measure of motion (0 stands for all), or words that name confounds.

    Raises
    ------
    InputError
        If they are too many or too few, not finite, or name what there is not.

    Examples
    --------
    >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")})
    >>> reference_of_run(coding, [0.1]), reference_of_run(coding, ["rms_mm=0.1", "site=B"])
    ([0.1, 0.0], [0.1, 1.0])
    """
    numbers = [float(one) for one in given if not isinstance(one, str)]
    if len(numbers) < len(given):
        level = read_reference(
            coding, [one if isinstance(one, str) else f"{one:g}" for one in given]
        )
    elif numbers == [0.0]:
        return [0.0] * len(coding.names)
    elif len(numbers) != len(coding.motion):
        raise InputError(
            f"reference: {len(numbers)} value(s) for {len(coding.motion)} confounds "
            f"({', '.join(coding.motion)}). Give one each."
        )
    else:
        level = [*numbers, *[0.0] * (len(coding.names) - len(numbers))]
    if not np.isfinite(level).all():
        raise InputError(f"reference={given!r}; expected finite numbers.")
    return level


def read_reference(coding: ConfoundCoding, words: Sequence[str]) -> list[float]:
    """Return the reference of every confound: those named, and 0 for the others.

    Raises
    ------
    InputError
        If a word is no number, names no confound, or leaves open which confound it is for.

    Examples
    --------
    >>> coding = ConfoundCoding(("rms_mm",), levels={"site": ("A", "B")})
    >>> read_reference(coding, ["site=B"])
    [0.0, 1.0]
    """
    names = [*coding.motion, *coding.others]
    if words and all("=" not in word for word in words):
        if len(words) == 1 and float_of(words[0]) == 0:
            return [0.0] * len(coding.names)
        if len(words) != len(names):
            raise InputError(
                f"reference: {len(words)} value(s) for the confounds {', '.join(names)}. "
                f"Say which, as in {names[0]}={words[0]}."
                if names
                else "reference: the model knows no motion. Leave it out."
            )
        words = [f"{name}={word}" for name, word in zip(names, words, strict=True)]
    given: dict[str, float | str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in names:
            raise InputError(
                f"reference {word}: the model is fitted with {', '.join(names)}. Name one."
            )
        given[name] = (
            level_of(value, coding.levels[name]) if name in coding.levels else float_of(value)
        )
    return coding.reference(given).tolist()


def level_of(word: str, levels: Sequence[str]) -> str:
    """Return one of the levels, which the message lists.

    Examples
    --------
    >>> level_of("B", ["A", "B"])
    'B'
    """
    if word not in levels:
        raise InputError(f"reference: {word!r} is not among {', '.join(levels)}.")
    return word


def float_of(word: str) -> float:
    """Read one number.

    Examples
    --------
    >>> float_of("0.1")
    0.1
    """
    try:
        return float(word)
    except ValueError as error:
        raise InputError(f"reference: {word!r} is not a number.") from error
