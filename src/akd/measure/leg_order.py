"""Do legs go in the order of the gait that was asked for?"""

from typing import NamedTuple

from akd.measure.asked import Asked
from akd.measure.body import Build

MIN_ALTERNATION = 0.8
"""Of the legs of a walk or run on two legs."""
ORDERS = {
    "walk": ("walk",), "run": ("trot", "pace", "gallop", "bound"), "trot": ("trot",), "pace": ("pace",),
    "canter": ("gallop", "bound"), "gallop": ("gallop", "bound"), "bound": ("bound", "gallop"),
}  # fmt: skip
"""Orders of legs of four-legged gaits: a walk is a lateral-sequence walk, and a run is any faster gait. One who asks for a gallop
may get a bound: they differ in how far one foot leads the other."""


class LegOrder(NamedTuple):
    """How legs go, and how they should."""

    found: str
    """The nearest gait on four legs; on two, whether they take turns."""
    wanted: str
    passed: bool
    turns: float | None = None
    """Alternation of two legs."""

    def sentence(self) -> str:
        return f"the legs go {self.found}, not {self.wanted}"


def leg_order(
    build: Build, gait: str | None, alternation: tuple[float, ...] | None, asked: Asked
) -> LegOrder | None:  # fmt: skip
    """The order of legs in a walk or run on two or four legs, from what was measured of them; None for anything else."""
    if asked.action not in ("walk", "run"):
        return None
    if build == "two-legged":
        turns = min(alternation) if alternation else None
        alternate = turns is not None and turns >= MIN_ALTERNATION
        return LegOrder("in turns" if alternate else "together", "in turns", alternate, turns)
    if build == "four-legged":
        name = asked.gait or asked.action
        found = f"as in a {gait}" if gait else "in no known order"
        return LegOrder(found, f"as in a {name}", gait in ORDERS.get(name, ORDERS[asked.action]))
    return None
