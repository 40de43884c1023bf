"""Motions of any labelled rig: gaits without foot sliding, and actions on the spot.

gait_motion(rig, "walk")
gait_motion(rig, "gallop", speed=4.0, seed=7, cycles=3)
gait_motion(rig, "jump")
"""

from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from akd.character.limb_model import LimbModel, limb_model
from akd.creatures.actions import ACTIONS
from akd.creatures.body_ik import free_motion, solve_motion
from akd.creatures.free_gaits import FREE_GAITS, FreeGait, FreeStyle
from akd.creatures.gait_targets import gait_targets
from akd.creatures.targets import Action, ActionParameters, body_path, feet_centre, walking_feet
from akd.errors import AkdError
from akd.gait.table import GAITS, PLAIN_WORDS, GaitParameters, Style, choose_parameters, gait_for
from akd.motion import Motion, repeat
from akd.rig import Rig
from akd.rotations import quaternion_multiply, quaternion_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Pose

MIN_FRAMES = 4
"""Length of the shortest loop [frames]."""
MAX_RUNNING_MASS = 2500.0
"""Heavier bodies on four legs have no gait with a flight phase [kg]: rhinos of 2.3 t gallop, elephants do not."""


def gaits_for(rig: Rig) -> list[str]:
    """Names of the gaits natural to this body. ``gait_motion`` also makes an elephant gallop on request."""
    legs, model = len(rig.legs), limb_model(rig)
    free = [name for name, gait in FREE_GAITS.items() if gait.suits(model)]
    if not model.pairs:
        return free
    light = not _too_heavy_to_run(model)
    return [name for name, gait in GAITS.items() if legs in gait.phases and (gait.duty > 0.5 or light)] + free


def actions_for(rig: Rig) -> list[str]:
    """Names of the actions this body can do."""
    model = limb_model(rig)
    return [name for name, action in ACTIONS.items() if action.suits(model) and not (name == "jump" and _too_heavy_to_run(model))]


def _too_heavy_to_run(model: LimbModel) -> bool:
    return len(model.feet) == 4 and model.kilograms > MAX_RUNNING_MASS


def gait_motion(
    rig: Rig, gait: str, *, seed: int | None = 0, speed: float | None = None, stride: float | None = None,
    duty: float | None = None, turn: float = 0.0, style: Style | None = None, amount: float = 1.0, fps: float = 30.0,
    cycles: int = 1, frames: int | None = None, start: float = 0.0, side: Literal["left", "right"] | None = None,
) -> Motion:  # fmt: skip
    """The rig moving along +X in a gait, or performing the action of that name.

    Speed is in ℓ/s, stride (from one footprint to the next of the same foot) in ℓ, turn in rad/s to the left; what is not given
    follows from the gait, the size of the body and the seed (no seed: the typical individual). Actions take an ``amount`` and a
    leading ``side``.
    Without ``frames`` the clip is ``cycles`` whole cycles and loops exactly; with it, so many frames, beginning at phase
    ``start`` of a cycle.
    """
    model = limb_model(rig)
    if gait in ACTIONS:
        if (speed, stride, duty, style, turn) != (None, None, None, None, 0.0):
            raise AkdError(f"Speed, stride, duty, turn and style belong to gaits; {gait!r} only takes an amount.")
        return _action(model, ACTIONS[gait], seed, amount, fps, cycles, frames, start, side)
    if gait in FREE_GAITS:
        if (stride, duty, style, turn) != (None, None, None, 0.0):
            raise AkdError(f"Stride, duty, turn and style belong to gaits on legs; {gait!r} only takes a speed.")
        return _free_gait(model, FREE_GAITS[gait], seed, speed, fps, cycles, frames, start)
    if gait not in GAITS and gait not in PLAIN_WORDS:
        raise AkdError(f"There is no motion {gait!r}; choose one of {', '.join((*GAITS, *FREE_GAITS, *ACTIONS))}.")
    chosen = gait_for(gait, len(model.feet))
    if not model.pairs:
        raise AkdError(f"A body cannot {gait} whose legs do not come in left and right pairs: check the limb labels.")
    parameters = choose_parameters(model, chosen, seed=seed, speed=speed, length=stride, duty=duty, turn=turn, style=style)
    if frames is not None:
        return _gait_frames(model, parameters, start * parameters.period + np.arange(frames) / fps, fps)
    count = max(round(parameters.period * fps), MIN_FRAMES)
    parameters = parameters.in_time(count / fps)
    once = _gait_frames(model, parameters, start * parameters.period + np.arange(count) / fps, fps)
    return repeat(_closed(model, once, parameters), cycles)


