"""Analytic inverse kinematics of a leg: a planar chain of hinges from hip to foot, with a ball joint on top.

All the hinges between hip and foot fold together, each in the direction it is already bent at rest, so one number says how
long the leg is. Reaching for a point is then exact and needs no iteration: fold until the length fits, aim at the point,
keep the plane of the leg. Knees cannot bend the wrong way because that is not in the parametrisation.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float, Int

from akd.skeleton import LATERAL, Limb, Skeleton

UP = np.array([0.0, 1.0, 0.0])
MIN_VISIBLE_BEND = np.radians(6.0)
"""A hinge bent less than this at rest does not show which way it bends [rad]: anatomy decides."""
MIN_BEND = np.radians(4.0)
"""No hinge opens further than this, or than at rest where that is straighter [rad]: fully stretched knees pop."""
MAX_BEND = np.radians(150.0)
"""No hinge folds further than this [rad]."""
FOLD_SHARES = (1.0, 1.0, 0.5, 0.3)
"""How much each hinge takes part in folding, from the body outwards: knee and hock are coupled, a fetlock only gives way."""
SPRAWL_SPREAD = 0.75
"""A leg sprawls if its foot is further out from the hip than this share of the hip's height,"""
SPRAWL_SHARE = 0.35
"""or if this share of its squared bone length is across the sagittal plane."""


class LegPose(NamedTuple):
    """Rotations of a leg's joints relative to their parents, in stage axes."""

    hip: Float[np.ndarray, "frame 3 3"]
    fold: Float[np.ndarray, "frame hinge"]
    """Angles about the leg's normal."""


@dataclass(frozen=True, eq=False)
class Leg:
    """The folding part of a leg, from the ball joint on top down to the joint that carries the sole."""

    chain: tuple[int, ...]
    """Joints from hip to foot, both included; a leg of one bone has the same joint for both."""
    sprawls: bool
    """Knees above and beside the body, as in spiders and lizards, not in the sagittal plane."""
    normal: Float[np.ndarray, " 3"]
    """Unit normal of the leg's plane: the axis of all its hinges at rest."""
    bones: Complex[np.ndarray, " bone"]
    """The bones in the plane: real axis along ``basis[0]``, imaginary along ``basis[1]``."""
    across: float
    """How far the foot is from the hip along the normal."""
    basis: Float[np.ndarray, "2 3"]
    signs: Float[np.ndarray, " hinge"]
    """The direction in which each hinge folds: +1 and −1 about the normal, 0 for a joint that is not a hinge."""

    @property
    def hip(self) -> int:
        return self.chain[0]

    @property
    def foot(self) -> int:
        return self.chain[-1]

    @property
    def longest(self) -> float:
        """How far the foot joint can be from the hip."""
        return float(self._table[1][0])

    @property
    def shortest(self) -> float:
        return float(self._table[1][-1])

    @property
    def is_stiff(self) -> bool:
        """Has it no knee to speak of?"""
        return self.longest - self.shortest < 0.1 * self.longest

    def reach(self, target: Float[np.ndarray, "frame 3"]) -> LegPose:
        """Put the foot joint at the target, a vector from the hip in the axes of the hip's parent."""
        amount, length = self._table
        wanted = np.linalg.norm(target, axis=-1)
        # Lengths fall as the fold grows, and interpolation wants them to rise.
        fold = self._fold(np.interp(-wanted, -length, amount))
        shape = self._foot_at(fold)
        reference = UP if self.sprawls else self.normal
        return LegPose(_aimed(target, reference) @ np.swapaxes(_aimed(shape, reference), -1, -2), fold)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Fold amounts and the leg lengths they give, falling. Dense at the stretched end, where length hardly changes."""
        least = -max(float(np.max(self.rest_bends, initial=0.0)), MIN_BEND)
        amount = least + (MAX_BEND - least) * np.linspace(0, 1, 257) ** 2
        length = np.linalg.norm(self._foot_at(self._fold(amount)), axis=-1)
        start = int(np.flatnonzero(length >= length.max() - 1e-9)[-1])
        falls = np.append(np.diff(length[start:]) < 0, False)
        used = slice(start, start + int(np.argmin(falls)) + 1)
        return amount[used], length[used]

    @cached_property
    def rest_bends(self) -> Float[np.ndarray, " hinge"]:
        """Signed bend of each hinge at rest, positive in the direction it folds."""
        above = np.where(self.bones[:-1] == 0, 1, self.bones[:-1])  # joints at one place have no angle between them
        return self.signs * np.angle(self.bones[1:] / above) if len(self.bones) > 1 else np.zeros(0)

    def _fold(self, amount: Float[np.ndarray, " sample"]) -> Float[np.ndarray, "sample hinge"]:
        """How far each hinge turns away from rest when the leg is folded by this amount."""
        count = len(self.signs)
        share = np.array([FOLD_SHARES[min(k, len(FOLD_SHARES) - 1)] for k in range(count)])
        if self.sprawls and count:
            share = np.maximum(np.abs(self.rest_bends) / max(np.abs(self.rest_bends).max(), 1e-6), 0.15)
        bend = self.rest_bends + amount[:, None] * share
        bend = np.clip(bend, np.minimum(self.rest_bends, MIN_BEND), MAX_BEND)
        return self.signs * (bend - self.rest_bends)

    def _foot_at(self, fold: Float[np.ndarray, "sample hinge"]) -> Float[np.ndarray, "sample 3"]:
        """The foot joint relative to the hip, with the hip at rest."""
        turn = np.concatenate((np.zeros((len(fold), 1)), np.cumsum(fold, -1)), -1)
        planar = (self.bones * np.exp(1j * turn)).sum(-1)
        return planar.real[:, None] * self.basis[0] + planar.imag[:, None] * self.basis[1] + self.across * self.normal


def leg_of(skeleton: Skeleton, limb: Limb, foot: int, sole: Float[np.ndarray, " 3"], is_fore: bool) -> Leg:
    """The folding leg of a limb whose sole is carried by the joint ``foot``, the centre of the sole being at ``sole``."""
    chain = main_chain(skeleton, limb)
    chain = chain[: chain.index(foot) + 1]
    points = skeleton.positions[list(chain)]
    if len(chain) == 1:
        points = np.stack((points[0], sole))
    bones = np.diff(points, axis=0)
    sprawls = _sprawls(bones)
    normal = _plane_normal(points[-1] - points[0], sprawls)
    first = np.cross(normal, LATERAL if abs(normal @ LATERAL) < 0.9 else UP)
    basis = np.stack((first, np.cross(normal, first))) / np.linalg.norm(first)
    planar = bones @ basis[0] + 1j * (bones @ basis[1])
    signs = _fold_signs(planar, np.linalg.norm(bones, axis=1), sprawls, is_fore)
    return Leg(tuple(chain), sprawls, normal, planar, float(bones.sum(0) @ normal), basis, signs)


def main_chain(skeleton: Skeleton, limb: Limb) -> list[int]:
    """The joints from the limb's first to its tip, one after the other."""
    chain = [limb.tip]
    while chain[-1] != limb.joints[0] and skeleton.parents[chain[-1]] >= 0:
        chain.append(int(skeleton.parents[chain[-1]]))
    return chain[::-1]


