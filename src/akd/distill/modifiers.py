"""What a sentence says beside its action, done to the finished motion: which side, how fast, how often, backwards.

A prior need not know these words: a clip is mirrored, played at another tempo, repeated or reversed. What cannot be done is
named, with the reason.
"""

from dataclasses import dataclass, replace

import torch

from akd.creatures.wish import Wish
from akd.distill.assumptions import Assumptions
from akd.distill.prompts import REVERSED
from akd.motion import Motion, close_loop, mirror, repeat, resample
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics

TEMPO = {"slow": 0.7, "fast": 1.4}
"""Factor on the tempo of what is asked for slowly or fast."""
ONE_SIDED = 1.15
"""The limbs of one side have to move this much more than the others for a motion to be of one side."""
RETURNS = 0.35
"""A motion that ends within this of where it began can be done again: mean over joints, as seen from the root [ℓ]."""
MAX_REPEATS = 20
STILL = 0.01
"""Limbs whose ends go less far than this do not move [ℓ]."""


@dataclass(frozen=True, eq=False)
class Modified:
    """A motion after all that could be done about its modifiers."""

    motion: Motion
    without_effect: tuple[str, ...] = ()
    """What was asked for and not done, each with its reason."""


def modified(rig: Rig, motion: Motion, wish: Wish | None, assumptions: Assumptions) -> Modified:
    """The motion on the side, at the tempo, as often and in the direction that a sentence asks for."""
    if wish is None:
        return Modified(motion)
    lost: list[str] = []
    if wish.action in REVERSED:
        if assumptions.is_gait:
            motion = reversed_in_time(motion)
        else:
            lost.append("backwards (it does not travel)")
    if wish.side in ("left", "right"):
        share = side_share(rig, motion)
        if share is None or max(share, 1 / share) < ONE_SIDED:
            lost.append(f"{wish.side} (both sides move alike)")
        elif (share > 1) != (wish.side == "left"):
            motion = mirror(rig.skeleton, motion)
    if wish.count and wish.count > 1:
        if assumptions.cycle or wish.count > MAX_REPEATS:
            lost.append(f"{wish.modifiers()['count']} (it goes on and on)" if assumptions.cycle else f"{wish.count} times")
        elif end_gap(rig, motion) > RETURNS:
            lost.append(f"{wish.modifiers()['count']} (it does not end as it began)")
        else:
            motion = repeat(close_loop(motion), wish.count)
    if wish.speed in TEMPO:
        motion = at_tempo(motion, TEMPO[wish.speed])
    return Modified(motion, tuple(lost))


def reversed_in_time(motion: Motion) -> Motion:
    """The last frame first, beginning where the motion began and facing as it did."""
    pose = motion.pose
    position = pose.root_position.flip(0)
    flat = torch.tensor((1.0, 0.0, 1.0), dtype=position.dtype)
    position = position + (pose.root_position[0] - position[0]) * flat
    return replace(motion, pose=Pose(position, pose.root_rotation.flip(0), pose.angles.flip(0)))


def at_tempo(motion: Motion, factor: float) -> Motion:
    """The motion slower (below 1) or faster, at the same frame rate."""
    return resample(replace(motion, fps=motion.fps * factor), motion.fps)


def side_share(rig: Rig, motion: Motion) -> float | None:
    """How much the limb of the left side that moves most does so, relative to the one on the right; None without such limbs."""
    position = forward_kinematics(rig.skeleton, motion.pose.detach()).position
    relative = position - position[:, :1]
    paths = {"L": 0.0, "R": 0.0}
    for limb in rig.skeleton.limbs:
        if limb.side in paths and limb.kind in ("arm", "leg", "wing"):
            way = float(relative[:, limb.tip].diff(dim=0).norm(dim=-1).sum())
            paths[limb.side] = max(paths[limb.side], way)
    return max(paths["L"], STILL) / max(paths["R"], STILL) if max(paths.values()) > STILL else None


def end_gap(rig: Rig, motion: Motion) -> float:
    """Mean distance of the joints at the end from where they were at the beginning, as seen from the root [ℓ]."""
    pose = motion.pose[torch.tensor((0, motion.frame_count - 1))]
    position = forward_kinematics(rig.skeleton, pose.detach()).position
    relative = position - position[:, :1]
    return float((relative[1] - relative[0]).norm(dim=-1).mean())
