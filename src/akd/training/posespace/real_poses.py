"""Real poses to train on: artists' clips on the rigs they were made for, and clips of people and animals on other bodies.

The folder of motions is that of ``training.prior.real_motion``; only its ``train`` part is read. Deaths, rolls, flights and swims
are in; rigs are as artists have them, with fingers, twist bones and ends.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from akd.assets import load_rig
from akd.batch.engine import Loaded, do_all
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.posespace.denoiser import Poses
from akd.posespace.representation import pose_to_vectors, rig_descriptor
from akd.retarget.retarget import retarget
from akd.retarget.source import SourceClip, load_clip
from akd.rig import Rig
from akd.training.posespace.dataset import RigPoses, write_shard
from akd.training.prior.real_motion import (
    FOUR_LEGGED_KINDS,
    FOUR_LEGGED_PLANS,
    PEOPLE_KINDS,
    PEOPLE_PLANS,
    RealClip,
    motion_index,
    real_clips,
)

ARTISTS, RETARGETED = "artists", "retargeted"
"""Sources: poses on the rig they were made for, and on another one."""
VALIDATION_FAMILIES = frozenset((
    "q_alien2019", "q_zk_pug", "q_man2017", "q_platform_character", "q_cutefish", "q_cyber_enemy_large", "q_cute_bee",
))  # fmt: skip
"""Families of the training part that no weights are trained on: scores are calibrated, and settings chosen, on these."""
CLIP_POSES = 16
"""Poses that are taken of one clip of an artist, evenly spaced."""
MAX_RATE = 30.0
"""Most poses of a second of a clip [1/s]."""
MAX_LOST = 0.05
"""Clips whose skin comes out further from the file's than this stretch the body, and are left out [ℓ]."""
MIN_MOVE = 0.02
"""A pose differs from another if one of its joints turned by more than this [rad]."""
BORROWED_CLIPS, BORROWED_POSES = 12, 6
"""Clips that a body borrows from others, and poses of each."""
BORROWED_RATE = 15.0
"""At which borrowed clips are read [1/s]: half of the usual rate is enough for a few poses, at half the cost."""
PEOPLE_SHARE = 0.75
"""Share of the borrowing bodies that are people; the others go on four legs."""
CAPTURED_SHARE = 0.7
"""Share of the clips borrowed by people that are captures."""
OWN_BODY_SHARE = 0.4
"""Share of the borrowing bodies that are creatures of ours; the others are artists' rigs."""
BODY_SEEDS = 400
"""Seeds of our creatures among them; below the first that is held out."""
FIRST_BODY_SEED = 3_000
"""No other poses are drawn for individuals from here on."""


def write_real_poses(
    folder: Path, motions: Path, bodies: int, report: Callable[[int, int], None] = lambda done, count: None, workers: int = 1
) -> None:
    """Write the shards that are missing: one for every artist's character, and so many bodies that borrow clips."""
    for source in (ARTISTS, RETARGETED):
        (folder / source).mkdir(parents=True, exist_ok=True)
    wanted = [
        {"path": folder / ARTISTS / f"{Path(entry['file']).stem}.npz", "motions": motions, "entry": entry}
        for entry in training_characters(motions)
    ]
    wanted += [
        {"path": folder / RETARGETED / f"{number:06d}.npz", "motions": motions, "number": number} for number in range(bodies)
    ]
    do_all(_write_one, wanted, workers=workers, report=report)


def training_characters(motions: Path, *, validation: bool = False) -> list[dict]:
    """Entries of the index to train on, or those of the families that are kept for validation."""
    entries = [entry for entry in motion_index(motions, "glb") if entry["part"] == "train"]
    return [entry for entry in entries if (entry["family"] in VALIDATION_FAMILIES) == validation]


def _write_one(loaded: Loaded, path: Path, motions: Path, entry: dict | None = None, number: int = 0) -> None:
    if path.exists():
        return
    if entry is not None:
        rig = load_rig(motions / entry["file"])
        write_shard(path, [clip_rig_poses(rig, entry["family"])])
    else:
        write_shard(path, [borrowed_rig_poses(motions, number)])


def clip_rig_poses(rig: Rig, family: str, each: int = CLIP_POSES) -> RigPoses:
    """A rig in the poses of its own clips, without clips that stretch the body."""
    found = list(_own_clips(rig, each))
    vectors = np.concatenate(found) if found else np.zeros((0, rig.skeleton.joint_count, 3), np.float32)
    clips = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return RigPoses(family, 0, ARTISTS, rig_descriptor(rig), vectors, clips)


