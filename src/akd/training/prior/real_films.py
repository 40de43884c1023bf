"""Films of real motion, and captions for them: every clip on several bodies, from several sides, cut and mirrored.

A pair of clip and body is filmed ``FILMS_EACH`` times into one ``.npy`` with its labels as ``.json``. Pairs that cannot be filmed
leave a ``.left`` with the reason, so that they are counted and not tried again.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.batch.engine import Loaded, do_all
from akd.creatures.action_phrases import ACTION_VERBS, FOOT_ACTIONS, HAND_ACTIONS
from akd.creatures.captions import captions_with, describe_with, negative
from akd.creatures.neutral import neutral_pose
from akd.errors import AkdError
from akd.files.writing import write_file
from akd.follow.first_frame import pose_at_ease
from akd.motion import Motion, mirror
from akd.render.camera import View
from akd.render.figure import figure_splats
from akd.render.film import FilmSettings, film
from akd.rig import Rig
from akd.skeleton import Pose
from akd.training.data_card import GENERIC_NOUNS, DataCard
from akd.training.prior.clips import EMPTY_SHARE, NO_GROUND_SHARE, ClipLabel, clip_caption, unknown_nouns
from akd.training.prior.files import label_files, write_films
from akd.training.prior.proportions import stretched
from akd.training.prior.real_motion import (
    MAX_SKATING,
    NO_SUPPORT,
    STEPPING,
    Body,
    Cast,
    Performed,
    RealClip,
    begun_at_ease,
    leading_side,
    perform,
    real_clips,
    window,
)  # fmt: skip
from akd.training.prior.shown_points import shown_points

FILMS_EACH = 8
"""Films of every pair of clip and body, each with other proportions."""
OWN_EVERY = 2
"""Every clip is filmed on its own body in each so many rounds, on others of its build in the rest."""
BALANCE = 0.5
"""How far rare actions are filmed first and drawn more often: 0 as often as they occur, 1 every action equally often."""
EASE_SHARE = 0.65
"""Share of films that begin with the body at ease, as users' characters do before they are told anything."""
ALOFT = 1.6
"""How high flying and swimming bodies are filmed at most, above where they rest [ℓ]."""
SIDE_SHARE = 0.4
"""Share of captions that say which hand or foot, where one leads."""
HUMAN_NOUNS = frozenset(("human", "man", "woman", "boy", "character"))
"""Bodies that any word for a person fits."""


@dataclass(frozen=True)
class RealLabel:
    """What a film of real motion shows."""

    source: str
    """The clip, relative to the folder of motions."""
    action: str
    body: str
    """Name of the body."""
    noun: str
    """What the body is called."""
    side: str
    """The hand or foot that leads: "left", "right" or empty."""
    azimuth: float
    elevation: float
    distance: float
    ground: bool

    @property
    def view(self) -> View:
        return View(self.azimuth, self.elevation, self.distance)


def film_pairs(motions: Path, rounds: int, *, part: str = "train") -> Iterator[tuple[RealClip, int]]:
    """Every clip once in each round, rare actions first.

    A filming that is stopped has then filmed actions in about the shares in which training draws them, not as they occur.
    """
    clips = real_clips(motions, part)
    counts = Counter(clip.action for clip in clips)
    taken: Counter[str] = Counter()
    turns: list[tuple[float, int, RealClip, int]] = []
    for number in range(rounds):
        for index in np.random.default_rng((7, number)).permutation(len(clips)):
            action = clips[index].action
            turns.append((taken[action] / counts[action] ** (1 - BALANCE), len(turns), clips[index], number))
            taken[action] += 1
    for *_, clip, number in sorted(turns, key=lambda turn: turn[:2]):
        yield clip, number


def write_real_films(
    folder: Path, motions: Path, settings: FilmSettings, rounds: int, *, part: str = "train",
    report: Callable[[int, int], None] = lambda done, count: None, workers: int = 1,
) -> dict[str, int]:  # fmt: skip
    """Film what is missing; returns how many pairs are there and how many were left out for which reason."""
    folder.mkdir(parents=True, exist_ok=True)
    cast = Cast.read(motions, part)
    wanted = [
        {"clip": clip, "number": number, "cast": cast, "settings": settings,
         "target": folder / f"{_file_name(clip)}-{number:02d}.json"}
        for clip, number in film_pairs(motions, rounds, part=part)
    ]  # fmt: skip
    do_all(_film_pair, wanted, workers=workers, report=report)
    return _counts(folder)


def _film_pair(loaded: Loaded, clip: RealClip, number: int, cast: Cast, settings: FilmSettings, target: Path) -> None:
    if target.exists() or target.with_suffix(".left").exists():
        return
    rng = np.random.default_rng((number, *clip.source.encode()))
    reason = "no body"
    for body in cast.bodies(clip, rng, own=number % OWN_EVERY == 0):
        try:
            performed = perform(clip, body, cast.folder)
        except AkdError as error:
            reason = str(error)
            continue
        if performed.skating > MAX_SKATING and clip.action in STEPPING:
            reason = f"feet slide in {performed.skating:.2f} of their contact"
            continue
        write_films(target, *_films(clip, body, performed, settings, rng))
        return
    write_file(target.with_suffix(".left"), reason)


