"""Checked access to JSON objects from files that cannot be trusted."""

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError


@dataclass(frozen=True)
class Entry:
    """A JSON object of a file and what to call it; every getter returns the right type or raises ``AkdError``."""

    fields: dict[str, Any]
    label: str
    """As in "accessors[3] of fox.glb"."""

    def __contains__(self, key: str) -> bool:
        """Whether the key is there; null counts as absent."""
        return self.fields.get(key) is not None

    def fail(self, key: str, expected: str) -> NoReturn:
        """Say what stands where something else was expected."""
        value = "missing" if key not in self else shortened(self.fields[key])
        raise AkdError(f"'{key}' in {self.label} is {value}, not {expected}; the file is damaged, please export it again.")

    def whole(self, key: str, default: int | None = None, below: int = 2**40) -> int:
        """A whole number in [0, below)."""
        value = self.fields.get(key)
        value = default if value is None else value if type(value) is int else _as_whole(value)
        if value is None or not 0 <= value < below:
            self.fail(key, f"a whole number from 0 to {below - 1}")
        return value

    def numbers(self, key: str, count: int, default: tuple[float, ...] | None = None) -> Float[np.ndarray, " {count}"]:
        """A list of finite numbers of known length."""
        value = self.fields.get(key)
        value = default if value is None else value
        if not isinstance(value, list | tuple) or len(value) != count or not all(map(_is_finite, value)):
            self.fail(key, f"a list of {count} finite numbers")
        return np.array(value, float)

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self.fields.get(key)
        value = default if value is None else value
        if not _is_finite(value):
            self.fail(key, "a finite number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        """A string that can be printed: JSON can hold half characters, which become question marks."""
        value = self.fields.get(key)
        value = default if value is None else value
        if not isinstance(value, str):
            self.fail(key, "a text")
        return value.encode("utf-8", "replace").decode()

    def child(self, key: str) -> "Entry":
        """The object under the key, an empty one when there is none."""
        value = self.fields.get(key)
        value = {} if value is None else value
        if not isinstance(value, dict):
            self.fail(key, "an object")
        return Entry(value, f"{key} in {self.label}")

    def count(self, key: str) -> int:
        """How long the list under the key is; 0 when there is none."""
        return len(self._list(key))

    def item(self, key: str, index: int) -> "Entry":
        """One object of a list of objects."""
        items = self._list(key)
        if not 0 <= index < len(items):
            raise AkdError(f"{self.label} has no {key}[{index}], only {len(items)} of them; please export the file again.")
        if not isinstance(items[index], dict):
            self.fail(key, "a list of objects")
        return Entry(items[index], f"{key}[{index}] in {self.label}")

    def items(self, key: str) -> Iterator["Entry"]:
        """All objects of a list of objects."""
        return (self.item(key, index) for index in range(self.count(key)))

    def indices(self, key: str, below: int) -> list[int]:
        """A list of whole numbers in [0, below); empty when absent."""
        values = [_as_whole(value) for value in self._list(key)]
        if not all(value is not None and 0 <= value < below for value in values):
            self.fail(key, f"a list of whole numbers from 0 to {below - 1}")
        return [value for value in values if value is not None]

    def texts(self, key: str) -> list[str]:
        """A list of strings; empty when absent."""
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            self.fail(key, "a list of texts")
        return values

    def _list(self, key: str) -> list[Any]:
        value = self.fields.get(key)
        value = [] if value is None else value
        if not isinstance(value, list):
            self.fail(key, "a list")
        return value


def shortened(value: Any) -> str:
    """A value from a file, short enough for an error message."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # whole numbers with thousands of digits, lists nested without end
        return "something very long"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _as_whole(value: Any) -> int | None:
    """The whole number that a JSON value is, also when written as 3.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if isinstance(value, bool) or not isinstance(value, int) else operator.index(value)


def _is_finite(value: Any) -> bool:
    """Whether a JSON value is a number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300 if isinstance(value, int) else math.isfinite(value)