def _sprawls(bones: Float[np.ndarray, "bone 3"]) -> bool:
    """Does the leg stand beside the body: foot far out from the hip, or bones that lead sideways?"""
    squared, length = np.square(bones), np.linalg.norm(bones, axis=1)
    if len(bones) > 2 and squared[0, 2] > 0.6 * length[0] ** 2 and length[0] < 0.3 * length.sum():
        bones, squared = (
            bones[1:],
            squared[1:],
        )  # a short bone that only leads from the spine to the hip says nothing about the leg
    out, _, aside = np.abs(bones.sum(0))
    down = -bones.sum(0)[1]
    return bool(np.hypot(out, aside) > SPRAWL_SPREAD * down or squared[:, 2].sum() > SPRAWL_SHARE * squared.sum())


def _plane_normal(line: Float[np.ndarray, " 3"], sprawls: bool) -> Float[np.ndarray, " 3"]:
    """Across the sagittal plane for a leg under the body; across the vertical plane of the leg for one beside it."""
    axis = np.cross(UP, line) if sprawls else LATERAL
    if sprawls and axis @ axis < 1e-12 * max(line @ line, 1e-12):  # upright, as hair that was taken for a leg: no such plane
        axis = LATERAL
    normal = axis - (axis @ line) * line / max(line @ line, 1e-12)
    return normal / np.linalg.norm(normal)


def _fold_signs(
    planar: Complex[np.ndarray, " bone"], length: Float[np.ndarray, " bone"], sprawls: bool, is_fore: bool
) -> Float[np.ndarray, " hinge"]:
    """Which way each hinge folds: as it is bent at rest; where it is straight, opposite to its neighbour; else by anatomy."""
    count = len(planar) - 1
    if count < 1:
        return np.zeros(0)
    bends = np.angle(planar[1:] / np.where(np.abs(planar[:-1]) > 0, planar[:-1], 1))
    in_plane = np.abs(planar) > 0.5 * length
    hinge = in_plane[1:] & in_plane[:-1]
    # About the lateral axis a shin that swings back turns by −1. Beside the body the outer bone swings down: +1.
    first = 1.0 if sprawls or (is_fore and count > 1) else -1.0
    default = first * (np.ones(count) if sprawls else (-1.0) ** np.arange(count))
    signs = np.where(np.abs(bends) > MIN_VISIBLE_BEND, np.sign(bends), 0.0)
    known: Int[np.ndarray, " known"] = np.flatnonzero(signs * hinge)
    for k in np.flatnonzero(signs == 0):
        nearest = known[np.argmin(np.abs(known - k))] if known.size else None
        flips = 1.0 if sprawls else -1.0
        signs[k] = default[k] if nearest is None else signs[nearest] * flips ** abs(int(k - nearest))
    return _without_fetlocks(signs * hinge) if not sprawls else signs * hinge


def _without_fetlocks(signs: Float[np.ndarray, " hinge"]) -> Float[np.ndarray, " hinge"]:
    """A hinge bent the same way as the one before it is a fetlock: it gives way under weight but does not fold the leg."""
    out, before = signs.copy(), 0.0
    for k, sign in enumerate(signs):
        if sign and sign == before:
            out[k] = 0.0
        before = out[k] or before
    return out


def _aimed(line: Float[np.ndarray, "frame 3"], reference: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "frame 3 3"]:
    """An orthonormal frame whose first column points along the line and whose third is as near to the reference as can be."""
    first = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-12)
    third = reference - (first @ reference)[:, None] * first
    third = third / np.maximum(np.linalg.norm(third, axis=-1, keepdims=True), 1e-12)
    return np.stack((first, np.cross(third, first), third), -1)
