"""Contacts: which feet of the source stand when, and the target's legs bent so that its feet do the same.

The source is put on its ground and, where it walks in place, given the travel that its standing feet imply. The stance found
there is the target's: its feet are locked in those frames, and elsewhere follow the source's in units of leg length.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import FrameVectors, JointRotations, LimbModel, limb_model, local_to_stage
from akd.contact.clearance import clear_ground, penetrating_vertices
from akd.contact.foot_lock import foot_positions, overstretch, solve_legs, within_reach
from akd.contact.measures import Feet
from akd.contact.prepare import FootMotion, crouch, foot_motion, with_implied_travel
from akd.contact.roll import even_roll, rolling_path, slowed
from akd.contact.stance import Stance, close_gaps, detect_stance, lock_paths, quintic_step
from akd.contact.traces import in_heading_frame, yaw
from akd.contact.treadmill import foot_levels
from akd.retarget.correspondence import LimbPair
from akd.retarget.transfer import Performance
from akd.rig import Rig

Travel = Literal["auto", "keep", "none"]
UP = np.array([0.0, 1.0, 0.0])
GROUND_QUANTILE = 0.2
"""The ground is where the lowest foot is for this share of the clip; lower are toes that dig in."""
MAX_LEVEL = 0.1
"""The ground of a foot is not farther than this from y = 0 [ℓ]."""
MAX_STANDING_HEIGHT = 0.15
"""Nor does a foot stand that is higher than this above it, even where no other stands and the body does not fall [ℓ]."""
MAX_CROUCH = 0.08
"""The body is lowered by no more than this for legs that do not reach their feet [ℓ]; beyond it the feet are drawn along."""
IN_PLACE_SHARE = 0.5
"""A clip walks in place if it lacks more than this share of the speed that its standing feet imply; others travel as they do."""
MAX_RISE = 0.1
"""A foot that is still out of reach leaves the ground by as much before it is drawn along [ℓ]."""
MAX_SLIDE = 2.0
"""A standing foot moves over the ground no faster than this many times the body: feet drawn by a sine reach 1.6."""
LOW_FOOT, HIGH_FOOT = 0.25, 0.5
"""Up to the first height the sole of a foot is as high as the source's; from the second on its ankle is [ℓ]."""
CLEARANCE = 0.055
"""Feet that swing clear the ground by this [ℓ]: higher than what passes for standing."""
CATCH_UP, RISE = 0.05, 0.1
"""Shares of a swing in which a foot that was locked catches up with its path, and in which it rises."""
EARLY = 0.75
"""Share of its rise by which a foot begins to leave the ground before the end of its stance: it counts as standing until
then, and so does the source's."""
END_RISE = 0.1
"""Time in which a foot rises after the last stance of a clip, or sinks before the first [s]."""
PENETRATION_PASSES = 3
"""How often vertices that are in the ground are watched too and the motion is put right again."""


@dataclass(frozen=True, eq=False)
class GroundedSource:
    """A source that stands and travels on y = 0."""

    performance: Performance
    feet: Feet
    """Foot paths, each above its own stance level [ℓ]."""
    stance: Stance
    travel: Float[np.ndarray, " 3"]
    """Velocity that was added, forward, up and to the right [ℓ/s]."""
    raised: float
    """How far it was raised onto the ground [ℓ]."""


def ground_source(rig: Rig, root: FrameVectors, local: JointRotations, fps: float, travel: Travel) -> GroundedSource:
    """Put a clip on the ground, restore or remove its travel, and find its stance."""
    model = limb_model(rig)
    if travel == "none":
        root = _without_travel(root)
    if not model.feet:
        performance = _performance(model, root, local, fps)
        nothing = np.zeros((len(root), 0, 3)), np.zeros((len(root), 0), bool)
        return GroundedSource(performance, *nothing, np.zeros(3), 0.0)
    feet, levels = _levels(model, root, local)
    lowest = feet[..., 1].min(1)
    raised = -float(np.quantile(lowest, GROUND_QUANTILE))
    root = root + raised * UP
    levels = np.clip(levels + raised, -MAX_LEVEL, MAX_LEVEL)
    added = np.zeros(3)
    motion = foot_motion(model, root, local, levels, fps)
    if travel == "auto":
        moved, given = with_implied_travel(root, motion, fps)
        if np.linalg.norm(given) > IN_PLACE_SHARE * np.linalg.norm(given[[0, 2]] + motion.velocity):
            root, added = moved, given
            motion = foot_motion(model, root, local, levels, fps)
    stance = _stance_of(rig, root, motion, fps)
    return GroundedSource(_performance(model, root, local, fps), motion.feet, stance, added, raised)


def standing(rig: Rig, root: FrameVectors, local: JointRotations, fps: float) -> Stance:
    """Which feet of a motion on its ground stand: low over their own ground, slow or pulled back, and where no body falls."""
    model = limb_model(rig)
    _, levels = _levels(model, root, local)
    return _stance_of(rig, root, foot_motion(model, root, local, np.clip(levels, -MAX_LEVEL, MAX_LEVEL), fps), fps)


def _levels(model: LimbModel, root: FrameVectors, local: JointRotations) -> tuple[Feet, Float[np.ndarray, " foot"]]:
    """Where the feet are, and the height at which each stands [ℓ]."""
    feet = foot_positions(model, root, local)
    return feet, foot_levels(feet[..., 1], in_heading_frame(feet, root, yaw(local[:, 0]))[..., 0])


