"""Poses from other makers: what distillation left in its runs, tagged, beside the poses of our own choreographies.

Poses that a video prior believes in: short distillations of many creatures doing many things, taken apart into poses.

Single motions need not be finished: what counts is that no choreography of ours made them, only the prior's score.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from akd.assets import load_rig
from akd.creatures.build import creature
from akd.creatures.captions import VERBS, gerund, with_article
from akd.creatures.gaits import actions_for, gaits_for
from akd.distill.loop import distill
from akd.distill.recipe import Recipe
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.pipeline.job import Job, make_task
from akd.posespace.denoiser import Poses
from akd.posespace.representation import pose_to_vectors, rig_descriptor
from akd.prior.prior import VideoPrior
from akd.rig import Rig
from akd.training.held_out import TRAINING_PLANS
from akd.training.poses.specimens import Specimen, sound, write_shard

DISTILLED = "distilled"


def collect_runs(runs: list[Path], folder: Path, *, source: str = DISTILLED, every: int = 2) -> int:
    """Take every so-manieth frame of the runs' motions into a run of the pose space; returns how many poses were kept."""
    specimens = [_specimen(run, source, every) for run in runs]
    found = [specimen for specimen in specimens if len(specimen.bends)]
    if not found:
        raise AkdError(f"None of the {len(runs)} runs holds a pose that does not run into itself.")
    target = folder / "poses" / source
    target.mkdir(parents=True, exist_ok=True)
    number = len(list(target.glob("*.npz")))
    write_shard(target / f"{number:06d}.npz", found)
    return sum(len(specimen.bends) for specimen in found)


def _specimen(run: Path, source: str, every: int) -> Specimen:
    for name in ("rig.glb", "motion.npz"):
        if not (run / name).is_file():
            raise AkdError(f"{run} has no {name}, so it is not a finished run.")
    rig = load_rig(run / "rig.glb")
    bends = pose_to_vectors(read_motion(run / "motion.npz", rig.skeleton).pose)[::every].to(torch.float32)
    kept: np.ndarray = bends[sound(rig, bends)].numpy()
    return Specimen(rig.name, 0, source, rig_descriptor(rig), kept)


SHORT = Recipe(iterations=12, draws=4, learning_rate=0.16, phases_at=(0.5,), lock_feet=False)
"""Few large steps, enough for legs to swing; feet are not planted, since poses do not travel."""
FIRST_SEED = 2_000
"""Individuals from here on: none that choreographies were drawn for, none that is held out."""


def distil_poses(
    folder: Path, prior: VideoPrior, count: int, each: int = 75,
    report: Callable[[int, int], None] = lambda done, count: None,
) -> int:  # fmt: skip
    """Distil two motions of so many individuals, one shard each, and take ``each`` moments of a round of both.

    It goes on where it stopped. Returns how many poses there are that do not run into themselves.
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
    """One creature doing two things, since the range of its joints is learned from all it does; plans in turn."""
    plan, seed = TRAINING_PLANS[number % len(TRAINING_PLANS)], FIRST_SEED + number
    rig = creature(plan, seed)
    bends = torch.cat([_moments(prior, rig, f"{with_article(plan)} {gerund(deed)}", seed, each) for deed in _deeds(rig, seed)])
    return Specimen(plan, seed, DISTILLED, rig_descriptor(rig), bends[sound(rig, bends)].numpy())


def _moments(prior: VideoPrior, rig: Rig, sentence: str, seed: int, each: int) -> Poses:
    """Moments of one round of what the prior makes of a sentence."""
    trajectory = distill(make_task(Job(sentence, seed=seed, recipe=SHORT), prior, rig))
    with torch.no_grad():
        return pose_to_vectors(trajectory.motion(each, each * float(trajectory.curves.frequency)).pose).to(torch.float32)  # type: ignore[arg-type,operator]


def _deeds(rig: Rig, seed: int) -> tuple[str, str]:
    """In words, a gait and an action by chance; who stands still strikes one pose only."""
    rng = np.random.default_rng((seed, *rig.name.encode()))
    gait, action = str(rng.choice(gaits_for(rig))), "idle"
    while action == "idle":
        action = str(rng.choice(actions_for(rig)))
    return VERBS[gait].phrases[0], VERBS[action].phrases[0]
