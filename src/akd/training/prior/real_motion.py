"""Real motion to train on: captures of people and artists' clips, on their own bodies and on others of the same build.

The folder of motions holds ``cmu/index.json`` and ``glb/index.json``; only entries whose ``part`` is asked for are used.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.contact.measures import skating_ratio
from akd.contact.traces import trace, yaw
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.motion import Motion, blend, poses_at, repeat
from akd.retarget.retarget import retarget
from akd.retarget.source import load_clip
from akd.rig import Rig
from akd.rotations import quaternion_multiply, quaternion_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Pose, forward_kinematics
from akd.training.data_card import FIRST_HELD_OUT_SEED

PEOPLE_PLANS = ("human", "human", "child", "astronaut", "robot")
"""Bodies of ours that people's motion is put on; grown humans twice as often."""
FOUR_LEGGED_PLANS = ("dog", "fox", "cat", "horse", "cow", "giraffe", "elephant")
"""Bodies of ours that four-legged clips are put on."""
PEOPLE_KINDS = frozenset(("human", "biped", "biped (blocky)", "robot", "biped animal"))
FOUR_LEGGED_KINDS = frozenset(("quadruped", "quadruped (blocky)"))
PLAN_SEEDS = 24
"""Individuals of each plan that real motion is put on."""
OWN_PLAN_SHARE = 0.7
"""Share of clips that go to bodies of ours rather than to artists' rigs."""
NO_MOTION = frozenset(("rest_pose", "drive", "other"))
"""Actions of the index that show no motion, or none that a sentence would ask for."""
ACTION_NAMES = {"death": "die", "wave": "wave_hand", "look_around": "look", "climb_playground": "climb"}
"""Our words for actions of the index."""
MAX_SKATING = 0.35
"""Clips whose feet slide in more of their contact than this are left out: they would teach skating."""
STEPPING = frozenset((
    "walk", "run", "gallop", "trot", "walk_backward", "sidestep", "march", "sneak", "limp", "zombie", "drunk_walk", "sad_walk",
    "happy_walk", "swagger_walk", "old_walk", "tiptoe", "carry",
))  # fmt: skip
"""Actions whose feet must stand while they carry the body; in others (a fall, a dance turn) they may slide."""
NO_SUPPORT = frozenset(("fly", "swim"))
"""Actions in the air or in water."""
EASE_FRAMES = 5
"""Frames of a film that a body takes from its pose at ease into a motion …"""
EASE_HEIGHT = 0.25
"""… if its root is not further above or below that at the start [ℓ]."""
SAMPLE_RATE = 30.0
"""At which clips are read [1/s]."""
NOUNS = {
    "q_cyber_enemy_large": "robot", "q_platform_enemy": "monster", "q_platform_character": "character", "k_male_a": "man",
    "k_female_a": "woman", "k_skate_boy": "boy", "k_a_blocky": "character", "q_zk_lis": "woman", "q_ual1_human": "human",
    "m2m_human_addon": "human", "q_cube_character_female_1": "woman", "q_cube_character_male_1": "man",
    "q_cute_alien_tall": "alien", "q_sushi_rabbit_bald": "rabbit", "q_pirate_captain_barbarossa": "pirate",
    "q_pirate_sharky": "pirate",
}  # fmt: skip
"""Nouns for characters whose file name does not end in one."""


@dataclass(frozen=True)
class RealClip:
    """A clip of the index."""

    source: str
    """"cmu/jump.npz#3" or "glb/q_fox.glb#Walk", relative to the folder of motions."""
    action: str
    kind: str
    """What the body is: "person" for captures, else the kind of the index."""
    family: str
    """Subject of a capture, family of a character: what is held out together."""

    @property
    def captured(self) -> bool:
        return self.source.startswith("cmu/")

    @property
    def file(self) -> str:
        return self.source.partition("#")[0]


@dataclass(frozen=True)
class Body:
    """Who performs: an individual of ours, or a character of the folder."""

    plan: str = ""
    seed: int = 0
    file: str = ""

    @property
    def name(self) -> str:
        return f"{self.plan}-{self.seed:05d}" if self.plan else Path(self.file).stem

    @property
    def noun(self) -> str:
        """What captions call it."""
        stem = Path(self.file).stem
        return self.plan or NOUNS.get(stem) or re.sub(r"\d", "", stem.split("_")[-1])


