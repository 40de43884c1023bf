"""Body plans that a user can impose on a mesh.

In the spirit of Pinocchio (Baran and Popović 2007), a template says which limbs there are and about where each ends, and they
are embedded into the graph of ways through the flesh: first the limbs that the shape shows, by the cheapest assignment; then, for
each limb it does not show, the way to the place in the flesh nearest to where the template has it end.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from akd.rigging.pairs import Pair, evenly, leave_trunk
from akd.rigging.volume import Paths, Volume

Tips = tuple[tuple[float, float, float], ...]
OTHER_KIND = 0.25
"""What it costs to take an arm for a leg, or a leg for an arm [sides of the body's box]."""
TOO_FAR = 0.75
"""A limb that ends farther than this from where the template has it is another one [sides of the body's box]."""


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


def imposed(
    template: Template, pairs: list[Pair], paths: Paths, trunk: Float[np.ndarray, "place 3"], depth: Float[np.ndarray, " place"]
) -> tuple[list[Pair], list[str]]:
    """The pairs that the template wants, and what had to be guessed."""
    out: list[Pair] = []
    taken: list[Pair] = []
    notes = []
    wanted: tuple[tuple[Literal["leg", "arm"], Tips | None], ...] = (("leg", template.legs), ("arm", template.arms))
    for kind, tips in wanted:
        left = [pair for pair in pairs if all(pair is not used for used in taken)]
        if tips is None:
            out += [pair for pair in left if not pair.is_leg]
            continue
        fitting = _assigned(tips, kind, left, paths.volume)
        guessed = [tip for tip, pair in zip(tips, fitting, strict=True) if pair is None]
        if guessed:
            notes.append(
                f"The shape shows only {len(tips) - len(guessed)} of {len(tips)} pairs of {kind}s: the others were placed where"
                " the template has them."
            )
        taken += [pair for pair in fitting if pair is not None]
        out += [pair if pair.is_leg == (kind == "leg") else replace(pair, kind=kind) for pair in fitting if pair is not None]
        out += [leave_trunk(_guess(tip, kind, paths), trunk, depth) for tip in guessed]
    return out, notes


def _assigned(tips: Tips, kind: Literal["leg", "arm"], pairs: list[Pair], volume: Volume) -> list[Pair | None]:
    """For each wanted tip the pair that ends nearest to it, all in all; None where there is none."""
    out: list[Pair | None] = [None] * len(tips)
    if not tips or not pairs:
        return out
    ends = _in_box(np.array([pair.points[-1] for pair in pairs]), volume)
    apart = np.linalg.norm(np.array(tips)[:, None] - ends, axis=-1)
    other = np.array([pair.is_leg != (kind == "leg") for pair in pairs])
    for tip, pair in zip(*linear_sum_assignment(apart + OTHER_KIND * other), strict=True):
        if apart[tip, pair] + OTHER_KIND * other[pair] < TOO_FAR:
            out[tip] = pairs[pair]
    return out


def _guess(tip: tuple[float, float, float], kind: Literal["leg", "arm"], paths: Paths) -> Pair:
    """The way to the flesh on the right that is nearest to where a limb should end."""
    volume = paths.volume
    right = np.flatnonzero((volume.centers[:, 2] > volume.step) & np.isfinite(paths.far))
    apart = np.linalg.norm(_in_box(volume.centers[right], volume) - tip, axis=1)
    return Pair(evenly(paths.line(int(right[np.argmin(apart)])))[0], kind)


def _in_box(points: Float[np.ndarray, "point 3"], volume: Volume) -> Float[np.ndarray, "point 3"]:
    """Places as shares of the body's length, height and half its width."""
    low, high = volume.centers.min(0), volume.centers.max(0)
    low, high = low * (1, 1, 0), np.array([high[0], high[1], np.abs(volume.centers[:, 2]).max()])
    return (points - low) / np.maximum(high - low, 1e-12)
