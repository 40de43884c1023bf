"""Action checks on hand-made motions whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.stick_rigs import dog, person, spider

from akd.measure.actions import CHECKS, LIMITS, check_action, check_all
from akd.measure.body import BodyMotion, body_motion, build_of
from akd.motion import Motion
from akd.skeleton import Pose

FPS, FRAMES = 30.0, 61
TIME = np.arange(FRAMES) / FPS
GRAVITY = 10.0


def path(x=0.0, y=0.0, z=0.0) -> np.ndarray:
    """A point over time; each coordinate a number or a curve."""
    return np.stack([np.broadcast_to(np.asarray(c, float), (FRAMES,)) for c in (x, y, z)], -1)


def standing(build="two-legged") -> BodyMotion:
    """A person of two leg lengths who does not move, arms hanging; or a beast on four legs, its head up."""
    nothing = np.zeros((FRAMES, 0, 3))
    four = build == "four-legged"
    places = [(0.6, -0.15), (0.6, 0.15), (-0.6, -0.15), (-0.6, 0.15)] if four else [(0.0, -0.1), (0.0, 0.1)]
    feet = np.stack([path(x, 0.0, z) for x, z in places], 1)
    hips = feet + (0.0, 1.0, 0.0)
    pelvis, chest, head = ((-0.6, 1, 0), (0.6, 1, 0), (1.0, 1.4, 0)) if four else ((0, 1, 0), (0, 1.5, 0), (0, 2.0, 0))
    shoulders = nothing if four else np.stack([path(0.0, 1.5, z) for z in (-0.2, 0.2)], 1)
    return BodyMotion(
        fps=FPS, gravity=GRAVITY, build=build, root=path(*pelvis), yaw=np.zeros(FRAMES), up=path(0, 1, 0), pelvis=path(*pelvis),
        chest=path(*chest), head=path(*head), axis=np.stack([path(*head), path(*chest), path(*pelvis)], 1), feet=feet, hips=hips,
        leg_lengths=np.ones(len(places)), hands=shoulders - (0.0, 0.7, 0.0) if not four else nothing, shoulders=shoulders,
        arm_lengths=np.full(0 if four else 2, 0.7), wings=nothing, wing_roots=nothing, wing_lengths=np.zeros(0),
        lowest=np.zeros(FRAMES), arm_sides="" if four else "LR", rest_pelvis=np.array(pelvis, float),
        rest_chest=np.array(chest, float), rest_head=np.array(head, float), travel=np.zeros(3),
    )  # fmt: skip


def moved(body: BodyMotion, shift: np.ndarray, *, feet: bool = True) -> BodyMotion:
    """Everything shifted over time; the feet too, or not."""
    names = ("root", "pelvis", "chest", "head")
    limbs = ("hips", "shoulders", "hands", "axis", *(("feet",) if feet else ()))
    return replace(
        body, **{n: getattr(body, n) + shift for n in names}, **{n: getattr(body, n) + shift[:, None] for n in limbs}
    )


def with_hand(body: BodyMotion, arm: int, offset: np.ndarray) -> BodyMotion:
    """One hand somewhere else, from its shoulder [arm lengths]."""
    hands = body.hands.copy()
    hands[:, arm] = body.shoulders[:, arm] + 0.7 * offset
    return replace(body, hands=hands)


def with_foot(body: BodyMotion, leg: int, place: np.ndarray) -> BodyMotion:
    feet = body.feet.copy()
    feet[:, leg] = place
    return replace(body, feet=feet)


def once(start: float = 0.7, seconds: float = 0.5) -> np.ndarray:
    """0, then smoothly to 1 and back."""
    inside = np.clip((TIME - start) / seconds, 0, 1)
    return np.sin(np.pi * inside) ** 2


def step(start: float = 0.7, seconds: float = 0.6) -> np.ndarray:
    """From 0 smoothly to 1."""
    inside = np.clip((TIME - start) / seconds, 0, 1)
    return inside * inside * (3 - 2 * inside)


def striding(amplitude: float, hz: float, duty: float, *, build="two-legged") -> BodyMotion:
    """Feet that stand for a share of each stride; sides in antiphase, four legs in the order of a walk."""
    body = standing(build)
    speed = 2 * amplitude * hz / duty
    body = moved(body, path(speed * TIME), feet=False)
    offsets = (0.0, 0.5) if build == "two-legged" else (0.0, 0.5, 0.75, 0.25)
    for leg, offset in enumerate(offsets):
        phase = (TIME * hz - offset) % 1.0
        swing = np.clip((phase - duty) / (1 - duty), 0, 1)
        ahead = np.where(phase < duty, amplitude * (1 - 2 * phase / duty), -amplitude * np.cos(np.pi * swing))
        lift = 0.15 * np.sin(np.pi * swing)
        body = with_foot(body, leg, path(standing(build).feet[:, leg, 0] + speed * TIME + ahead, lift, body.feet[:, leg, 2]))
    return body


def flight(height: float = 0.4) -> np.ndarray:
    """A throw upwards at half time."""
    half = np.sqrt(2 * height / GRAVITY)
    since = TIME - 1.0
    return np.where(np.abs(since) < half, height - GRAVITY * since**2 / 2, 0.0)


def upside_down(body: BodyMotion) -> BodyMotion:
    turn = 2 * np.pi * step(0.5, 1.0)
    return replace(body, up=path(np.sin(turn), np.cos(turn)))


def lying() -> BodyMotion:
    body = standing()
    down = step()
    body = moved(body, path(0, -0.85 * down), feet=False)
    hands = np.stack([path(0.8 * down, 0.8 - 0.7 * down, z) for z in (-0.2, 0.2)], 1)
    up = path(np.sin(np.pi / 2 * down), np.cos(np.pi / 2 * down))
    return replace(body, chest=path(0.5 * down, 1.5 - 1.35 * down), head=path(down, 2 - 1.85 * down), hands=hands, up=up)


def sitting() -> BodyMotion:
    return moved(standing(), path(-0.3 * step(), -0.5 * step()), feet=False)


def rising() -> BodyMotion:
    return moved(standing(), path(0, -0.5 * (1 - step())), feet=False)


def bowing() -> BodyMotion:
    angle = np.radians(60) * once(0.5, 1.0)
    return replace(standing(), chest=path(0.5 * np.sin(angle), 1 + 0.5 * np.cos(angle)))


def grazing() -> BodyMotion:
    return replace(standing("four-legged"), head=path(1.2, 1.4 - 1.2 * step(0.2)))


def snapping() -> BodyMotion:
    return replace(standing("four-legged"), head=path(1.0 + 0.6 * once(0.9, 0.3), 1.4))


def flapping() -> BodyMotion:
    beat = 0.5 * np.sin(2 * np.pi * 2 * TIME)
    roots = np.stack([path(0, 1.5, z) for z in (-0.1, 0.1)], 1)
    wings = roots + np.stack([path(0, beat, -0.8), path(0, beat, 0.8)], 1)
    return replace(standing(), wings=wings, wing_roots=roots, wing_lengths=np.ones(2))


def undulating(wave: float = 1.0) -> BodyMotion:
    """A body without limbs whose points sway one after the other."""
    body = standing()
    place = np.linspace(0, 1, 7)
    sway = 0.2 * np.sin(2 * np.pi * (TIME[:, None] - wave * place))
    axis = np.stack((np.broadcast_to(1 - 2 * place, sway.shape), np.full_like(sway, 0.1), sway), -1)
    nothing = np.zeros((FRAMES, 0, 3))
    return replace(
        body, build="legless", axis=axis, feet=nothing, hips=nothing, hands=nothing, shoulders=nothing, arm_sides="",
        arm_lengths=np.zeros(0), leg_lengths=np.zeros(0),
    )  # fmt: skip


def limping() -> BodyMotion:
    """The right foot is put down beside the left one, and for half as long."""
    body = striding(0.4, 1.0, 0.6)
    feet, right = body.feet.copy(), body.feet[:, 1].copy()
    ahead = right[:, 0] - body.pelvis[:, 0]
    feet[:, 1, 0] = body.pelvis[:, 0] + np.minimum(ahead, 0.1)
    feet[:, 1, 1] = np.where(ahead > -0.1, right[:, 1], 0.1)
    return replace(body, feet=feet)


def punching() -> BodyMotion:
    out = once(0.9, 0.4)
    return with_hand(standing(), 1, path(0.2 + 0.75 * out, -0.1 + 0.1 * out, 0))


def throwing() -> BodyMotion:
    """Behind the head, then over the shoulder and down."""
    back, fast = step(0.2, 0.5), step(1.0, 0.2)
    down = step(1.3, 0.5)
    return with_hand(standing(), 1, path(-0.3 * back + 1.0 * fast - 0.4 * down, -0.9 + 1.4 * back - 0.3 * fast - 1.0 * down))


def waving(arm: int = 0) -> BodyMotion:
    raised = step(0.1, 0.3)
    return with_hand(standing(), arm, path(0.1, -1 + 1.7 * raised, 0.2 * np.sin(2 * np.pi * 1.5 * TIME)))


def kicking() -> BodyMotion:
    out = once(0.8, 0.5)
    return with_foot(standing(), 1, path(0.8 * out, 0.6 * out, 0.1))


def picking() -> BodyMotion:
    down = once(0.4, 1.2)
    body = moved(standing(), path(0, -0.4 * down), feet=False)
    return with_hand(body, 1, path(0.3 * down, -1.0 - 0.2 * down))


def crouching() -> BodyMotion:
    return moved(standing(), path(0, -0.4 * step(0.3)), feet=False)


def turning() -> BodyMotion:
    return replace(standing(), yaw=np.radians(120) * step(0.4, 1.0))


SHOWN = {
    "walk": lambda: striding(0.4, 1.0, 0.6), "run": lambda: striding(0.5, 1.5, 0.3),
    "jump": lambda: moved(standing(), path(0, flight())),
    "kick": kicking, "punch": punching, "throw": throwing, "pick up": picking, "sit down": sitting, "get up": rising,
    "flip": lambda: upside_down(standing()), "fall": lying, "wave": waving, "idle": standing, "turn": turning, "bow": bowing,
    "crouch": crouching, "limp": limping, "eat": grazing, "attack": snapping, "fly": flapping, "swim": undulating,
    "slither": undulating,
}  # fmt: skip
"""A motion of every action that has a check."""
ALSO = {("sit down", "crouch"), ("get up", "crouch"), ("limp", "walk"), ("pick up", "crouch"), ("fall", "crouch"),
        ("swim", "slither"), ("slither", "swim"), ("bow", "idle"), ("eat", "idle"), ("turn", "idle"), ("flip", "idle"),
        ("fall", "idle"), ("walk", "limp"), ("fly", "idle"), ("get up", "idle"), ("crouch", "sit down"),
        ("punch", "throw"), ("throw", "punch")}  # fmt: skip
"""Checks that another action may pass too: who sits down crouches, a bow is quiet."""


def test_every_check_has_limits_and_a_motion():
    assert set(CHECKS) == set(LIMITS) == set(SHOWN)


@pytest.mark.parametrize("action", SHOWN)
def test_an_action_passes_its_own_check(action):
    check = check_action(SHOWN[action](), action)
    assert check is not None
    assert check.passed, check.sentence()


@pytest.mark.parametrize("action", SHOWN)
def test_an_action_fails_the_checks_of_others(action):
    wrong = {other for other, check in check_all(SHOWN[action]()).items() if check.passed} - {action}
    assert wrong <= {other for shown, other in ALSO if shown == action}


def test_still_bodies_only_idle():
    assert [action for action, check in check_all(standing()).items() if check.passed] == ["idle"]
    assert [action for action, check in check_all(standing("four-legged")).items() if check.passed] == ["idle"]


def test_the_hand_that_was_named():
    left = waving(0)
    assert check_action(left, "wave", side="L").passed
    assert not check_action(left, "wave", side="R").passed


def test_known_quantities():
    jump = check_action(moved(standing(), path(0, flight(0.4))), "jump").values
    assert jump["clearance"] == pytest.approx(0.4, abs=1e-6)
    assert jump["rise"] == pytest.approx(0.4, abs=1e-6)
    assert check_action(sitting(), "sit down").values["drop"] == pytest.approx(0.5, abs=1e-6)
    assert check_action(turning(), "turn").values["yaw"] == pytest.approx(120, abs=0.5)
    assert check_action(bowing(), "bow").values["pitch"] == pytest.approx(60, abs=0.5)


def test_a_standing_wave_does_not_travel():
    body = undulating()
    sway = body.axis.copy()
    sway[..., 2] = 0.2 * np.sin(2 * np.pi * TIME)[:, None] * np.cos(np.linspace(0, 0.4, 7))
    assert not check_action(replace(body, axis=sway), "slither").passed


def test_a_sunken_jump_is_none():
    """Legs that are drawn up under a body that stays are no jump."""
    lifted = replace(standing(), feet=standing().feet + path(0, flight())[:, None])
    assert not check_action(lifted, "jump").passed


def test_builds_and_end_points_of_rigs():
    assert [build_of(rig) for rig in (person(), dog(), spider())] == ["two-legged", "four-legged", "many-legged"]
    rig = person()
    rest = rig.skeleton.rest_pose(10)
    angles = rest.angles.clone()
    angles[:, rig.skeleton.index("arm_L"), 2] = torch.linspace(0, 1.2, 10)
    body = body_motion(rig, Motion(Pose(rest.root_position, rest.root_rotation, angles), 30.0))
    assert body.arm_sides == "LR"
    reach = np.linalg.norm(body.hands - body.shoulders, axis=-1)
    np.testing.assert_allclose(reach, np.tile(body.arm_lengths, (10, 1)), rtol=1e-5)
    assert np.ptp(body.hands[:, 0], axis=0).max() > 0.3
    assert np.ptp(body.hands[:, 1], axis=0).max() < 1e-6
    np.testing.assert_allclose(body.pelvis, np.tile(body.rest_pelvis, (10, 1)), atol=1e-6)