def _free_gait(
    model: LimbModel, gait: FreeGait, seed: int | None, speed: float | None, fps: float, cycles: int, frames: int | None,
    start: float,
) -> Motion:  # fmt: skip
    """Flying, swimming or slithering; a given speed changes the rhythm, not the strokes."""
    if not gait.suits(model):
        raise AkdError(f"This {model.rig.name} cannot {gait.name}: that needs {gait.needs}.")
    style = FreeStyle() if seed is None else FreeStyle.random(np.random.default_rng(seed))
    stride = gait.stride(model, style)
    if speed is not None and speed <= 0:
        raise AkdError(f"Speed must be positive, not {speed} ℓ/s.")
    period = gait.period(model, style) if speed is None else stride / speed
    count = max(round(period * fps), MIN_FRAMES)
    cycle = np.arange(count + 1) / count if frames is None else np.arange(frames) / (period * fps)
    once = free_motion(model, gait.targets(model, start + cycle, stride, style), fps)
    return repeat(once, cycles) if frames is None else once


def _gait_frames(model: LimbModel, stride: GaitParameters, time: np.ndarray, fps: float) -> Motion:
    return solve_motion(model, gait_targets(model, stride, walking_feet(model, stride, time), time), fps)


def _closed(model: LimbModel, motion: Motion, stride: GaitParameters) -> Motion:
    """The motion with its first frame repeated at the end, moved on along the path."""
    (ahead,), (heading,) = body_path(stride, np.array([stride.period]))
    pose, turn = motion.pose, rotation_vector_to_quaternion(torch.tensor([0.0, float(heading), 0.0]))
    centre, ahead = (torch.as_tensor(x, dtype=torch.float32) for x in (feet_centre(model), ahead))
    on = (pose.root_position[:1] - centre) @ quaternion_to_matrix(turn).T + centre + ahead
    last = Pose(on, quaternion_multiply(turn, pose.root_rotation[:1]), pose.angles[:1])
    joined = (torch.cat(pair) for pair in zip(vars(pose).values(), vars(last).values(), strict=True))
    return Motion(Pose(*joined), motion.fps)


def _action(
    model: LimbModel, action: Action, seed: int | None, amount: float, fps: float, cycles: int, frames: int | None, start: float,
    lead: Literal["left", "right"] | None,
) -> Motion:  # fmt: skip
    """An action as a motion; the seed varies amount, duration and leading side."""
    if not action.suits(model):
        raise AkdError(f"This {model.rig.name} cannot {action.name.replace('_', ' ')}: that needs {action.needs}.")
    rng = np.random.default_rng(seed)
    amount_factor, duration_factor, side = (
        (1.0, 1.0, 1.0) if seed is None else (rng.uniform(0.85, 1.15), rng.uniform(0.88, 1.15), rng.choice((-1.0, 1.0)))
    )
    side = {None: side, "left": -1.0, "right": 1.0}[lead]
    parameters = ActionParameters(np.zeros(1), float(amount_factor * amount), float(side))
    count = max(round(duration_factor * action.seconds(model, parameters) * fps), MIN_FRAMES)
    once = solve_motion(model, action.targets(model, replace(parameters, progress=np.arange(count + 1) / count)), fps)
    if frames is None:
        return repeat(once, cycles)
    first = round(start * count)
    again = repeat(once, -(-(first + frames) // count))
    return replace(again, pose=again.pose[first : first + frames])
