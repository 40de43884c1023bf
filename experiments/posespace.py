"""The pose space beside its baselines, on new individuals, plans, artists' and automatic rigs: the tables of docs/posespace.md.

python -m experiments.posespace                                  everything, half an hour on a free core
python -m experiments.posespace --plans fox spider --poses 200 --test
python -m experiments.posespace --plans --held-out --static --test m2m_horse q_donkey      some rigs of the motions' test part
python -m experiments.posespace --weights other.safetensors --permuted      a control
python -m experiments.posespace --plans --held-out --static --poses 64 --brief      samples and scores on artists' rigs only
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.examples import chosen_examples
from akd.posespace.measures import (
    CORRUPTIONS,
    auc,
    body_length,
    coverage,
    crossing_edges,
    gaussian_poses,
    pairwise_distance,
    pca_poses,
    precision_recall,
    uniform_poses,
)
from akd.posespace.network import SHIPPED, noise_level
from akd.posespace.representation import pose_to_vectors, without_heading
from akd.posespace.rig_batch import batch_kinematics
from akd.posespace.solving import Handle
from akd.posespace.space import PoseSpace
from akd.posespace.validity import ALLOWED_DEPTH, LIMIT_SPREADS
from akd.posespace.walking import PathMethod
from akd.rig import Rig
from akd.rigging.rig_file import rig_file
from akd.training.data_card import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS
from akd.training.posespace.creature_poses import draw_poses
from akd.training.posespace.dataset import collision_free

NEW = ("human", "dog", "horse", "tyrannosaur", "spider", "lizard", "chick")
ARTISTS = ("fox_khronos/Fox.glb", "q_wolf/Wolf.glb", "q_spider/Spider.glb", "q_trex/Trex.glb", "cesium_man/CesiumMan.glb",
           "q_knight/KnightCharacter.glb", "q_horse/Horse.glb")  # fmt: skip
TEST = ("m2m_horse", "m2m_spider", "m2m_shark", "q_ual2_human", "q_char_witch", "q_donkey", "q_farm_horse", "q_monster_skeleton",
        "q_men_smooth_casual", "q_woman2017", "q_cube_goblin", "q_bird2016")  # fmt: skip
"""Characters of the test part of the motions: nothing was trained, tuned or chosen on them."""
STATIC = ("static_spot/spot.obj", "pinocchio_data/sveta.obj")
SOME = 16
"""Poses whose triangles are tested exactly."""
SCORED = 40
"""Poses whose scores are compared with those of broken ones."""
FEW = 20
"""Poses of the very rig that PCA is given."""


@dataclass(frozen=True)
class Options:
    """What is measured."""

    plans: tuple[str, ...] = NEW
    """Plans of which a new individual is looked at."""
    held_out: tuple[str, ...] = HELD_OUT_PLANS
    artists: tuple[str, ...] = ARTISTS
    test: tuple[str, ...] = TEST
    static: tuple[str, ...] = STATIC
    assets: Path = Path(__file__).resolve().parents[2] / "shared" / "assets"
    motions: Path = Path(__file__).resolve().parents[2] / "shared" / "motions"
    slow: bool = True
    """Also walks by noise, nudging, inversion, and edges through far skin of the baselines."""
    brief: bool = False
    """Samples and scores only: no handles, walks, edges through far skin, nor baselines that know all clips."""
    poses: int = 120
    """How many poses are compared."""
    weights: Path = SHIPPED
    permuted: bool = False
    """Control: joints are conditioned on each other's rig features; everything must fail."""
    rows: Path | None = None
    """Write the numbers as JSON, too."""


@dataclass(frozen=True, eq=False)
class Case:
    """A rig and what is known to be good on it; where nothing is known, the model's own samples stand in."""

    group: str
    name: str
    rig: Rig
    real: Poses | None
    examples: Poses | None = None
    """Poses of some of the rig's clips …"""
    others: Poses | None = None
    """… and of its other clips, on which what uses the examples is measured."""


