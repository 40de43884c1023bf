"""Tracking: the pose of a frame from those before it, and a second look for limbs that got lost.

    where momentum leads → flow alone → flow, silhouette and colours → does a part of the subject lack skin? try limb after limb
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from akd.follow.body import Coordinates, posed
from akd.follow.fit import GATES, MOMENTUM, TAIL, Expected, Scene, look_at_frame, picture_wishes, reach, step
from akd.follow.match import overlap
from akd.follow.measurements import Paint, Wishes, cover_wishes, flow_between, joined, silhouette_wishes
from akd.follow.viewing import Seen, look, project

FLOW_TOLERANCES = (30.0, 10.0, 5.0, 3.0)
"""Spreads by which a point may miss the flow and still count half, from the first prediction to the last: flow is right where the
pose is far off still."""
MIN_PATCH = 0.01
"""Share of the subject that must lack skin before limbs are tried there."""
PULL_STEPS = 6
"""Gauss–Newton steps that bring a limb to a part of the subject without skin."""
LIMBS_TRIED = 6
"""Limbs that are tried in a frame at most."""
OVERLAP_COST = 800.0
"""Energy of a silhouette that is missed altogether: an outline off by one spread everywhere takes a seventh of the overlap of a
slender body, and costs half of the evidence's 80 measurements."""
FLOW_SHARE = 0.25
"""Of the flow's weight where poses are compared: where limbs pass each other flow is wrong for all of them together."""
MIN_GAIN = 2.0
"""Energy that a second look must gain to count."""
LIMB_STRETCH = 1.2
"""A limb may reach so many times its length: its beginning moves, too."""

Mask = Bool[np.ndarray, "height width"]


@dataclass(frozen=True, eq=False)
class Moment:
    """A frame before its own silhouette and colours are asked."""

    frame: int
    expected: Expected
    earlier: Seen
    """What the frame before shows of the body."""

    @classmethod
    def of(cls, scene: Scene, frame: int, y_all: Coordinates) -> "Moment":
        before = y_all[frame - 1 : frame]
        speed = before - y_all[frame - 2 : frame - 1] if frame > 1 else 0 * before
        expected = Expected(before + MOMENTUM * speed, before, before + speed if frame > 1 else None)
        return cls(frame, expected, look_at_frame(scene, before, frame - 1))


def track_frame(scene: Scene, frame: int, y_all: Coordinates, paint: Paint) -> Float[np.ndarray, "1 coordinate"]:
    """The pose of a frame from those of the frames before, which are fitted already; one row."""
    moment = Moment.of(scene, frame, y_all)
    ways = [_descend(scene, moment, _flown(scene, moment), paint)] if scene.settings.flow else []
    if not ways or scene.settings.silhouette:
        ways.append(_descend(scene, moment, moment.expected.pose, paint, flow=False))
    y = min(ways, key=lambda each: _energy(scene, moment, each))
    return _second_look(scene, moment, y, paint) if scene.settings.second_look and scene.settings.silhouette else y


def _flown(scene: Scene, moment: Moment) -> Coordinates:
    """Where flow alone leads."""
    y, frame = moment.expected.pose, moment.frame
    for tolerance in FLOW_TOLERANCES[: scene.settings.predict_iterations]:
        now = posed(scene.body, y)
        seen = look(scene.body, scene.view[slice(frame, frame + 1)], now)[0]
        y = step(scene, y, now, seen, _flow_wishes(scene, moment, seen, tolerance), moment.expected)
    return y


def _flow_wishes(scene: Scene, moment: Moment, seen: Seen, tolerance: float) -> Wishes:
    weight, missed = flow_between(scene.evidence, moment.frame - 1, moment.earlier, seen, scene.unit, scene.settings, tolerance)
    moved = np.flatnonzero(weight > 0)
    return Wishes(moved, weight[moved, None, None] * np.eye(2), -weight[moved, None] * missed[moved])


