"""Bones as segments, and the distances of points from them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.skeleton import Skeleton

MIN_STRAIGHT_COSINE = 0.7
"""A bone goes on in a child whose direction differs by less than 45° (this is the cosine)."""


@dataclass(frozen=True, eq=False)
class Bones:
    """Segments, each moved by one joint, to its children or to where its bone ends."""

    joint: Int[np.ndarray, " bone"]
    head: Float[np.ndarray, "bone 3"]
    tail: Float[np.ndarray, "bone 3"]
    joint_count: int


def bones_of(skeleton: Skeleton, ends: Float[np.ndarray, "joint 3"], *, branching: float = 1.0) -> Bones:
    """A segment from every joint to each of its children; joints without children reach to their place in ``tips``.

    With ``branching`` below one, only the child that goes straight on is reached; segments to the others go that share of the
    way: skin near a shoulder is the arm's, not the spine's, but a forearm ends at the wrist, thumb or not. Where no child goes
    straight on, the joint reaches to its place in ``tips`` too: a skull goes on beyond ears and jaw.
    """
    children, on = np.flatnonzero(skeleton.parents >= 0), continues_parent(skeleton)
    ending = np.flatnonzero(ends_here(skeleton) if branching < 1 else _leaves(skeleton))
    reach = np.where(on[children], 1.0, branching)
    if branching < 1 and 0 in ending:  # the middle of its children stands for all of them
        reach[skeleton.parents[children] == 0] = 0
    children, reach = children[reach > 0], reach[reach > 0]
    joint = np.concatenate((skeleton.parents[children], ending))
    head, tail = skeleton.positions[joint], np.concatenate((skeleton.positions[children], ends[ending]))
    return Bones(joint, head, head + np.append(reach, np.ones(len(ending)))[:, None] * (tail - head), skeleton.joint_count)


def ends_here(skeleton: Skeleton) -> Bool[np.ndarray, " joint"]:
    """Which joints have a bone that no child continues? Leaves, and those whose children all branch off."""
    return ~np.isin(np.arange(skeleton.joint_count), skeleton.parents[continues_parent(skeleton)])


def _leaves(skeleton: Skeleton) -> Bool[np.ndarray, " joint"]:
    return ~np.isin(np.arange(skeleton.joint_count), skeleton.parents)


def continues_parent(skeleton: Skeleton) -> Bool[np.ndarray, " joint"]:
    """Is a joint the one that continues its parent's bone? An only child is; else the straightest one, if it is straight; and
    of the root's the one that carries most joints, which is the spine."""
    descendants = np.ones(skeleton.joint_count)
    for joint in range(skeleton.joint_count - 1, 0, -1):
        descendants[skeleton.parents[joint]] += descendants[joint]
    out = np.zeros(skeleton.joint_count, bool)
    for joint, above in enumerate(skeleton.parents.tolist()):
        children = np.flatnonzero(skeleton.parents == joint)
        if len(children) < 2:
            out[children] = True
        elif above < 0:
            most = descendants[children] == descendants[children].max()
            out[children[most]] = most.sum() == 1
        else:
            on = skeleton.positions[joint] - skeleton.positions[above]
            ways = skeleton.positions[children] - skeleton.positions[joint]
            cosine = ways @ on / np.maximum(np.linalg.norm(ways, axis=1) * np.linalg.norm(on), 1e-30)
            out[children[np.argmax(cosine)]] = cosine.max() > MIN_STRAIGHT_COSINE
    return out


def closest_on_bones(
    bones: Bones, points: Float[np.ndarray, "point 3"]
) -> tuple[Float[np.ndarray, "point bone"], Float[np.ndarray, "point bone"]]:
    """Distance from every point to every bone, and where along it (0 head, 1 tail) the closest place is."""
    along = bones.tail - bones.head
    length2 = np.maximum((along**2).sum(1), 1e-30)
    place = np.clip((points @ along.T - (bones.head * along).sum(1)) / length2, 0, 1)
    distance2 = np.zeros_like(place)
    for axis in range(3):  # one axis at a time: a point × bone × 3 array would fill the memory of a small machine
        distance2 += (points[:, axis, None] - bones.head[:, axis] - place * along[:, axis]) ** 2
    return np.sqrt(distance2), place


def facing_distances(
    bones: Bones, points: Float[np.ndarray, "point 3"], normals: Float[np.ndarray, "point 3"],
    distance: Float[np.ndarray, "point bone"], place: Float[np.ndarray, "point bone"],
) -> Float[np.ndarray, "point bone"]:  # fmt: skip
    """Distances, longer for bones that do not lie straight below the skin: d / cos²(θ/2), with θ from the normal to the way out.

    Skin at the root of an ear is nearer to the skull than to the ear's tip, whatever the straight distances are.
    """
    along = bones.tail - bones.head
    out_of_bone = np.zeros_like(distance)
    for axis in range(3):
        out_of_bone += (points[:, axis, None] - bones.head[:, axis] - place * along[:, axis]) * normals[:, axis, None]
    cosine = out_of_bone / np.maximum(distance, 1e-30)
    return distance / np.maximum((1 + cosine) / 2, 1e-3)
