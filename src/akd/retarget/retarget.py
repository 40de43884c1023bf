"""A motion of one rig as a motion of another of the same build.

Directions of limbs, contacts and the root's path are carried over in units of limb length: rotations by the correspondence of
labelled limbs, feet by stance and inverse kinematics, hands that touch the body by the place they touch.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from akd.character.limb_model import local_to_stage
from akd.contact.measures import Feet
from akd.contact.prepare import close_rotations, is_loop
from akd.contact.stance import Stance
from akd.errors import AkdError
from akd.motion import Motion, from_stage_rotations, repeat
from akd.retarget.correspondence import Correspondence, correspondence
from akd.retarget.feet import GroundedSource, Travel, foot_targets, ground_source, lock_feet, settle
from akd.retarget.hands import place_hands
from akd.retarget.neck import lower_head
from akd.retarget.sampling import divided, steps_per_frame
from akd.retarget.transfer import Performance, carry_rotations, leg_scale, local_rotations, place_root
from akd.rig import Rig
from akd.skeleton import Pose, joint_rotations

MIN_FRAMES = 4
LOOP_CONTEXT = 1.0
"""A loop is retargeted with this much of the cycles before and after it, so that its ends are like its middle [s]."""


@dataclass(frozen=True, eq=False)
class RetargetResult:
    """A motion of the target, and what it was made from."""

    motion: Motion
    stance: Stance
    """Which feet stand when: found in the source, locked in the target."""
    source: Motion
    """The source on its ground and with its travel, as it was followed."""
    correspondence: Correspondence
    scale: float
    """Leg of the target in ℓ of its rig, over that of the source in ℓ of its own."""
    loops: bool
    notes: tuple[str, ...]
    """What was left out or restored, one sentence each."""


def retarget(motion: Motion, source: Rig, target: Rig, *, travel: Travel = "auto") -> RetargetResult:
    """The source's motion on the target.

    ``travel``: "auto" gives clips that walk in place the travel their standing feet imply, "keep" leaves the root's path as it
    is, "none" takes steady travel out.
    """
    if motion.frame_count < MIN_FRAMES:
        raise AkdError(f"A clip of {motion.frame_count} frames holds no motion to retarget: it needs at least {MIN_FRAMES}.")
    between = correspondence(source, target)
    motion = replace(motion, pose=motion.pose.detach().to(torch.float64))
    if not is_loop(source, motion):
        return _retargeted(motion, source, target, between, travel, loops=False)
    count = motion.frame_count
    before = min(count - 1, round(LOOP_CONTEXT * motion.fps))
    cycles = repeat(close_rotations(source, motion), 3)
    around = replace(cycles, pose=cycles.pose[count - 1 - before : 2 * count - 1 + before])
    long = _retargeted(around, source, target, between, travel, loops=True)
    middle = slice(before, before + count)
    shift = motion.pose.root_position[0] - long.source.pose.root_position[before]
    once = close_rotations(target, _moved(long.motion, middle, long.scale * shift))
    return replace(long, motion=once, source=_moved(long.source, middle, shift), stance=long.stance[middle])


def _moved(motion: Motion, frames: slice, shift: torch.Tensor) -> Motion:
    """Some frames, moved over the ground."""
    pose = motion.pose[frames]
    flat = torch.tensor((1.0, 0.0, 1.0), dtype=torch.float64)
    return replace(motion, pose=Pose(pose.root_position + shift * flat, pose.root_rotation, pose.angles))


def _retargeted(
    motion: Motion, source: Rig, target: Rig, between: Correspondence, travel: Travel, *, loops: bool
) -> RetargetResult:
    steps = steps_per_frame(motion.fps)
    given = joint_rotations(source.skeleton, motion.pose).numpy()
    path, given = divided(motion.pose.root_position.numpy(), given, steps)
    fps = motion.fps * steps
    grounded = ground_source(source, path, given, fps, travel)
    legs = between.pairs_of("leg")
    scale = leg_scale(source, target, legs)
    local = local_rotations(target.skeleton, carry_rotations(between, grounded.performance, target.skeleton))
    root = place_root(source, target, legs, grounded.performance, local, scale)
    stance = grounded.stance[::steps]
    paths: Feet | None = None
    if legs:
        feet = foot_targets(source, target, legs, grounded, root, local, scale)
        local, fine = lock_feet(target, root, local, feet, grounded.stance, fps)
        paths = fine[::steps]
    root, local, seen = root[::steps], local[::steps], _at_frames(grounded.performance, steps)
    local = lower_head(source, target, seen, root, local)
    root, local = settle(target, root, local, paths, stance, motion.fps)
    posed = Performance(*local_to_stage(target.skeleton, root, local), motion.fps)
    result = _as_motion(target, place_hands(source, target, between, seen, posed))
    notes = (*between.notes, *_notes(source, grounded))
    return RetargetResult(result, stance, _as_motion(source, seen), between, scale, loops, notes)


def _at_frames(performance: Performance, steps: int) -> Performance:
    """At the frames of the clip, which were divided into steps."""
    return Performance(performance.rotations[::steps], performance.positions[::steps], performance.fps / steps)


def _as_motion(rig: Rig, performance: Performance) -> Motion:
    root, rotations = torch.as_tensor(performance.positions[:, 0]), torch.as_tensor(performance.rotations)
    return from_stage_rotations(rig.skeleton, root, rotations, performance.fps)


def _notes(source: Rig, grounded: GroundedSource) -> list[str]:
    notes = []
    speed = float(np.linalg.norm(grounded.travel))
    if speed > 0:
        notes.append(f"The clip walks in place: its feet imply {speed:.2f} ℓ/s over the ground, which was given to it.")
    if abs(grounded.raised) > 0.02:
        way = "raised" if grounded.raised > 0 else "lowered"
        notes.append(f"The clip was {way} by {abs(grounded.raised):.2f} ℓ so that its feet are on the ground.")
    if source.legs and not grounded.stance.any():
        notes.append("No foot stands in the clip, so none was locked.")
    return notes
