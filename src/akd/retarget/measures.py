"""How much of a clip arrived: directions, end points, contacts, phases and amount of a retargeted motion against its source."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float

from akd.character.leg import main_chain
from akd.character.limb_model import FrameVectors, JointRotations, limb_model
from akd.contact.measures import penetration, skating_ratio
from akd.contact.prepare import foot_motion
from akd.contact.stance import Stance
from akd.contact.traces import trace
from akd.gait.measures import circular_mean
from akd.motion import Motion, repeat
from akd.retarget.correspondence import limb_length
from akd.retarget.feet import found_stance, standing
from akd.retarget.retarget import RetargetResult, retarget
from akd.retarget.sampling import divided, steps_per_frame
from akd.retarget.transfer import Performance, limb_points
from akd.rig import Rig
from akd.skeleton import forward_kinematics, joint_rotations

MIN_STRIDES = 2
"""Touch-downs of every foot from which on phases are compared,"""
MIN_RHYTHM = 0.8
"""and how nearly they fall on the same moment of each stride: those of walks and runs do by .9 and more."""


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
    amount: float | None
    """How far the ends of limbs, neck, head and tail go relative to where they begin, in their lengths, against the source's."""
    skating: float | None
    """Skating ratio."""
    penetration: float
    """Depth of the deepest vertex [ℓ]."""


def measure_retarget(result: RetargetResult, source: Rig, target: Rig) -> RetargetMeasures:
    """All numbers of one result but the way back."""
    limbs = _limbs(result, source, target)
    seen = trace(target, result.motion)
    contact = contact_measures(result, source, target)
    return RetargetMeasures(
        direction_error=_mean([_angle(pair) for pair in limbs if pair.same_shape]),
        end_point_error=_mean([_end_distance(pair) for pair in limbs]),
        contact_agreement=contact.agreement,
        duty_difference=contact.duty_difference,
        phase_difference=contact.phase_difference,
        amount=_ratio(
            [(_path(x.ours, x.our_length), _path(x.theirs, x.their_length)) for x in limbs + _axial(result, source, target)]
        ),
        skating=skating_ratio(seen.feet, seen.fps) if target.legs else None,
        penetration=penetration(seen.lowest).max,
    )


class ContactMeasures(NamedTuple):
    """Contacts of a retargeted motion against the source's; None where there are no feet, or no phases."""

    agreement: float | None
    duty_difference: float | None
    phase_difference: float | None


def contact_measures(result: RetargetResult, source: Rig, target: Rig, *, between_frames: bool = True) -> ContactMeasures:
    """Contacts at ``CONTACT_RATE``, or at the frames alone, where one frame is up to .06 of a stride."""
    if not target.legs:
        return ContactMeasures(None, None, None)
    theirs = source_stance(source, result.source, loops=result.loops, between_frames=between_frames)
    ours = detected_stance(target, result.motion, loops=result.loops, between_frames=between_frames)
    return ContactMeasures(
        float((theirs == ours).mean()),
        float(np.abs(theirs.mean(0) - ours.mean(0)).max()),
        phase_difference(_cycles(theirs, result.loops), _cycles(ours, result.loops)),
    )


def there_and_back(result: RetargetResult, source: Rig, target: Rig) -> float:
    """Mean distance of the source's joints from where they were, after the way to the target and back [ℓ of the source]."""
    back = retarget(result.motion, target, source, travel="keep")
    apart = _performance(source, back.motion).positions - _performance(source, result.source).positions
    return float(np.linalg.norm(apart, axis=-1).mean())


def source_stance(rig: Rig, motion: Motion, *, loops: bool = False, between_frames: bool = True) -> Stance:
    """Which feet of a source stand, at ``CONTACT_RATE``: as it is understood when it is retargeted."""
    steps = steps_per_frame(motion.fps) if between_frames else 1
    return _stance_in_time(rig, motion, loops, steps, lambda root, rotations, fps: standing(rig, root, rotations, fps))


def detected_stance(rig: Rig, motion: Motion, *, loops: bool = False, between_frames: bool = True) -> Stance:
    """Which feet of a motion stand, at ``CONTACT_RATE``: low over y = 0, and slow or moving back under the body."""
    model = limb_model(rig)

    def found(root: FrameVectors, rotations: JointRotations, fps: float) -> Stance:
        seen = foot_motion(model, root, rotations, np.zeros(len(model.feet)), fps)
        return found_stance(seen, fps)

    return _stance_in_time(rig, motion, loops, steps_per_frame(motion.fps) if between_frames else 1, found)


def _stance_in_time(
    rig: Rig, motion: Motion, loops: bool, steps: int, find: Callable[[FrameVectors, JointRotations, float], Stance]
) -> Stance:
    """Stance at so many steps of every frame; that of a loop is found in the middle of three cycles."""
    if not rig.legs:
        return np.zeros((motion.frame_count, 0), bool)
    count = motion.frame_count
    around = repeat(motion, 3) if loops else motion
    pose = around.pose.detach().to(torch.float64)
    stance = find(*divided(pose.root_position.numpy(), joint_rotations(rig.skeleton, pose).numpy(), steps), motion.fps * steps)
    return stance[(count - 1) * steps : 2 * (count - 1) * steps + 1] if loops else stance


