"""One animal of a plan: the numbers that make it different from the next."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from akd.creatures.plan import Marking, Plan


@dataclass(frozen=True, eq=False)
class Individual:
    """What a seed decides."""

    plan: str
    seed: int
    traits: dict[str, float]
    """A factor near one for every trait."""
    tilts: dict[str, float]
    """By chain name, how far it is swung up at its start [radians]."""
    chains: tuple[int, ...]
    """Indices of the plan's chains that it has."""
    palette: dict[str, Float[np.ndarray, " 3"]]
    """sRGB by palette name."""
    markings: tuple[tuple[Marking, float, float], ...]
    """The markings it has, each with its size [ℓ] and amount."""


def random_stream(name: str, seed: int, purpose: int) -> np.random.Generator:
    """Independent random numbers for each plan and purpose, so that one more marking does not change an animal's proportions."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, purpose, *name.encode()))))


def draw(plan: Plan, seed: int) -> Individual:
    """The individual that a seed stands for."""
    shape, dress = random_stream(plan.name, seed, 0), random_stream(plan.name, seed, 1)
    traits = {
        name: plan.typical.get(name, 1.0) * float(np.exp(_spread(shape) * reach)) for name, reach in sorted(plan.ranges().items())
    }
    tilts = {chain.name: float(np.deg2rad(chain.tilt * _spread(shape))) for chain in plan.chains if chain.tilt}
    chains = _chosen_chains(plan, dress)
    palette = _mixed(plan.palettes, dress) | _mixed(plan.wardrobes, dress)
    markings = tuple(
        (marking, float(dress.uniform(*marking.size)), float(dress.uniform(*marking.amount)))
        for marking in plan.markings
        if dress.random() < marking.chance
    )
    return Individual(plan.name, seed, traits, tilts, chains, palette, markings)


def rgb(code: str) -> Float[np.ndarray, " 3"]:
    """``#rrggbb`` as numbers in [0, 1]."""
    return np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _spread(rng: np.random.Generator) -> float:
    """A number in [−1, 1], more often near zero than near the ends."""
    return float(rng.uniform(-1, 1) + rng.uniform(-1, 1)) / 2


def _chosen_chains(plan: Plan, rng: np.random.Generator) -> tuple[int, ...]:
    """One throw for each name decides which of its alternatives an individual has, if any."""
    throws = {name: rng.random() for name in dict.fromkeys(chain.name for chain in plan.chains)}
    chosen = []
    for index, chain in enumerate(plan.chains):
        if 0 <= throws[chain.name] < chain.chance:
            chosen.append(index)
        throws[chain.name] -= chain.chance
    return tuple(chosen)


def _mixed(palettes: tuple[dict[str, str], ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two typical colourings mixed, mostly one of them, and a little lighter or darker, warmer or colder."""
    first, second = rng.choice(len(palettes), 2)
    share = 0.3 * rng.random() ** 2
    light, warm = rng.normal(0, 0.035), rng.normal(0, 0.015)
    shift = np.array([light + warm, light, light - warm])
    mixed = {}
    for name, code in palettes[first].items():
        color = (1 - share) * rgb(code) + share * rgb(palettes[second].get(name, code))
        # Eyes and noses are dark in every animal; the shift fades out towards black and white.
        mixed[name] = np.clip(color + shift * 4 * color * (1 - color), 0, 1)
    return mixed
