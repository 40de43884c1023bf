"""Automatically rigged meshes, walking: docs/rigging/walks.png.

    python -m experiments.rigged_walks --out walks.png

Rigged assets lose their skeleton, their weights and their clips first, so everything in the picture was found from the shape.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro
from PIL import Image

from akd.assets import read_file
from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.render.sheets import rig_picture
from akd.rig import FileRig, Rig
from akd.rigging.rig_file import rig_either_way_up
from experiments.gait_sheet import page, strip

STATIC = (
    "static_spot/spot.obj", "dm_control_skins/SKINbody.stl", "pinocchio_data/13_low_w.ply", "pinocchio_data/chebu.off",
    "pinocchio_data/girl.obj", "pinocchio_data/sveta.obj", "makehuman_base/base.obj",
)  # fmt: skip
STRIPPED = (
    "cesium_man/CesiumMan.glb", "fox_khronos/Fox.glb", "q_horse/Horse.glb", "q_husky/Husky.glb", "q_wolf/Wolf.glb",
    "q_triceratops/Triceratops.glb", "q_trex/Trex.glb", "q_chick/Chick.glb", "q_spider/Spider.glb", "q_dragon/Dragon.glb",
    "q_knight/KnightCharacter.glb", "q_woman/Smooth_Female_Casual.glb", "robot_expressive/RobotExpressive.glb",
    "rigged_figure/RiggedFigure.glb", "kaykit_knight/Knight.glb", "kenney_platformer/character.glb",
)  # fmt: skip


@dataclass(frozen=True)
class Walks:
    """What to draw."""

    out: Path = Path("walks.png")
    assets: Path = Path("../shared/assets")
    files: tuple[str, ...] = (*STATIC, *STRIPPED)
    """Below ``assets``."""
    gait: str = "walk"
    count: int = 6
    """Instants of the gait."""
    width: int = 1500
    """Pixels of a strip."""

    def run(self) -> None:
        rows = []
        for name in self.files:
            title, image = self._row(self.assets / name)
            print(title, flush=True)
            rows.append((title, image))
        page(rows).quantize(96).save(self.out, optimize=True)

    def _row(self, path: Path) -> tuple[str, Image.Image]:
        """The bones found from two sides, then the walk."""
        try:
            rig = rig_either_way_up(stripped(read_file(path)))
            motion = gait_motion(rig, self.gait, seed=None)
        except AkdError as error:
            return f"{path.stem}: {error}", Image.new("RGB", (self.width, 4), "white")
        walk = strip(rig, motion, self.count, self.width)
        side = int(np.clip(walk.height, 160, 320))
        row = Image.new("RGB", (2 * side + self.width, max(side, walk.height)), walk.getpixel((0, 0)))
        row.paste(rig_picture(rig, side, 10.0, 8.0), (0, 0))
        row.paste(rig_picture(rig, side, 65.0, 15.0), (side, 0))
        row.paste(walk, (2 * side, 0))
        return _title(path, rig), row


def stripped(file: FileRig) -> FileRig:
    """The mesh alone."""
    bare = np.zeros((file.mesh.vertex_count, 0))
    return replace(file, names=(), parents=np.zeros(0, int), rest=np.zeros((0, 4, 4)), weights=bare, clips=(), sample=None,
                   forward=None, notes=())  # fmt: skip


def _title(path: Path, rig: Rig) -> str:
    limbs = ", ".join(limb.name for limb in rig.skeleton.limbs)
    return f"{path.stem}: {rig.skeleton.joint_count} joints, {limbs}. " + " ".join(rig.notes)


if __name__ == "__main__":
    tyro.cli(Walks).run()
