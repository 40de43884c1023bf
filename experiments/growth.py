"""Processor time and peak memory of the commands over the size of their input: the tables of docs/install.md.

    python -m experiments.growth --of triangles textures bones frames

A walking dog is written with more and more triangles, texels, bones or frames, and each command runs in a process of its own.
The exponent is the slope from the second largest input to the largest, of the cost above that of the smallest input, which is
the cost of starting.
"""

import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import igl
import numpy as np
import torch
import trimesh
import tyro
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.files.gltf.write_rig import write_rig
from akd.mesh import Material, Mesh
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Skeleton
from experiments.evaluate import long_walk

COARSE = 1_000
"""Triangles of the smallest mesh; each subdivision makes four of one."""
HAIR = 10
"""Bones of a chain of hair; dogs with many bones have many of these."""
MIN_COST = 0.05
"""Seconds or gigabytes above the smallest input below which no exponent is shown."""
Command = Literal["inspect", "rig", "evaluate", "animate"]


@dataclass(frozen=True)
class Growth:
    """What is measured."""

    of: tuple[Literal["triangles", "textures", "bones", "frames"], ...] = ("triangles", "textures", "bones", "frames")
    commands: tuple[Command, ...] = ("inspect", "rig", "evaluate", "animate")
    triangles: tuple[int, ...] = (0, 2, 3, 4, 5)
    """Subdivisions of a mesh of a thousand triangles."""
    textures: tuple[int, ...] = (256, 1024, 2048, 4096, 8192)
    """Sides of a square texture [px]."""
    bones: tuple[int, ...] = (30, 100, 300, 1000, 3000)
    frames: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    seconds: int = 1800
    """Processor time after which a command is stopped."""
    gigabytes: int = 14
    """Memory that a command may take."""


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    seconds: float
    """Of processor time."""
    gigabytes: float
    """Peak resident memory."""


def coarse_dog() -> Rig:
    """A dog of a thousand triangles, weights from the nearest vertex of the whole dog."""
    rig = creature("dog", 0)
    vertices, faces, *_ = igl.decimate(rig.mesh.vertices, rig.mesh.faces.astype(np.int64), COARSE)
    _, nearest = cKDTree(rig.mesh.vertices).query(vertices)
    return _with_mesh(rig, Mesh(vertices, faces.astype(int), rig.mesh.colors[nearest]), rig.weights[nearest])


def subdivided_dog(times: int) -> Rig:
    """The coarse dog with every triangle cut in four, so many times."""
    rig = coarse_dog()
    for _ in range(times):
        attributes = {"weights": rig.weights, "colors": rig.mesh.colors}
        vertices, faces, attributes = trimesh.remesh.subdivide(rig.mesh.vertices, rig.mesh.faces, vertex_attributes=attributes)
        rig = _with_mesh(rig, Mesh(vertices, faces, attributes["colors"]), attributes["weights"])
    return rig


def textured_dog(side: int) -> Rig:
    """A dog with a texture of so many pixels' side, projected from its right."""
    rig = creature("dog", 0)
    mesh = rig.mesh
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    ramp = np.linspace(0, 255, side, dtype=np.uint8)
    texture = np.stack(np.broadcast_arrays(ramp[:, None], ramp, np.uint8(90)), -1)
    material = Material("fur", np.ones(3), texture)
    uv = ((mesh.vertices - low) / (high - low))[:, :2]
    painted = replace(mesh, uv=uv, materials=(material,), face_material=np.zeros(len(mesh.faces), int))
    return replace(rig, mesh=painted)


