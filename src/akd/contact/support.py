"""What carries a body that does not walk: whatever of its skin is low and slow, be it feet, hands, knees or a belly.

A motion from films has no sure height and no sure place, because the camera follows it. Here it is put on the ground while
something carries it, flies no longer than gravity lets it, and does not slide over what carries it. Feet are locked afterwards.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from akd.contact.prepare import MIN_FRAMES, TargetSettings, prepare
from akd.contact.stance import intervals
from akd.contact.traces import trace
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import skin_points

ALLOWED_DEPTH = 0.005
"""Depth of skin in the ground that is left alone [ℓ]; deeper, the body is raised …"""
RAISING_SECONDS = 0.05
"""… smoothly over this time [s]."""
LOWEST_SHARE = 0.1
"""The ground of a clip is where its lowest skin is for this share of the frames."""
CARRIED_HEIGHT = 0.06
"""Skin up to this high above the clip's ground may carry the body [ℓ]."""
LONGEST_FLIGHT = 1.6
"""A body is in flight for up to so many times as long as a throw to that height takes; longer, it only floats."""
SUPPORT_DEPTH = 0.03
"""Skin within this of the lowest carries the body [ℓ]."""
SETTLING_SECONDS = 0.08
"""Standard deviation over which corrections of place set in [s]."""
SAMPLED_SKIN = 1500
"""Vertices that are looked at."""
MAX_LOWERING = 0.15
"""Feet that can be locked only by lowering the body more than this are left free [ℓ]."""
FEET = TargetSettings(travel=False, ground=False, balance=False)
"""Locking only: height and travel are settled before."""


def stand_on_skin(rig: Rig, motion: Motion) -> Motion:
    """The motion on the ground, carried by what is low and slow, with standing feet locked."""
    settled = hold_support(rig, put_on_ground(rig, motion))
    if motion.frame_count >= MIN_FRAMES and any(len(sole) for sole in rig.soles):
        locked = prepare(rig, settled, FEET).motion
        lowered = (settled.pose.root_position - locked.pose.root_position)[:, 1].max()
        if float(lowered) <= MAX_LOWERING:
            settled = replace(locked, pose=locked.pose.to(motion.pose.angles.dtype))
    return raise_above_ground(rig, settled, loops=False)


def put_on_ground(rig: Rig, motion: Motion) -> Motion:
    """The motion, raised or lowered so that its lowest skin is on the ground whenever something carries the body."""
    lowest = trace(rig, motion).lowest
    carried = carried_frames(lowest, rig.gravity, motion.fps)
    frames = np.arange(len(lowest))
    offset = np.interp(frames, frames[carried], -lowest[carried])
    width = SETTLING_SECONDS * motion.fps
    # Smoothed only across take-off and landing: a body that sinks slowly stays on the ground at every moment.
    smooth = gaussian_filter1d(offset, width, mode="nearest")
    near_flight = gaussian_filter1d((~carried).astype(float), width, mode="nearest")
    return _shifted(motion, 1, np.where(near_flight > 1e-3, smooth, offset))


def carried_frames(lowest: Float[np.ndarray, " frame"], gravity: float, fps: float) -> Bool[np.ndarray, " frame"]:
    """In which frames something carries a body whose lowest point has these heights; never in none.

    A body is above its ground in flight or because its height was never known: in flight only if a throw to that height lasts
    about as long.
    """
    height = lowest - np.quantile(lowest, LOWEST_SHARE)
    carried = height < CARRIED_HEIGHT
    for start, end in intervals(~carried):
        throw = 2 * math.sqrt(2 * float(height[start:end].max()) / gravity)
        whole = start > 0 and end < len(lowest)  # at an end of the clip only half of a flight may be seen
        if (end - start) / fps > LONGEST_FLIGHT * throw * (1.0 if whole else 0.5):
            carried[start:end] = True
    return carried


def hold_support(rig: Rig, motion: Motion) -> Motion:
    """The motion with the body moved over the ground so that the skin which carries it does not slide as a whole."""
    skin = _skin(rig, motion)
    low = skin[..., 1] < SUPPORT_DEPTH
    both = (low[1:] & low[:-1]).astype(float)
    count = both.sum(1)
    carried = count > 0
    if not carried.any():
        return motion
    steps = np.diff(skin[..., [0, 2]], axis=0)
    slide = (both[..., None] * steps).sum(1)[carried] / count[carried, None]
    frames = np.arange(len(steps))
    path = np.stack([np.interp(frames, frames[carried], slide[:, axis]) for axis in (0, 1)], -1)
    path[~carried] = 0.0  # in flight it goes on as it does
    shift = np.concatenate((np.zeros((1, 2)), -np.cumsum(path, axis=0)))
    return _shifted(_shifted(motion, 0, shift[:, 0]), 2, shift[:, 1])


def raise_above_ground(rig: Rig, motion: Motion, *, loops: bool) -> Motion:
    """The motion, smoothly raised where skin is in the ground: locked feet are not, but the hocks of a crouching body are."""
    depth = np.maximum(-trace(rig, motion).lowest - ALLOWED_DEPTH, 0.0)
    if not depth.any():
        return motion
    width, mode = max(RAISING_SECONDS * motion.fps, 1.0), "wrap" if loops else "nearest"
    raised = gaussian_filter1d(maximum_filter1d(depth, 4 * math.ceil(width) + 1, mode=mode), width, mode=mode)
    return _shifted(motion, 1, raised)


def _shifted(motion: Motion, axis: int, by: Float[np.ndarray, " frame"]) -> Motion:
    position = motion.pose.root_position.clone()
    position[:, axis] += torch.as_tensor(by, dtype=position.dtype)
    return replace(motion, pose=replace(motion.pose, root_position=position))


def _skin(rig: Rig, motion: Motion) -> Float[np.ndarray, "frame point 3"]:
    """A sample of the skin in every frame; joints where there is no mesh."""
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    count = rig.mesh.vertex_count
    if not count:
        return posed.position.numpy()
    chosen: Int[np.ndarray, " point"] = np.unique(np.linspace(0, count - 1, SAMPLED_SKIN).round().astype(int))
    soles = [sole for sole in rig.soles if len(sole)]
    chosen = np.unique(np.concatenate((chosen, *soles)))
    points, weights = (torch.as_tensor(array[chosen], dtype=torch.float64) for array in (rig.mesh.vertices, rig.weights))
    return skin_points(rig.skeleton, posed, weights, points).numpy()
