"""The words and numbers that pictures, tables, the terminal and the page share."""

_MINUS = str.maketrans("-", "−")
_ROUNDING = 1e-6
RESULTS = {1: "wins", 0: "draws", -1: "loses"}
"""The verb for a player who ends with this value."""
OUTCOMES = {1: "win", 0: "draw", -1: "loss"}
"""The outcome for a player who ends with this value."""


def percent(share: float) -> str:
    """The share in percent, to a hundredth; 0 % and 100 % only where it is exactly that.

    >>> percent(0.125), percent(1 / 3), percent(0.25), percent(0.00001), percent(1 - 1e-12)
    ('12.5%', '33.33%', '25%', '<0.01%', '100%')
    """
    text = f"{100 * share:.2f}"
    if text == "0.00" and share > 0:
        return "<0.01%"
    if text == "100.00" and share < 1 - _ROUNDING:
        return ">99.99%"
    return text.rstrip("0").removesuffix(".") + "%"


def gain(number: float, digits: int) -> str:
    """A gain with its sign; one that is too small for so many digits as a power of ten, never as a zero.

    >>> gain(0.5, 3), gain(0.0, 3), gain(1.2e-15, 3)
    ('+0.500', '0.000', '+1e−15')
    """
    text = signed(number, digits)
    is_hidden = number != 0 and text.strip("0.") == ""
    return f"{number:+.0e}".translate(_MINUS) if is_hidden else text


def signed(number: float, digits: int) -> str:
    """The number with its sign, a zero without one.

    >>> signed(0.5, 2), signed(-0.5, 2), signed(-0.001, 2)
    ('+0.50', '−0.50', '0.00')
    """
    text = f"{number:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.translate(_MINUS)
