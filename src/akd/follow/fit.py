"""The fit itself: frames tracked in order, then all frames refined together as one spline, by Gauss–Newton.

The spreads of ``FollowSettings`` say how much each kind of evidence is worth, so that nothing is rescaled by hand: what a picture
does not show keeps the pose space's guess, because there the prior is all there is.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.follow.body import Body, Coordinates, PosedBody, posed, rows
from akd.follow.equations import frame_equations, picture_rows, solve_banded, spline_equations
from akd.follow.evidence import Evidence
from akd.follow.measurements import (  # fmt: skip
    Paint,
    Wishes,
    colour_wishes,
    cover_wishes,
    flow_between,
    joined,
    limb_wishes,
    silhouette_wishes,
)
from akd.follow.plausible import Plausible
from akd.follow.settings import FollowSettings
from akd.follow.viewing import Seen, Viewpoint, look
from akd.splines import Spline

BLURS = (4.0, 1.6)
"""Coarse and fine scale of colours [hundredths of size]."""
GATES = (14.0, 5.0)
"""Reach of the outline at the coarse and at the fine scale [hundredths of size]."""
MAX_TURN, MAX_MOVE = 0.35, 0.25
"""Largest change of a joint [rad] and of the root [ℓ] in one step."""
MOMENTUM = 0.8
"""Share of its speed that a coordinate is expected to keep: legs that pass each other are told apart by nothing else."""
TAIL = 3.0
"""Squared spreads at which a joint's unexpected turn costs half of what it would: few joints do most of what is unexpected."""
LOOSE = 0.1
"""Stiffness that is left of a limb that is looked for elsewhere."""
GROUND_SPREAD = 0.02
"""How sharply the ground stops skin [ℓ]."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that stays the same during a fit."""

    body: Body
    evidence: Evidence
    view: Viewpoint
    plausible: Plausible
    settings: FollowSettings
    fps: float
    first: Coordinates | None = None
    """The pose of the first frame, if it is known."""
    ground: bool = True
    """Skin stays above y = 0."""

    @cached_property
    def unit(self) -> float:
        """A hundredth of the subject's size [px]."""
        return 0.016 * float(np.sqrt(max(np.median(self.evidence.masks.sum((1, 2))), 1.0)))

    @property
    def blurs(self) -> tuple[float, ...]:
        return tuple(blur * self.unit for blur in BLURS)


@dataclass(frozen=True, eq=False)
class Expected:
    """Where a frame's pose is expected."""

    pose: Coordinates
    before: Coordinates | None = None
    """The frame before."""
    steady: Coordinates | None = None
    """Where its speed would lead."""
    spreads: tuple[float, float] | None = None
    """Of joints [rad] and of the root [ℓ] instead of those of the settings."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Feet that stand: skin points that do not move for some frames."""

    frame: np.ndarray
    point: np.ndarray
    place: Float[np.ndarray, "hold 3"]
    """Where each is held [ℓ]."""


def look_at_frame(scene: Scene, y: Coordinates, frame: int) -> Seen:
    """What one frame would show of a pose."""
    return look(scene.body, scene.view[slice(frame, frame + 1)], posed(scene.body, y))[0]


def fit_first_pose(scene: Scene, start: Coordinates) -> Coordinates:
    """The first frame from its silhouette; almost as it is where it is known."""
    y, settings = start.copy(), scene.settings
    turn, root = (settings.first_turn, settings.first_root * scene.body.size) if scene.first is not None else (0.3, 0.3)
    for gate in (*GATES, GATES[-1]):
        now = posed(scene.body, y)
        seen = look(scene.body, scene.view[slice(0, 1)], now)[0]
        wishes = silhouette_wishes(scene.evidence, 0, seen, scene.unit, gate * scene.unit, settings)
        y = step(scene, y, now, seen, wishes, Expected(start, spreads=(turn, root)))
    return y


