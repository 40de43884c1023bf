"""Motions for any labelled rig: gaits that leave no foot sliding, and actions on the spot.

gait_motion(rig, "walk")
gait_motion(rig, "gallop", speed=4.0, seed=7, cycles=3)
gait_motion(rig, "jump")
"""

from dataclasses import replace

import numpy as np
import torch

from akd.character.limb_model import LimbModel, limb_model
from akd.creatures.action import Action, ActionParameters
from akd.creatures.actions import ACTIONS
from akd.creatures.carriage import choreography
from akd.creatures.footing import feet_centre, path, walking_feet
from akd.creatures.perform import perform
from akd.errors import AkdError
from akd.gait.stride import GaitParameters, Style, choose_parameters
from akd.gait.table import GAITS, PLAIN_WORDS, gait_for
from akd.motion import Motion, repeat
from akd.rig import Rig
from akd.rotations import quaternion_multiply, quaternion_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Pose

FEWEST_FRAMES = 4
"""No loop is shorter."""
HEAVIEST_RUNNER = 2500.0
"""Heavier bodies on four legs never leave the ground of their own accord [kg]: rhinos of 2.3 t gallop, elephants do not."""


def gaits_for(rig: Rig) -> list[str]:
    """The gaits this body goes of its own accord; ``gait_motion`` makes an elephant gallop too if told to."""
    legs, body = len(rig.legs), limb_model(rig)
    if not body.pairs:
        return []
    return [name for name, gait in GAITS.items() if legs in gait.phases and (gait.duty > 0.5 or not _stays_down(body))]


def actions_for(rig: Rig) -> list[str]:
    """What else this body can do."""
    body = limb_model(rig)
    return [name for name, action in ACTIONS.items() if action.suits(body) and not (name == "jump" and _stays_down(body))]


def _stays_down(body: LimbModel) -> bool:
    return len(body.feet) == 4 and body.kilograms > HEAVIEST_RUNNER


def gait_motion(
    rig: Rig, gait: str, *, seed: int | None = 0, speed: float | None = None, stride: float | None = None,
    duty: float | None = None, turn: float = 0.0, style: Style | None = None, amount: float = 1.0, fps: float = 30.0,
    cycles: int = 1, frames: int | None = None, start: float = 0.0,
) -> Motion:  # fmt: skip
    """The rig going along +X in a gait, or doing what the action of that name says.

    Speed is in ℓ/s, stride (the way from one print of a foot to its next) in ℓ, turn in rad/s to the left; what is not given
    follows from the gait, the size of the body and the seed (no seed: the typical individual). Actions take an ``amount``.
    Without ``frames`` the clip is ``cycles`` whole rounds and loops exactly; with it, so many frames, beginning at the
    share ``start`` of a round.
    """
    body = limb_model(rig)
    if gait in ACTIONS:
        if (speed, stride, duty, style, turn) != (None, None, None, None, 0.0):
            raise AkdError(f"Speed, stride, duty, turn and style belong to gaits; {gait!r} only takes an amount.")
        return _action(body, ACTIONS[gait], seed, amount, fps, cycles, frames, start)
    if gait not in GAITS and gait not in PLAIN_WORDS:
        raise AkdError(f"There is no motion {gait!r}; choose one of {', '.join((*GAITS, *ACTIONS))}.")
    chosen = gait_for(gait, len(body.feet))
    if not body.pairs:
        raise AkdError(f"A body cannot {gait} whose legs do not come in left and right pairs: check the limb labels.")
    plan = choose_parameters(body, chosen, seed=seed, speed=speed, length=stride, duty=duty, turn=turn, style=style)
    if frames is not None:
        return _going(body, plan, start * plan.period + np.arange(frames) / fps, fps)
    count = max(round(plan.period * fps), FEWEST_FRAMES)
    plan = plan.in_time(count / fps)
    once = _going(body, plan, start * plan.period + np.arange(count) / fps, fps)
    return repeat(_closed(body, once, plan), cycles)


def _going(body: LimbModel, stride: GaitParameters, time: np.ndarray, fps: float) -> Motion:
    return perform(body, choreography(body, stride, walking_feet(body, stride, time), time), fps)


def _closed(body: LimbModel, motion: Motion, stride: GaitParameters) -> Motion:
    """The stride with its first frame once more at the end, moved on along the path."""
    (ahead,), (heading,) = path(stride, np.array([stride.period]))
    pose, turn = motion.pose, rotation_vector_to_quaternion(torch.tensor([0.0, float(heading), 0.0]))
    centre, ahead = (torch.as_tensor(x, dtype=torch.float32) for x in (feet_centre(body), ahead))
    on = (pose.root_position[:1] - centre) @ quaternion_to_matrix(turn).T + centre + ahead
    last = Pose(on, quaternion_multiply(turn, pose.root_rotation[:1]), pose.angles[:1])
    joined = (torch.cat(pair) for pair in zip(vars(pose).values(), vars(last).values(), strict=True))
    return Motion(Pose(*joined), motion.fps)


def _action(
    body: LimbModel, action: Action, seed: int | None, amount: float, fps: float, cycles: int, frames: int | None, start: float
) -> Motion:
    """The seed varies how much, how fast, and which side leads."""
    if not action.suits(body):
        raise AkdError(f"This {body.rig.name} cannot {action.name.replace('_', ' ')}: that needs {action.needs}.")
    rng = np.random.default_rng(seed)
    much, slow, side = (
        (1.0, 1.0, 1.0) if seed is None else (rng.uniform(0.85, 1.15), rng.uniform(0.88, 1.15), rng.choice((-1.0, 1.0)))
    )
    cue = ActionParameters(np.zeros(1), float(much * amount), float(side))
    count = max(round(slow * action.seconds(body, cue) * fps), FEWEST_FRAMES)
    once = perform(body, action.play(body, replace(cue, u=np.arange(count + 1) / count)), fps)
    if frames is None:
        return repeat(once, cycles)
    first = round(start * count)
    again = repeat(once, -(-(first + frames) // count))
    return replace(again, pose=again.pose[first : first + frames])
