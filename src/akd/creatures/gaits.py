"""Motions for any labelled rig: gaits that leave no foot sliding, and actions on the spot.

    gait_motion(rig, "walk")
    gait_motion(rig, "gallop", speed=4.0, seed=7, cycles=3)
"""

import numpy as np
import torch

from akd.creatures.carriage import choreography
from akd.creatures.footing import path, walking_feet
from akd.creatures.gait_table import GAITS, gait_for
from akd.creatures.perform import perform
from akd.creatures.puppet import Puppet, puppet
from akd.creatures.stride import Stride, Style, choose_stride
from akd.errors import AkdError
from akd.motion import Motion, repeat
from akd.pose import Pose
from akd.rig import Rig
from akd.rotations import quaternion_multiply, rotation_vector_to_quaternion


def gaits_for(rig: Rig) -> list[str]:
    """The gaits this body can go."""
    return [name for name, gait in GAITS.items() if len(rig.legs) in gait.phases and puppet(rig).pairs]


def gait_motion(
    rig: Rig, gait: str, *, seed: int | None = 0, speed: float | None = None, stride: float | None = None,
    duty: float | None = None, turn: float = 0.0, style: Style | None = None, fps: float = 30.0, cycles: int = 1,
    frames: int | None = None, start: float = 0.0,
) -> Motion:
    """The rig going forward along +X.

    Speed is in ℓ/s, stride (the way from one print of a foot to its next) in ℓ, turn in rad/s to the left; what is not given
    follows from the gait, the size of the body and the seed (no seed: the typical individual). Without ``frames`` the
    clip is ``cycles`` whole strides and loops exactly; with it, so many frames, beginning at ``start`` of a stride.
    """
    body = puppet(rig)
    chosen = gait_for(gait, len(body.feet))
    if not body.pairs:
        raise AkdError(f"A body cannot {gait} whose legs do not come in left and right pairs: check the limb labels.")
    plan = choose_stride(body, chosen, seed=seed, speed=speed, length=stride, duty=duty, turn=turn, style=style)
    if frames is not None:
        return _going(body, plan, start * plan.period + np.arange(frames) / fps, fps)
    count = max(round(plan.period * fps), 4)
    plan = plan.in_time(count / fps)
    once = _going(body, plan, start * plan.period + np.arange(count) / fps, fps)
    return repeat(_closed(once, plan), cycles)


def _going(body: Puppet, stride: Stride, time: np.ndarray, fps: float) -> Motion:
    return perform(body, choreography(body, stride, walking_feet(body, stride, time), time), fps)


def _closed(motion: Motion, stride: Stride) -> Motion:
    """The stride with its first frame once more at the end, moved on along the path."""
    pose, (place, heading) = motion.pose, path(stride, np.array([stride.period]))
    turn = rotation_vector_to_quaternion(torch.tensor([0.0, float(heading[0]), 0.0]))
    on = pose.root_position[:1] + torch.as_tensor(place, dtype=torch.float32)
    last = Pose(on, quaternion_multiply(turn, pose.root_rotation[:1]), pose.angles[:1])
    joined = (torch.cat(pair) for pair in zip(vars(pose).values(), vars(last).values(), strict=True))
    return Motion(Pose(*joined), motion.fps)
