"""How smooth a motion is, how much it moves (a frozen clip is perfectly smooth), and how different motions are.

``joints`` is frame × joint × 3 on the stage, joint 0 the root; ``root_rotation`` its rotation from rest as a matrix.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from akd.contact.traces import in_heading_frame, trace, yaw
from akd.motion import Motion
from akd.rig import Rig

HIGH_BAND_HZ = 8.0
"""Joint-angle power above this is shaking, not motion [Hz]."""
Joints = Float[np.ndarray, "frame joint 3"]
RootRotation = Float[np.ndarray, "frame 3 3"]


def jerk(joints: Joints, fps: float) -> float | None:
    """Mean length of the third derivative of joint positions [ℓ/s³]; None for fewer than four frames."""
    if len(joints) < 4:
        return None
    return float(np.linalg.norm(np.diff(joints, n=3, axis=0) * fps**3, axis=-1).mean())


def laplacian(coordinates: Float[np.ndarray, "frame dof"]) -> float | None:
    """Mean absolute second difference of the generalised coordinates (L_smooth); None for fewer than three frames."""
    if len(coordinates) < 3:
        return None
    return float(np.abs(np.diff(coordinates, n=2, axis=0)).mean())


def high_band(angles: Float[np.ndarray, "frame dof"], fps: float) -> float | None:
    """Share of joint-angle power above 8 Hz; None where the frame rate cannot show it (fps ≤ 16) or a clip is too short.

    Each curve loses its straight trend and is faded in and out (Hann window): ends that do not meet are not shaking.
    """
    if fps <= 2 * HIGH_BAND_HZ or len(angles) < 8:
        return None
    time = np.arange(len(angles))[:, None] - (len(angles) - 1) / 2
    flat = angles - angles.mean(0)
    flat = flat - time * (time * flat).sum(0) / np.square(time).sum()
    power = np.square(np.abs(np.fft.rfft(flat * np.hanning(len(angles))[:, None], axis=0)))
    high = np.fft.rfftfreq(len(angles), 1 / fps) > HIGH_BAND_HZ
    total = power.sum()
    return float(power[high].sum() / total) if total > 1e-20 else 0.0


def in_root_frame(joints: Joints, root_rotation: RootRotation) -> Joints:
    """Joint positions in the frame of the root."""
    return np.einsum("fba,fjb->fja", root_rotation, joints - joints[:, :1])


def motion_amount(joints: Joints, root_rotation: RootRotation, fps: float) -> float:
    """Mean path length of the joints (the root left out) as joints_of from the root [ℓ/s]."""
    if len(joints) < 2 or joints.shape[1] < 2:
        return 0.0
    relative = in_root_frame(joints, root_rotation)[:, 1:]
    return float(np.linalg.norm(np.diff(relative, axis=0), axis=-1).mean() * fps)


def travel(root: Float[np.ndarray, "frame 3"], fps: float) -> float:
    """Path length of the root on the ground per second [ℓ/s]."""
    if len(root) < 2:
        return 0.0
    return float(np.linalg.norm(np.diff(root[:, [0, 2]], axis=0), axis=-1).mean() * fps)


def loop_error(joints: Joints, root_rotation: RootRotation) -> float | None:
    """Pose gap [ℓ] + velocity gap [ℓ per frame] between the ends, means over joints; None for fewer than three frames.

    Every frame is first moved so that the root stands at x = z = 0 and faces +X. Velocities are one-sided three-point
    estimates: their leading errors are equal at both ends, so that a sampled perfect loop reads (nearly) zero.
    """
    if len(joints) < 3:
        return None
    p = in_heading_frame(joints, joints[:, 0], yaw(root_rotation))
    at_start = (-3 * p[0] + 4 * p[1] - p[2]) / 2
    at_end = (3 * p[-1] - 4 * p[-2] + p[-3]) / 2
    return float(np.linalg.norm(p[-1] - p[0], axis=-1).mean() + np.linalg.norm(at_end - at_start, axis=-1).mean())


def bone_stretch(joints: Joints, parents: Int[np.ndarray, " joint"]) -> float:
    """Coefficient of variation over time of the distance from joint to parent, mean over bones of any length."""
    child = np.flatnonzero(parents >= 0)
    length = np.linalg.norm(joints[:, child] - joints[:, parents[child]], axis=-1)
    mean = length.mean(0)
    real = mean > 1e-6
    return float((length.std(0)[real] / mean[real]).mean()) if real.any() else 0.0


def diversity(rig: Rig, motions: list[Motion]) -> float | None:
    """Mean distance of joints in the root's frame, over all pairs of motions [ℓ]; None for fewer than two.

    The same stride begun at another moment is the same motion, so of two motions one is shifted in time until they fit best.
    """
    clips = [in_root_frame(traced.joints, traced.root_rotation) for traced in (trace(rig, motion) for motion in motions)]
    frames = min((len(joints) for joints in clips), default=0)
    distances = [_shifted_distance(one[:frames], other[:frames]) for one, other in combinations(clips, 2)]
    return float(np.mean(distances)) if distances else None


def _shifted_distance(one: Joints, other: Joints) -> float:
    """Mean distance at the best circular shift in time [ℓ]."""
    return min(float(np.linalg.norm(one - np.roll(other, shift, axis=0), axis=-1).mean()) for shift in range(len(one)))