def real_clips(folder: Path, part: str = "train") -> list[RealClip]:
    """All clips of a part that show motion."""
    captures = [
        RealClip(f"{e['file']}#{e['clip']}", ACTION_NAMES.get(e["label"], e["label"]), "person", str(e["source"].split("_")[0]))
        for e in motion_index(folder, "cmu") if e["part"] == part
    ]  # fmt: skip
    drawn = [
        RealClip(f"{e['file']}#{name}", _drawn_action(clip["action"], e["kind"]), e["kind"], e["family"])
        for e in motion_index(folder, "glb") if e["part"] == part
        for name, clip in e["clips"].items() if clip["action"] and clip["action"] not in NO_MOTION
    ]  # fmt: skip
    return captures + drawn


def _drawn_action(action: str, kind: str) -> str:
    if kind == "snake" and action == "walk":
        return "slither"
    return ACTION_NAMES.get(action, action)


def motion_index(folder: Path, part: str) -> list[dict]:
    """The entries of an index: "cmu" or "glb"."""
    path = folder / part / "index.json"
    if not path.is_file():
        raise AkdError(f"There is no {path}: give the folder that holds cmu/ and glb/ with their index.json.")
    return json.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Cast:
    """The bodies that clips of others can be put on."""

    folder: Path
    people: tuple[str, ...]
    four_legged: tuple[str, ...]
    first_seed: int = 0
    """Of individuals of ours; those for measuring are held out from training."""

    @classmethod
    def read(cls, folder: Path, part: str = "train") -> "Cast":
        """The characters of a part that have the limbs of their build."""
        entries = [e for e in motion_index(folder, "glb") if e["part"] == part]
        people, four = ([e["file"] for e in entries if e["kind"] in kinds] for kinds in (PEOPLE_KINDS, FOUR_LEGGED_KINDS))
        return cls(folder, tuple(people), tuple(four), 0 if part == "train" else FIRST_HELD_OUT_SEED)

    def bodies(self, clip: RealClip, rng: np.random.Generator, *, own: bool = False) -> Iterator[Body]:
        """Who may perform a clip, the first choice first: its own body (only that, if ``own``) or a random one of its build."""
        itself = Body(file=clip.file)
        people, four = clip.kind in PEOPLE_KINDS | {"person"}, clip.kind in FOUR_LEGGED_KINDS
        if own or not (people or four):
            yield itself
            return
        plans, files = (PEOPLE_PLANS, self.people) if people else (FOUR_LEGGED_PLANS, self.four_legged)
        for _ in range(4):
            if rng.random() < OWN_PLAN_SHARE:
                yield Body(plan=str(rng.choice(plans)), seed=self.first_seed + int(rng.integers(PLAN_SEEDS)))
            else:
                yield Body(file=str(rng.choice(files)))
        yield itself


@lru_cache(maxsize=160)
def rig_of(body: Body, folder: Path) -> Rig:
    """The body's rig."""
    return creature(body.plan, body.seed) if body.plan else load_rig(folder / body.file)


@dataclass(frozen=True, eq=False)
class Performed:
    """A clip on a body, at ``SAMPLE_RATE``, with its travel and with standing feet locked."""

    rig: Rig
    motion: Motion
    loops: bool
    source_leg: float
    """Of the body it was made for [m]: its time is that body's."""
    skating: float


def perform(clip: RealClip, body: Body, folder: Path) -> Performed:
    """Put a clip onto a body; an error says why it cannot be done. Captures on their own skeleton are as they were captured."""
    if clip.captured and body.file == clip.file:
        source, motion = _source(clip, folder)
        return Performed(source, motion, False, source.leg_metres, 0.0)
    return perform_on(rig_of(body, folder), clip, folder)


def perform_on(rig: Rig, clip: RealClip, folder: Path) -> Performed:
    """The same onto any rig."""
    source, motion = _source(clip, folder)
    result = retarget(motion, source, rig)
    seen = trace(rig, result.motion)
    skating = skating_ratio(seen.feet, seen.fps) if rig.legs else None
    return Performed(rig, result.motion, result.loops, source.leg_metres, skating or 0.0)


@lru_cache(maxsize=64)
def _source(clip: RealClip, folder: Path) -> tuple[Rig, Motion]:
    """The clip on the body it was made for; a character's file is read once for all its clips."""
    if clip.captured:
        found = load_clip(str(folder / clip.source), fps=SAMPLE_RATE)
        return found.rig, found.motion
    rig = rig_of(Body(file=clip.file), folder)
    return rig, read_clip(rig, clip.source.partition("#")[2], SAMPLE_RATE).motion


