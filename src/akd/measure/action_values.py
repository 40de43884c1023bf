"""What the action checks measure: one pure function for each action, from a body's motion to a few numbers.

Lengths are leg lengths ℓ (hands: arm lengths from the shoulder), speeds ℓ per √(ℓ/g), times √(ℓ/g), angles degrees. ``side`` is
the hand or foot that was asked for. A function returns None where the body lacks what it needs.
"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from akd.gait.measures import StrideMeasures, alternation, measure_stride
from akd.measure.body import BodyMotion
from akd.measure.signals import reversals

Side = Literal["L", "R"]
Values = dict[str, float]
NEVER = 99.0
"""Value of a quantity to be small that cannot be measured."""
ENDS = 0.12
"""Share of a clip that counts as its beginning and its end."""
IN_PLACE = 0.05
"""A body slower than this goes in place [ℓ per √(ℓ/g)]."""
SUPPORT_HEIGHT = 0.04
"""A foot above this does not stand [ℓ]."""


def _ends(body: BodyMotion) -> int:
    return max(round(ENDS * body.frame_count), 1)


def _start_and_end(body: BodyMotion, curve: np.ndarray) -> tuple[float, float]:
    count = _ends(body)
    return float(curve[:count].mean()), float(curve[-count:].mean())


def trunk_tilt(body: BodyMotion) -> Float[np.ndarray, " frame"]:
    """Angle between trunk and vertical [degrees]."""
    along = body.chest - body.pelvis
    return np.degrees(np.arccos(np.clip(along[:, 1] / np.maximum(np.linalg.norm(along, axis=1), 1e-9), -1, 1)))


def trunk_pitch(body: BodyMotion) -> Float[np.ndarray, " frame"]:
    """How far the trunk leans forward of where it is at rest [degrees]."""
    ahead, up, _ = (body.seen(body.chest) - body.seen(body.pelvis)).T
    rest = body.rest_chest - body.rest_pelvis
    return np.degrees(np.unwrap(np.arctan2(ahead, up) - np.arctan2(rest[0], rest[1])))


def standing_drift(body: BodyMotion) -> float:
    """How far the feet get from where they are most of the time, the worse foot [ℓ]."""
    middle = np.median(body.feet, axis=0)
    away = np.linalg.norm(body.feet - middle, axis=-1)
    return float(np.quantile(away, 0.95, axis=0).max()) if body.feet.shape[1] else NEVER


def centre(body: BodyMotion) -> Float[np.ndarray, "frame 3"]:
    """A stand-in for the centre of mass."""
    return (body.pelvis + body.chest) / 2


def _aloft(body: BodyMotion, height: float) -> Bool[np.ndarray, " frame"]:
    return np.asarray((body.feet[..., 1] > height).all(1))


def _runs(mask: Bool[np.ndarray, " frame"]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(int), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def ballistic_time(body: BodyMotion) -> float:
    """The longest time without support in which the centre of the body is on an arc that bends down [√(ℓ/g)].

    Captures bend with 0.4 to 1.6 g; artists' arcs are drawn, on bodies whose size is guessed, so 0.2 to 4 g count.
    """
    height, best = centre(body)[:, 1], 0
    for start, stop in _runs(_aloft(body, SUPPORT_HEIGHT)):
        if stop - start >= 4:
            time = np.arange(stop - start) / (body.fps * body.tempo)
            fall = -2 * np.polyfit(time, height[start:stop], 2)[0]
            best = max(best, stop - start) if 0.2 <= fall <= 4 else best
    return best / (body.fps * body.tempo)


def _offsets(body: BodyMotion, arm: int) -> Float[np.ndarray, "frame 3"]:
    """A hand from its shoulder, forward, up, outward [arm lengths]."""
    outward = {"L": -1.0, "R": 1.0, "C": 1.0}[body.arm_sides[arm]]
    offset = (body.seen(body.hands[:, arm]) - body.seen(body.shoulders[:, arm])) / body.arm_lengths[arm]
    return offset * (1.0, 1.0, outward)


def _arms(body: BodyMotion, side: Side | None) -> list[int]:
    return [arm for arm, name in enumerate(body.arm_sides) if side in (None, name)]


def _best(candidates: list[Values], key: str) -> Values | None:
    return max(candidates, key=lambda values: values[key], default=None)


def jump(body: BodyMotion, _: Side | None) -> Values | None:
    """All feet high at once, and the body on a ballistic arc that rises."""
    if not body.feet.shape[1]:
        return None
    height = centre(body)[:, 1]
    return {
        "clearance": float(body.feet[..., 1].min(1).max()),
        "flight": ballistic_time(body),
        "rise": float(height.max() - np.median(height[~_aloft(body, SUPPORT_HEIGHT)]))
        if not _aloft(body, SUPPORT_HEIGHT).all()
        else 0.0,
    }


def sit_down(body: BodyMotion, _: Side | None) -> Values | None:
    """The pelvis falls and stays low, the trunk ends upright."""
    if not body.feet.shape[1]:
        return None
    start, end = _start_and_end(body, body.pelvis[:, 1])
    low = body.pelvis[-max(body.frame_count // 6, 1) :, 1]
    two_legged = body.build == "two-legged"
    tilt = trunk_tilt(body)[-_ends(body) :].mean() if two_legged else 90 - abs(trunk_pitch(body)[-_ends(body) :].mean())
    return {"drop": start - end, "stays": float(low.max() - end), "tilt": float(tilt)}


def stand_up(body: BodyMotion, _: Side | None) -> Values | None:
    """The pelvis rises to where it is when standing, the trunk ends upright."""
    if not body.feet.shape[1]:
        return None
    count = _ends(body)
    height = body.pelvis[:, 1]
    start = float(height[: max(body.frame_count // 4, 1)].min())
    end = float(height[-count:].mean())
    tilt = trunk_tilt(body)[-count:].mean() if body.build == "two-legged" else 0.0
    return {"rise": end - start, "height": end / max(body.rest_pelvis[1], 0.1), "tilt": float(tilt)}


def wave(body: BodyMotion, side: Side | None) -> Values | None:
    """The named hand is above its shoulder and goes to and fro there, the other one is quiet, the feet stand."""
    found = []
    for arm in _arms(body, side):
        offset = _offsets(body, arm)
        high = offset[:, 1] > 0
        start, stop = max(_runs(high), key=lambda run: run[1] - run[0], default=(0, 0))
        turns = max((reversals(offset[start:stop, axis], 0.05) for axis in range(3)), default=0) if stop - start > 3 else 0
        others = [float(body.speed(_offsets(body, other)).mean()) for other in range(len(body.arm_sides)) if other != arm]
        own = float(body.speed(offset).mean())
        found.append(
            {
                "raised": float(high.mean()),
                "reversals": float(turns),
                "other_hand": max(others, default=0.0) / max(own, 1e-6),
                "steps": standing_drift(body),
            }
        )
    return _best(found, "reversals")


def kick(body: BodyMotion, side: Side | None) -> Values | None:
    """One foot high and far out from its hip, fast, while another stands; it comes back."""
    found = []
    count = body.feet.shape[1]
    for leg in range(count):
        if side is not None and "LR"[leg % 2] != side:
            continue
        offset = body.seen(body.feet[:, leg]) - body.seen(body.hips[:, leg])
        height = body.feet[:, leg, 1]
        out = np.hypot(offset[:, 0] if count > 2 else np.maximum(offset[:, 0], 0), offset[:, 2]) * (height > 0.3)
        when = int(out.argmax())
        others = np.delete(body.feet[..., 1], leg, axis=1)[when]
        found.append(
            {
                "reach": float(out[when] / body.leg_lengths[leg]),
                "speed": float(body.speed(offset).max()),
                "support": float(others.min(initial=NEVER)),
                "returns": float(height[when:].min()),
            }
        )
    return _best(found, "reach")


def punch(body: BodyMotion, side: Side | None) -> Values | None:
    """One hand shoots out forward to nearly the arm's length, at the height of chest or head, and back; the body stays."""
    found = []
    for arm in _arms(body, side):
        offset = _offsets(body, arm)
        reach = np.linalg.norm(offset, axis=-1)
        level = (offset[:, 1] > -0.55) & (offset[:, 1] < 0.6)
        ahead = np.where(level, offset[:, 0], -1.0)
        speed = np.where(level, body.velocity(offset)[:, 0], 0.0)
        when = int(ahead.argmax())
        back = max(float(reach[when] - reach[:when].min(initial=9)), float(reach[when] - reach[when:].min(initial=9)))
        found.append({"ahead": float(ahead[when]), "speed": float(speed.max()), "back": back, "travel": _travel(body)})
    return _best(found, "speed")


