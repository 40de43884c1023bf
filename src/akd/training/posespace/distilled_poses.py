"""Poses that a video prior finds likely: from short distillations of many creatures, from finished runs of `akd animate`, or from
clips that `akd follow` has followed.

The motions need not be good: what counts is that they come from the prior's score, and from no gait or action of ours.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from akd.assets import fingerprint, load_rig
from akd.batch.engine import Loaded, do_all
from akd.creatures.build import creature
from akd.creatures.captions import VERBS, gerund, with_article
from akd.creatures.gaits import actions_for, gaits_for
from akd.distill.loop import distill
from akd.distill.recipe import Recipe
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.pipeline.job import Job, make_task
from akd.pipeline.run_folder import read_json
from akd.posespace.denoiser import Poses
from akd.posespace.representation import pose_to_vectors, rig_descriptor
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.rig import Rig
from akd.training.data_card import TRAINING_PLANS
from akd.training.posespace.dataset import VECTORS_KEY, RigPoses, collision_free, write_shard

DISTILLED = "distilled"
"""The source of these poses."""
FOLLOWED = "followed"
"""The source of poses that were read from clips."""
SHORT_RECIPE = Recipe(iterations=12, draws=4, learning_rate=0.16, phases_at=(0.5,), lock_feet=False)
"""Few large steps, enough for legs to swing; feet are not locked, since poses do not travel."""
FIRST_DISTILLED_SEED = 2_000
"""Seeds of distilled individuals start here: no gaits were drawn for them, and none is held out."""


def collect_runs(runs: list[Path], folder: Path, *, source: str = DISTILLED, every: int = 2) -> int:
    """Add every so many frames of finished runs to a run of the pose space as a new shard; returns the number of poses kept."""
    individuals = [_run_poses(run, source, every) for run in runs]
    found = [individual for individual in individuals if len(individual.vectors)]
    if not found:
        raise AkdError(f"None of the {len(runs)} runs holds a pose that does not collide with itself.")
    target = folder / "poses" / source
    target.mkdir(parents=True, exist_ok=True)
    number = len(list(target.glob("*.npz")))
    write_shard(target / f"{number:06d}.npz", found)
    return sum(len(individual.vectors) for individual in found)


def followed_runs(folder: Path) -> tuple[list[Path], int]:
    """Runs of `akd follow`, or of `akd animate --via video`, in a folder or below it that follow their clips, and how many more
    there are that do not: what lost its clip shows no pose of it."""
    good, lost = [], 0
    for path in sorted(folder.rglob("result.json")):
        result = read_json(path)
        found = result.get("followed", result)
        if not isinstance(found, dict) or "overlap_motionless" not in found:
            continue
        if found.get("verdict") == "follows":
            good.append(path.parent)
        else:
            lost += 1
    return good, lost


def collect_clips(clips: Path, folder: Path, *, every: int = 2) -> tuple[int, int, int]:
    """Add poses of followed clips, a shard for each, which a second call does not make again. Returns the number of poses, of
    clips, and of clips that were left out."""
    runs, lost = followed_runs(clips)
    if not runs:
        raise AkdError(f"{clips} holds no run of akd follow that follows its clip: follow some clips first.")
    target = folder / "poses" / FOLLOWED
    target.mkdir(parents=True, exist_ok=True)
    count, taken = 0, 0
    for run in runs:
        shard = target / f"{fingerprint(run / 'motion.npz')[:12]}.npz"
        if not shard.exists():
            found = _run_poses(run, FOLLOWED, every)
            if not len(found.vectors):
                continue
            write_shard(shard, [found])
        count, taken = count + _pose_count(shard), taken + 1
    if not count:
        raise AkdError(f"None of the {len(runs)} followed clips in {clips} holds a pose that does not collide with itself.")
    return count, taken, lost + len(runs) - taken


def _run_poses(run: Path, source: str, every: int) -> RigPoses:
    """The poses of a finished run."""
    for name in ("rig.glb", "motion.npz"):
        if not (run / name).is_file():
            raise AkdError(f"{run} has no {name}, so it is not a finished run.")
    rig = load_rig(run / "rig.glb")
    vectors = pose_to_vectors(read_motion(run / "motion.npz", rig.skeleton).pose)[::every].to(torch.float32)
    kept: np.ndarray = vectors[collision_free(rig, vectors)].numpy()
    return RigPoses(rig.name, 0, source, rig_descriptor(rig), kept)


def distil_poses(
    folder: Path, prior: VideoPrior | str, count: int, each: int = 75, plans: tuple[str, ...] = TRAINING_PLANS,
    report: Callable[[int, int], None] = lambda done, count: None, workers: int = 1,
) -> int:  # fmt: skip
    """Distil two motions of so many individuals, one shard each, and keep ``each`` frames of a cycle of both.

    It continues where it stopped. Several workers need the prior's name. Returns the number of poses that do not collide with
    themselves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = [folder / f"{number:06d}.npz" for number in range(count)]
    wanted = [
        {"path": path, "prior": prior, "plan": plans[number % len(plans)], "number": number, "each": each}
        for number, path in enumerate(shards)
    ]
    do_all(_distil_shard, wanted, workers=workers, prior=prior if isinstance(prior, str) else None, report=report)
    return sum(map(_pose_count, shards))


def _distil_shard(loaded: Loaded, path: Path, prior: VideoPrior | str, plan: str, number: int, each: int) -> None:
    if not path.exists():
        ready = loaded.prior(prior, partial(load_prior, prior)) if isinstance(prior, str) else prior
        write_shard(path, [_distilled_rig_poses(ready, plan, number, each)])


def _pose_count(shard: Path) -> int:
    with np.load(shard) as stored:
        return len(stored[f"0.{VECTORS_KEY}"])


def _distilled_rig_poses(prior: VideoPrior, plan: str, number: int, each: int) -> RigPoses:
    """One individual with two motions."""
    seed = FIRST_DISTILLED_SEED + number
    rig = creature(plan, seed)
    sentences = [f"{with_article(plan)} {gerund(verb)}" for verb in _draw_verbs(rig, seed)]
    vectors = torch.cat([_cycle_poses(prior, rig, sentence, seed, each) for sentence in sentences])
    return RigPoses(plan, seed, DISTILLED, rig_descriptor(rig), vectors[collision_free(rig, vectors)].numpy())


def _cycle_poses(prior: VideoPrior, rig: Rig, sentence: str, seed: int, each: int) -> Poses:
    """Frames of one cycle of the trajectory distilled for a sentence."""
    trajectory = distill(make_task(Job(sentence, seed=seed, recipe=SHORT_RECIPE), prior, rig))
    with torch.no_grad():
        return pose_to_vectors(trajectory.motion(each, each * float(trajectory.curves.frequency)).pose).to(torch.float32)  # type: ignore[arg-type,operator]


def _draw_verbs(rig: Rig, seed: int) -> tuple[str, str]:
    """Verbs of a random gait and a random action; not of standing still, which is one pose only."""
    rng = np.random.default_rng((seed, *rig.name.encode()))
    gait, action = str(rng.choice(gaits_for(rig))), "idle"
    while action == "idle":
        action = str(rng.choice(actions_for(rig)))
    return VERBS[gait].phrases[0], VERBS[action].phrases[0]