def cases(options: Options) -> Iterator[Case]:
    """All rigs, one at a time."""
    for group, plans in (("new individual", options.plans), ("held-out plan", options.held_out)):
        for plan in plans:
            rig = creature(plan, FIRST_HELD_OUT_SEED + 1)
            yield Case(group, plan, rig, creature_poses(rig, options.poses))
    files = [options.assets / name for name in options.artists]
    files += [options.motions / "glb" / f"{name}.glb" for name in options.test]
    for file in files:
        if file.is_file():
            rig = load_rig(file)
            yield Case("artist's rig", file.stem, rig, *clip_poses(rig, options.poses))
    for name in options.static:
        if (options.assets / name).is_file():
            yield Case("auto-rigged", Path(name).stem, rig_file(options.assets / name), None)


def creature_poses(rig: Rig, count: int) -> Poses:
    found: list[Poses] = []
    seed = 0
    while sum(len(poses) for poses in found) < count:
        vectors = pose_to_vectors(draw_poses(rig, np.random.default_rng((seed, 99))))
        found.append(vectors[collision_free(rig, vectors)])
        seed += 1
    return torch.cat(found)[:count]


def clip_poses(rig: Rig, count: int) -> tuple[Poses | None, Poses | None, Poses | None]:
    """Frames of the artist's own clips, evenly from all of them; falling over dead is no pose to strike.

    Then examples from every other clip, and frames of the clips between: none where there is one clip only.
    """
    names = [clip.name for clip in rig.origin.file.clips if "death" not in clip.name.lower()] if rig.origin else []
    found = [pose_to_vectors(read_clip(rig, name, fps=12).motion.pose).float() for name in names]
    if not found:
        return None, None, None
    every, shown, others = torch.cat(found), found[1::2], found[::2]
    if not shown:
        return chosen_examples(every, count), None, None
    return chosen_examples(every, count), chosen_examples(torch.cat(shown), FEW), chosen_examples(torch.cat(others), count)


def measure(case: Case, options: Options) -> dict[str, float | str]:
    """One row of the table."""
    began = time.process_time()
    space = PoseSpace.build(case.rig, weights=options.weights)
    row: dict[str, float | str] = {"group": case.group, "rig": case.name, "joints": space.descriptor.joint_count}
    row["build s"] = time.process_time() - began
    if options.permuted:
        space = _permuted(space)
    began = time.process_time()
    made = space.sample(64, seed=1)
    row["64 samples s"] = time.process_time() - began
    if options.poses > len(made):
        made = torch.cat((made, space.sample(options.poses - len(made), seed=2)))
    sets = {"model": made}
    if not options.brief:
        sets |= {"model, no repair": space.sample(options.poses, seed=1, repair=False)} | _baselines(space, case, options)
    for name, poses in sets.items():
        row |= {f"{name}: {key}": value for key, value in quality(space, case.real, poses).items()}
        if not options.brief and (options.slow or name in ("model", "real")):
            row[f"{name}: crossing edges %"] = 100 * float(crossing_edges(case.rig, poses[:SOME]).mean())
    good = case.real if case.real is not None else made
    row |= noticing(space, good)
    if not options.brief:
        row |= solving(space, good, 10 if options.slow else 6, slow=options.slow) | _walking(space, good, slow=options.slow)
    if options.slow and not options.brief:
        row |= _inverting(space, good)
    return row | _with_examples(space, case, options, made)


def _with_examples(space: PoseSpace, case: Case, options: Options, zero_shot: Poses) -> dict[str, float]:
    """The space that knows examples beside baselines that know the same, and samples without, all measured on other clips."""
    if case.examples is None or case.others is None or not space.denoiser.network.config.example_blocks:
        return {}
    shown, count = PoseSpace.build(case.rig, weights=options.weights, like=case.examples), options.poses
    sets = {
        "with examples": shown.sample(count, seed=1),
        "zero-shot": zero_shot,
        "pca": pca_poses(case.examples, count, 1),
        "gaussian": gaussian_poses(case.examples.mean(0), case.examples.std(0), count, 1),
    }
    out: dict[str, float] = {}
    for name, poses in sets.items():
        found = quality(space, case.others, poses)
        found["f1"] = 2 * found["precision"] * found["recall"] / max(found["precision"] + found["recall"], 1e-6)
        out |= {f"other clips, {name}: {key}": value for key, value in found.items() if key != "self-intersection"}
    judged = noticing(shown, case.others) if options.slow and not options.brief else {}
    return out | {f"with examples, {key}": value for key, value in judged.items()}


