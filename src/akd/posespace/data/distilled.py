"""Poses that a video prior believes in: short distillations of many creatures doing many things, taken apart into poses.

Single motions need not be finished: what counts is that no choreography of ours made them, only the prior's score.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from akd.creatures.build import creature
from akd.creatures.captions import VERBS, gerund, with_article
from akd.creatures.gaits import actions_for, gaits_for
from akd.distill.job import Job, make_task
from akd.distill.loop import distill
from akd.distill.recipe import Recipe
from akd.posespace.bends import pose_bends
from akd.posespace.data.collected import DISTILLED
from akd.posespace.data.specimens import TRAINING_PLANS, Specimen, sound, write_shard
from akd.posespace.sketch import sketch_of
from akd.prior.prior import VideoPrior
from akd.rig import Rig

SHORT = Recipe(iterations=24, draws=4, phases_at=(0.4,), plant=False)
"""Long enough for legs to swing as they should; feet are not planted, since poses do not travel."""
FIRST_SEED = 2_000
"""Individuals from here on: none that choreographies were drawn for, none that is held out."""


def distil_poses(
    folder: Path, prior: VideoPrior, count: int, each: int = 40,
    report: Callable[[int, int], None] = lambda done, count: None,
) -> int:  # fmt: skip
    """Distil so many motions, one shard each, and take ``each`` moments of every round; goes on where it stopped.

    Returns how many poses there are that do not run into themselves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = 0
    for number in range(count):
        path = folder / f"{number:06d}.npz"
        if not path.exists():
            write_shard(path, [_distilled(prior, number, each)])
        with np.load(path) as stored:
            kept += len(stored["0.bends"])
        report(number + 1, count)
    return kept


def _distilled(prior: VideoPrior, number: int, each: int) -> Specimen:
    """One creature doing one thing; plans in turn, what it does by chance."""
    plan, seed = TRAINING_PLANS[number % len(TRAINING_PLANS)], FIRST_SEED + number
    rig = creature(plan, seed)
    job = Job(f"{with_article(plan)} {gerund(_deed(rig, seed))}", seed=seed, recipe=SHORT)
    dance = distill(make_task(job, prior, rig))
    with torch.no_grad():
        bends = pose_bends(dance.motion(each, each * float(dance.curves.frequency)).pose).to(torch.float32)  # type: ignore[arg-type,operator]
    return Specimen(plan, seed, DISTILLED, sketch_of(rig), bends[sound(rig, bends)].numpy())


def _deed(rig: Rig, seed: int) -> str:
    """In words, a gait or, half as often, an action."""
    rng = np.random.default_rng((seed, *rig.name.encode()))
    return VERBS[str(rng.choice(gaits_for(rig) if rng.random() < 2 / 3 else actions_for(rig)))].say[0]
