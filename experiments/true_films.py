"""What could a perfect prior do? Films of real motion in the prior's look, followed and judged: docs/follow.md.

``python -m experiments.true_films PRIOR --motions FOLDER`` puts clips of the training part onto a held-out human, films them as
the prior's films are, sends them through its autoencoder, follows them, and prints how far the joints are off and whether both
judges still say what they said of the true motion. A prior whose clips were right would do no better than this.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.creatures.action_phrases import ACTION_VERBS
from akd.creatures.build import creature
from akd.creatures.captions import describe_with
from akd.distill.task import CLIP_FPS
from akd.errors import AkdError
from akd.follow.first_frame import pose_at_ease
from akd.measure.asked import asked_of
from akd.measure.evaluation import evaluate
from akd.measure.judge import WishVerdict, judge
from akd.motion import Motion, resample
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import SkinnedSplats
from akd.training.data_card import FIRST_HELD_OUT_SEED
from akd.training.prior.real_motion import RealClip, begun_at_ease, perform_on, real_clips, window
from experiments.via_video import follow_film

ACTIONS = ("kick", "punch", "wave_hand", "sit_down", "jump", "throw", "pick_up", "die", "walk", "run", "bow")
PEOPLE = ("person", "human")
"""Kinds of clips that are put onto the human."""


@dataclass(frozen=True)
class Options:
    """What is filmed."""

    prior: tyro.conf.Positional[str] = "embedded"
    """A prior's folder; its film settings and autoencoder count, not its network."""
    motions: Path = Path("../shared/motions")
    each: int = 2
    """Clips of each action."""
    actions: tuple[str, ...] = field(default=ACTIONS)
    sharp: bool = False
    """Follow the films as they are, not as the autoencoder gives them back."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The body that performs, and how it is filmed."""

    rig: Rig
    splats: SkinnedSplats
    prior: VideoPrior

    @property
    def fps(self) -> float:
        return self.prior.film.rate(self.rig.leg_metres)


def true_motion(stage: Stage, clip: RealClip, motions: Path, rng: np.random.Generator) -> Motion:
    """A clip on the body, as long as the prior's films, from the pose at ease on."""
    performed = perform_on(stage.rig, clip, motions)
    settings = stage.prior.film
    cut = window(performed, settings.frames, settings.rate(performed.source_leg), stage.fps, rng)
    return begun_at_ease(pose_at_ease(stage.rig).to(torch.float32), cut)


def joint_error(rig: Rig, one: Motion, other: Motion) -> float:
    """Mean distance of joints as seen from the root's place [ℓ]."""
    first, second = (forward_kinematics(rig.skeleton, each.pose.to(torch.float64)).position for each in (one, other))
    return float(((first - first[:, :1]) - (second - second[:, :1])).norm(dim=-1).mean())


def verdict(rig: Rig, motion: Motion, sentence: str) -> WishVerdict | None:
    """What both judges say."""
    shown = resample(motion, CLIP_FPS)
    return judge(rig, shown, asked_of(sentence), evaluate(rig, shown)).verdict


def main(options: Options) -> None:
    """Film, follow, judge, print."""
    prior, rig = load_prior(options.prior), creature("human", FIRST_HELD_OUT_SEED + 3)
    stage, rng = Stage(rig, skinned_splats(rig, resolution=prior.film.width), prior), np.random.default_rng(11)
    clips = [clip for clip in real_clips(options.motions) if clip.kind in PEOPLE]
    table = Table("clip", "true motion", "followed", "motionless [ℓ]", "followed [ℓ]")
    errors, counts = [], []
    for action in options.actions:
        own = [clip for clip in clips if clip.action == action]
        for index in rng.permutation(len(own))[: options.each]:
            try:
                true = true_motion(stage, own[index], options.motions, rng)
            except AkdError as error:
                table.add_row(own[index].source, str(error), "", "", "")
                continue
            with torch.no_grad():
                found = follow_film(prior, rig, stage.splats, true, sharp=options.sharp).motion
            sentence = describe_with("human", ACTION_VERBS[action])
            still = Motion(true.pose[torch.zeros(true.frame_count, dtype=torch.long)], true.fps)
            apart = [joint_error(rig, true, each) for each in (still, found)]
            said = [verdict(rig, each, sentence) for each in (true, found)]
            table.add_row(own[index].source, *map(str, said), *(f"{value:.3f}" for value in apart))
            errors.append(apart)
            counts.append([each == "as_asked" for each in said])
    console = Console(highlight=False)
    console.print(table)
    asked, still_asked = np.sum(counts, 0)
    motionless, mean = np.mean(errors, 0)
    console.print(f"As asked: {asked} of {len(counts)} true motions, {still_asked} followed ones.")
    console.print(f"Mean joint error: motionless {motionless:.3f} ℓ, followed {mean:.3f} ℓ.")


if __name__ == "__main__":
    main(tyro.cli(Options))
