"""Feet that stand in the picture: found in the fitted motion by the ``contact`` room, then held while the fit goes on."""

import numpy as np
import torch

from akd.contact.prepare import TargetSettings, prepare
from akd.contact.stance import Stance, intervals
from akd.contact.traces import trace
from akd.follow.body import Body, Coordinates, posed
from akd.follow.coordinates import to_motion
from akd.follow.fit import Standing
from akd.motion import Motion
from akd.rig import Rig

SOLE_HEIGHT = 0.1
"""Skin of a leg below this at rest belongs to its foot [ℓ]."""
FOOT_POINTS = 12
"""Points of a foot that are held."""
SLOW_TRAVEL = 0.2
"""A root slower than this over the whole clip may be filmed by a camera that goes along [ℓ/s] …"""
IMPLIED_TRAVEL = 0.3
"""… if its feet imply more than this [ℓ/s]."""
MAX_CHANGE = 0.12
"""If locking feet moves joints by more than this on average, the motion is left as it was followed [ℓ]."""
FIND = TargetSettings(travel=False, ground=False, lock=False, balance=False)
MIN_FRAMES = 6


def find_standing(body: Body, y: Coordinates, fps: float) -> Standing | None:
    """Which skin points stand when, and where; None if no foot stands."""
    rig = body.rig
    if not rig.legs or len(y) < MIN_FRAMES:
        return None
    stance = prepare(rig, to_motion(rig, y, fps), FIND).stance
    points = posed(body, y).points.astype(float)
    frames, held, places = [], [], []
    for foot, leg in enumerate(rig.legs):
        own = np.flatnonzero((body.limb == rig.skeleton.limbs.index(leg)) & (body.points[:, 1] < SOLE_HEIGHT))[:FOOT_POINTS]
        for start, end in intervals(stance[:, foot]) if len(own) else []:
            where = points[start:end][:, own].mean(0)
            where[:, 1] -= where[:, 1].min()
            for frame in range(start, end):
                frames.append(np.full(len(own), frame))
                held.append(own)
                places.append(where)
    if not frames:
        return None
    return Standing(np.concatenate(frames), np.concatenate(held), np.concatenate(places))


def lock_standing(rig: Rig, motion: Motion, *, going_along: bool) -> tuple[Motion, Stance, list[str]]:
    """The motion with standing feet locked, which feet stand, and what was done or could be.

    ``going_along``: the camera went along with the body, so that its way over the ground must be read from its feet. Otherwise a
    body that walks in place in the picture walks in place: pictures before a plain background cannot tell, and a clip is followed
    as it is.
    """
    none = np.zeros((motion.frame_count, len(rig.legs)), bool)
    if not rig.legs or motion.frame_count < MIN_FRAMES:
        return motion, none, []
    stance = None if going_along else prepare(rig, motion, FIND).stance
    target = prepare(rig, motion, TargetSettings(travel=going_along, ground=going_along, balance=False), stance)
    locked = target.motion
    added = float(np.linalg.norm(target.travel))
    change = np.linalg.norm(trace(rig, locked).joints - trace(rig, motion).joints, axis=-1)
    if added == 0 and float(change.mean()) > MAX_CHANGE:
        return motion, target.stance, [f"Standing feet were not locked: that would move joints by {change.mean():.2f} ℓ."]
    notes = [f"The camera goes along: feet imply {added:.2f} ℓ/s over the ground, which the motion was given."] if added else []
    if not going_along:
        notes += in_place_note(rig, motion)
    return Motion(locked.pose.to(torch.float64), motion.fps), target.stance, notes


def in_place_note(rig: Rig, motion: Motion) -> list[str]:
    """A sentence where the body stays in place while its feet go as if it travelled."""
    path = motion.pose.root_position[:, [0, 2]]
    if float((path[-1] - path[0]).norm()) / max(motion.duration, 1e-6) >= SLOW_TRAVEL:
        return []
    implied = float(np.linalg.norm(prepare(rig, motion, TargetSettings(lock=False, balance=False, ground=False)).travel))
    if implied < IMPLIED_TRAVEL:
        return []
    return [
        f"The body stays in place while its feet imply {implied:.2f} ℓ/s over the ground: if the camera went along, say"
        " --camera following."
    ]
