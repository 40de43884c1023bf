"""What could a perfect prior do? Films of real motion in the prior's look, read or followed, and judged: docs/prior.md.

``python -m experiments.true_films PRIOR --motions FOLDER`` puts clips of the training part onto a held-out human, films them as
the prior's films are, sends them through its autoencoder, fits a motion to what its reader sees (or follows the film, where the
prior has none), and prints how far joints are off and whether both judges still say what they said of the true motion. A prior
whose clips were right would do no better than this.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.contact.support import stand_on_skin
from akd.creatures.action_phrases import ACTION_VERBS
from akd.creatures.build import creature
from akd.creatures.captions import describe_with
from akd.distill.assumptions import CANDIDATES
from akd.distill.loop import initial_trajectory
from akd.distill.reading_fit import fit_to_points, wanted_of
from akd.distill.recipe import LOOKS
from akd.distill.task import CLIP_FPS
from akd.errors import AkdError
from akd.follow.first_frame import pose_at_ease
from akd.measure.asked import asked_of
from akd.measure.evaluation import evaluate
from akd.measure.judge import WishVerdict, judge
from akd.motion import Motion, resample
from akd.pipeline.job import Job, make_task
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import film_splats
from akd.render.film import film
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

    prior: tyro.conf.Positional[str] = "embedded-actions"
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


def fitted(stage: Stage, true: Motion, sentence: str, *, sharp: bool) -> Motion:
    """The motion that is made of a film of the true one."""
    prior, rig = stage.prior, stage.rig
    if prior.reader is None:
        with torch.no_grad():
            return follow_film(prior, rig, stage.splats, true, sharp=sharp).motion
    task = make_task(Job(sentence), prior, rig)
    trajectory = initial_trajectory(task, CANDIDATES["once"])
    with torch.no_grad():
        reading = prior.reader(prior.encode(film(rig.skeleton, true, stage.splats, prior.film)[None]))
        wanted = wanted_of(rig, reading, true.pose.root_position[0])
    fit_to_points(trajectory, wanted, task.fps, 0.0, LOOKS.fit_steps)
    with torch.no_grad():
        return stand_on_skin(rig, trajectory.motion(prior.film.frames, task.fps))


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
    stage, rng = Stage(rig, film_splats(rig, prior.film), prior), np.random.default_rng(11)
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
            sentence = describe_with("human", ACTION_VERBS[action])
            found = fitted(stage, true, sentence, sharp=options.sharp)
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