def _baselines(space: PoseSpace, case: Case, options: Options) -> dict[str, Poses]:
    mean, spread, count = space.denoiser.mean, space.denoiser.spread, options.poses
    out = {
        "random in limits": uniform_poses(mean - LIMIT_SPREADS * spread, mean + LIMIT_SPREADS * spread, count, 1),
        "gaussian zero-shot": gaussian_poses(mean, spread, count, 1),
    }
    if case.real is not None:
        out["real"] = case.real
        known = case.real[::2]
        out["gaussian oracle"] = gaussian_poses(known.mean(0), known.std(0), count, 1)
        out[f"pca of {FEW}"] = pca_poses(case.real[torch.linspace(0, len(case.real) - 1, FEW).long()], count, 1)
    return out


def quality(space: PoseSpace, known: Poses | None, poses: Poses) -> dict[str, float]:
    """How good poses are, beside known ones."""
    out = {"self-intersection": float((space.faults(poses).depth > ALLOWED_DEPTH).float().mean())}
    if known is not None:
        real, made = _places(space, known), _places(space, poses)
        out["precision"], out["recall"] = precision_recall(real.flatten(1), made.flatten(1))
        out["coverage"] = coverage(real.flatten(1), made.flatten(1))
        out["apd ratio"] = pairwise_distance(made) / max(pairwise_distance(real), 1e-6)
    return out


def _places(space: PoseSpace, vectors: Poses) -> torch.Tensor:
    """Joints seen from the root, the body upright as it is."""
    return batch_kinematics(space.denoiser.rig.rigs, vectors[None])[1][0]


def solving(space: PoseSpace, good: Poses, count: int = 10, *, slow: bool = True) -> dict[str, float]:
    """Four handles, taken from good poses, dragged there from rest; beside least squares without a prior, and nudging."""
    skeleton, size = space.rig.skeleton, body_length(space.rig.skeleton)
    limbs = [limb for limb in skeleton.limbs if limb.kind in ("leg", "arm", "head", "wing", "fin")]
    tips = [limb.tip for limb in limbs][:4] or [skeleton.joint_count - 1]
    same = torch.diag(torch.full_like(space.solver.covariance[0], 0.25))
    plain = replace(space.solver, covariance=same)
    rest = skeleton.rest_pose(1)
    found: dict[str, list[float]] = {}
    for target in good[torch.linspace(0, len(good) - 1, count).long()]:
        places = space.solver.kinematics.forward(target[None], rest.root_position).position[0]
        handles = tuple(Handle(skeleton.names[tip], position=tuple(places[tip].tolist())) for tip in tips)
        began = time.process_time()
        ours = space.solve(handles, rest)
        found.setdefault("ik ms", []).append(1000 * (time.process_time() - began))
        bare = plain.solve(handles, pose_to_vectors(rest), rest.root_position, prior_times=())
        for name, solution in {"ik": ours, "ik without prior": bare}.items():
            found.setdefault(f"{name} error %", []).append(100 * float(solution.error[0]) / size)
            found.setdefault(f"{name} percentile", []).append(float(space.score(without_heading(solution.vectors)).percentile[0]))
        if not slow:
            continue
        vectors = _nudged(space, tips, places[tips])
        missed = space.solver.kinematics.forward(vectors, rest.root_position).position[0, tips] - places[tips]
        found.setdefault("ik by nudging error %", []).append(100 * float(missed.norm(dim=-1).max()) / size)
    return {name: float(np.median(values)) for name, values in found.items()}


def _nudged(space: PoseSpace, tips: list[int], targets: torch.Tensor, steps: int = 32, push: float = 0.5) -> Poses:
    """The paper's way: an energy of the handles pushes every guess on the way from noise to pose."""
    denoiser, root = space.denoiser, torch.as_tensor(space.rig.skeleton.positions[:1], dtype=torch.float32)
    z, times = denoiser.noise(1, 3), torch.linspace(1, 0, steps + 1)
    for now, then in pairwise(times):
        guess = denoiser.denoise(z, float(now)).requires_grad_(True)
        missed = space.solver.kinematics.forward(denoiser.to_vectors(guess), root).position[:, tips] - targets
        (slope,) = torch.autograd.grad(missed.square().sum(), guess)
        clean = guess.detach() - push * slope / slope.abs().max().clamp(min=1e-6) * missed.detach().norm(dim=-1).max()
        (alpha, sigma), (alpha_then, sigma_then) = noise_level(now), noise_level(then)
        z = alpha_then * clean + sigma_then * (z - alpha * clean) / sigma
    return denoiser.to_vectors(clean)