def window(performed: Performed, frames: int, rate: float, fps: float, rng: np.random.Generator) -> Motion:
    """So many frames at ``rate``, as a motion of ``fps``: from anywhere in the clip, sooner where it moves more.

    Loops go on; a shorter clip waits in its first and last pose. The cut begins at the origin and faces +X.
    """
    motion, step, count = performed.motion, performed.motion.fps / rate, frames - 1
    if performed.loops and motion.frame_count > 2:
        times = int(np.ceil((count * step + motion.frame_count) / (motion.frame_count - 1))) + 1
        start = rng.uniform(0, motion.frame_count - 1)
        at = start + step * np.arange(frames)
        motion = repeat(motion, times)
    else:
        at = _best_start(performed, count * step, rng) + step * np.arange(frames)
    pose = poses_at(motion, torch.as_tensor(np.clip(at, 0, motion.frame_count - 1)))
    return replace(motion, pose=_facing_forward(pose), fps=fps)


def _best_start(performed: Performed, length: float, rng: np.random.Generator, choices: int = 8) -> float:
    """First frame of a window of so many frames; the chance grows with the square of what moves inside."""
    motion = performed.motion
    slack = motion.frame_count - 1 - length
    if slack <= 0:
        return float(rng.uniform(slack, 0))  # begins before the clip and waits
    joints = forward_kinematics(performed.rig.skeleton, motion.pose).position
    path = torch.cat((torch.zeros(1), joints.diff(dim=0).norm(dim=-1).mean(1).cumsum(0).float())).numpy()
    starts = np.linspace(0, slack, choices)
    frames = np.arange(len(path))
    moved = np.interp(starts + length, frames, path) - np.interp(starts, frames, path)
    chance = (moved + 1e-6) ** 2
    return float(np.clip(rng.choice(starts, p=chance / chance.sum()) + rng.uniform(-0.5, 0.5) * slack / choices, 0, slack))


def begun_at_ease(ease: Pose, motion: Motion) -> Motion:
    """The motion from a pose at ease on: its first frames are blended with that.

    Motions that begin low or high (lying, seated, in a jump) are left as they are: nobody is at ease there.
    """
    start = motion.pose[0]
    if abs(float(start.root_position[1] - ease.root_position[1])) > EASE_HEIGHT:
        return motion
    count = motion.frame_count
    path = motion.pose.root_position.clone()
    path[:, 1] = ease.root_position[1]
    turns = 2 * torch.pi * ((start.angles - ease.angles) / (2 * torch.pi)).round()  # angles may be counted on from others
    standing = Pose(path, ease.root_rotation.expand(count, 4), (ease.angles + turns).expand(count, -1, -1))
    share = (torch.arange(count) / EASE_FRAMES).clamp(max=1.0)
    return blend(replace(motion, pose=standing), motion, share * share * (3 - 2 * share))


def _facing_forward(pose: Pose) -> Pose:
    """The poses turned and moved over the ground so that the first is at the origin and faces +X."""
    turn = -float(yaw(quaternion_to_matrix(pose.root_rotation[:1]).double().numpy())[0])
    about = rotation_vector_to_quaternion(torch.tensor((0.0, turn, 0.0), dtype=pose.root_rotation.dtype))
    start = pose.root_position[0] * torch.tensor((1.0, 0.0, 1.0), dtype=pose.root_position.dtype)
    position = (pose.root_position - start) @ quaternion_to_matrix(about).to(pose.root_position.dtype).T
    rotation = quaternion_multiply(about.expand_as(pose.root_rotation), pose.root_rotation)
    return Pose(position, rotation, pose.angles).to(torch.float32)


def leading_side(rig: Rig, motion: Motion, kind: str, ratio: float = 1.6) -> str:
    """"left" or "right" if that arm's or leg's end goes so many times as far as the other's, seen from the root; else empty."""
    limbs = {limb.side: limb for limb in rig.skeleton.limbs_of(kind) if limb.order == 0}  # type: ignore[arg-type]
    if not {"L", "R"} <= limbs.keys():
        return ""
    posed = forward_kinematics(rig.skeleton, motion.pose)
    seen = (posed.position - posed.position[:, :1]) @ posed.rotation[:, 0]
    left, right = (float(seen[:, limb.tip].diff(dim=0).norm(dim=-1).sum()) for limb in (limbs["L"], limbs["R"]))
    return "left" if left > ratio * right else "right" if right > ratio * left else ""
