"""Samples of artists' rigs and creatures, a drag by inverse kinematics, a walk: the pictures of docs/posespace.md.

    python -m experiments.pose_pictures --out docs/posespace
    python -m experiments.pose_pictures --out docs/posespace --distilled runs/posespace/poses/distilled
    python -m experiments.pose_pictures --out docs/posespace --size 90 --test ../shared/motions/glb/m2m_horse.glb …
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import tyro

from akd.assets import load_rig
from akd.creatures.build import creature
from akd.files.video import contact_sheet, to_bytes
from akd.motion import Motion
from akd.posespace.network import SHIPPED
from akd.posespace.representation import vectors_to_pose
from akd.posespace.solving import Handle
from akd.posespace.space import PoseSpace
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics
from akd.training.data_card import FIRST_HELD_OUT_SEED
from akd.training.posespace.dataset import read_pose_shards

FOX = "fox_khronos/Fox.glb"
MAN = "cesium_man/CesiumMan.glb"
ARTISTS = (FOX, "q_wolf/Wolf.glb", "q_spider/Spider.glb", "q_trex/Trex.glb", MAN, "q_knight/KnightCharacter.glb")
CREATURES = ("bear", "ostrich", "horse")
"""Two plans that training never saw, and a new individual of a known one."""
DISTILLED = ("dog", "horse", "elephant", "tyrannosaur")
"""Plans whose distilled poses are shown."""
COLORS = 200
"""Of the palette that pictures are saved with."""
POSES, COLUMNS = 16, 8


@dataclass(frozen=True)
class Options:
    """What is drawn."""

    out: Path
    """Folder of the pictures."""
    assets: Path = Path(__file__).resolve().parents[2] / "shared" / "assets"
    weights: Path = SHIPPED
    size: int = 110
    """Of a single pose [px]."""
    seed: int = 1
    distilled: Path | None = None
    """Folder of poses that the video prior made: they are drawn instead."""
    test: tuple[Path, ...] = ()
    """Characters nobody trained on: samples of these are drawn instead."""


def samples(rigs: list[Rig], options: Options) -> list[torch.Tensor]:
    """Sixteen poses of each rig, as they come."""
    found = []
    for rig in rigs:
        space = PoseSpace.build(rig, weights=options.weights)
        found += pictures(rig, space.pose(space.sample(POSES, seed=options.seed)), options)
    return found


def drag(rig: Rig, options: Options, limb: str, way: tuple[float, float, float]) -> list[torch.Tensor]:
    """The end of a limb pulled along a line, the feet held, each pose solved from the one before."""
    space, skeleton = PoseSpace.build(rig, weights=options.weights), rig.skeleton
    pulled = skeleton.limbs_of(limb)[0].tip  # type: ignore[arg-type]
    held = [leg.tip for leg in skeleton.limbs_of("leg") if leg.tip != pulled][:3]
    pose = skeleton.rest_pose(1)
    rest = forward_kinematics(skeleton, pose).position[0]
    poses = []
    for share in torch.linspace(0, 1, COLUMNS):
        target = rest[pulled] + share * torch.tensor(way)
        handles = [Handle(skeleton.names[joint], position=tuple(rest[joint].tolist())) for joint in held]
        found = space.solve((*handles, Handle(skeleton.names[pulled], position=tuple(target.tolist()))), pose)
        pose = vectors_to_pose(found.vectors, found.root)
        poses.append(pose)
    return pictures(rig, _batch(poses), options)


def walk(rig: Rig, options: Options) -> list[torch.Tensor]:
    """From one sample to another: along the plausible set, and straight."""
    space = PoseSpace.build(rig, weights=options.weights)
    keys = space.sample(2, seed=4)
    found = []
    for way in ("string", "straight"):
        motion = space.walk(keys, seconds=(COLUMNS - 1) / 10, fps=10, method=way)  # type: ignore[arg-type]
        found += pictures(rig, motion.pose, options)
    return found


def second_source(folder: Path, options: Options) -> list[torch.Tensor]:
    """What some of the distilled creatures do, sixteen moments of each."""
    found = []
    for individual in read_pose_shards(folder):
        if individual.plan in DISTILLED:
            rig = creature(individual.plan, individual.seed)
            chosen = torch.as_tensor(individual.vectors[:: len(individual.vectors) // POSES][:POSES])
            root = torch.as_tensor(rig.skeleton.positions[0], dtype=chosen.dtype)
            found += pictures(rig, vectors_to_pose(chosen, root), options)
    return found


def pictures(rig: Rig, pose: Pose, options: Options) -> list[torch.Tensor]:
    """One picture of every pose, the camera on each of them."""
    settings = PreviewSettings(width=options.size, height=options.size, follow=0.0)
    settings = replace(settings, view=settings.view._replace(distance=1.05))
    return list(preview_frames(rig, Motion(pose.detach().to(torch.float32), 1.0), settings))


def save(path: Path, frames: list[torch.Tensor]) -> None:
    """With a palette: a quarter of the bytes, and nobody sees it."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(to_bytes(contact_sheet(torch.stack(frames), columns=COLUMNS))).quantize(COLORS).save(path, optimize=True)


def _batch(poses: list[Pose]) -> Pose:
    return Pose(*(torch.cat([getattr(pose, name) for pose in poses]) for name in ("root_position", "root_rotation", "angles")))


def main(options: Options) -> None:
    if options.distilled is not None:
        save(options.out / "distilled.png", second_source(options.distilled, options))
        return
    if options.test:
        save(options.out / "samples-test.png", samples([load_rig(path) for path in options.test], options))
        return
    rigs = {name: load_rig(options.assets / name) for name in ARTISTS}
    reach, step = drag(rigs[MAN], options, "arm", (0.5, 0.9, 0.2)), drag(rigs[FOX], options, "leg", (0.6, 0.45, 0.0))
    save(options.out / "drag.png", reach + step)
    save(options.out / "walk.png", walk(rigs[FOX], options))
    save(options.out / "samples-artists.png", samples(list(rigs.values()), options))
    save(options.out / "samples-creatures.png", samples([creature(name, FIRST_HELD_OUT_SEED + 1) for name in CREATURES], options))


if __name__ == "__main__":
    main(tyro.cli(Options))