def phase_difference(one: Stance, other: Stance) -> float | None:
    """Largest difference of touch-down phases against the first foot.

    None if some foot lands less than twice, or if those of the first motion land without a rhythm: a dance has no phases.
    """
    landings = [_touch_downs(stance) for stance in (one, other)]
    if one.shape[1] < 2 or any(len(times) < MIN_STRIDES for foot in landings for times in foot):
        return None
    period = float(np.median([np.median(np.diff(times)) for times in landings[0]]))
    if min(_rhythm(times / period) for times in landings[0]) < MIN_RHYTHM:
        return None
    phases = [np.array([circular_mean(times / period) for times in foot]) for foot in landings]
    apart = np.array([phase - phase[0] for phase in phases])
    difference = apart[0] - apart[1]
    return float(np.abs((difference + 0.5) % 1.0 - 0.5).max())


def _rhythm(phases: Float[np.ndarray, " landing"]) -> float:
    """1 if a foot lands at the same moment of every stride, 0 if at any."""
    return float(abs(np.exp(2j * np.pi * phases).mean()))


def _cycles(stance: Stance, loops: bool) -> Bool[np.ndarray, "repeated foot"]:
    """A loop three times over: one of a single stride has but one touch-down of each foot."""
    return np.concatenate((stance[:-1], stance[:-1], stance)) if loops else stance


def _touch_downs(stance: Stance) -> list[Float[np.ndarray, " landing"]]:
    """Frames at which each foot begins to stand."""
    return [1.0 + np.flatnonzero(~foot[:-1] & foot[1:]) for foot in stance.T]


def _performance(rig: Rig, motion: Motion) -> Performance:
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    return Performance(posed.rotation.numpy(), posed.position.numpy(), motion.fps)


class _Limbs(NamedTuple):
    """Both limbs of a pair in every frame, from pivot to end."""

    theirs: Float[np.ndarray, "frame point 3"]
    ours: Float[np.ndarray, "frame joint 3"]
    their_length: float
    our_length: float
    same_shape: bool


def _limbs(result: RetargetResult, source: Rig, target: Rig) -> list[_Limbs]:
    theirs, ours = _performance(source, result.source), _performance(target, result.motion)
    return [
        _Limbs(
            limb_points(source.skeleton, pair.source_chain, max(pair.source_end, 1), theirs),
            limb_points(target.skeleton, pair.target_chain, max(pair.target_end, 1), ours),
            limb_length(source.skeleton, pair.source_chain, pair.source_end),
            limb_length(target.skeleton, pair.target_chain, pair.target_end),
            pair.same_shape,
        )
        for pair in result.correspondence.pairs
    ]


def _axial(result: RetargetResult, source: Rig, target: Rig) -> list[_Limbs]:
    """The same for necks, heads and tails that both have."""
    theirs, ours = _performance(source, result.source), _performance(target, result.motion)
    labels = {limb.name: limb for limb in source.skeleton.limbs if limb.kind in ("neck", "head", "tail")}
    out = []
    for limb in target.skeleton.limbs:
        if (match := labels.get(limb.name)) is None:
            continue
        one, other = tuple(main_chain(source.skeleton, match)), tuple(main_chain(target.skeleton, limb))
        points = limb_points(source.skeleton, one, len(one), theirs), limb_points(target.skeleton, other, len(other), ours)
        lengths = limb_length(source.skeleton, one, len(one)), limb_length(target.skeleton, other, len(other))
        out.append(_Limbs(*points, *lengths, False))
    return out


def _angle(limbs: _Limbs) -> float:
    """Mean angle between the bones of both limbs; between their lines from pivot to end where bones differ in number [deg]."""
    one, other = limbs.theirs, limbs.ours
    if one.shape != other.shape:
        one, other = one[:, [0, -1]], other[:, [0, -1]]
    a, b = np.diff(one, axis=1), np.diff(other, axis=1)
    cosine = (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-9)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())


def _end_distance(limbs: _Limbs) -> float:
    a = (limbs.theirs[:, -1] - limbs.theirs[:, 0]) / limbs.their_length
    b = (limbs.ours[:, -1] - limbs.ours[:, 0]) / limbs.our_length
    return float(np.linalg.norm(a - b, axis=-1).mean())


def _path(points: Float[np.ndarray, "frame point 3"], length: float) -> float:
    """How far the end of a limb goes relative to its pivot [limb lengths]."""
    return float(np.linalg.norm(np.diff(points[:, -1] - points[:, 0], axis=0), axis=-1).sum() / length)


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _ratio(pairs: list[tuple[float, float]]) -> float | None:
    """Sum of the first numbers over sum of the second."""
    first, second = (sum(values) for values in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    return first / second if second > 0 else None
