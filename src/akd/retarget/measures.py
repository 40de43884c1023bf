"""How much of a clip arrived: directions, end points, contacts, phases and amount of a retargeted motion against its source."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from akd.contact.measures import penetration, skating_ratio
from akd.contact.stance import Stance
from akd.contact.traces import trace
from akd.gait.measures import circular_mean
from akd.motion import Motion
from akd.retarget.correspondence import LimbPair
from akd.retarget.feet import ground_source
from akd.retarget.retarget import RetargetResult, retarget
from akd.rig import Rig
from akd.skeleton import forward_kinematics, joint_rotations

MIN_STRIDES = 2
"""Touch-downs of every foot from which on phases are compared."""


@dataclass(frozen=True)
class RetargetMeasures:
    """Numbers of one retargeted motion; None where they are not defined."""

    direction_error: float | None
    """Mean angle between matched bones of arms and of legs of the same shape [deg]."""
    end_point_error: float | None
    """Mean distance of ankles, wrists and wing tips, seen from hip or shoulder, from the source's [limb lengths]."""
    contact_agreement: float | None
    """Share of foot-frames that stand in both or in neither."""
    duty_difference: float | None
    """Largest difference of the share of time for which a foot stands."""
    phase_difference: float | None
    """Largest difference of the touch-down phase of a foot against the first foot's [strides]."""
    amount: float
    """Path of matched joints in the root frame, in limb lengths, against the source's: 1 is as much."""
    skating: float | None
    """Skating ratio."""
    penetration: float
    """Depth of the deepest vertex [ℓ]."""


def measure_retarget(result: RetargetResult, source: Rig, target: Rig) -> RetargetMeasures:
    """All numbers of one result but the way back."""
    theirs, ours = _positions(source, result.source), _positions(target, result.motion)
    pairs = list(result.correspondence.pairs)
    seen = trace(target, result.motion)
    stance = detected_stance(target, result.motion)
    feet = [target.legs.index(pair.target) for pair in pairs if pair.target.kind == "leg"]
    has_feet = bool(feet) and result.stance.shape == stance.shape
    return RetargetMeasures(
        direction_error=_mean([_angles(theirs, ours, pair) for pair in pairs if pair.same_shape]),
        end_point_error=_mean([_end_distance(theirs, ours, pair, source, target) for pair in pairs]),
        contact_agreement=float((result.stance == stance).mean()) if has_feet else None,
        duty_difference=float(np.abs(result.stance.mean(0) - stance.mean(0)).max()) if has_feet else None,
        phase_difference=phase_difference(result.stance, stance) if has_feet else None,
        amount=_amount(ours, target, pairs, ours=True) / max(_amount(theirs, source, pairs, ours=False), 1e-9),
        skating=skating_ratio(seen.feet, seen.fps) if feet else None,
        penetration=penetration(seen.lowest).max,
    )


def there_and_back(result: RetargetResult, source: Rig, target: Rig) -> float:
    """Mean distance of the source's joints from where they were, after the way to the target and back [ℓ of the source]."""
    back = retarget(result.motion, target, source, travel="keep")
    return float(np.linalg.norm(_positions(source, back.motion) - _positions(source, result.source), axis=-1).mean())


def detected_stance(rig: Rig, motion: Motion) -> Stance:
    """Which feet of a motion stand, found as in a source."""
    pose = motion.pose.detach().to(torch.float64)
    rotations = joint_rotations(rig.skeleton, pose).numpy()
    return ground_source(rig, pose.root_position.numpy(), rotations, motion.fps, "keep").stance


def phase_difference(one: Stance, other: Stance) -> float | None:
    """Largest difference of touch-down phases against the first foot; None if some foot lands less than twice."""
    landings = [_touch_downs(stance) for stance in (one, other)]
    if one.shape[1] < 2 or any(len(times) < MIN_STRIDES for foot in landings for times in foot):
        return None
    period = float(np.median([np.median(np.diff(times)) for times in landings[0]]))
    phases = [np.array([circular_mean(times / period) for times in foot]) for foot in landings]
    apart = np.array([phase - phase[0] for phase in phases])
    difference = apart[0] - apart[1]
    return float(np.abs((difference + 0.5) % 1.0 - 0.5).max())


def _touch_downs(stance: Stance) -> list[Float[np.ndarray, " landing"]]:
    """Frames at which each foot begins to stand."""
    return [1.0 + np.flatnonzero(~foot[:-1] & foot[1:]) for foot in stance.T]


def _positions(rig: Rig, motion: Motion) -> Float[np.ndarray, "frame joint 3"]:
    return forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64)).position.numpy()


def _angles(theirs: np.ndarray, ours: np.ndarray, pair: LimbPair) -> float:
    """Mean angle between the lines pivot → middle → end of both limbs [deg]."""
    one, other = _joints(theirs, pair.source_chain, pair.source_end), _joints(ours, pair.target_chain, pair.target_end)
    if one.shape != other.shape or one.shape[1] < 2:
        one, other = one[:, [0, -1]], other[:, [0, -1]]
    a, b = np.diff(one, axis=1), np.diff(other, axis=1)
    cosine = (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-9)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())


def _joints(positions: np.ndarray, chain: tuple[int, ...], end: int) -> np.ndarray:
    return positions[:, list(chain[: max(end, 1) + 1])]


def _end_distance(theirs: np.ndarray, ours: np.ndarray, pair: LimbPair, source: Rig, target: Rig) -> float:
    one, other = _joints(theirs, pair.source_chain, pair.source_end), _joints(ours, pair.target_chain, pair.target_end)
    if one.shape[1] < 2 or other.shape[1] < 2:
        return 0.0
    a = (one[:, -1] - one[:, 0]) / _length(source, pair.source_chain, pair.source_end)
    b = (other[:, -1] - other[:, 0]) / _length(target, pair.target_chain, pair.target_end)
    return float(np.linalg.norm(a - b, axis=-1).mean())


def _length(rig: Rig, chain: tuple[int, ...], end: int) -> float:
    points = rig.skeleton.positions[list(chain[: max(end, 1) + 1])]
    return max(float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()), 1e-9)


def _amount(positions: np.ndarray, rig: Rig, pairs: list[LimbPair], *, ours: bool) -> float:
    """Mean path of the ends of the limbs relative to their pivots, in limb lengths."""
    paths = []
    for pair in pairs:
        chain, end = (pair.target_chain, pair.target_end) if ours else (pair.source_chain, pair.source_end)
        joints = _joints(positions, chain, end)
        if joints.shape[1] > 1:
            step = np.diff(joints[:, -1] - joints[:, 0], axis=0)
            paths.append(np.linalg.norm(step, axis=-1).sum() / _length(rig, chain, end))
    return float(np.mean(paths)) if paths else 0.0


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
