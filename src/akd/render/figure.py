"""The figure of a skeleton: limbs as rods of Gaussians, which a small video model is shown in place of the character.

Bodies differ in skin far more than in how they move. Drawn as figures, a knight, a girl and a robot look alike but for their
proportions, so what a model learns of one holds for the others; nothing hides a limb but another limb; and one colour per limb,
from dark at the body to full at the tip, tells how far along a limb a pixel lies. A figure is splats with weights, like the
character's own, and moves and is filmed in the same way.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import bounding_sphere
from akd.render.looks import PALETTE, Color, limb_color
from akd.skeleton import Kind, Limb, Posed, Side, Skeleton
from akd.splats import SkinnedSplats, Splats, sh_from_color

RADII: dict[Kind, tuple[float, float]] = {
    "leg": (0.065, 0.042), "arm": (0.055, 0.04), "wing": (0.06, 0.045), "fin": (0.055, 0.045), "tail": (0.06, 0.042),
    "neck": (0.06, 0.06), "head": (0.08, 0.1), "spine": (0.085, 0.085),
}  # fmt: skip
"""Standard deviation of a rod's Gaussians at the body and at the tip, as a share of the body's size."""
SPACING = 0.9
"""Distance of neighbouring Gaussians, in standard deviations."""
OPACITY = 0.85
TRUNK: Color = (0.30, 0.30, 0.34)
"""Of the spine, and of what joins limbs to it: dark, so that limbs before it show."""
SHADE = 0.55
"""Brightness of a limb where it begins."""
LIGHT_SHARE = 0.15
"""Share of a limb's colour in a trunk-coloured joint piece: none of it would hide where the limb begins."""


def figure_splats(skeleton: Skeleton) -> SkinnedSplats:
    """The figure of a labelled skeleton."""
    if not skeleton.limbs:
        raise AkdError("A figure needs limb labels, and this skeleton has none: label it, or film it in the natural look.")
    size = figure_size(skeleton)
    rods = [rod for limb in skeleton.limbs for rod in _rods(skeleton, limb)]
    points = [_points(*rod, size) for rod in rods]
    means, radii, colors = (np.concatenate(part) for part in zip(*points, strict=True))
    joints = np.concatenate([np.full(len(own[0]), rod[0]) for rod, own in zip(rods, points, strict=True)])
    weights = torch.zeros(len(means), skeleton.joint_count)
    weights[torch.arange(len(means)), torch.from_numpy(joints)] = 1.0
    upright = torch.tensor((1.0, 0.0, 0.0, 0.0)).expand(len(means), 4).clone()
    splats = Splats(
        torch.from_numpy(means).float(), upright, torch.from_numpy(radii).float()[:, None].expand(-1, 3).clone(),
        torch.full((len(means),), OPACITY), sh_from_color(torch.from_numpy(colors).float()),
    )  # fmt: skip
    return SkinnedSplats(splats, weights, size)


def figure_size(skeleton: Skeleton) -> float:
    """Radius of the sphere around the joints at rest [ℓ], without arms, which are spread at rest or not as artists like it."""
    arms = {joint for limb in skeleton.limbs_of("arm") for joint in limb.joints}
    shown = [joint for joint in range(skeleton.joint_count) if joint not in arms]
    ends = np.concatenate((skeleton.positions[shown], skeleton.tails[shown]))
    return float(bounding_sphere(torch.from_numpy(ends).float())[1])


Rod = tuple[int, np.ndarray, np.ndarray, tuple[float, float], tuple[Color, Color]]
"""The joint that moves it, its ends, standard deviations and colours at both."""


def _rods(skeleton: Skeleton, limb: Limb) -> list[Rod]:
    """A limb's bones from the body to its tip, and the piece that joins it to the body."""
    chain = main_chain(skeleton, limb)
    ends = [skeleton.positions[joint] for joint in chain] + [skeleton.tails[chain[-1]]]
    way = np.concatenate(((0.0,), np.cumsum([np.linalg.norm(b - a) for a, b in pairwise(ends)])))
    along = way / max(way[-1], 1e-9)
    full = np.array(TRUNK if limb.kind == "spine" else limb_color(limb))
    near, far = RADII[limb.kind]

    def at(share: float) -> tuple[float, Color]:
        bright = 1.0 if limb.kind == "spine" else SHADE + (1 - SHADE) * share
        return near + (far - near) * share, tuple(bright * full)

    rods: list[Rod] = []
    for place, joint in enumerate(chain):
        (r0, c0), (r1, c1) = at(along[place]), at(along[place + 1])
        rods.append((joint, ends[place], ends[place + 1], (r0, r1), (c0, c1)))
    parent = int(skeleton.parents[chain[0]])
    if parent >= 0:
        joined = tuple(LIGHT_SHARE * SHADE * full + (1 - LIGHT_SHARE) * np.array(TRUNK))
        rods.append((parent, skeleton.positions[parent], skeleton.positions[chain[0]], (near, near), (TRUNK, joined)))
    return rods