def throw(body: BodyMotion, side: Side | None) -> Values | None:
    """One hand swings forward fast at the height of chest or head, faster than the other, then goes down; the body stays."""
    found = []
    for arm in _arms(body, side):
        offset, speed = _offsets(body, arm), body.speed(_offsets(body, arm))
        high = np.where(offset[:, 1] > -0.5, speed, 0.0)
        when = int(high.argmax())
        others = [float(body.speed(_offsets(body, other)).max()) for other in range(len(body.arm_sides)) if other != arm]
        found.append(
            {
                "speed": float(high[when]),
                "swing": float(offset[when:, 0].max() - offset[: when + 1, 0].min()),
                "top": float(offset[: when + 3, 1].max()),
                "ends": float(offset[when:, 1].min()),
                "other_hand": max(others, default=0.0) / max(float(speed.max()), 1e-6),
                "travel": _travel(body),
                "upright": float(body.up[:, 1].min()),
            }
        )
    return _best(found, "speed")


def _travel(body: BodyMotion) -> float:
    """How fast the body gets away from where it was [ℓ per √(ℓ/g)]."""
    away = np.linalg.norm((body.root[-1] - body.root[0])[[0, 2]])
    return float(away * body.fps * body.tempo / max(body.frame_count - 1, 1))


def turn(body: BodyMotion, _: Side | None) -> Values | None:
    """The body faces elsewhere at the end, and stays upright on its way."""
    start, end = _start_and_end(body, body.yaw)
    return {"yaw": float(np.degrees(abs(end - start))), "upright": float(body.up[:, 1].min())}


