"""A pose: where the root is, how it is turned, and three angles per joint.

The control skeleton and forward kinematics.

A skeleton lives in the stage frame: Y up, +X forward, +Z to the character's right, ground at y = 0, lengths in leg
lengths. All angles zero is the rest pose, whatever the axes of the artist's bones were.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.rotations import angles_to_matrix, quaternion_to_matrix


@dataclass(frozen=True, eq=False)
class Pose:
    """Root placement and joint angles, with any leading batch axes. All of it differentiable."""

    root_position: Float[Tensor, "*batch 3"]
    """Where the root joint is on the stage [ℓ]."""
    root_rotation: Float[Tensor, "*batch 4"]
    """Turn of the root away from rest, wxyz; need not be normalised."""
    angles: Float[Tensor, "*batch joint 3"]
    """Angles about the three axes of each joint's bone frame [rad]; row 0 (the root's) is not used and stays zero."""

    def __getitem__(self, index) -> "Pose":
        """Index the batch axes."""
        return Pose(self.root_position[index], self.root_rotation[index], self.angles[index])

    def detach(self) -> "Pose":
        return Pose(self.root_position.detach(), self.root_rotation.detach(), self.angles.detach())

    def to(self, dtype: torch.dtype) -> "Pose":
        return Pose(self.root_position.to(dtype), self.root_rotation.to(dtype), self.angles.to(dtype))


Kind = Literal["leg", "arm", "wing", "fin", "tail", "neck", "head", "spine"]
Side = Literal["L", "R", "C"]
LATERAL = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Limb:
    """A chain of joints that moves as one part of the body. Every joint belongs to exactly one limb."""

    kind: Kind
    side: Side
    order: int
    """Rank among the limbs of the same kind and side, counted from the front: 0 is the foremost leg."""
    joints: tuple[int, ...]
    """From the body outwards, with everything that hangs off the limb (toes, fingers, ears)."""
    tip: int
    """The joint at the far end of the main chain: foot, hand, tail tip."""

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.side}{self.order}"


@dataclass(frozen=True, eq=False)
class Skeleton:
    """One tree of joints at rest. Joint 0 is the root; parents come before their children."""

    names: tuple[str, ...]
    """Unique, as in the artist's file where there is one."""
    parents: Int[np.ndarray, " joint"]
    """Index of each joint's parent, −1 for the root."""
    positions: Float[np.ndarray, "joint 3"]
    """Where the joints are at rest [ℓ]."""
    tails: Float[np.ndarray, "joint 3"]
    """Where each joint's bone ends at rest [ℓ]: at its child, or as far as its flesh reaches."""
    frames: Float[np.ndarray, "joint 3 3"]
    """Bone frames B_j, columns are the three axes of the compound joint in stage axes (see ``bone_frames``)."""
    limbs: tuple[Limb, ...] = ()
    """Legs, arms, tail …; empty until found."""
    mirror: Int[np.ndarray, " joint"] = field(default_factory=lambda: np.zeros(0, int))
    """Index of each joint's partner on the other side, its own index where there is none."""

    def __post_init__(self) -> None:
        count = len(self.names)
        if count == 0:
            raise AkdError("A skeleton needs at least one joint, and this one has none.")
        if len(set(self.names)) != count:
            raise AkdError(f"Joint names must differ, but {_first_repeated(self.names)!r} occurs twice.")
        if self.parents[0] != -1 or np.any(self.parents[1:] < 0) or np.any(self.parents >= np.arange(count)):
            raise AkdError("A skeleton is one tree, parents before children: joint 0 has parent −1, the others an earlier joint.")
        for name in ("positions", "tails", "frames"):
            if not np.all(np.isfinite(getattr(self, name))):
                raise AkdError(f"The skeleton's {name} contain values that are not finite.")
        if self.mirror.size == 0:
            object.__setattr__(self, "mirror", np.arange(count))

    @classmethod
    def from_joints(
        cls,
        names: tuple[str, ...],
        parents: Int[np.ndarray, " joint"],
        positions: Float[np.ndarray, "joint 3"],
        tails: Float[np.ndarray, "joint 3"] | None = None,
    ) -> "Skeleton":
        """A skeleton from joint positions alone; tails and bone frames follow from them."""
        if tails is None:
            tails = bone_tails(parents, positions)
        return cls(names, parents, positions, tails, bone_frames(parents, positions, tails))

    @property
    def joint_count(self) -> int:
        return len(self.names)

    def limbs_of(self, kind: Kind) -> tuple[Limb, ...]:
        """The limbs of one kind, from front to hind, left before right."""
        return tuple(sorted((x for x in self.limbs if x.kind == kind), key=lambda x: (x.order, x.side)))

    def index(self, name: str) -> int:
        """Index of a joint by name."""
        if name not in self.names:
            raise AkdError(f"There is no joint {name!r}; the joints are {', '.join(self.names)}.")
        return self.names.index(name)

    def children(self, joint: int) -> list[int]:
        return np.flatnonzero(self.parents == joint).tolist()

    @cached_property
    def levels(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """For each depth of the tree below the root: the joints there, and their parents' places in the level above."""
        depth = np.zeros(self.joint_count, int)
        for joint in range(1, self.joint_count):
            depth[joint] = depth[self.parents[joint]] + 1
        place = np.zeros(self.joint_count, int)
        out = []
        for level in range(1, depth.max() + 1):
            joints = np.flatnonzero(depth == level)
            place[joints] = np.arange(len(joints))
            out.append((torch.from_numpy(joints), torch.from_numpy(place[self.parents[joints]])))
        return tuple(out)

    @cached_property
    def is_ancestor(self) -> Bool[np.ndarray, "joint joint"]:
        """``[a, j]``: is a on the way from j to the root, j itself included?"""
        out = np.eye(self.joint_count, dtype=bool)
        for joint in range(1, self.joint_count):
            out[:, joint] |= out[:, self.parents[joint]]
        return out

    def rest_pose(self, *batch: int, dtype: torch.dtype = torch.float32) -> Pose:
        """The pose in which nothing is bent, repeated over the given batch axes."""
        root = torch.as_tensor(self.positions[0], dtype=dtype).expand(*batch, 3)
        upright = torch.tensor((1.0, 0, 0, 0), dtype=dtype).expand(*batch, 4)
        return Pose(root.clone(), upright.clone(), torch.zeros(*batch, self.joint_count, 3, dtype=dtype))

    def labelled(self, limbs: tuple[Limb, ...], mirror: Int[np.ndarray, " joint"]) -> "Skeleton":
        """The same skeleton, knowing its limbs."""
        return replace(self, limbs=limbs, mirror=mirror)


class Posed(NamedTuple):
    """Where the joints are in a pose. ``rotation`` is the turn away from rest, in stage axes."""

    rotation: Float[Tensor, "*batch joint 3 3"]
    position: Float[Tensor, "*batch joint 3"]


def joint_rotations(skeleton: Skeleton, pose: Pose) -> Float[Tensor, "*batch joint 3 3"]:
    """Each joint's turn relative to its parent, ``B_j Rx(a) Ry(b) Rz(c) B_jᵀ``; for the root, its rotation on the stage."""
    frames = torch.as_tensor(skeleton.frames, dtype=pose.angles.dtype, device=pose.angles.device)
    turns = frames @ angles_to_matrix(pose.angles) @ frames.transpose(-1, -2)
    return torch.cat((quaternion_to_matrix(pose.root_rotation)[..., None, :, :], turns[..., 1:, :, :]), -3)


def forward_kinematics(skeleton: Skeleton, pose: Pose) -> Posed:
    """Rotations and positions of all joints."""
    return compose(skeleton, pose.root_position, joint_rotations(skeleton, pose))


def compose(skeleton: Skeleton, root_position: Float[Tensor, "*batch 3"], local: Float[Tensor, "*batch joint 3 3"]) -> Posed:
    """Multiply turns relative to the parent down the tree, one batched step per level."""
    offsets = skeleton.positions - skeleton.positions[np.maximum(skeleton.parents, 0)]
    offset = torch.as_tensor(offsets, dtype=local.dtype, device=local.device)
    rotation, position = local[..., :1, :, :], root_position[..., None, :]
    rotations, positions, order = [rotation], [position], [torch.zeros(1, dtype=torch.long)]
    for joints, parents in skeleton.levels:
        rotation, position = rotation[..., parents, :, :], position[..., parents, :]
        position = position + (rotation @ offset[joints, :, None]).squeeze(-1)
        rotation = rotation @ local[..., joints, :, :]
        rotations.append(rotation)
        positions.append(position)
        order.append(joints)
    back = torch.argsort(torch.cat(order))
    return Posed(torch.cat(rotations, -3)[..., back, :, :], torch.cat(positions, -2)[..., back, :])


def bone_turns(skeleton: Skeleton, rotation: Float[Tensor, "*batch joint 3 3"]) -> Float[Tensor, "*batch joint 3 3"]:
    """Undo the tree: from turns on the stage (``Posed.rotation``) to ``Rx(a) Ry(b) Rz(c)`` in each joint's bone frame."""
    parents = torch.as_tensor(np.maximum(skeleton.parents, 0))
    frames = torch.as_tensor(skeleton.frames, dtype=rotation.dtype, device=rotation.device)
    local = rotation[..., parents, :, :].transpose(-1, -2) @ rotation
    return frames.transpose(-1, -2) @ local @ frames


def bone_tails(parents: Int[np.ndarray, " joint"], positions: Float[np.ndarray, "joint 3"]) -> Float[np.ndarray, "joint 3"]:
    """Where bones end when nothing is known but the joints: at the mean child; a leaf goes on as its parent's bone did."""
    tails = np.empty_like(positions)
    for joint in reversed(range(len(parents))):
        children = np.flatnonzero(parents == joint)
        if children.size:
            tails[joint] = positions[children].mean(0)
        elif parents[joint] >= 0:
            tails[joint] = positions[joint] + 0.5 * (positions[joint] - positions[parents[joint]])
        else:
            tails[joint] = positions[joint] + np.array([0.0, 0.5, 0.0])
    return tails


def mirror_maps(frames: Float[np.ndarray, "joint 3 3"], mirror: Int[np.ndarray, " joint"]) -> Float[np.ndarray, "joint 3 3"]:
    """``S_j = −B_jᵀ M B_partner``: rotation vectors are axial. Signs on the diagonal where the rest pose is symmetric."""
    return -np.swapaxes(frames, -1, -2) @ np.diag((1.0, 1.0, -1.0)) @ frames[mirror]


def bone_frames(
    parents: Int[np.ndarray, " joint"], positions: Float[np.ndarray, "joint 3"], tails: Float[np.ndarray, "joint 3"]
) -> Float[np.ndarray, "joint 3 3"]:
    """The axes of every compound joint: 1 along the bone (twist), 2 the body's lateral axis made orthogonal, 3 = 1 × 2.

    So angle b swings a limb fore and aft, and mirrored joints have mirrored frames. The root's frame is the stage's.
    """
    frames = np.empty((len(parents), 3, 3))
    for joint, along in enumerate(tails - positions):
        length = np.linalg.norm(along)
        if length < 1e-9 and parents[joint] >= 0:
            along = positions[joint] - positions[parents[joint]]
            length = np.linalg.norm(along)
        axis = along / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])
        # A bone that points sideways has no lateral part left: it swings fore and aft about the vertical instead.
        side = LATERAL if abs(axis @ LATERAL) < 0.9 else np.array([0.0, 1.0, 0.0])
        second = side - (side @ axis) * axis
        second /= np.linalg.norm(second)
        frames[joint] = np.stack((axis, second, np.cross(axis, second)), -1)
    if len(parents):
        frames[0] = np.eye(3)
    return frames


def _first_repeated(names: tuple[str, ...]) -> str:
    return next(name for i, name in enumerate(names) if name in names[:i])
