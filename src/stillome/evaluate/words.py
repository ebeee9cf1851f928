"""Numbers and lists as a reader wants to see them."""

import math

UNKNOWN = "–"


def number(value: float, digits: int = 2) -> str:
    """Write a number with a true minus; a dash where it is unknown.

    Examples
    --------
    >>> number(-0.0312), number(float("nan")), number(12345.6, 0)
    ('−0.03', '–', '12,346')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:,.{digits}f}"
    return "0" + text[2:] if float(text.replace(",", "")) == 0 and text[0] == "-" else minus(text)


def percent(value: float, digits: int = 0) -> str:
    """Write a fraction in percent.

    Examples
    --------
    >>> percent(0.284), percent(float("nan"))
    ('28 %', '–')
    """
    return UNKNOWN if not math.isfinite(value) else f"{number(100 * value, digits)} %"


def signed_percent(value: float, digits: int = 0) -> str:
    """Write a change in percent, with its sign.

    Examples
    --------
    >>> signed_percent(0.114), signed_percent(-0.05)
    ('+11 %', '−5 %')
    """
    return UNKNOWN if not math.isfinite(value) else minus(f"{100 * value:+,.{digits}f} %")


def p_value(value: float) -> str:
    """Write a p-value.

    Examples
    --------
    >>> p_value(0.0001), p_value(0.0312)
    ('< 0.001', '0.031')
    """
    if not math.isfinite(value):
        return UNKNOWN
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_equals(value: float) -> str:
    """Write a p-value with its sign, for running text.

    Examples
    --------
    >>> p_equals(0.0001), p_equals(0.0312)
    ('p < 0.001', 'p = 0.031')
    """
    return f"p {p_value(value)}" if value < 0.001 else f"p = {value:.2g}"


def read_r2(value: float) -> str:
    """Write how much of motion is read: an R² below 0 reads nothing.

    Examples
    --------
    >>> read_r2(-0.2), read_r2(0.91)
    ('0.00', '0.91')
    """
    return number(max(value, 0.0)) if math.isfinite(value) else UNKNOWN


def minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs."""
    return text.replace("-", "−")


def listed(words: list[str]) -> str:
    """Join words by commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def things(count: int, one: str, many: str | None = None) -> str:
    """Count things.

    Examples
    --------
    >>> things(1, "subject"), things(1200, "subject")
    ('1 subject', '1,200 subjects')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