def bow(body: BodyMotion, _: Side | None) -> Values | None:
    """The trunk pitches forward and comes back, the feet stand and the pelvis stays up."""
    if body.build != "two-legged":
        return None
    pitch = trunk_pitch(body)
    start, end = _start_and_end(body, pitch)
    deepest = float(pitch.max())
    return {
        "pitch": deepest - min(start, end),
        "returns": (deepest - end) / max(deepest - start, 1.0),
        "steps": standing_drift(body),
        "drop": float(np.median(body.pelvis[:, 1]) - body.pelvis[:, 1].min()),
    }


def crouch(body: BodyMotion, _: Side | None) -> Values | None:
    """The pelvis is lower than at rest by much for a while, on feet that stand, with the trunk not lying."""
    if not body.feet.shape[1]:
        return None
    height = body.pelvis[:, 1]
    low = height <= np.quantile(height, 0.15)
    return {
        "drop": float(body.rest_pelvis[1] - height[low].mean()),
        "lowest": float(height.min()),
        "aloft": float(_aloft(body, 2 * SUPPORT_HEIGHT).mean()),
        "tilt": float(trunk_tilt(body)[low].mean()) if body.build == "two-legged" else 0.0,
        "upright": float(body.up[:, 1].min()),
    }


def pick_up(body: BodyMotion, side: Side | None) -> Values | None:
    """One hand goes down to the ground and comes back up, and so does the body; the feet stay down."""
    if not body.feet.shape[1]:
        return None
    found = []
    for arm in _arms(body, side):
        height = body.hands[:, arm, 1]
        when = int(height.argmin())
        found.append(
            {
                "lowest": float(height[when]),
                "start": float(body.pelvis[: _ends(body), 1].mean() / max(body.rest_pelvis[1], 0.1)),
                "back": float(height[when:].max() - height[when]),
                "pelvis": float(body.pelvis[-_ends(body) :, 1].mean() / max(body.rest_pelvis[1], 0.1)),
                "upright": float(body.up[:, 1].min()),
                "clearance": float(body.feet[..., 1].min(1).max()),
            }
        )
    return min(found, key=lambda values: values["lowest"], default=None)


