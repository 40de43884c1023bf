"""Body plans that a user can impose on a mesh.

In the spirit of Pinocchio (Baran and Popović 2007), a template says which limbs there are and about where each ends, and they
are embedded into the curve skeleton at the least cost: of all assignments of the template's limbs to pairs that the shape shows,
the one whose tips are nearest and whose order along the trunk is right. A limb that the shape does not show goes to the place
inside the body nearest to where the template has it end.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.rigging.pairs import LimbPair, resampled
from akd.rigging.volume import ShortestPaths, Volume

Tips = tuple[tuple[float, float, float], ...]
TemplateLimb = tuple[Literal["leg", "arm"], tuple[float, float, float]]
"""A limb and where the template has it end."""
OTHER_KIND_COST = 0.25
"""Cost of taking an arm for a leg, or a leg for an arm [sides of the body's box]."""
DISORDER_COST = 0.5
"""Cost of an arm that leaves the trunk behind a leg."""
MISSING_COST = 1.25
"""Cost of guessing a limb: a pair that ends farther than this from where the template has it is another limb."""
OWN_DISTANCE = 0.08
"""Voxels nearer to a limb than this belong to it [size]."""


@dataclass(frozen=True)
class Template:
    """Where the limbs on the right end, in the body's box: 0 to 1 from hind to front, from the ground up, from the middle out."""

    legs: Tips
    arms: Tips | None = ()
    """None: as many as the shape shows."""


TEMPLATES = {
    "biped": Template(((0.5, 0, 0.3),), ((0.5, 0.55, 1.0),)),
    "bird": Template(((0.5, 0, 0.4),), None),
    "quadruped": Template(((0.25, 0, 0.6), (0.75, 0, 0.6))),
    "insect": Template(((0.2, 0, 1.0), (0.5, 0, 1.0), (0.8, 0, 1.0))),
    "spider": Template(((0.1, 0, 0.8), (0.4, 0, 1.0), (0.6, 0, 1.0), (0.9, 0, 0.8))),
    "snake": Template(()),
}


def fit_template(template: Template, pairs: list[LimbPair], paths: ShortestPaths) -> tuple[list[LimbPair], list[str]]:
    """The template's limb pairs, and notes on what had to be guessed."""
    template_limbs: list[TemplateLimb] = [("leg", tip) for tip in template.legs] + [("arm", tip) for tip in template.arms or ()]
    taken = _cheapest_assignment(template_limbs, pairs, paths.volume)
    out = [_as_kind(pair, kind) for (kind, _), pair in zip(template_limbs, taken, strict=True) if pair is not None]
    if template.arms is None:
        out += [pair for pair in pairs if not pair.is_leg and all(pair is not used for used in taken)]
    for (kind, tip), pair in zip(template_limbs, taken, strict=True):
        out += [_guessed_limb(tip, kind, out, paths)] if pair is None else []
    notes = []
    for kind in ("leg", "arm"):
        found = [pair is not None for pair, (name, _) in zip(taken, template_limbs, strict=True) if name == kind]
        if not all(found):
            notes.append(
                f"The shape shows only {sum(found)} of {len(found)} pairs of {kind}s: the others were placed where the template"
                " has them."
            )
    return out, notes


def _cheapest_assignment(template_limbs: list[TemplateLimb], pairs: list[LimbPair], volume: Volume) -> list[LimbPair | None]:
    """For each template limb the pair assigned to it or None, by exhaustive search: limbs are few."""
    ends = _in_box(np.array([pair.points[-1] for pair in pairs]).reshape(-1, 3), volume)
    cost = np.full((len(template_limbs), len(pairs) + 1), MISSING_COST)  # the last column: none
    for row, (kind, tip) in enumerate(template_limbs):
        other = np.array([pair.is_leg != (kind == "leg") for pair in pairs], bool)
        cost[row, :-1] = np.linalg.norm(ends - tip, axis=1) + OTHER_KIND_COST * other

    def total(choice: tuple[int, ...]) -> float:
        at: dict[str, list[int]] = {"leg": [], "arm": []}
        for (kind, _), pair in zip(template_limbs, choice, strict=True):
            at[kind] += [pairs[pair].attached] if pair < len(pairs) else []
        disorder = sum(arm < leg for arm in at["arm"] for leg in at["leg"])
        return float(cost[np.arange(len(template_limbs)), list(choice)].sum()) + DISORDER_COST * disorder

    options = product(*(np.flatnonzero(row <= MISSING_COST).tolist() for row in cost))
    unique = (choice for choice in options if len(real := [c for c in choice if c < len(pairs)]) == len(set(real)))
    return [pairs[pair] if pair < len(pairs) else None for pair in min(unique, key=total)]


def _as_kind(pair: LimbPair, kind: Literal["leg", "arm"]) -> LimbPair:
    """A wing stays a wing where an arm is wanted."""
    return pair if pair.is_leg == (kind == "leg") else replace(pair, kind=kind)


def _guessed_limb(
    tip: tuple[float, float, float], kind: Literal["leg", "arm"], others: list[LimbPair], paths: ShortestPaths
) -> LimbPair:
    """The path to the voxel on the right nearest to where a limb should end that is not another limb's."""
    volume = paths.volume
    right = np.flatnonzero((volume.centers[:, 2] > volume.step) & np.isfinite(paths.distances))
    apart = np.linalg.norm(_in_box(volume.centers[right], volume) - tip, axis=1)
    if others:
        distance, _ = cKDTree(np.concatenate([pair.points for pair in others])).query(volume.centers[right])
        apart[distance < OWN_DISTANCE * volume.size] += MISSING_COST
    return LimbPair(resampled(paths.branch(int(right[np.argmin(apart)])))[0], kind)


def _in_box(points: Float[np.ndarray, "point 3"], volume: Volume) -> Float[np.ndarray, "point 3"]:
    """Places as shares of the body's length, height and half its width."""
    low, high = volume.centers.min(0), volume.centers.max(0)
    low, high = low * (1, 1, 0), np.array([high[0], high[1], np.abs(volume.centers[:, 2]).max()])
    return (points - low) / np.maximum(high - low, 1e-12)