def picture_wishes(
    scene: Scene, frame: int, now: PosedBody, index: int, seen: Seen, paint: Paint, fine: int
) -> list[Wishes]:
    """What silhouette and colours of a frame want; ``index`` is the frame's place in ``now``."""
    settings, unit = scene.settings, scene.unit
    wishes = []
    if settings.silhouette:
        wishes.append(silhouette_wishes(scene.evidence, frame, seen, unit, GATES[fine] * unit, settings))
        wishes.append(cover_wishes(scene.evidence.masks[frame], seen, reach(scene, now, index, seen), unit, settings))
    if settings.colour:
        blur = scene.blurs[fine]
        wishes.append(colour_wishes(scene.evidence.colors(frame, blur), seen, paint, blur, settings))
    if settings.limbs and scene.evidence.limbs is not None:
        wishes.append(limb_wishes(scene.evidence.limbs[frame], scene.body.limb, seen, unit, GATES[fine] * unit, settings))
    return wishes


def reach(scene: Scene, now: PosedBody, index: int, seen: Seen) -> Float[np.ndarray, " point"]:
    """How far the first points usually get in the picture from one frame to the next, by joints alone [px]."""
    some = np.arange(scene.settings.points)
    jacobian = picture_rows(scene.body, now, seen, index, some)[:, :, 6:]
    return np.sqrt(np.square(jacobian).sum((1, 2))) * scene.settings.step_turn / scene.fps


def away(view: Viewpoint) -> Float[np.ndarray, "3"]:
    """Away from the camera along the ground, of unit length; shorter the more the camera looks down."""
    return np.asarray(view.rotation[:, 2].mean(0) * (1.0, 0.0, 1.0))


def sideways(y: Coordinates) -> Float[np.ndarray, "frame 3"]:
    """Unit vectors along the ground, across the way the body faces."""
    across = Rotation.from_rotvec(y[:, 3:6]).as_matrix()[:, :, 2] * (1.0, 0.0, 1.0)
    return across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)


def step(
    scene: Scene, y: Coordinates, now: PosedBody, seen: Seen, wishes: Wishes, expected: Expected, loose: np.ndarray | None = None
) -> Coordinates:
    """One Gauss–Newton step of a single frame, held near an expected pose and near plausible ones; coordinates that are ``loose``
    may be anywhere else."""
    active, settings, fps, size = scene.body.active, scene.settings, scene.fps, scene.body.size
    matrix, right = frame_equations(scene.body, now, seen, 0, wishes)
    turn, root = settings.step_turn / fps, settings.step_root * size / fps
    if expected.spreads is not None:
        turn, root = expected.spreads
    stiff = np.concatenate((np.full(3, 1 / root**2), np.full(len(active) - 3, 1 / turn**2)))
    if expected.before is not None:
        stiff[3:6] = (fps / settings.step_root_turn) ** 2
        across = sideways(y)[0] * fps / (settings.step_sideways * size)
        matrix[:3, :3] += np.outer(across, across)
        right[:3] += across * (across @ (expected.before - y)[0, :3])
    if expected.steady is not None:
        deep = away(scene.view) * fps**2 / (settings.bend_depth * size)
        matrix[:3, :3] += np.outer(deep, deep)
        right[:3] += deep * (deep @ (expected.steady - y)[0, :3])
    stiff[3:] *= _loosened((y - expected.pose)[0, active][3:] * np.sqrt(stiff[3:]))
    if loose is not None:
        stiff[loose] *= LOOSE
    guess, firm = scene.plausible.guess(y)
    firm = firm[0, active] * max(settings.plausible, 1e-3)
    right = right + stiff * (expected.pose - y)[0, active] + firm * (guess - y)[0, active]
    if scene.ground:
        under, pull = _above_ground(scene, now, 0)
        matrix, right = matrix + under, right + pull
    change = np.linalg.solve(matrix + np.diag(stiff + firm), right)
    out = y.copy()
    out[0, active] += _limited(change[None], size)[0]
    return out


def _loosened(unexpected: Float[np.ndarray, " angle"]) -> Float[np.ndarray, " angle"]:
    """How much of its stiffness each rotation coordinate keeps, by its joint's deviation in spreads (Student's t)."""
    return np.repeat(1 / (1 + np.square(unexpected).reshape(-1, 3).sum(1) / TAIL), 3)