def _descend(scene: Scene, moment: Moment, y: Coordinates, paint: Paint, *, flow: bool = True) -> Coordinates:
    """All evidence, coarse and then fine."""
    count = scene.settings.track_iterations
    for iteration in range(count):
        now = posed(scene.body, y)
        seen = look(scene.body, scene.view[slice(moment.frame, moment.frame + 1)], now)[0]
        wishes = [_flow_wishes(scene, moment, seen, FLOW_TOLERANCES[-1])] if flow else []
        wishes += picture_wishes(scene, moment.frame, now, 0, seen, paint, int(iteration >= count // 2))
        y = step(scene, y, now, seen, joined(wishes), moment.expected)
    return y


def _second_look(scene: Scene, moment: Moment, y: Coordinates, paint: Paint) -> Coordinates:
    """Give parts of the subject that lack skin to one limb after the other; what explains the frame best in the end is kept."""
    for _ in range(2):
        seen = look_at_frame(scene, y, moment.frame)
        mask = scene.evidence.masks[moment.frame]
        patch = bare_patch(mask, seen.mask)
        if patch.sum() < MIN_PATCH * mask.sum():
            return y
        tried = [_pulled(scene, moment, y, patch, limb) for limb in _limbs_near(scene, moment.frame, y, seen, patch)]
        ranked = sorted(tried, key=lambda each: _energy(scene, moment, each))
        best = [_descend(scene, moment, each, paint) for each in ranked[:2]]
        gains = [_energy(scene, moment, y) - _energy(scene, moment, each) for each in best]
        if not gains or max(gains) < MIN_GAIN:
            return y
        y = best[int(np.argmax(gains))]
    return y


def _energy(scene: Scene, moment: Moment, y: Coordinates) -> float:
    """How badly a pose explains a frame: its silhouette, the flow to it, turns that were not expected, and an odd pose."""
    settings, active, frame = scene.settings, scene.body.active, moment.frame
    seen = look_at_frame(scene, y, frame)
    missed = 1 - overlap(seen.mask, scene.evidence.masks[frame])
    weight, apart = flow_between(scene.evidence, frame - 1, moment.earlier, seen, scene.unit, settings, np.inf)
    spread = np.sqrt(settings.flow * settings.evidence_count / settings.points / np.maximum(weight, 1e-9))
    tail = FLOW_TOLERANCES[-1] ** 2
    heard = weight > 1e-9
    flow = 0.5 * tail * float((np.log1p(np.square(apart).sum(1)[heard] / spread[heard] ** 2 / tail)).sum()) / len(weight)
    turns = np.square((y - moment.expected.pose)[0, active][6:] * scene.fps / settings.step_turn).reshape(-1, 3).sum(1)
    guess, firm = scene.plausible.guess(y)
    odd = 0.5 * float((firm * np.square(guess - y))[0, active].sum()) * settings.plausible
    flow *= FLOW_SHARE * settings.evidence_count
    return OVERLAP_COST * missed + flow + 0.5 * TAIL * float(np.log1p(turns / TAIL).sum()) + odd


def bare_patch(mask: Mask, body: Mask) -> Mask:
    """The largest connected part of the subject that the body does not cover, without thin rims."""
    import cv2

    square = np.ones((3, 3), np.uint8)
    bare = cv2.morphologyEx((mask & ~body).astype(np.uint8), cv2.MORPH_OPEN, square)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(bare)
    if count < 2:
        return np.zeros_like(mask)
    return np.asarray(labels == 1 + stats[1:, cv2.CC_STAT_AREA].argmax())


def _limbs_near(scene: Scene, frame: int, y: Coordinates, seen: Seen, patch: Mask) -> list[int]:
    """Limbs long enough to get to a patch, the nearest first."""
    body, skeleton = scene.body, scene.body.rig.skeleton
    row, column = np.nonzero(patch)
    middle = np.array((column.mean(), row.mean())) + 0.5
    joints = posed(body, y).joints[0]
    places, depth, _ = project(scene.view, joints, frame)
    near = []
    for index, limb in enumerate(skeleton.limbs):
        own = np.flatnonzero(body.limb[: scene.settings.points] == index)
        if len(own) < 2 or limb.kind == "spine":
            continue
        first = limb.joints[0]
        length = np.linalg.norm(skeleton.positions[limb.tip] - skeleton.positions[first])
        length += np.linalg.norm(skeleton.tails[limb.tip] - skeleton.positions[limb.tip])
        far = np.linalg.norm(places[first] - middle) * depth[first] / scene.view.focal[frame, 0]
        if far < LIMB_STRETCH * length:
            near.append((float(np.linalg.norm(seen.places[own] - middle, axis=1).min()), index))
    return [index for _, index in sorted(near)[:LIMBS_TRIED]]


def _pulled(scene: Scene, moment: Moment, y: Coordinates, patch: Mask, limb: int) -> Coordinates:
    """A pose in which one limb has gone to a patch as far as it can."""
    body, settings, frame = scene.body, scene.settings, moment.frame
    own = body.limb[: settings.points] == limb
    loose = np.isin((body.active - 3) // 3, body.rig.skeleton.limbs[limb].joints) & (body.active >= 3)
    view = scene.view[slice(frame, frame + 1)]
    for _ in range(PULL_STEPS):
        now = posed(body, y)
        seen = look(body, view, now)[0]
        wishes = [silhouette_wishes(scene.evidence, frame, seen, scene.unit, GATES[0] * scene.unit, settings)]
        far = np.where(own, reach(scene, now, 0, seen), 0.0)
        wishes.append(cover_wishes(patch, seen, far, scene.unit, settings, own))
        y = step(scene, y, now, seen, joined(wishes), moment.expected, loose)
    return y