def fall(body: BodyMotion, _: Side | None) -> Values | None:
    """The body ends lying: trunk level or pelvis low; on four legs, rolled over or its trunk near the ground."""
    start, end = _start_and_end(body, centre(body)[:, 1])
    if body.build == "two-legged":
        tilt, pelvis = (float(curve[-_ends(body) :].mean()) for curve in (trunk_tilt(body), body.pelvis[:, 1]))
        return {"lying": max(tilt / 65, 0.35 / max(pelvis, 0.05) if pelvis > 0 else NEVER), "drop": start - end}
    rest = max(float((body.rest_pelvis + body.rest_chest)[1] / 2), 0.1)
    rolled = float(body.up[-_ends(body) :, 1].mean())
    return {"lying": max((1 - rolled) / 0.5, 0.5 / max(end / rest, 0.05)), "drop": start - end + (1 - rolled)}


def eat(body: BodyMotion, _: Side | None) -> Values | None:
    """On four legs or as a bird: the head is down for long, the feet stand and the body stays up."""
    if body.hands.shape[1] or not body.feet.shape[1]:
        return None
    height = body.head[:, 1] / max(body.rest_head[1], 0.1)
    return {
        "head": float(np.quantile(height, 0.1)),
        "share": float((height < 0.75).mean()),
        "steps": standing_drift(body),
        "body": float(body.pelvis[:, 1].min() / max(body.rest_pelvis[1], 0.1)),
    }


def limp(body: BodyMotion, _: Side | None) -> Values | None:
    """A walk in which stance times or step lengths of the two sides differ."""
    steps, gait = _steps(body), _gait(body)
    if body.feet.shape[1] < 2 or steps is None or gait is None:
        return None
    stride, ahead = steps
    uneven = 0.0
    for left in range(0, body.feet.shape[1] - 1, 2):
        times = stride.duty[left : left + 2]
        reach = np.array([np.quantile(ahead[:, leg], 0.95) - np.median(ahead[:, leg]) for leg in (left, left + 1)])
        uneven = max(uneven, *(float(abs(np.diff(pair)[0]) / max(pair.mean(), 0.05)) for pair in (times, reach)))
    return {"unevenness": uneven, "pace": gait["pace"], "alternation": gait["alternation"], "aloft": gait["aloft"]}


def fly(body: BodyMotion, _: Side | None) -> Values | None:
    """Wings beat in phase, and nothing stands."""
    if body.wings.shape[1] < 2:
        return None
    tips = (body.seen(body.wings) - body.seen(body.wing_roots))[..., 1] / body.wing_lengths
    beat = np.diff(tips[:, :2], axis=0)
    together = float((beat[:, 0] * beat[:, 1]).sum() / max(float(np.square(beat).sum() / 2), 1e-9))
    moves = reversals(tips[:, 0], 0.15)
    period = 2 * body.frame_count / max(moves, 1) / (body.fps * body.tempo)
    steps = float(np.ptp(body.seen(body.feet)[..., 0], axis=0).max()) if body.feet.shape[1] else 0.0
    return {
        "beat": float(np.ptp(tips[:, :2], axis=0).min()),
        "together": together,
        "rate": 1 / period if moves else 0.0,
        "strides": steps,
    }


def slither(body: BodyMotion, _: Side | None) -> Values | None:
    """A wave travels along the axis of a body without legs and arms; people swim otherwise, and have no check."""
    if body.feet.shape[1] or body.hands.shape[1] or body.axis.shape[1] < 4 or body.frame_count < 8:
        return None
    points = body.seen(body.axis)[..., 1:]
    points = points - points.mean(0)
    sway = points[..., int(np.square(points).sum((0, 1)).argmax())]
    spectrum = np.fft.rfft(sway * np.hanning(len(sway))[:, None], axis=0)[1:]
    mode = spectrum[int(np.square(np.abs(spectrum)).sum(1).argmax())]
    lag = np.angle(mode[:-1] * np.conj(mode[1:]))
    weight = np.abs(mode[:-1] * mode[1:])
    delay = float((lag * weight).sum() / max(weight.sum(), 1e-12))
    steady = float(abs((np.exp(1j * (lag - delay)) * weight).sum()) / max(weight.sum(), 1e-12))
    return {"sway": float(np.ptp(sway, axis=0).max()), "wave": abs(delay) * len(lag) / (2 * np.pi), "steadiness": steady}


