"""Cells of a table as values of a column's type; texts are understood where the table has no types."""

from types import NoneType
from typing import Any, Literal, get_args, get_origin

from akd.errors import AkdError

YES, NO = ("true", "yes", "1"), ("false", "no", "0")
KINDS_IN_WORDS = {bool: "yes or no", int: "a whole number", float: "a number", str: "a text", tuple: "a list of numbers"}


def cell_value(name: str, value: Any, hint: Any) -> Any:
    """The value of one cell, or a sentence that names the column and what belongs there."""
    plain = [part for part in get_args(hint) if part is not NoneType] if NoneType in get_args(hint) else [hint]
    kind = plain[0]
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        raise AkdError(f"{name} is one of {', '.join(map(str, get_args(kind)))}, not {value!r}.")
    try:
        return CONVERTERS[get_origin(kind) or kind](value)
    except (ValueError, TypeError) as error:
        raise AkdError(f"{name} is {KINDS_IN_WORDS[get_origin(kind) or kind]}, not {str(value)[:60]!r}.") from error


def _bool(value: Any) -> bool:
    text = str(value).lower()
    if text not in YES + NO:
        raise ValueError(text)
    return text in YES


def _int(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(value)
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _numbers(value: Any) -> tuple[float, ...]:
    parts = value.split() if isinstance(value, str) else value
    return tuple(float(part) for part in parts)


CONVERTERS = {bool: _bool, int: _int, float: _float, str: _text, tuple: _numbers}
"""By the type of the column."""
