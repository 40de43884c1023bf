"""A motion as numbers that an action can be recognised by: curves of a body, and statistics of them.

Every curve is free of where the body is, where it faces, how large it is and which side it prefers: lengths are shares of a
leg or arm, time is counted in √(ℓ/g), and of two limbs the livelier one comes first. The length of the clip does not matter.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from akd.measure.body import BodyMotion

Curve = Float[np.ndarray, " frame"]
AIRBORNE = 0.1
"""A foot this high does not stand [ℓ]."""
QUIET = 1e-6
STATISTICS = ("mean", "spread", "low", "high", "first", "middle", "last", "change", "rate", "peak_rate", "time_of_high")
SIDE = {"L": -1.0, "R": 1.0, "C": 0.0}


def features(body: BodyMotion) -> tuple[tuple[str, ...], Float[np.ndarray, " feature"]]:
    """Names and values; the same names for every body of one build."""
    named: dict[str, float] = {}
    for name, curve in curves(body).items():
        named |= {f"{name}.{statistic}": value for statistic, value in _statistics(body, curve).items()}
    named |= _rhythm(body) | _flight(body) | _way(body) | _moments(body)
    values = np.array(list(named.values()), np.float32)
    return tuple(named), np.clip(np.nan_to_num(values), -50, 50)


def curves(body: BodyMotion) -> dict[str, Curve]:
    """Trunk, head and limbs over time."""
    out = _trunk(body)
    front, hind = limb_pairs(body)
    for name, pair in (("front", front), ("hind", hind)):
        out |= {
            f"{name}_{rank}_{part}": curve
            for rank, limb in zip(("lead", "other"), pair, strict=True)
            for part, curve in limb.items()
        }
        one, other = (np.stack([limb[part] for part in ("ahead", "up", "out")], -1) for limb in pair)
        out[f"{name}_apart"] = np.linalg.norm(one - other * (1, 1, -1), axis=-1)
        out[f"{name}_highest"] = np.maximum(pair[0]["height"], pair[1]["height"])
        out[f"{name}_lowest"] = np.minimum(pair[0]["height"], pair[1]["height"])
    return out


def _trunk(body: BodyMotion) -> dict[str, Curve]:
    ahead, up, aside = body.seen(body.chest).T
    rest = body.rest_chest - body.rest_pelvis
    length = max(float(np.linalg.norm(rest)), 0.05)
    head = body.seen(body.head) - body.seen(body.chest)
    rest_head = body.rest_head - body.rest_chest
    velocity = body.velocity(body.root)
    cos, sin = np.cos(body.yaw), np.sin(body.yaw)
    return {
        "pelvis_height": body.pelvis[:, 1] / max(body.rest_pelvis[1], 0.1),
        "head_height": body.head[:, 1] / max(body.rest_head[1], 0.1),
        "trunk_ahead": (ahead - rest[0]) / length,
        "trunk_up": (up - body.pelvis[:, 1] - rest[1]) / length,
        "trunk_aside": np.abs(aside) / length,
        "head_ahead": (head[:, 0] - rest_head[0]) / length,
        "head_up": (head[:, 1] - rest_head[1]) / length,
        "head_aside": head[:, 2] / length * np.sign(np.mean(head[:, 2]) or 1.0),
        "upright": body.up[:, 1],
        "rise": velocity[:, 1],
        "advance": cos * velocity[:, 0] - sin * velocity[:, 2],
        "sidestep": np.abs(sin * velocity[:, 0] + cos * velocity[:, 2]),
        "turning": np.abs(body.velocity(body.yaw[:, None])[:, 0]),
        "tumbling": body.speed(body.up),
        "lowest": body.lowest,
    }


def limb_pairs(body: BodyMotion) -> tuple[tuple[dict[str, Curve], ...], tuple[dict[str, Curve], ...]]:
    """The livelier and the other of the front limbs (arms, front legs, wings) and of the hind legs; still if there are none."""
    legs = list(range(body.feet.shape[1]))
    hind = legs[-2:]
    front_legs = legs[:2] if len(legs) > 2 else []
    hind_curves = [_leg(body, leg) for leg in hind]
    if body.hands.shape[1]:
        front_curves = [
            _hand(body, body.hands[:, arm], body.shoulders[:, arm], float(body.arm_lengths[arm]), SIDE[side])
            for arm, side in enumerate(body.arm_sides)
        ]
    elif front_legs:
        front_curves = [_leg(body, leg) for leg in front_legs]
    else:
        front_curves = [
            _hand(body, body.wings[:, wing], body.wing_roots[:, wing], float(body.wing_lengths[wing]), 2.0 * (wing % 2) - 1)
            for wing in range(body.wings.shape[1])
        ]
    return _livelier_first(body, front_curves), _livelier_first(body, hind_curves)


def _hand(body: BodyMotion, hand: np.ndarray, shoulder: np.ndarray, length: float, side: float) -> dict[str, Curve]:
    offset = (body.seen(hand) - body.seen(shoulder)) / length
    return {
        "ahead": offset[:, 0],
        "up": offset[:, 1],
        "out": offset[:, 2] * side,
        "reach": np.linalg.norm(offset, axis=-1),
        "height": hand[:, 1],
        "speed": body.speed(offset),
    }


def _leg(body: BodyMotion, leg: int) -> dict[str, Curve]:
    foot, hip = body.feet[:, leg], body.hips[:, leg]
    offset = body.seen(foot) - body.seen(hip)
    return {
        "ahead": offset[:, 0],
        "up": offset[:, 1] / body.leg_lengths[leg],
        "out": offset[:, 2] * (2.0 * (leg % 2) - 1),
        "reach": np.linalg.norm(offset, axis=-1) / body.leg_lengths[leg],
        "height": foot[:, 1],
        "speed": body.speed(offset),
    }


def _livelier_first(body: BodyMotion, limbs: list[dict[str, Curve]]) -> tuple[dict[str, Curve], ...]:
    if not limbs:
        still = dict.fromkeys(("ahead", "up", "out", "reach", "height", "speed"), np.zeros(body.frame_count))
        limbs = [still]
    if len(limbs) == 1:
        limbs = [limbs[0], limbs[0]]
    limbs = sorted(limbs, key=lambda limb: -float(limb["speed"].mean()))
    return limbs[0], limbs[1]


def _statistics(body: BodyMotion, curve: Curve) -> dict[str, float]:
    low, high = np.quantile(curve, (0.05, 0.95))
    thirds = [float(part.mean()) if len(part) else float(curve.mean()) for part in np.array_split(curve, 3)]
    rate = np.abs(body.velocity(curve[:, None])[:, 0])
    when = float(np.argmax(curve)) / max(len(curve) - 1, 1) if high - low > 0.02 else 0.5
    ends = max(len(curve) // 12, 1)
    change = float(curve[-ends:].mean() - curve[:ends].mean())
    values = (
        float(curve.mean()),
        float(curve.std()),
        float(low),
        float(high),
        *thirds,
        change,
        float(rate.mean()),
        float(np.quantile(rate, 0.95)),
        when,
    )
    return dict(zip(STATISTICS, values, strict=True))


def _rhythm(body: BodyMotion) -> dict[str, float]:
    """Which limbs go together and how often they turn round."""
    front, hind = limb_pairs(body)
    out = {}
    for name, one, other in (("hind", hind[0], hind[1]), ("front", front[0], front[1]), ("cross", front[0], hind[0])):
        for part in ("ahead", "height"):
            out[f"{name}_{part}_together"] = _correlation(one[part], other[part])
    for name, limb in (("front", front[0]), ("hind", hind[0])):
        for part in ("ahead", "up", "out"):
            out[f"{name}_{part}_reversals"] = reversals(limb[part], 0.1) * body.fps * body.tempo / body.frame_count
    shape = np.stack([limb[part] for pair in (front, hind) for limb in pair for part in ("ahead", "up", "out")], -1)
    out["repeats"], out["period"] = _repetition(shape)
    out["period"] /= body.fps * body.tempo
    out["loops"] = float(np.linalg.norm(shape[-1] - shape[0]) / (np.linalg.norm(np.ptp(shape, axis=0)) + 0.05))
    return out


def _flight(body: BodyMotion) -> dict[str, float]:
    """How long no foot stands, and how much of that looks like a throw."""
    if not body.feet.shape[1]:
        return {"airborne": 0.0, "longest_flight": 0.0, "one_foot": 0.0, "fall_rate": 0.0}
    high = body.feet[..., 1] > AIRBORNE
    aloft = np.asarray(high.all(1))
    acceleration = np.gradient(body.velocity(body.pelvis)[:, 1]) * body.fps * body.tempo if body.frame_count > 2 else np.zeros(1)
    return {
        "airborne": float(aloft.mean()),
        "longest_flight": longest_run(aloft) / (body.fps * body.tempo),
        "one_foot": float((high.any(1) & ~aloft).mean()),
        "fall_rate": float(np.clip(-acceleration[aloft].mean(), -3, 3))
        if aloft.any() and len(acceleration) == len(aloft)
        else 0.0,
    }


def _way(body: BodyMotion) -> dict[str, float]:
    """Where the body gets to."""
    time = max(body.frame_count - 1, 1) / (body.fps * body.tempo)
    step = np.diff(body.root[:, [0, 2]], axis=0)
    path, net = float(np.linalg.norm(step, axis=1).sum()), float(np.linalg.norm(step.sum(0)))
    return {
        "path_speed": path / time,
        "net_speed": net / time,
        "straightness": net / path if path > 0.05 else 0.0,
        "net_turn": float(abs(body.yaw[-1] - body.yaw[0])),
        "turn_range": float(np.ptp(body.yaw)),
    }


def _moments(body: BodyMotion) -> dict[str, float]:
    """What the body looks like when a limb is fastest, farthest out and highest."""
    front, hind = limb_pairs(body)
    pelvis, upright = body.pelvis[:, 1], body.up[:, 1]
    out: dict[str, float] = {}
    for name, pair, partners in (("front", front, hind), ("hind", hind, front)):
        # Of the two limbs the one that is fastest for a moment, not the livelier one on the whole.
        limb, other = sorted(pair, key=lambda one: -float(one["speed"].max()))
        away = np.hypot(limb["ahead"], limb["out"])
        for moment, curve in (
            ("fastest", limb["speed"]),
            ("farthest", away),
            ("foremost", limb["ahead"]),
            ("highest", limb["height"]),
        ):
            when = int(curve.argmax())
            at = {part: limb[part][when] for part in ("ahead", "up", "out", "reach", "height", "speed")}
            at |= {
                "other_height": other["height"][when],
                "other_speed": other["speed"][when],
                "other_ahead": other["ahead"][when],
                "partner_speed": max(partner["speed"][when] for partner in partners),
                "pelvis": pelvis[when],
                "upright": upright[when],
                "back": limb["reach"][when] - limb["reach"][when:].min(),
                "forth": limb["reach"][when] - limb["reach"][: when + 1].min(),
                "lift": limb["height"][when] - float(np.median(limb["height"])),
            }
            out |= {f"{name}_{moment}_{part}": float(value) for part, value in at.items()}
        out[f"{name}_burst"] = float(limb["speed"].max() / (np.median(limb["speed"]) + 0.1))
        out[f"{name}_one_sided"] = float(limb["speed"].max() / (other["speed"].max() + 0.1))
        high = np.where(limb["height"] > 0.3, np.hypot(np.maximum(limb["ahead"], 0), limb["out"]), 0.0)
        out[f"{name}_far_and_high"] = float(high.max())
    return out


def reversals(curve: Curve, least: float) -> int:
    """How often a curve turns round after having gone at least this far."""
    count, turned, extreme, direction = 0, float(curve[0]), float(curve[0]), 0
    for value in curve[1:]:
        if (direction >= 0 and value > extreme) or (direction <= 0 and value < extreme):
            if direction == 0:
                direction = 1 if value > turned else -1
            extreme = float(value)
        elif abs(value - extreme) >= least:
            count += abs(extreme - turned) >= least
            turned, extreme, direction = extreme, float(value), -direction or (1 if value > extreme else -1)
    return count


def longest_run(mask: np.ndarray) -> int:
    """The most frames in a row that are true."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(int), [0]))))
    return max((int(stop - start) for start, stop in list(pairwise(edges))[::2]), default=0)


def _correlation(one: Curve, other: Curve) -> float:
    one, other = one - one.mean(), other - other.mean()
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size > 0.02 * len(one) * 0.02 else 0.0


def _repetition(shape: Float[np.ndarray, "frame curve"]) -> tuple[float, float]:
    """How well the clip fits itself after a shift in time (0 to 1), and the shift [frames]."""
    frames = len(shape)
    centred = shape - shape.mean(0)
    power = float(np.square(centred).mean())
    if frames < 12 or power < 1e-4:
        return 0.0, 0.0
    shifts = range(6, 2 * frames // 3)
    apart = np.array([np.square(centred[shift:] - centred[:-shift]).mean() for shift in shifts])
    likeness = 1 - apart / (2 * power)
    peaks = [i for i in range(1, len(likeness) - 1) if likeness[i] >= likeness[i - 1] and likeness[i] >= likeness[i + 1]]
    best = max(peaks, key=lambda i: likeness[i], default=None)
    return (0.0, 0.0) if best is None else (float(np.clip(likeness[best], 0, 1)), float(shifts[best]))