def found_stance(motion: FootMotion, fps: float) -> Stance:
    """Which feet stand: low and slow, or moving back under the body, but over the ground at no more than ``MAX_SLIDE``.

    A dancer's foot that goes back quickly is pulled under the body, too, and yet it does not stand.
    """
    over_ground = np.linalg.norm(np.gradient(motion.feet[..., [0, 2]], axis=0), axis=-1) * fps
    pulled = (over_ground <= MAX_SLIDE * np.linalg.norm(motion.velocity))[..., None] * motion.velocities
    return detect_stance(motion.feet, pulled, motion.velocity, fps)


def _stance_of(rig: Rig, root: FrameVectors, motion: FootMotion, fps: float) -> Stance:
    return close_gaps(found_stance(motion, fps), root[:, 1], rig.gravity, fps) & (motion.feet[..., 1] < MAX_STANDING_HEIGHT)


def _without_travel(root: FrameVectors) -> FrameVectors:
    along = np.linspace(0, 1, len(root))[:, None]
    return root - along * (root[-1] - root[0]) * (1.0, 0.0, 1.0)


def _performance(model: LimbModel, root: FrameVectors, local: JointRotations, fps: float) -> Performance:
    return Performance(*local_to_stage(model.skeleton, root, local), fps)


def foot_targets(
    source: Rig,
    target: Rig,
    pairs: list[LimbPair],
    grounded: GroundedSource,
    root: FrameVectors,
    local: JointRotations,
    scale: float,
) -> Feet:
    """Where the target's feet should be: from the hip as in the source, in units of leg length, and as high above the ground."""
    model = limb_model(target)
    out = foot_positions(model, root, local)
    _, position = local_to_stage(target.skeleton, root, local)
    order = {limb: number for number, limb in enumerate(target.legs)}
    theirs = {limb: number for number, limb in enumerate(source.legs)}
    for pair in pairs:
        foot, their_foot = order[pair.target], theirs[pair.source]
        hip, ankle = pair.target_chain[0], pair.target_chain[pair.target_end]
        seen = grounded.performance.positions
        wanted = position[:, hip] + scale * (seen[:, pair.source_chain[pair.source_end]] - seen[:, pair.source_chain[0]])
        if not pair.same_shape:
            wanted = wanted + _rest_difference(source, target, pair, scale, local)
        shift = wanted - position[:, ankle]
        out[:, foot, 0] += shift[:, 0]
        out[:, foot, 2] += shift[:, 2]
        # Near the ground soles count, which no ankle tells; high above it a foot may point anywhere, and the ankle counts.
        height = scale * grounded.feet[:, their_foot, 1]
        high = quintic_step((height - LOW_FOOT) / (HIGH_FOOT - LOW_FOOT))
        out[:, foot, 1] = height + high * (out[:, foot, 1] + shift[:, 1] - height)
    return out


def _rest_difference(source: Rig, target: Rig, pair: LimbPair, scale: float, local: JointRotations) -> FrameVectors:
    """How far the target's foot is from the source's at rest, seen from their hips, in the heading of every frame [ℓ]."""
    ours, theirs = target.skeleton.positions, source.skeleton.positions
    at_rest = ours[pair.target_chain[pair.target_end]] - ours[pair.target_chain[0]]
    at_rest = at_rest - scale * (theirs[pair.source_chain[pair.source_end]] - theirs[pair.source_chain[0]])
    heading = yaw(local[:, 0])
    x, z = at_rest[0], at_rest[2]
    return np.stack((np.cos(heading) * x + np.sin(heading) * z, 0 * heading, np.cos(heading) * z - np.sin(heading) * x), -1)


def lock_feet(
    target: Rig, root: FrameVectors, local: JointRotations, feet: Feet, stance: Stance, fps: float
) -> tuple[JointRotations, Feet]:
    """Rotations with feet that roll evenly, and the paths on which the feet stand where the source's do."""
    model = limb_model(target)
    if not model.feet:
        return local, feet
    local = even_roll(model, root, local, stance, fps)
    rolling = slowed(rolling_path(model, root, local), fps)
    return local, lock_paths(
        feet, stance, rolling, CLEARANCE, CATCH_UP, clear_ends=True, clear_returns=True,
        rise=RISE, end_rise=END_RISE * fps, early=EARLY
    )


def settle(
    target: Rig, root: FrameVectors, local: JointRotations, paths: Feet | None, stance: Stance, fps: float
) -> tuple[FrameVectors, JointRotations]:
    """Root and rotations with feet on their paths, and nothing in the ground: what is found in it is watched in another pass."""
    model = limb_model(target)
    for _ in range(PENETRATION_PASSES):
        placed, bent = _settled(model, root, local, paths, stance, fps)
        deep = penetrating_vertices(model, placed, bent) if target.mesh.vertex_count else np.zeros(0, int)
        if not deep.size:
            break
        model = model.watching(deep)
    return placed, bent


def _settled(
    model: LimbModel, root: FrameVectors, local: JointRotations, paths: Feet | None, stance: Stance, fps: float
) -> tuple[FrameVectors, JointRotations]:
    local = local.copy()
    cleared = clear_ground(model, root, local) if model.rig.mesh.vertex_count else root
    if paths is None or not model.feet:
        return cleared, local
    need = np.minimum(overstretch(model, cleared, local, paths), MAX_CROUCH)
    lowered = cleared - crouch(need, stance, fps)[:, None] * UP
    lowered = clear_ground(model, lowered, local) if model.rig.mesh.vertex_count else lowered
    raised = paths + np.clip(overstretch(model, lowered, local, paths), 0.0, MAX_RISE)[..., None] * UP
    return lowered, solve_legs(model, lowered, local, within_reach(model, lowered, local, raised))
