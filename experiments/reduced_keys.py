"""Clips with fewer keys: how many are left and how far the skin moves, docs/formats/keys.png.

    python -m experiments.reduced_keys --out FOLDER

Every clip is written as GLB and FBX with ``--keys reduced`` and read again. The picture shows the Euler angles of some bones of
one clip as FBX has them: every frame as a dot, the keys that are left as rings, the curve through them as a line.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from akd.assets import load_rig, read_file, save_clips
from akd.character.export import Export
from akd.character.scene import scene_of
from akd.files.fbx_curves import euler_angles, rotation_order
from akd.files.gltf.document import read_document
from akd.files.keys import ALLOWED, PERSON, Keys, fitted, sampled
from akd.files.scene import Scene, local_parts, rest_parts
from akd.motion import Motion
from akd.rig import Rig
from experiments.formats import height_of, short_motion, skinned

CLIPS = (
    "assets/cesium_man/CesiumMan.glb", "assets/fox_khronos/Fox.glb#Survey", "assets/q_wolf/Wolf.glb#Gallop",
    "assets/kaykit_knight/Knight.glb#Walking_A", "assets/q_spider/Spider.glb#Spider_Walk",
)  # fmt: skip
DRAWN = ("leg_joint_L_1", "leg_joint_L_2", "Skeleton_arm_joint_L__3_")
COLORS = ((200, 50, 40), (40, 140, 60), (40, 80, 200))
WIDTH, HEIGHT, MARGIN = 1100, 240, 30  # of one strip [px]


@dataclass(frozen=True)
class ReducedKeys:
    """What to reduce."""

    out: Path = Path("reduced")
    shared: Path = Path("../shared")
    clips: tuple[str, ...] = CLIPS

    def run(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        table = Table("clip", "format", "frames", "curves", "keys before", "keys after", "largest difference on a person [mm]")
        for name in self.clips:
            file, _, wanted = name.partition("#")
            rig = load_rig(self.shared / file)
            motion = short_motion(rig, wanted)
            for suffix in (".glb", ".fbx"):
                table.add_row(*self._row(rig, motion, f"{Path(file).stem}{'#' if wanted else ''}{wanted}", suffix))
        Console(highlight=False, width=160).print(table)
        rig = load_rig(self.shared / self.clips[0])
        curves_picture(rig, short_motion(rig, "")).save(self.out / "keys.png")

    def _row(self, rig: Rig, motion: Motion, name: str, suffix: str) -> tuple[str, ...]:
        path = self.out / f"{rig.name}{suffix}"
        save_clips(rig, {"few": motion}, path, Export(keys="reduced"), fps=motion.fps, force=True)
        scene = scene_of(rig, {"few": motion})
        curves, keys = counted(path)
        error = largest_difference(scene, path) / height_of(scene) * PERSON * 1000
        return name, suffix[1:], str(motion.frame_count), str(curves), str(curves * motion.frame_count), str(keys), f"{error:.2f}"


def largest_difference(scene: Scene, path: Path) -> float:
    """Of a joint or, where vertices are in the same order, of a vertex, over all frames [m]."""
    back, clip = read_file(path), scene.clips[0]
    assert back.sample is not None
    world = back.sample("few", clip.times)
    order = [back.names.index(name) for name in scene.bones]
    joints = world[..., :3, 3][:, order] * back.metres - clip.world[..., :3, 3] * scene.metres
    worst = float(np.linalg.norm(joints, axis=-1).max())
    for frame in range(0, len(clip.times), 3):
        theirs, ours = skinned(back, world[frame : frame + 1]), skinned(scene, clip.world[frame : frame + 1])
        if theirs.shape == ours.shape and path.suffix == ".glb":
            worst = max(worst, float(np.linalg.norm(theirs - ours, axis=-1).max()))
    return worst


def counted(path: Path) -> tuple[int, int]:
    """How many properties of bones have keys, and how many keys they have together."""
    if path.suffix == ".glb":
        content = read_document(path).json
        samplers = content["animations"][-1]["samplers"]
        return len(samplers), sum(content["accessors"][sampler["input"]]["count"] for sampler in samplers)
    import ufbx

    scene = ufbx.load_file(str(path))
    counts = [len(scene.anim_curves[index].keyframes) for index in range(len(scene.anim_curves))]
    return len(counts) // 3, sum(counts) // 3  # three curves of a property share their keys


def curves_picture(rig: Rig, motion: Motion) -> Image.Image:
    """Angles of some bones over time, one strip each."""
    scene = scene_of(rig, {"few": motion})
    rest, times = rest_parts(scene), scene.clips[0].times
    moving = local_parts(scene.clips[0].world, scene.parents, rest)
    page = Image.new("RGB", (WIDTH, HEIGHT * len(DRAWN)), "white")
    for row, name in enumerate(DRAWN):
        bone = scene.bones.index(name)
        order = rotation_order(rest[bone].rotation, [moving[bone].rotation])
        angles = euler_angles(rest[bone].rotation, moving[bone].rotation, order)
        allowed = np.degrees(ALLOWED / PERSON / 0.5 / 2)  # half of the allowed way at half a height's distance
        page.paste(strip(name, times, angles, fitted(times, angles, float(allowed))), (0, HEIGHT * row))
    return page


def strip(name: str, times: np.ndarray, angles: np.ndarray, keys: Keys) -> Image.Image:
    """One bone's three curves."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    low, high = angles.min() - 1, angles.max() + 1

    def place(time: float, angle: float) -> tuple[float, float]:
        across = MARGIN + (WIDTH - 2 * MARGIN) * time / times[-1]
        return across, HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (angle - low) / (high - low)

    fine = np.linspace(0, times[-1], 600)
    smooth = sampled(times, keys, fine)
    for axis, color in enumerate(COLORS):
        draw.line([place(t, a) for t, a in zip(fine, smooth[:, axis], strict=True)], fill=color, width=2)
        for time, angle in zip(times, angles[:, axis], strict=True):
            x, y = place(time, angle)
            draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill=(120, 120, 120))
        for time, angle in zip(times[keys.frames], keys.values[:, axis], strict=True):
            x, y = place(time, angle)
            draw.ellipse((x - 5, y - 5, x + 5, y + 5), outline=color, width=2)
    draw.text((MARGIN, 6), f"{name}: {len(keys.frames)} keys of {len(times)} frames, {low:.0f}° to {high:.0f}°", fill="black")
    return image


if __name__ == "__main__":
    tyro.cli(ReducedKeys).run()