def main_chain(skeleton: Skeleton, limb: Limb) -> list[int]:
    """The joints of a limb from the body to its tip, without what hangs off."""
    chain = [limb.tip]
    while int(skeleton.parents[chain[0]]) in limb.joints:
        chain.insert(0, int(skeleton.parents[chain[0]]))
    return chain


def _points(
    joint: int, start: np.ndarray, end: np.ndarray, radii: tuple[float, float], colors: tuple[Color, Color], size: float
) -> tuple[Float[np.ndarray, "point 3"], Float[np.ndarray, " point"], Float[np.ndarray, "point 3"]]:
    """Places, standard deviations and colours along a rod, its end left to the next one but for the tip's own."""
    step = SPACING * size * (radii[0] + radii[1]) / 2
    count = max(int(np.ceil(float(np.linalg.norm(end - start)) / step)), 1)
    share = (np.arange(count) + 0.5)[:, None] / count
    return (
        start + (end - start) * share, size * (radii[0] + (radii[1] - radii[0]) * share[:, 0]),
        np.array(colors[0]) + (np.array(colors[1]) - np.array(colors[0])) * share,
    )  # fmt: skip


SLOTS: tuple[tuple[Kind, Side, int], ...] = (*PALETTE, ("spine", "C", 0))
"""The limbs whose place can be read from a film of a figure, because no other limb has their colour."""
ALONG = (0.0, 0.5, 1.0)
"""Where on a limb its points lie, as shares of its length from the body to the tip."""
POINT_COUNT = len(SLOTS) * len(ALONG)


@dataclass(frozen=True, eq=False)
class FigurePoints:
    """Points on a figure's limbs, the same for every skeleton: what a film of a figure is read as."""

    joints: Int[Tensor, " point"]
    """The joint that moves each point."""
    offsets: Float[Tensor, "point 3"]
    """Where it is at rest, from that joint [ℓ]."""
    places: Int[Tensor, " point"]
    """Its place among the ``POINT_COUNT`` points of all limbs that can be read."""

    def at(self, posed: Posed) -> Float[Tensor, "*batch point 3"]:
        """Where they are in a pose."""
        turned = posed.rotation[..., self.joints, :, :] @ self.offsets.to(posed.rotation)[:, :, None]
        return posed.position[..., self.joints, :] + turned.squeeze(-1)


def figure_points(skeleton: Skeleton) -> FigurePoints:
    """The points of a skeleton's limbs, those without a colour of their own left out."""
    joints, offsets, places = [], [], []
    for limb in skeleton.limbs:
        slot = ("wing" if limb.kind == "fin" else limb.kind, limb.side, limb.order)
        if slot not in SLOTS:
            continue
        chain = main_chain(skeleton, limb)
        ends = np.stack([*(skeleton.positions[joint] for joint in chain), skeleton.tails[chain[-1]]])
        way = np.concatenate(((0.0,), np.cumsum(np.linalg.norm(np.diff(ends, axis=0), axis=1))))
        for number, share in enumerate(ALONG):
            bone = min(int(np.searchsorted(way, share * way[-1], side="right")) - 1, len(chain) - 1)
            point = np.array([np.interp(share * way[-1], way, ends[:, axis]) for axis in range(3)])
            joints.append(chain[bone])
            offsets.append(point - skeleton.positions[chain[bone]])
            places.append(SLOTS.index(slot) * len(ALONG) + number)
    return FigurePoints(
        torch.tensor(joints, dtype=torch.long), torch.as_tensor(np.array(offsets).reshape(-1, 3)).float(),
        torch.tensor(places, dtype=torch.long),
    )  # fmt: skip