@torch.no_grad()
def _films(
    clip: RealClip, body: Body, performed: Performed, settings: FilmSettings, rng: np.random.Generator
) -> tuple[UInt8[Tensor, "film frame height width 3"], Float[Tensor, "film frame row 3"], list[RealLabel]]:
    rig = performed.rig
    rates = settings.rate(performed.source_leg), settings.rate(rig.leg_metres)
    ease = _at_ease(rig) if rig.legs and clip.action not in NO_SUPPORT else None
    videos, points, labels = [], [], []
    for _ in range(FILMS_EACH):
        skeleton = stretched(rig.skeleton, rng)
        motion = window(performed, settings.frames, *rates, rng)
        if rng.random() < 0.5:
            motion = mirror(rig.skeleton, motion)
        if ease is not None and rng.random() < EASE_SHARE:
            motion = begun_at_ease(ease, motion)
        label = _label(clip, body, rig, motion, settings, rng)
        if clip.action in NO_SUPPORT:
            motion = _lifted(motion, float(rng.uniform(0, ALOFT)))
        shown = settings if label.ground else replace(settings, ground=None)
        figure = figure_splats(skeleton)
        video = film(skeleton, motion, figure, shown, label.view)
        points.append(shown_points(skeleton, motion, figure, shown))
        videos.append((video.clamp(0, 1) * 255).round().byte())
        labels.append(label)
    return torch.stack(videos), torch.stack(points), labels


def _at_ease(rig: Rig) -> Pose:
    """The body at ease; a skeleton without skin stands as high as at rest."""
    if len(rig.mesh.vertices):
        return pose_at_ease(rig).to(torch.float32)
    rest = rig.skeleton.rest_pose()
    return Pose(rest.root_position, rest.root_rotation, neutral_pose(rig)).to(torch.float32)


def _label(
    clip: RealClip, body: Body, rig: Rig, motion: Motion, settings: FilmSettings, rng: np.random.Generator
) -> RealLabel:
    kind = "arm" if clip.action in HAND_ACTIONS else "leg" if clip.action in FOOT_ACTIONS else ""
    side = leading_side(rig, motion, kind) if kind else ""
    ranges = (settings.azimuth, settings.elevation, settings.distance)
    azimuth, elevation, distance = (float(rng.uniform(*ends)) for ends in ranges)
    ground = bool(rng.random() >= NO_GROUND_SHARE)
    return RealLabel(clip.source, clip.action, body.name, body.noun, side, azimuth, elevation, distance, ground)


def _lifted(motion: Motion, height: float) -> Motion:
    up = torch.tensor((0.0, height, 0.0))
    pose = motion.pose
    return replace(motion, pose=Pose(pose.root_position + up, pose.root_rotation, pose.angles))


def _file_name(clip: RealClip) -> str:
    """One name for a clip that is safe as a file name; the end keeps names apart that differ in odd characters only."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", clip.source)
    return f"{plain}_{sum(clip.source.encode()) % 997:03d}"


def _counts(folder: Path) -> dict[str, int]:
    counts = {"filmed": len(label_files(folder))}
    for path in folder.glob("*.left"):
        reason = re.sub(r"[\d.]+", "N", path.read_text())[:80]
        counts[reason] = counts.get(reason, 0) + 1
    return counts


def caption(label: "RealLabel | ClipLabel", rng: np.random.Generator, card: DataCard) -> str:
    """A random true sentence about a film."""
    return real_caption(label, rng, card) if isinstance(label, RealLabel) else clip_caption(label, rng, card)


def real_caption(label: RealLabel, rng: np.random.Generator, card: DataCard) -> str:
    """A random true sentence about a film of real motion."""
    if rng.random() < EMPTY_SHARE:
        return ""
    noun = _noun(label, rng, card)
    form = rng.random()
    if label.action == "idle" and form < 0.3:
        return negative(noun)
    verb = ACTION_VERBS[label.action]
    if label.side and rng.random() < SIDE_SHARE:
        part = "foot" if label.action in FOOT_ACTIONS else "hand"
        verb = replace(verb, phrases=tuple(f"{phrase} with the {label.side} {part}" for phrase in verb.phrases))
    return describe_with(noun, verb) if form < 0.4 else captions_with(noun, verb, rng, 1)[0]


def _noun(label: RealLabel, rng: np.random.Generator, card: DataCard) -> str:
    which = rng.random()
    if which < 0.15:
        return str(rng.choice(GENERIC_NOUNS))
    if which < 0.2:
        return str(rng.choice(unknown_nouns(card)))
    if which < 0.6 and label.noun not in HUMAN_NOUNS:
        return label.noun
    plan = "human" if label.noun in HUMAN_NOUNS else label.noun
    synonyms = [word for word, meaning in card.synonyms if meaning == plan]
    return str(rng.choice(synonyms)) if synonyms else label.noun