def _own_clips(rig: Rig, each: int) -> Iterator[np.ndarray]:
    for clip in rig.origin.file.clips if rig.origin else ():
        rate = min(MAX_RATE, (each - 1) / max(clip.duration, 1e-3))
        read = read_clip(rig, clip.name, rate)
        if read.residual <= MAX_LOST:
            yield distinct(pose_to_vectors(read.motion.pose).numpy().astype(np.float32))


def distinct(vectors: Float[np.ndarray, "pose joint 3"]) -> Float[np.ndarray, "kept joint 3"]:
    """The poses without those like the one before: a clip that stands still counts once."""
    kept = [0]
    for pose in range(1, len(vectors)):
        if np.linalg.norm(vectors[pose] - vectors[kept[-1]], axis=-1).max() > MIN_MOVE:
            kept.append(pose)
    return vectors[kept]


def borrowed_rig_poses(motions: Path, number: int) -> RigPoses:
    """A body in poses of clips that were made for others; all choices come from its number."""
    rng = np.random.default_rng((number, 4711))
    people = bool(rng.random() < PEOPLE_SHARE)
    rig, name, seed = _draw_body(motions, people, rng)
    found: list[Poses] = []
    for clip in _draw_clips(motions, people, rng):
        try:
            source = _source(motions / clip.source)
            motion = retarget(source.motion, source.rig, rig, travel="keep").motion
        except AkdError:  # too short, or limbs that do not correspond
            continue
        at = np.sort(rng.choice(motion.frame_count, min(BORROWED_POSES, motion.frame_count), replace=False))
        found.append(pose_to_vectors(motion.pose)[torch.as_tensor(at)].float())
        if len(found) == BORROWED_CLIPS:
            break
    vectors = torch.cat(found) if found else torch.zeros(0, rig.skeleton.joint_count, 3)
    clips = np.repeat(np.arange(len(found)), [len(part) for part in found])
    return RigPoses(name, seed, RETARGETED, rig_descriptor(rig), vectors.numpy(), clips)


def _draw_body(motions: Path, people: bool, rng: np.random.Generator) -> tuple[Rig, str, int]:
    """A creature of ours or an artist's rig, with a name and the seed of a creature."""
    if rng.random() < OWN_BODY_SHARE:
        plan = str(rng.choice(PEOPLE_PLANS if people else FOUR_LEGGED_PLANS))
        seed = FIRST_BODY_SEED + int(rng.integers(BODY_SEEDS))
        return creature(plan, seed), plan, seed
    kinds = PEOPLE_KINDS if people else FOUR_LEGGED_KINDS
    fit = [entry for entry in training_characters(motions) if entry["kind"] in kinds and _has_limbs(entry, people)]
    entry = fit[int(rng.integers(len(fit)))]
    return _artists_rig(motions / entry["file"]), entry["family"], 0


def _has_limbs(entry: dict, people: bool) -> bool:
    """Whether a character has the limbs that clips of its build move."""
    needed = ("leg_L0", "leg_R0", "arm_L0", "arm_R0") if people else ("leg_L0", "leg_R0", "leg_L1", "leg_R1")
    return set(needed) <= set(entry["akd"]["limbs"])


def _draw_clips(motions: Path, people: bool, rng: np.random.Generator) -> Iterator[RealClip]:
    """Clips of the build in random order, captures and artists' mixed; more than are needed, since some do not fit."""
    held_out = {clip for clip in _clips(motions) if clip.family in VALIDATION_FAMILIES}
    known = [clip for clip in _clips(motions) if clip not in held_out]
    captured = [clip for clip in known if clip.captured]
    drawn = [clip for clip in known if not clip.captured and clip.kind in (PEOPLE_KINDS if people else FOUR_LEGGED_KINDS)]
    for _ in range(2 * BORROWED_CLIPS):
        pool = captured if people and rng.random() < CAPTURED_SHARE else drawn
        yield pool[int(rng.integers(len(pool)))]


@lru_cache(maxsize=1)
def _clips(motions: Path) -> tuple[RealClip, ...]:
    return tuple(real_clips(motions, "train"))


@lru_cache(maxsize=64)
def _artists_rig(path: Path) -> Rig:
    return load_rig(path)


@lru_cache(maxsize=256)
def _source(clip: Path) -> SourceClip:
    return load_clip(str(clip), fps=BORROWED_RATE)
