"""One individual of a body plan: the traits that a seed draws, and its joints and tubes placed by them.

The plan's chains are stretched by the individual's traits, attached to each other, stood on the ground and scaled to leg
length one.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import PchipInterpolator

from akd.creatures.plan import Chain, Marking, Plan

SUBDIVISIONS = 4
"""Cross-sections for each declared one, so that limbs are round where they bend."""
LYING_SINK = 0.03
"""How much of a body without legs the ground cuts off, so that it has a patch to lie on [ℓ]."""


@dataclass(frozen=True, eq=False)
class Individual:
    """What a seed decides about one animal of a plan."""

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


def sample_individual(plan: Plan, seed: int) -> Individual:
    """The individual of a plan with this seed."""
    shape, dress = random_stream(plan.name, seed, 0), random_stream(plan.name, seed, 1)
    traits = {
        name: plan.typical.get(name, 1.0) * float(np.exp(_triangular(shape) * log_range))
        for name, log_range in sorted(plan.ranges().items())
    }
    tilts = {chain.name: float(np.deg2rad(chain.tilt * _triangular(shape))) for chain in plan.chains if chain.tilt}
    chains = _chosen_chains(plan, dress)
    palette = _mixed_palette(plan.palettes, dress) | _mixed_palette(plan.wardrobes, dress)
    markings = tuple(
        (marking, float(dress.uniform(*marking.size)), float(dress.uniform(*marking.amount)))
        for marking in plan.markings
        if dress.random() < marking.chance
    )
    return Individual(plan.name, seed, traits, tilts, chains, palette, markings)


def rgb(code: str) -> Float[np.ndarray, " 3"]:
    """``#rrggbb`` as numbers in [0, 1]."""
    return np.array([int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _triangular(rng: np.random.Generator) -> float:
    """A draw from the triangular distribution on [−1, 1]."""
    return float(rng.uniform(-1, 1) + rng.uniform(-1, 1)) / 2


def _chosen_chains(plan: Plan, rng: np.random.Generator) -> tuple[int, ...]:
    """One draw for each name decides which of its alternatives an individual has, if any."""
    draws = {name: rng.random() for name in dict.fromkeys(chain.name for chain in plan.chains)}
    chosen = []
    for index, chain in enumerate(plan.chains):
        if 0 <= draws[chain.name] < chain.chance:
            chosen.append(index)
        draws[chain.name] -= chain.chance
    return tuple(chosen)


def _mixed_palette(palettes: tuple[dict[str, str], ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
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


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of the right half or of the midline."""

    name: str
    """With ``*`` for the side."""
    parent: str
    position: Float[np.ndarray, " 3"]
    tail: Float[np.ndarray, " 3"]
    chain: Chain


@dataclass(frozen=True, eq=False)
class Tube:
    """One chain as a generalised cylinder with elliptical sections, on the right half or on the midline."""

    chain: Chain
    centres: Float[np.ndarray, "section 3"]
    widths: Float[np.ndarray, " section"]
    heights: Float[np.ndarray, " section"]
    owners: tuple[str, ...]
    """Joint that each section moves with."""
    colors: tuple[str, ...]
    """Palette name of each section."""
    root: Float[np.ndarray, " 3"]
    """The joint it is attached to."""


@dataclass(frozen=True, eq=False)
class CreatureBody:
    """An individual at rest, right half and midline, in leg lengths."""

    joints: tuple[Joint, ...]
    """Parents before children."""
    tubes: tuple[Tube, ...]
    leg_metres: float


@dataclass
class _Placed:
    """Joints of the chains placed so far, for the chains attached to them."""

    declared: dict[str, np.ndarray]
    placed: dict[str, np.ndarray]
    maps: dict[str, np.ndarray]
    """By joint, the linear map from declared to placed offsets of the chain it lies in."""
    rotations: dict[str, np.ndarray]
    """By joint, the rotation by tilts of the chains up to it."""


def place_body(plan: Plan, individual: Individual) -> CreatureBody:
    """Place all chains of an individual, then scale it to leg length one."""
    placed_chains = _Placed({}, {}, {}, {})
    joints: list[Joint] = []
    tubes: list[Tube] = []
    for index in individual.chains:
        tube, new = _place_chain(plan.chains[index], individual, placed_chains)
        joints += new
        tubes.append(tube)
    tops = [next(j for j in joints if j.chain is chain).position[1] for chain in plan.chains if chain.kind == "leg"]
    leg, ground = (float(np.median(tops)), 0.0) if tops else _lying(tubes)
    down = np.array([0.0, ground, 0.0])
    return CreatureBody(
        tuple(replace(j, position=(j.position - down) / leg, tail=(j.tail - down) / leg) for j in joints),
        tuple(_resampled(replace(t, centres=t.centres - down, root=t.root - down), 1 / leg) for t in tubes),
        leg * plan.metres * individual.traits["size"],
    )


def _lying(tubes: list[Tube]) -> tuple[float, float]:
    """ℓ and the height of the ground under a body without legs: half the body's height, and a little above its lowest point."""
    low = min(float((tube.centres[:, 1] - tube.heights).min()) for tube in tubes)
    high = max(float((tube.centres[:, 1] + tube.heights).max()) for tube in tubes)
    leg = (high - low) / 2
    return leg, low + LYING_SINK * leg


def _place_chain(chain: Chain, individual: Individual, placed_chains: _Placed) -> tuple[Tube, list[Joint]]:
    """Place one chain, and note its joints for the chains that follow."""
    declared = np.array([(s.x, s.y, s.z) for s in chain.sections], float)
    length, across = _factors(chain.trait, individual.traits)
    rotation = _about_lateral(individual.tilts.get(chain.name, 0.0)) @ placed_chains.rotations.get(chain.at, np.eye(3))
    stretch = rotation @ _stretch(declared, length, across)
    if chain.at:
        start = placed_chains.placed[chain.at] + placed_chains.maps[chain.at] @ (declared[0] - placed_chains.declared[chain.at])
        root = placed_chains.placed[chain.at]
    else:
        start = declared[0] * (1.0, individual.traits["leg"], 1.0)
        root = start
    centres = start + (declared - declared[0]) @ stretch.T
    widths = np.array([s.width for s in chain.sections]) * across
    heights = np.array([s.width if s.height is None else s.height for s in chain.sections]) * across
    if chain.kind == "leg":
        centres[:, 1] = _leg_heights(declared[:, 1], heights, across, start[1])
    owners, joints = _joints(chain, centres)
    for joint in joints:
        index = next(i for i, s in enumerate(chain.sections) if s.name == joint.name)
        placed_chains.declared[joint.name], placed_chains.placed[joint.name] = declared[index], centres[index]
        placed_chains.maps[joint.name], placed_chains.rotations[joint.name] = stretch, rotation
    colors = _colors(chain)
    return Tube(chain, centres, widths, heights, owners, colors, root), joints


def _factors(trait: str, traits: dict[str, float]) -> tuple[float, float]:
    """Factors of a chain's length and thickness."""
    girth, length = traits["girth"], traits[trait]
    thickness = {"body": girth, "neck": girth**0.5, "tail": girth**0.5, "head": length, "ear": length}
    return length, thickness.get(trait, traits["limb"] * girth**0.25)


def _stretch(points: Float[np.ndarray, "section 3"], length: float, across: float) -> Float[np.ndarray, "3 3"]:
    """The linear map that stretches along the chain and thickens across it."""
    along = points[-1] - points[0]
    along = along / max(float(np.linalg.norm(along)), 1e-9)
    return across * np.eye(3) + (length - across) * np.outer(along, along)


def _about_lateral(angle: float) -> Float[np.ndarray, "3 3"]:
    """Rotation about the lateral axis; positive angles lift what points forward [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def _leg_heights(
    declared: Float[np.ndarray, " section"], heights: Float[np.ndarray, " section"], across: float, top: float
) -> Float[np.ndarray, " section"]:
    """Heights of a leg's sections: feet keep their own proportions on the ground, the rest fills the way up to the body."""
    touching = declared - heights / across < 0.35 * heights / across
    ankle = declared[touching].max() if touching.any() else 0.0
    slope = (top - ankle * across) / (declared[0] - ankle)
    return np.where(declared <= ankle, declared * across, ankle * across + (declared - ankle) * slope)


def _joints(chain: Chain, centres: Float[np.ndarray, "section 3"]) -> tuple[tuple[str, ...], list[Joint]]:
    """The joints of a chain, and the joint that each of its sections moves with."""
    named = [i for i, s in enumerate(chain.sections) if s.name]
    parent, joints = chain.at, []
    for rank, i in enumerate(named):
        end = named[rank + 1] if rank + 1 < len(named) else len(centres) - 1
        joints.append(Joint(chain.sections[i].name, parent, centres[i], centres[end], chain))
        parent = chain.sections[i].name
    owner = chain.at or chain.sections[named[0]].name
    owners = []
    for section in chain.sections:
        owner = section.name or owner
        owners.append(owner)
    return tuple(owners), joints


def _colors(chain: Chain) -> tuple[str, ...]:
    colors, color = [], chain.color
    for section in chain.sections:
        color = section.color or color
        colors.append(color)
    return tuple(colors)


def _resampled(tube: Tube, scale: float) -> Tube:
    """The same tube through more sections, along a smooth curve without overshoot."""
    count = len(tube.centres)
    values = np.column_stack((tube.centres, tube.widths, tube.heights)) * scale
    index: Int[np.ndarray, " fine"] = np.zeros(1, int)
    if count > 1:
        chord = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(tube.centres, axis=0), axis=1))))
        fine = np.interp(np.arange((count - 1) * SUBDIVISIONS + 1) / SUBDIVISIONS, np.arange(count), chord)
        values = PchipInterpolator(chord, values)(fine)
        index = np.minimum(np.arange(len(fine)) // SUBDIVISIONS, count - 1)
    return replace(
        tube, centres=values[:, :3], widths=values[:, 3], heights=values[:, 4], root=tube.root * scale,
        owners=tuple(tube.owners[i] for i in index), colors=tuple(tube.colors[i] for i in index),
    )