def _steps(body: BodyMotion) -> tuple[StrideMeasures, Float[np.ndarray, "frame foot"]] | None:
    """Strides of the feet and how far ahead of the hips they are; None without any."""
    if not body.feet.shape[1]:
        return None
    ahead = body.seen(body.feet)[..., 0]
    direction = 1.0 if _advance(body) >= 0 else -1.0
    stride = measure_stride(direction * ahead, body.feet, body.fps)
    return None if stride is None else (stride, direction * ahead)


def _advance(body: BodyMotion) -> float:
    velocity = np.gradient(body.root, axis=0)
    return float((np.cos(body.yaw) * velocity[:, 0] - np.sin(body.yaw) * velocity[:, 2]).mean())


def _speed(body: BodyMotion) -> float:
    """Path of the root over the ground [ℓ per √(ℓ/g)]."""
    step = np.linalg.norm(np.diff(body.root[:, [0, 2]], axis=0), axis=1)
    return float(step.mean() * body.fps * body.tempo)


def _gait(body: BodyMotion) -> Values | None:
    steps = _steps(body)
    if steps is None:
        return None
    stride, _ = steps
    pairs = [(left, left + 1) for left in range(0, body.feet.shape[1] - 1, 2)]
    turns = [alternation(stride.phase[list(pair)], stride.amplitude[list(pair)]) for pair in pairs]
    # A clip in place whose standing feet do not agree has no travel: the sweep of its feet is as fast as it would go.
    sweep = 4 * float(np.median(stride.amplitude)) * stride.frequency * body.tempo
    return {
        "alternation": min(turns, default=0.0),
        "duty": float(stride.duty.mean()),
        "pace": max(_speed(body), sweep if _speed(body) < IN_PLACE else 0.0),
        "aloft": float(_aloft(body, 2 * SUPPORT_HEIGHT).mean()),
        "upright": float(body.up[:, 1].min()),
    }


def walk(body: BodyMotion, _: Side | None) -> Values | None:
    """Legs take turns, some foot nearly always stands, the body gets ahead."""
    values = _gait(body)
    return None if values is None else {name: values[name] for name in ("alternation", "aloft", "pace", "upright")}


def run(body: BodyMotion, _: Side | None) -> Values | None:
    """Feet are aloft for longer than they stand, and the body gets ahead fast; two legs take turns."""
    values = _gait(body)
    if values is None:
        return None
    if body.build != "two-legged":
        values["alternation"] = 1.0
    return {name: values[name] for name in ("alternation", "duty", "pace", "upright")}


def flip(body: BodyMotion, _: Side | None) -> Values | None:
    """The body is upside down at some time."""
    return {"upright": float(body.up[:, 1].min())}


def idle(body: BodyMotion, _: Side | None) -> Values | None:
    """Nothing goes anywhere, nothing moves much."""
    ends = np.concatenate([body.seen(points) for points in (body.feet, body.hands, body.wings, body.axis, body.head[:, None])], 1)
    sway = float(np.quantile(np.linalg.norm(body.pelvis - np.median(body.pelvis, axis=0), axis=1), 0.95))
    return {"speed": float(np.quantile(body.speed(ends), 0.9, axis=0).max()), "sway": sway, "travel": _travel(body)}


def attack(body: BodyMotion, _: Side | None) -> Values | None:
    """On four legs: head, or a pair of feet, shoots out while the body stays about where it is and ends up standing."""
    if body.build != "four-legged":
        return None
    middle = centre(body)
    head = body.speed(body.head)
    pairs = [body.speed(body.feet[:, left : left + 2]).min(1).max() for left in range(0, body.feet.shape[1] - 1, 2)]
    rest = max(float((body.rest_pelvis + body.rest_chest)[1] / 2), 0.1)
    return {
        "speed": float(max(head.max(), *pairs)),
        "stays": float(np.linalg.norm((middle[-1] - middle[0])[[0, 2]])),
        "ends_up": float(middle[-_ends(body) :, 1].mean() / rest),
        "burst": float(head.max() / (np.median(head) + 0.1)),
    }
