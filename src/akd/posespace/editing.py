"""Edit a finished clip at one frame: handles are met there, the frames around follow, the rest stays as it is.

The frame itself is solved among plausible poses. Its change, joint by joint, is given to its neighbours with a weight that falls
to zero; then a polish brings feet and whatever else was pinned back to the paths they had.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.contact.stance import quintic_step
from akd.errors import AkdError
from akd.motion import Motion
from akd.posespace.denoiser import Poses
from akd.posespace.representation import vectors_to_pose, vectors_with_heading, without_heading
from akd.posespace.solving import Handle, Solver, handle_targets
from akd.rotations import (
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_to_rotation_vector,
    rotation_vector_to_quaternion,
)
from akd.skeleton import Pose

if TYPE_CHECKING:
    from akd.posespace.space import PoseSpace

DEFAULT_REACH = 0.4
"""Time before and after the frame over which a change fades out [s]."""


@dataclass(frozen=True, eq=False)
class Edit:
    """An edited clip."""

    motion: Motion
    error: float
    """By how much the worst handle is missed at the frame [ℓ or rad]."""
    percentile: float
    """How plausible the frame is now."""
    pinned: tuple[str, ...]
    """Joints that were kept on their paths."""
    pin_error: float
    """Largest distance of a pinned joint from its path, over the frames that changed [ℓ]."""


def edit_clip(
    space: "PoseSpace", motion: Motion, frame: int, handles: tuple[Handle, ...],
    *, reach: float = DEFAULT_REACH, pins: tuple[str, ...] | None = None,
) -> Edit:  # fmt: skip
    """The clip with its handles met at one frame.

    ``pins`` are joints that stay on their paths in all frames: by default the feet that no handle moves.
    """
    if not 0 <= frame < motion.frame_count:
        raise AkdError(f"The clip has frames 0 to {motion.frame_count - 1}, not {frame}.")
    if not 0 <= reach < float("inf"):
        raise AkdError(f"The reach of an edit is a time of at least 0 s, not {reach}.")
    pose = motion.pose.detach().to(torch.float32)
    x, root = vectors_with_heading(pose), pose.root_position
    skeleton = space.rig.skeleton
    names = tuple(feet_to_pin(space, handles)) if pins is None else pins
    pinned = torch.tensor([skeleton.index(name) for name in names], dtype=torch.long)
    paths = space.solver.kinematics.forward(x, root).position
    kept = tuple(Handle(name, position=_point(paths[frame, joint])) for name, joint in zip(names, pinned.tolist(), strict=True))
    found = space.solver.solve((*handles, *kept), x[frame : frame + 1], root[frame : frame + 1])
    weight = edit_weights(motion.frame_count, frame, reach * motion.fps)
    near = torch.as_tensor(np.flatnonzero(weight > 0))
    share = torch.as_tensor(weight, dtype=torch.float32)[near]
    moved = _turned_by(x[near], _turns(x[frame], found.vectors[0]), share)
    at = root[near] + share[:, None] * (found.root[0] - root[frame])
    moved, at = _repinned(space.solver, moved, at, _paths(space, handles, kept, near, share, paths, frame))
    moved[near == frame], at[near == frame] = found.vectors[0], found.root[0]
    posed = space.solver.kinematics.forward(moved, at).position
    lost = (posed[:, pinned] - paths[near][:, pinned]).norm(dim=-1)
    out = _replaced(pose, near, vectors_to_pose(moved, at))
    return Edit(
        replace(motion, pose=out), float(found.error[0]), float(space.score(without_heading(found.vectors)).percentile[0]),
        names, float(lost.amax()) if lost.numel() else 0.0,
    )  # fmt: skip


def edit_weights(count: int, frame: int, reach: float) -> Float[np.ndarray, " frame"]:
    """How much each frame follows: 1 at the frame, falling smoothly to 0 so many frames away."""
    away = np.abs(np.arange(count) - frame)
    return np.where(away == 0, 1.0, 1 - quintic_step(away / max(reach, 1e-9)))


def feet_to_pin(space: "PoseSpace", handles: tuple[Handle, ...]) -> list[str]:
    """Feet whose legs no handle moves directly."""
    skeleton = space.rig.skeleton
    handled = {skeleton.index(handle.joint) for handle in handles}
    return [skeleton.names[limb.tip] for limb in skeleton.limbs_of("leg") if not handled & set(limb.joints)]


def _point(position: Float[Tensor, " 3"]) -> tuple[float, float, float]:
    x, y, z = position.tolist()
    return x, y, z


def _turns(before: Float[Tensor, "joint 3"], after: Float[Tensor, "joint 3"]) -> Float[Tensor, "joint 3"]:
    """The rotation of each joint from one pose to another, seen in the first."""
    q = quaternion_multiply(quaternion_conjugate(rotation_vector_to_quaternion(before)), rotation_vector_to_quaternion(after))
    return quaternion_to_rotation_vector(q)


def _turned_by(x: Poses, turn: Float[Tensor, "joint 3"], share: Float[Tensor, " pose"]) -> Poses:
    """Poses turned further by a share of a change."""
    further = rotation_vector_to_quaternion(share[:, None, None] * turn)
    return quaternion_to_rotation_vector(quaternion_multiply(rotation_vector_to_quaternion(x), further))


def _paths(
    space: "PoseSpace", handles: tuple[Handle, ...], kept: tuple[Handle, ...], near: Int[Tensor, " near"],
    share: Float[Tensor, " near"], paths: Float[Tensor, "frame joint 3"], frame: int,
) -> tuple[tuple[Handle, ...], Float[Tensor, "near handle 3"]]:  # fmt: skip
    """Joints with positions to be met, and where they should be in each frame: handles a share of their change off their path."""
    skeleton = space.rig.skeleton
    placed = tuple(handle for handle in handles if handle.position is not None)
    joints = [skeleton.index(handle.joint) for handle in placed]
    aims = torch.tensor([handle.position for handle in placed], dtype=torch.float32).reshape(-1, 3)
    handled = paths[near][:, joints] + share[:, None, None] * (aims - paths[frame, joints])
    pinned = paths[near][:, [skeleton.index(handle.joint) for handle in kept]]
    only_places = tuple(replace(handle, rotation=None, look_at=None) for handle in placed)
    return (*only_places, *kept), torch.cat((handled, pinned), 1)


def _repinned(
    solver: Solver, x: Poses, at: Float[Tensor, "pose 3"], aims: tuple[tuple[Handle, ...], Float[Tensor, "pose handle 3"]]
) -> tuple[Poses, Float[Tensor, "pose 3"]]:
    """The poses with every joint at its own aim, changed as little as possible."""
    handles, positions = aims
    if not handles:
        return x, at
    targets = replace(handle_targets(solver.kinematics.skeleton, handles), position_target=positions)
    return solver.polish(targets, x, at)


def _replaced(pose: Pose, frames: Int[Tensor, " frame"], new: Pose) -> Pose:
    parts = [getattr(pose, name).clone() for name in ("root_position", "root_rotation", "angles")]
    for part, name in zip(parts, ("root_position", "root_rotation", "angles"), strict=True):
        part[frames] = getattr(new, name)
    return Pose(*parts)
