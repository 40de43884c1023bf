"""Would an eye agree? A test of success for every action: walk and run with their own test, any other by its gates of contact,
and for all of them what the older test did not see: skin other than feet on the ground, a body higher or lower than in real
clips, legs in an order no animal has, motion far from everything real, and an action that is not the one that was asked for.
"""

import numpy as np
from jaxtyping import Float, Int

from akd.character.limb_model import limb_model, local_to_stage, skinned
from akd.measure.asked import Asked
from akd.measure.body import BodyMotion, body_motion
from akd.measure.evaluation import TINY_AMOUNT, Evaluation, evaluate
from akd.measure.judge import judge_body
from akd.measure.leg_order import leg_order
from akd.measure.recognise import clip_features, load_models
from akd.measure.success import MAX_DEPTH, MAX_SKATING, Check, Success, gait_jerk, success
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import joint_rotations

STANDING = frozenset((
    "walk", "run", "jump", "limp", "kick", "punch", "throw", "wave", "dance", "idle", "turn", "bow", "attack",
))  # fmt: skip
"""Actions in which only feet touch the ground; others lie, kneel, reach down or fly."""
REST_CLEARANCE = 0.1
"""Skin that is lower than this at rest may touch the ground: feet, a dragging tail, a belly [ℓ]."""
MIN_CLEARANCE = 0.01
"""Least height of all other skin [ℓ]."""
SAMPLED_SKIN = 1500
"""Vertices that are looked at, of those that may not touch."""
HEIGHT_TOLERANCE = 0.05
"""By how much the pelvis may be beyond the range of real clips [its height at rest]."""
MAX_DISTANCE = 0.95
"""Largest percentile of the distance to real motion."""


def eye_success(rig: Rig, motion: Motion, asked: Asked, *, from_file: bool = False) -> Success:
    """All conditions of an action on a motion; artists' clips (``from_file``) may walk in place and hover."""
    measured = evaluate(rig, motion, from_file=from_file, asked=asked.action)
    body = body_motion(rig, motion)
    if asked.action in ("walk", "run"):
        own = success(measured, asked.action, gait_jerk(rig, asked.action, motion.fps)).checks  # type: ignore[arg-type]
    else:
        own = contact_gates(measured, asked.action)
    verdict = judge_body(body, asked).verdict
    return Success((*own, *realism(rig, motion, body, measured, asked), Check("as asked", None, verdict == "as_asked")))


def contact_gates(measured: Evaluation, action: str) -> tuple[Check, ...]:
    """The conditions of contact of an action that is no gait; of a body without feet, those that need none."""
    amount, skating, depth = measured.motion_amount, measured.skating_ratio, measured.penetration_max
    checks = [Check("penetration", depth, depth <= MAX_DEPTH)]
    if action != "idle":
        checks.append(Check("amount", amount, amount >= TINY_AMOUNT))
    if measured.contact_share is not None:
        checks.append(Check("skating", skating, skating is None or skating <= MAX_SKATING))
    return tuple(checks)


def realism(rig: Rig, motion: Motion, body: BodyMotion, measured: Evaluation, asked: Asked) -> tuple[Check, ...]:
    """The conditions that apply to an action on this body; what there is no real motion for is left out."""
    checks, action = [], asked.action
    if action in STANDING and rig.mesh.vertex_count:
        height = lowest_other_skin(rig, motion, body)
        if height is not None:
            checks.append(Check("only feet touch", height, height >= MIN_CLEARANCE))
    model = load_models().get(body.build)
    if model is not None:
        checks += _height(body, model.heights(action))
        far = model.distance(clip_features(body), action)
        if far is not None:
            checks.append(Check("distance to real motion", far, far <= MAX_DISTANCE))
    return (*checks, *_order(body, measured, asked))


def _height(body: BodyMotion, real: tuple[float, float] | None) -> list[Check]:
    if real is None:
        return []
    low, high = (float(bound(body.pelvis[:, 1])) / max(float(body.rest_pelvis[1]), 0.1) for bound in (np.min, np.max))
    return [
        Check("lowest pelvis", low, low >= real[0] - HEIGHT_TOLERANCE),
        Check("highest pelvis", high, high <= real[1] + HEIGHT_TOLERANCE),
    ]


def _order(body: BodyMotion, measured: Evaluation, asked: Asked) -> list[Check]:
    order = leg_order(body.build, measured.gait, measured.alternation, asked)
    if order is None:
        return []
    name = "legs take turns" if body.build == "two-legged" else f"order of legs ({measured.gait or 'none'})"
    return [Check(name, order.turns, order.passed)]


def lowest_other_skin(rig: Rig, motion: Motion, body: BodyMotion) -> float | None:
    """Height at the worst moment of skin that is no foot and well above the ground at rest [ℓ]; None if there is none."""
    index = _other_skin(rig)
    if not index.size:
        return None
    local = joint_rotations(rig.skeleton, motion.pose.detach()).numpy().astype(np.float64)
    root: Float[np.ndarray, "frame 3"] = motion.pose.root_position.detach().numpy().astype(np.float64)
    raised = float(np.median(body.root[:, 1] - root[:, 1]))
    lowest = np.inf
    for part in np.array_split(np.arange(len(root)), max(len(root) // 30, 1)):
        stage, position = local_to_stage(rig.skeleton, root[part], local[part])
        lowest = min(lowest, float(skinned(rig, index, stage, position)[..., 1].min()))
    return lowest + raised


def _other_skin(rig: Rig) -> Int[np.ndarray, " point"]:
    """A sample of the vertices that are no feet and do not touch the ground at rest."""
    owner = rig.weights.argmax(1)
    feet = {joint for foot in limb_model(rig).feet for joint in (foot.leg.chain[-1], *foot.toes)}
    free = np.flatnonzero((rig.mesh.vertices[:, 1] > REST_CLEARANCE) & ~np.isin(owner, list(feet)))
    return free[:: max(len(free) // SAMPLED_SKIN, 1)]