def hairy_dog(bones: int) -> Rig:
    """A dog with at least so many bones: chains of hair on its skin, each bone of which moves one vertex by half."""
    rig = creature("dog", 0)
    bare, mesh = rig.skeleton, rig.mesh
    extra = max(bones - bare.joint_count, 0)
    roots = np.linspace(0, mesh.vertex_count - 1, -(-extra // HAIR), dtype=int)
    holder = rig.weights[roots].argmax(1)
    names, parents, positions = list(bare.names), list(bare.parents), list(bare.positions)
    for number in range(extra):
        hair, place = divmod(number, HAIR)
        names.append(f"hair_{hair}_{place}")
        parents.append(holder[hair] if place == 0 else len(parents) - 1)
        positions.append(mesh.vertices[roots[hair]] + (0.0, 0.02 * place, 0.0))
    weights = np.pad(rig.weights, ((0, 0), (0, extra)))
    moved = np.linspace(0, mesh.vertex_count - 1, extra, dtype=int)
    weights[moved] /= 2
    weights[moved, bare.joint_count + np.arange(extra)] = 0.5
    skeleton = Skeleton.from_joints(tuple(names), np.array(parents), np.array(positions))
    mirror = np.r_[bare.mirror, bare.joint_count + np.arange(extra)]
    return replace(rig, skeleton=skeleton.labelled(bare.limbs, mirror), weights=weights)


def _with_mesh(rig: Rig, mesh: Mesh, weights: np.ndarray) -> Rig:
    """A rig with another mesh; soles are those vertices near the ground that were soles' neighbours."""
    _, nearest = cKDTree(rig.mesh.vertices).query(mesh.vertices)
    soles = tuple(np.flatnonzero(np.isin(nearest, sole)) for sole in rig.soles)
    return replace(rig, mesh=mesh, weights=weights / weights.sum(1, keepdims=True), soles=soles)


def cost(command: Command, file: Path, growth: Growth) -> Cost | None:
    """Run one command on a file; ``None`` if it fails or takes too much."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = {
            "inspect": [file], "evaluate": [f"{file}#walk"], "rig": [file, "--reweight", "--out", f"{folder}/rigged.glb"],
            "animate": [file, "a dog walking", "--seconds", "1", "--iterations", "2", "--out", f"{folder}/run"],
        }[command]  # fmt: skip
        child = subprocess.Popen(
            [sys.executable, "-m", "akd", command, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: _bound(growth),
        )  # fmt: skip
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.stderr.write(f"{command} {file.name} ends with {child.returncode}: {said.decode()[-300:]}\n")
        return None
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2)


def _bound(growth: Growth) -> None:
    """Limit what this process may take, before it becomes the command."""
    resource.setrlimit(resource.RLIMIT_CPU, (growth.seconds, growth.seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (growth.gigabytes * 1024**3, growth.gigabytes * 1024**3))


def exponent(sizes: list[float], costs: list[float]) -> str:
    """Slope at the large end, of the cost above that of the smallest input."""
    above = [value - costs[0] for value in costs]
    if len(above) < 3 or min(above[-2:]) < MIN_COST:
        return "–"
    return f"{math.log(above[-1] / above[-2]) / math.log(sizes[-1] / sizes[-2]):.2f}"


def table(what: str, inputs: Iterable[tuple[float, Rig, Motion]], commands: tuple[Command, ...], growth: Growth) -> Table:
    """Costs of some commands over inputs of growing size."""
    found: dict[str, list[tuple[float, Cost]]] = {command: [] for command in commands}
    shown = Table(what, *(f"{command} [s]" for command in commands), *(f"{command} [GB]" for command in commands))
    with tempfile.TemporaryDirectory() as folder:
        for size, rig, motion in inputs:
            file = Path(folder) / f"{size:.0f}.glb"
            write_rig(rig, {"walk": motion}, file)
            costs = {command: cost(command, file, growth) for command in commands}
            for command, value in costs.items():
                if value is not None:
                    found[command].append((size, value))
            columns = [
                [f"{getattr(each, name):.1f}" if each else "–" for each in costs.values()] for name in ("seconds", "gigabytes")
            ]
            shown.add_row(f"{size:,.0f}", *columns[0], *columns[1])
            print(f"{size:,.0f}", *columns[0], *columns[1], file=sys.stderr)
            file.unlink()
    slopes = [
        [exponent([size for size, _ in found[c]], [getattr(value, name) for _, value in found[c]]) for c in commands]
        for name in ("seconds", "gigabytes")
    ]
    shown.add_section()
    shown.add_row("exponent", *slopes[0], *slopes[1])
    return shown


def walking(rig: Rig) -> tuple[Rig, Motion]:
    return rig, gait_motion(rig, "walk")


def walking_hairy_dog(bones: int) -> tuple[Rig, Motion]:
    """The walk of a dog whose hair keeps still."""
    rig, (bare, walk) = hairy_dog(bones), walking(creature("dog", 0))
    still = walk.pose.angles.new_zeros(walk.frame_count, rig.skeleton.joint_count - bare.skeleton.joint_count, 3)
    return rig, replace(walk, pose=replace(walk.pose, angles=torch.cat((walk.pose.angles, still), 1)))


def main(growth: Growth) -> None:
    """Print the tables."""
    dog = creature("dog", 0)
    inputs = {
        "triangles": ((COARSE * 4**times, *walking(subdivided_dog(times))) for times in growth.triangles),
        "textures": ((side**2, *walking(textured_dog(side))) for side in growth.textures),
        "bones": ((count, *walking_hairy_dog(count)) for count in growth.bones),
        "frames": ((count, dog, long_walk(dog, count)) for count in growth.frames),
    }
    for what in growth.of:
        Console().print(table({"textures": "texels"}.get(what, what), inputs[what], growth.commands, growth))


if __name__ == "__main__":
    main(tyro.cli(Growth))
