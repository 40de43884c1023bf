"""Strips of pictures of moving rigs: ``python -m akd.creatures.gait_sheet --plans dog --out gaits.png``."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from PIL import Image, ImageDraw

from akd.creatures.build import creature
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.creatures.plans import PLANS
from akd.creatures.sheet import PAPER, picture
from akd.mesh import Mesh
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.skinning import skin_points


def strip(rig: Rig, motion: Motion, count: int = 8, width: int = 1400, turn: float = 20.0) -> Image.Image:
    """So many instants of a motion side by side, on one ground and in one scale."""
    chosen = np.linspace(0, motion.frame_count - 1, count + 1).astype(int)[:-1]
    pose = motion.pose[torch.from_numpy(chosen)]
    weights, rest = (torch.as_tensor(x, dtype=torch.float32) for x in (rig.weights, rig.mesh.vertices))
    shapes = skin_points(rig.skeleton, forward_kinematics(rig.skeleton, pose), weights, rest).double().numpy()
    shapes = shapes - pose.root_position[:, None].double().numpy() * (1, 0, 1)
    aside = np.array([np.cos(np.radians(turn)), 0, -np.sin(np.radians(turn))])  # to the right in the picture
    gap = 1.12 * float(np.ptp(np.concatenate(shapes) @ aside)) + 0.1
    vertices = np.concatenate([shape + number * gap * aside for number, shape in enumerate(shapes)])
    faces = np.concatenate([rig.mesh.faces + number * rig.mesh.vertex_count for number in range(count)])
    image = picture(Mesh(vertices, faces, np.tile(rig.mesh.colors, (count, 1))), width, turn, 8.0)
    inked = np.flatnonzero((np.abs(image / 255 - PAPER) > 0.02).any((1, 2)))
    return Image.fromarray(image[max(inked[0] - 14, 0) : inked[-1] + 6])


def page(strips: list[tuple[str, Image.Image]]) -> Image.Image:
    """Strips under one another, each with its title."""
    width, height = max(image.width for _, image in strips), sum(image.height + 14 for _, image in strips)
    out = Image.new("RGB", (width, height), tuple(int(255 * c) for c in PAPER))
    ink, top = ImageDraw.Draw(out), 0
    for title, image in strips:
        ink.text((6, top + 1), title, fill=(70, 70, 70))
        out.paste(image, (0, top + 14))
        top += image.height + 14
    return out


@dataclass(frozen=True)
class GaitSheetSettings:
    """What to draw."""

    out: Path = Path("gaits.png")
    plans: tuple[str, ...] = tuple(PLANS)
    motions: tuple[str, ...] = ()
    """Gaits and actions; all that the body can do when empty."""
    seed: int = 0
    count: int = 8
    """Instants per strip."""
    width: int = 1400
    """Pixels."""
    turn: float = 20.0
    """Camera angle from the right side towards the face [degrees]."""


def main(settings: GaitSheetSettings) -> None:
    """Draw and save."""
    strips = []
    for plan in settings.plans:
        rig = creature(plan, settings.seed)
        for name in settings.motions or (*gaits_for(rig), *actions_for(rig)):
            motion = gait_motion(rig, name, seed=None)
            strips.append((f"{plan}: {name}", strip(rig, motion, settings.count, settings.width, settings.turn)))
    page(strips).quantize(64).save(settings.out, optimize=True)


if __name__ == "__main__":
    main(tyro.cli(GaitSheetSettings))
