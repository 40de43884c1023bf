"""Clips for training the embedded prior: our creatures in motion, filmed as distillation films any character.

The frame rate depends on size. The stride time of similar gaits grows with the root of the leg length, so a cat is filmed in slow
motion and an elephant in fast motion, and a walking stride is about twelve frames for all. At one rate for all, a chick's stride
would be three frames, which no model could read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from akd.creatures.build import creature
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.motion import Motion
from akd.reconstruct.skinned import skinned_splats
from akd.render.camera import View
from akd.render.film import FilmSettings, film
from akd.rig import Rig
from akd.splats import SkinnedSplats
from akd.training.data_card import TRAINING_PLANS

CLIP_FILM = FilmSettings(reference_leg=0.9)
"""Real time at the leg length of a grown human, so that bodies of all sizes take a stride in about as many frames."""
NO_GROUND_SHARE = 0.15
"""Share of clips without ground."""
ACTIONS_PER_INDIVIDUAL = 4
"""Actions filmed of each individual besides standing still; all gaits are filmed, walking and running twice."""


@dataclass(frozen=True)
class ClipLabel:
    """What a clip shows, enough to film it again."""

    plan: str
    seed: int
    """Of the individual."""
    motion: str
    """Gait or action."""
    motion_seed: int
    start: float
    """Phase at which the clip begins, in cycles."""
    azimuth: float
    elevation: float
    distance: float
    ground: bool

    @property
    def view(self) -> View:
        return View(self.azimuth, self.elevation, self.distance)


def individuals(count: int, *, first_seed: int = 0, plans: tuple[str, ...] = TRAINING_PLANS) -> Iterator[tuple[str, int]]:
    """Plan and seed of the individuals: plans alternate, so that any number of individuals is spread evenly over them."""
    for index in range(count):
        yield plans[index % len(plans)], first_seed + index // len(plans)


def draw_labels(rig: Rig, seed: int, settings: FilmSettings) -> list[ClipLabel]:
    """The clips filmed of an individual: a function of its plan and seed alone."""
    rng = np.random.default_rng((seed, *rig.name.encode()))
    gaits, actions = gaits_for(rig), actions_for(rig)
    motions = gaits + [name for name in gaits if name in ("walk", "run", "gallop", "tripod", "tetrapod")]
    others = [name for name in actions if name != "idle"]
    motions += ["idle"] * ("idle" in actions) + [str(name) for name in rng.permutation(others)[:ACTIONS_PER_INDIVIDUAL]]
    return [_draw_label(rig.name, seed, motion, settings, rng) for motion in motions]


def _draw_label(plan: str, seed: int, motion: str, settings: FilmSettings, rng: np.random.Generator) -> ClipLabel:
    motion_seed, start = int(rng.integers(1 << 30)), float(rng.random())
    ranges = (settings.azimuth, settings.elevation, settings.distance)
    azimuth, elevation, distance = (float(rng.uniform(*ends)) for ends in ranges)
    ground = bool(rng.random() >= NO_GROUND_SHARE)
    return ClipLabel(plan, seed, motion, motion_seed, start, azimuth, elevation, distance, ground)


def clip_motion(rig: Rig, label: ClipLabel, settings: FilmSettings) -> Motion:
    """The labelled motion, as long as the film."""
    rate = settings.rate(rig.leg_metres)
    return gait_motion(rig, label.motion, seed=label.motion_seed, fps=rate, frames=settings.frames, start=label.start)


def film_clip(
    rig: Rig, skinned: SkinnedSplats, motion: Motion, label: ClipLabel, settings: FilmSettings
) -> UInt8[Tensor, "frame height width 3"]:
    """Film a motion under the label's view."""
    if not label.ground:
        settings = replace(settings, ground=None)
    video = film(rig.skeleton, motion, skinned, settings, label.view)
    return (video.clamp(0, 1) * 255).round().byte()


@torch.no_grad()
def individual_clips(
    plan: str, seed: int, settings: FilmSettings
) -> tuple[UInt8[Tensor, "clip frame height width 3"], list[ClipLabel]]:
    """All clips of one individual."""
    rig = creature(plan, seed)
    skinned = skinned_splats(rig)
    labels = draw_labels(rig, seed, settings)
    return torch.stack([film_clip(rig, skinned, clip_motion(rig, label, settings), label, settings) for label in labels]), labels