def _limited(change: Float[np.ndarray, "frame column"], size: float) -> Float[np.ndarray, "frame column"]:
    most = np.concatenate((np.full(3, MAX_MOVE * size), np.full(change.shape[1] - 3, MAX_TURN)))
    return change / np.maximum(np.abs(change) / most, 1).max(1, keepdims=True)


def _above_ground(scene: Scene, now: PosedBody, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """Pushes skin that is below the ground up."""
    count = scene.settings.points
    height = now.points[frame, :count, 1]
    point = np.flatnonzero(height < 0)
    width = len(scene.body.active)
    if not len(point):
        return np.zeros((width, width)), np.zeros(width)
    up = rows(scene.body, now, frame, point, np.repeat([[0.0, 1.0, 0.0]], len(point), 0)).astype(float)
    weight = scene.settings.evidence_count / count / (GROUND_SPREAD * scene.body.size) ** 2
    return weight * up.T @ up, -weight * (height[point] @ up)


def refine(
    scene: Scene, y: Coordinates, paint: Paint, *, standing: Standing | None = None, iterations: int = 1, fine: int = 1
) -> Coordinates:
    """All frames together as one spline, starting from given poses; ``fine`` is 0 at the coarse scale and 1 at the fine one."""
    spline = Spline.every(scene.settings.knot_frames, len(y), scene.fps)
    times = np.arange(len(y)) / scene.fps
    basis, control = spline.basis(times), spline.fit(times, y)
    for _ in range(iterations):
        control[:, scene.body.active] += _clip_step(scene, basis, control, paint, fine, standing, spline)
    return basis @ control


def _clip_step(
    scene: Scene, basis: np.ndarray, control: np.ndarray, paint: Paint, fine: int, standing: Standing | None, spline: Spline
) -> Float[np.ndarray, "control column"]:
    """One Gauss–Newton step of all control points."""
    y = basis @ control
    diagonal, beside, right = clip_equations(scene, y, paint, fine, standing)
    blocks, pull = spline_equations(basis, diagonal, beside, right)
    _smooth(scene, blocks, pull, control[:, scene.body.active], spline)
    change = solve_banded(blocks, pull)
    biggest = np.abs(basis @ change)
    most = np.concatenate((np.full(3, MAX_MOVE * scene.body.size), np.full(change.shape[1] - 3, MAX_TURN)))
    return change / max(float((biggest / most).max()), 1.0)


def clip_equations(
    scene: Scene, y: Coordinates, paint: Paint, fine: int, standing: Standing | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices of all frames, between neighbours, and right sides."""
    settings, body = scene.settings, scene.body
    width, frames = len(body.active), len(y)
    diagonal, beside, right = np.zeros((frames, width, width)), np.zeros((frames - 1, width, width)), np.zeros((frames, width))
    now = posed(body, y)
    seen = look(body, scene.view, now)
    some = np.arange(settings.points)
    before = None
    for t in range(frames):
        wishes = picture_wishes(scene, t, now, t, seen[t], paint, fine)
        if wishes:
            diagonal[t], right[t] = frame_equations(body, now, seen[t], t, joined(wishes))
        if settings.flow:
            jacobian = picture_rows(body, now, seen[t], t, some)
            if before is not None:
                _add_flow(scene, t, seen, before, jacobian, diagonal, beside, right)
            before = jacobian
        if scene.ground:
            under, pull = _above_ground(scene, now, t)
            diagonal[t] += under
            right[t] += pull
    if standing is not None:
        _hold(scene, now, standing, diagonal, right)
    _prior(scene, y, diagonal, right)
    _course(scene, y, diagonal, beside, right)
    return diagonal, beside, right


def _add_flow(
    scene: Scene, t: int, seen: list[Seen], earlier: np.ndarray, later: np.ndarray, diagonal: np.ndarray, beside: np.ndarray,
    right: np.ndarray,
) -> None:  # fmt: skip
    """What moves between frame t − 1 and frame t moves as the flow says."""
    weight, missed = flow_between(scene.evidence, t - 1, seen[t - 1], seen[t], scene.unit, scene.settings)
    used = np.flatnonzero(weight > 0)
    width = earlier.shape[-1]
    w = np.repeat(weight[used], 2).astype(np.float32)[:, None]
    a, b = earlier[used].reshape(-1, width), later[used].reshape(-1, width)
    r = missed[used].reshape(-1).astype(np.float32)
    wa, wb = w * a, w * b
    diagonal[t - 1] += a.T @ wa
    diagonal[t] += b.T @ wb
    beside[t - 1] -= a.T @ wb
    right[t - 1] += r @ wa
    right[t] -= r @ wb


def _hold(scene: Scene, now: PosedBody, standing: Standing, diagonal: np.ndarray, right: np.ndarray) -> None:
    """Standing feet stay where they stand."""
    for t in np.unique(standing.frame):
        chosen = standing.frame == t
        point = standing.point[chosen]
        missed = now.points[t, point] - standing.place[chosen]
        weight = 1 / (scene.settings.standing_spread * scene.body.size) ** 2 / max(len(point) / 4, 1)
        moved = rows(scene.body, now, int(t), np.repeat(point, 3), np.tile(np.eye(3), (len(point), 1))).astype(float)
        diagonal[t] += weight * moved.T @ moved
        right[t] -= weight * (missed.reshape(-1) @ moved)


def _prior(scene: Scene, y: Coordinates, diagonal: np.ndarray, right: np.ndarray) -> None:
    """Plausible poses, and the first one where it is known."""
    active = scene.body.active
    guess, firm = scene.plausible.guess(y)
    firm = firm[:, active] * max(scene.settings.plausible, 1e-3) + 1e-3
    index = np.arange(len(active))
    diagonal[:, index, index] += firm
    right += firm * (guess - y)[:, active]
    if scene.first is not None:
        known = np.full(len(active), 1 / scene.settings.first_turn**2)
        known[:3] = 1 / (scene.settings.first_root * scene.body.size) ** 2
        diagonal[0, index, index] += known
        right[0] += known * (scene.first - y[:1])[0, active]


def _course(scene: Scene, y: Coordinates, diagonal: np.ndarray, beside: np.ndarray, right: np.ndarray) -> None:
    """The root hardly goes sideways and turns slowly: what one camera sees worst is what bodies do least."""
    settings, fps = scene.settings, scene.fps
    across = sideways(y[:-1]) * fps / (settings.step_sideways * scene.body.size)
    place = across[:, :, None] * across[:, None, :]
    firm = np.zeros((len(y) - 1, 6, 6))
    firm[:, :3, :3] = place
    firm[:, [3, 4, 5], [3, 4, 5]] = (fps / settings.step_root_turn) ** 2
    pull = (firm @ np.diff(y[:, :6], axis=0)[:, :, None])[..., 0]
    diagonal[:-1, :6, :6] += firm
    diagonal[1:, :6, :6] += firm
    beside[:, :6, :6] -= firm
    right[:-1, :6] += pull
    right[1:, :6] -= pull


def _smooth(scene: Scene, blocks: np.ndarray, pull: np.ndarray, control: np.ndarray, spline: Spline) -> None:
    """Accelerations are small: second differences of control points over the square of a knot's time."""
    settings = scene.settings
    step = spline.duration / spline.intervals
    spread = np.full(control.shape[1], settings.bend_turn)
    spread[:3] = settings.bend_root * scene.body.size
    # One control point stands for the frames of one interval.
    even = (step * scene.fps) / (spread * step**2) ** 2
    index = np.arange(control.shape[1])
    deep = away(scene.view)
    deep = np.outer(deep, deep) * (step * scene.fps) / (settings.bend_depth * scene.body.size * step**2) ** 2
    for k in range(len(control) - 2):
        bend = control[k] - 2 * control[k + 1] + control[k + 2]
        weight = even.copy()
        weight[3:] *= _loosened(bend[3:] / (spread[3:] * step**2))
        for a, share in enumerate((1.0, -2.0, 1.0)):
            pull[k + a] -= weight * share * bend
            pull[k + a, :3] -= share * (deep @ bend[:3])
            for b, other in list(enumerate((1.0, -2.0, 1.0)))[a:]:
                blocks[k + a, b - a, index, index] += weight * share * other
                blocks[k + a, b - a, :3, :3] += share * other * deep