def _walking(space: PoseSpace, good: Poses, count: int = 3, *, slow: bool = True) -> dict[str, float]:
    """Worst percentile on the way, and the largest step beside that of a straight way."""
    out: dict[str, float] = {}
    pairs = torch.linspace(0, len(good) - 1, 2 * count).long().reshape(2, count).T
    straight: list[float] = []
    ways: tuple[PathMethod, ...] = ("straight", "string", "noise") if slow else ("straight", "string")
    for way in ways:
        worst, jump = [], []
        for number, pair in enumerate(pairs):
            path = pose_to_vectors(space.walk(good[pair], seconds=0.5, fps=20, method=way, easing="none", lock_feet=False).pose)
            steps = (_places(space, path[1:]) - _places(space, path[:-1])).norm(dim=-1).mean(-1)
            if way == "straight":
                straight.append(max(float(steps.mean()), 1e-6))
            worst.append(float(space.score(path[1:-1]).percentile.min()))
            jump.append(float(steps.max()) / straight[number])
        out |= {f"walk {way} percentile": float(np.mean(worst)), f"walk {way} step": float(np.mean(jump))}
    return out


def _inverting(space: PoseSpace, good: Poses) -> dict[str, float]:
    some = good[:8]
    back = space.decode(space.invert(some))
    missed = (_places(space, back) - _places(space, some)).norm(dim=-1).mean()
    return {"inversion %": 100 * float(missed) / body_length(space.rig.skeleton)}


def noticing(space: PoseSpace, real: Poses) -> dict[str, float]:
    real = chosen_examples(real, SCORED)
    rng, score = np.random.default_rng(0), space.score(real)
    out = {"real percentile": float(score.percentile.mean()), "real called broken": 1 - float(score.plausible.float().mean())}
    return out | {
        f"auc {name}": auc(score.anomaly, space.score(spoil(space.descriptor, real, rng)).anomaly)
        for name, spoil in CORRUPTIONS.items()
    }


def _permuted(space: PoseSpace) -> PoseSpace:
    """The same space with the rig's encoding dealt out among the wrong joints."""
    order = torch.as_tensor(np.random.default_rng(0).permutation(space.descriptor.joint_count))
    rig = space.denoiser.rig
    wrong = rig._replace(hidden=rig.hidden[:, order], range=type(rig.range)(*(part[:, order] for part in rig.range)))
    denoiser = Denoiser(space.denoiser.network, wrong, space.denoiser.noise_order)
    return replace(space, denoiser=denoiser, validators=replace(space.validators, denoiser=denoiser),
                   scorer=replace(space.scorer, denoiser=denoiser), solver=replace(space.solver, denoiser=denoiser))  # fmt: skip


def table(rows: list[dict[str, float | str]], by: str) -> str:
    """Markdown: a row for every number, a column for every group or rig, means over what is in it."""
    columns = list(dict.fromkeys(str(row[by]) for row in rows))
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in ("group", "rig")]
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for key in keys:
        found = [[float(row[key]) for row in rows if row[by] == column and key in row] for column in columns]
        lines.append(f"| {key} | " + " | ".join(f"{np.mean(values):.3g}" if values else "" for values in found) + " |")
    return "\n".join(lines)


def main(options: Options) -> None:
    torch.set_num_threads(1)
    rows = []
    for case in cases(options):
        rows.append(measure(case, options))
        print(f"{case.group}: {case.name} done", flush=True)
        if options.rows:
            options.rows.write_text(json.dumps(rows, indent=1))
    print(table(rows, "group"), table(rows, "rig"), sep="\n\n")


if __name__ == "__main__":
    main(tyro.cli(Options))
