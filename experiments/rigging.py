"""Automatic rigging against artists, Blender and exact truth: the tables of docs/rigging.md.

    python -m experiments.rigging weights --blender-python PYTHON    weights on every skinned asset, the artist's hidden
    python -m experiments.rigging exact                              weights of creatures, whose own are known exactly
    python -m experiments.rigging speed --blender-python PYTHON      seconds against vertices
    python -m experiments.rigging skeletons                          skeletons of creatures and of static meshes

PYTHON is an interpreter with ``pip install bpy``; without one, Blender's columns are left out.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.creatures.plans import PLANS
from akd.errors import AkdError
from akd.measure.rigging import containment, skeleton_errors, weight_errors
from akd.mesh import Mesh
from akd.rig import Rig
from akd.rigging.bones import bones_of
from akd.rigging.mesh_rig import find_skeleton
from akd.rigging.surface import weld
from akd.rigging.visibility import bone_ends
from akd.rigging.weights import PAPER, heat_weights, nearest_weights
from akd.skeleton import Kind, Posed, Skeleton, forward_kinematics
from akd.splats import skin_points

CLIPS, FRAMES = 3, 12  # of each asset's own clips, and so many instants of each
RIGHT = ("legs right", "arms, wings right", "tail right", "all three", "facing right")
PATIENCE = 150  # seconds that Blender gets for a mesh
TOOL = Path(__file__).parents[1] / "tools" / "blender_weights.py"


@dataclass(frozen=True)
class Weights:
    """Skin weights with the artist's skeleton, the artist's weights hidden."""

    assets: Path = Path("../shared/assets")
    blender_python: Path | None = None
    blender_results: Path | None = None
    """Keep Blender's weights here and use those of an earlier run: it takes minutes."""

    def run(self) -> None:
        rigs = {p.stem: load_rig(p) for p in sorted(self.assets.glob("*/*.glb")) if p.stem != "RecursiveSkeletons"}
        rigs = {name: rig for name, rig in rigs.items() if _is_skinned(rig)}
        inputs = {name: _blender_input(rig.mesh, rig.skeleton) for name, rig in rigs.items()}
        blender = _blender(inputs, self.blender_python, self.blender_results)
        columns = ("nearest", "paper", "ours") + (("Blender", "Blender merged") if blender else ())
        scores = {name: _scores(rig, blender.get(name)) for name, rig in rigs.items()}
        for title, value in (
            ("L1 (0–2)", lambda s: f"{s.l1:.2f}"), ("Mean deformation error [% of height]", lambda s: f"{s.moved:.2f}"),
            ("Precision / recall", lambda s: f"{s.precision:.2f} / {s.recall:.2f}"), ("Seconds", lambda s: f"{s.seconds:.2f}"),
        ):
            print(f"\n### {title}\n\n| asset | vertices | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 2) + "|")
            for name, row in scores.items():
                print(f"| {name} | {rigs[name].mesh.vertex_count} | " + " | ".join(value(row[c]) for c in columns) + " |")
        print("\n" + _summary(scores, columns))


class Score(NamedTuple):
    """One set of weights on one asset."""

    precision: float
    recall: float
    l1: float
    moved: float
    seconds: float
    unweighted: float


def _scores(rig: Rig, blender: dict[str, np.ndarray] | None) -> dict[str, Score]:
    posed = _clip_poses(rig)

    def score(make, seconds: float | None = None) -> Score:
        begin = time.process_time()
        weights = make()
        seconds = time.process_time() - begin if seconds is None else seconds
        errors = weight_errors(weights, rig.weights)
        return Score(*errors, 100 * _deformation(rig, posed, weights), seconds, float((weights.sum(1) < 1e-3).mean()))

    mesh, skeleton = rig.mesh, rig.skeleton
    out = {
        "nearest": score(lambda: nearest_weights(mesh, bones_of(skeleton, bone_ends(skeleton, weld(mesh))))),
        "paper": score(lambda: heat_weights(mesh, skeleton, settings=PAPER)),
        "ours": score(lambda: heat_weights(mesh, skeleton)),
    }
    if blender:
        out["Blender"] = score(lambda: _unit_rows(blender["imported"]), float(blender["seconds"][0]))
        out["Blender merged"] = score(lambda: _unit_rows(blender["merged"]), float(blender["seconds"][1]))
    return out


def _clip_poses(rig: Rig) -> Posed:
    """Some instants of some of the artist's own clips."""
    assert rig.origin is not None
    clips = rig.origin.file.clips
    chosen = clips[:: max(1, -(-len(clips) // CLIPS))]
    poses = []
    for clip in chosen:
        posed = forward_kinematics(rig.skeleton, read_clip(rig, clip.name, fps=FRAMES / max(clip.duration, 0.1)).motion.pose)
        poses.append(posed)
    return Posed(torch.cat([p.rotation for p in poses]), torch.cat([p.position for p in poses]))


def _deformation(rig: Rig, posed: Posed, weights: np.ndarray) -> float:
    """Mean vertex distance to the artist's deformation / height; what has no weights stays where it was."""
    rest = torch.as_tensor(rig.mesh.vertices, dtype=posed.position.dtype)
    moved = []
    for chosen in (weights, rig.weights):
        w = torch.as_tensor(chosen, dtype=rest.dtype)
        moved.append(skin_points(rig.skeleton, posed, w, rest) + (1 - w.sum(1, keepdim=True)) * rest)
    return float((moved[0] - moved[1]).norm(dim=-1).mean() / np.ptp(rig.mesh.vertices[:, 1]))


def _summary(scores: dict[str, dict[str, Score]], columns: tuple[str, ...]) -> str:
    lines = ["| | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|"]
    mean = {c: (np.mean([r[c].l1 for r in scores.values()]), np.mean([r[c].moved for r in scores.values()])) for c in columns}
    failed = {c: sum(r[c].unweighted > 0.01 for r in scores.values()) for c in columns}
    lines.append("| mean L1 | " + " | ".join(f"{mean[c][0]:.3f}" for c in columns) + " |")
    lines.append("| mean deformation error | " + " | ".join(f"{mean[c][1]:.3f} %" for c in columns) + " |")
    lines.append("| assets with unweighted vertices | " + " | ".join(str(failed[c]) for c in columns) + " |")
    rivals = [c for c in columns if c not in ("ours", "paper")]
    best = [all(r["ours"].l1 <= r[c].l1 and r["ours"].moved <= r[c].moved for c in rivals) for r in scores.values()]
    lines.append(f"\nOurs has both the lowest L1 and the lowest deformation error on {sum(best)} of {len(best)} assets.")
    if "Blender" in columns:
        ratio = [
            (r["ours"].moved, min(good)) for r in scores.values()
            if (good := [r[c].moved for c in ("Blender", "Blender merged") if r[c].unweighted < 0.01])
        ]
        ours, theirs = np.mean(ratio, axis=0)
        lines.append(
            f"Where Blender succeeds ({len(ratio)} assets), our mean deformation error is {ours / theirs:.2f} times"
            " the better of its runs."
        )
    return "\n".join(lines)


def _is_skinned(rig: Rig) -> bool:
    return rig.origin is not None and bool(rig.origin.file.clips) and rig.mesh.vertex_count > 0


def _unit_rows(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 1e-6)


def _blender_input(mesh: Mesh, skeleton: Skeleton) -> dict[str, np.ndarray]:
    """The same bones that ours get, as one segment per joint, at size one."""
    tips = bone_ends(skeleton, weld(mesh))
    leaf = ~np.isin(np.arange(skeleton.joint_count), skeleton.parents)
    tails = np.where(leaf[:, None], tips, skeleton.tails)
    size = np.ptp(mesh.vertices, axis=0).max()
    return {
        "vertices": mesh.vertices / size, "faces": mesh.faces, "parents": skeleton.parents,
        "heads": skeleton.positions / size, "tails": tails / size,
    }  # fmt: skip


def _blender(
    inputs: dict[str, dict[str, np.ndarray]], python: Path | None, results: Path | None = None
) -> dict[str, dict[str, np.ndarray]]:
    """Blender's weights by name; empty without Blender."""
    if python is None:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = results or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return {name: _blender_one(data, python, folder / f"{name}.npz") for name, data in inputs.items()}


def _blender_one(data: dict[str, np.ndarray], python: Path, out: Path) -> dict[str, np.ndarray]:
    """Blender's weights, from an earlier run if there are any; nothing but zeros if it takes too long."""
    if not out.exists():
        given = out.with_suffix(".input")
        with given.open("wb") as stream:
            np.savez(stream, **data)
        try:
            subprocess.run([python, TOOL, given, out], check=True, capture_output=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            nothing = np.zeros((len(data["vertices"]), len(data["heads"])))
            np.savez(out, imported=nothing, merged=nothing, seconds=[PATIENCE, PATIENCE])
    return dict(np.load(out))


@dataclass(frozen=True)
class Exact:
    """Skin weights of creatures, whose own are known exactly."""

    seed: int = 9000
    plans: tuple[str, ...] = tuple(PLANS)

    def run(self) -> None:
        print("| plan | nearest | paper | ours |\n|---|---|---|---|")
        for plan in self.plans:
            rig = creature(plan, self.seed)
            bones = bones_of(rig.skeleton, bone_ends(rig.skeleton, weld(rig.mesh)))
            paper, ours = (heat_weights(rig.mesh, rig.skeleton, settings=settings) for settings in (PAPER, None))
            errors = [weight_errors(w, rig.weights).l1 for w in (nearest_weights(rig.mesh, bones), paper, ours)]
            print(f"| {plan} | " + " | ".join(f"{error:.3f}" for error in errors) + " |", flush=True)


@dataclass(frozen=True)
class Speed:
    """CPU seconds against vertices on one creature: its faces thinned out, then divided again and again."""

    blender_python: Path | None = None
    smallest: int = 800
    largest: int = 210_000
    blender_largest: int = 15_000
    """Blender gets no larger meshes: from about 30,000 vertices on it takes longer than anyone waits."""

    def run(self) -> None:
        rig = creature("human", 0)
        meshes = {str(len(mesh.vertices)): mesh for mesh in _sizes(rig.mesh, self.smallest, self.largest)}
        small = {name: mesh for name, mesh in meshes.items() if int(name) <= self.blender_largest}
        blender = _blender({n: _blender_input(m, rig.skeleton) for n, m in small.items()}, self.blender_python)
        print("| vertices | ours [CPU s] | µs per vertex | Blender [CPU s] | Blender / ours |\n|---|---|---|---|---|")
        for name, mesh in meshes.items():
            begin = time.process_time()
            heat_weights(mesh, rig.skeleton)
            seconds = time.process_time() - begin
            row = f"| {name} | {seconds:.2f} | {1e6 * seconds / int(name):.0f} |"
            if name not in blender:
                print(f"{row} – | – |", flush=True)
            elif not blender[name]["imported"].any():
                stopped = blender[name]["seconds"][0] >= PATIENCE
                print(f"{row} {'stopped after a while' if stopped else 'no solution'} | – |", flush=True)
            else:
                theirs = float(blender[name]["seconds"][0])
                print(f"{row} {theirs:.2f} | {theirs / seconds:.1f} |", flush=True)


def _sizes(mesh: Mesh, smallest: int, largest: int) -> list[Mesh]:
    """A mesh with about so few vertices, and with four times as many again and again."""
    import igl

    vertices, faces, *_ = igl.decimate(np.asarray(mesh.vertices, float), mesh.faces.astype(np.int32), 2 * smallest)
    out = []
    while len(vertices) <= largest:
        out.append(Mesh(np.ascontiguousarray(vertices), np.ascontiguousarray(faces), np.ones_like(vertices, order="C")))
        vertices, faces = (np.asarray(x) for x in igl.upsample(vertices, faces))
    return out


@dataclass(frozen=True)
class Skeletons:
    """Skeletons found in creatures, whose own are known exactly, and in static meshes."""

    count: int = 5
    """Individuals of each plan."""
    seed: int = 2000
    plans: tuple[str, ...] = tuple(PLANS)
    assets: Path = Path("../shared/assets")
    rows: Path | None = None
    """Keep what was measured here, one line per individual; a later run goes on from there."""
    minutes: float = np.inf
    """Stop after so much CPU time, even if not all were measured."""

    def run(self) -> None:
        found = self._creatures()
        print(f"| plan | n | {' | '.join(RIGHT)} | joints | joint–bone | bone–bone | inside |")
        print("|---" * (6 + len(RIGHT)) + "|")
        for plan in self.plans:
            if own := [row for (name, _), row in found.items() if name == plan]:
                print(f"| {plan} | {_skeleton_row(own)} |")
        if found:
            print(f"| **all** | {_skeleton_row(list(found.values()))} |", flush=True)
        rigs = {p.stem: load_rig(p) for p in sorted(self.assets.glob("*/*.glb")) if p.stem != "RecursiveSkeletons"}
        for name, rig in rigs.items():
            if rig.legs:
                print(f"| {name} | {_skeleton_row([_compare(rig)])} |", flush=True)

    def _creatures(self) -> dict[tuple[str, int], tuple[float, ...]]:
        """What was found in each individual; the first of every plan before the second of any, so that a stop is fair to all."""
        wanted = [(plan, self.seed + i) for i in range(self.count) for plan in self.plans]
        lines = self.rows.read_text().splitlines() if self.rows is not None and self.rows.exists() else []
        known = {(row["plan"], row["seed"]): tuple(row["found"]) for row in map(json.loads, lines)}
        for plan, seed in wanted:
            if time.process_time() > 60 * self.minutes:
                break
            if (plan, seed) not in known:
                known[plan, seed] = _compare(creature(plan, seed))
                if self.rows is not None:
                    with self.rows.open("a") as stream:
                        stream.write(json.dumps({"plan": plan, "seed": seed, "found": known[plan, seed]}) + "\n")
        return {key: known[key] for key in wanted if key in known}


def _compare(truth: Rig) -> tuple[float, ...]:
    """Right or wrong for legs, arms and wings (no arm is taken for a wing), tail, all of them, and facing; joints, chamfer
    distances and containment."""
    try:
        found, ahead, _ = find_skeleton(truth.mesh, usual=_format_forward(truth))
    except AkdError:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
    kinds: tuple[tuple[Kind, ...], ...] = (("leg",), ("arm", "wing"), ("tail",))
    count = lambda limbs: [[sum(limb.kind == kind for limb in limbs) for kind in group] for group in kinds]  # noqa: E731
    right = [ours == theirs for ours, theirs in zip(count(found.limbs), count(truth.skeleton.limbs), strict=True)]
    placed = Skeleton.from_joints(tuple(found.names), np.array(found.parents), np.array(found.positions))
    errors = skeleton_errors(placed, truth.skeleton, truth.mesh.vertices)
    within = containment(placed, truth.mesh.vertices, _inside(truth.mesh))
    return (*map(float, right), float(all(right)), float(ahead[0] > 0.7), placed.joint_count, *errors[1:], within)


def _format_forward(rig: Rig) -> np.ndarray | None:
    """Which way the format of the rig's file wants it to face, on the stage; creatures have no file."""
    if rig.origin is None or rig.origin.file.forward is None:
        return None
    ahead = rig.origin.file.forward @ rig.origin.T_file_stage[:3, :3]
    return ahead / np.linalg.norm(ahead)


def _inside(mesh: Mesh) -> Callable[[np.ndarray], np.ndarray]:
    import igl

    surface = weld(mesh)
    return lambda points: np.abs(igl.fast_winding_number(surface.points, surface.faces, np.ascontiguousarray(points))) > 0.5


def _skeleton_row(found: list[tuple[float, ...]]) -> str:
    """How many there are, and their means."""
    mean = np.mean(found, axis=0)
    rights = [f"{100 * value:.0f} %" for value in mean[:5]]
    rest = (f"{mean[5]:.0f}", f"{mean[6]:.3f}", f"{mean[7]:.3f}", f"{100 * mean[8]:.1f} %")
    return " | ".join((str(len(found)), *rights, *rest))


Command = Annotated[Weights, tyro.conf.subcommand("weights")] | Annotated[Speed, tyro.conf.subcommand("speed")]
Command |= Annotated[Skeletons, tyro.conf.subcommand("skeletons")] | Annotated[Exact, tyro.conf.subcommand("exact")]

if __name__ == "__main__":
    tyro.cli(Command).run()  # type: ignore[arg-type]
