"""The pose space on meshes without rigs: artists' characters stripped of theirs and rigged by `akd rig`, beside the artist's rig.

    python -m experiments.pose_rerig                                  ten characters, some minutes on a free core

Skeletons of one character differ, so samples are compared where both have the same points: on the skin, with the skin in frames
of the artist's own clips. Scores are of poses that the artist's clips give when they are retargeted to the new skeleton.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from jaxtyping import Float
from torch import Tensor

from akd.assets import read_file, rig_from
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.posespace.denoiser import Poses
from akd.posespace.examples import chosen_examples
from akd.posespace.measures import coverage, pairwise_distance, precision_recall
from akd.posespace.network import SHIPPED
from akd.posespace.representation import pose_to_vectors, vectors_to_pose
from akd.posespace.space import PoseSpace
from akd.retarget.retarget import retarget
from akd.rig import Rig
from akd.rigging.rig_file import rig_either_way_up
from akd.skeleton import forward_kinematics
from akd.splats import skin_points
from experiments.posespace import Options as TableOptions
from experiments.posespace import clip_poses, noticing, solving, table
from experiments.rigged_walks import stripped

TEST = ("m2m_horse", "m2m_spider", "q_ual2_human", "q_char_witch", "q_donkey", "q_farm_horse", "q_monster_skeleton",
        "q_men_smooth_casual", "q_woman2017", "q_bird2016")  # fmt: skip
POINTS = 200
"""Vertices that are compared."""
CLIPS = 6
"""Clips that are retargeted, evenly chosen."""


@dataclass(frozen=True)
class Options:
    """What is measured."""

    test: tuple[str, ...] = TEST
    motions: Path = TableOptions.motions
    weights: Path = SHIPPED
    poses: int = 64
    rows: Path | None = None
    """Write the numbers as JSON, too."""


def skin(rig: Rig, vectors: Poses, vertices: np.ndarray) -> Float[Tensor, "pose vertex 3"]:
    """Some vertices of the skin in poses, seen from their centre; the body faces as at rest."""
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=vectors.dtype)
    posed = forward_kinematics(rig.skeleton, vectors_to_pose(vectors, root))
    weights, points = (torch.as_tensor(part[vertices], dtype=vectors.dtype) for part in (rig.weights, rig.mesh.vertices))
    shapes = skin_points(rig.skeleton, posed, weights, points)
    return shapes - shapes.mean(1, keepdim=True)


def alignment(here: Float[np.ndarray, "vertex 3"], there: Float[np.ndarray, "vertex 3"]) -> Float[np.ndarray, "3 3"]:
    """The rotation and scale that bring centred points to others (Umeyama): two rigs may face and measure differently."""
    a, b = here - here.mean(0), there - there.mean(0)
    u, size, v = np.linalg.svd(b.T @ a)
    sign = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    return float((size * sign).sum() / np.square(a).sum()) * (u * sign) @ v


def transferred(artist: Rig, auto: Rig) -> Poses | None:
    """Poses of the new skeleton in the artist's clips; none where limbs do not correspond."""
    names = [clip.name for clip in artist.origin.file.clips if "death" not in clip.name.lower()] if artist.origin else []
    found = []
    for number in sorted({int(k) for k in np.linspace(0, len(names) - 1, min(CLIPS, len(names)))}):
        try:
            motion = retarget(read_clip(artist, names[number], fps=15).motion, artist, auto, travel="keep").motion
        except AkdError:  # too short, or another body
            continue
        found.append(pose_to_vectors(motion.pose).float())
    return torch.cat(found) if found else None


def measure(file: Path, options: Options) -> list[dict[str, float | str]]:
    """One row for the artist's rig, one for the automatic one."""
    content = read_file(file)
    artist, auto = rig_from(content), rig_either_way_up(stripped(content))
    assert len(artist.mesh.vertices) == len(auto.mesh.vertices)
    vertices = np.random.default_rng(0).choice(len(artist.mesh.vertices), min(POINTS, len(artist.mesh.vertices)), replace=False)
    real = clip_poses(artist, options.poses)[0]
    assert real is not None
    shown = skin(artist, real, vertices)
    turn = torch.as_tensor(alignment(auto.mesh.vertices, artist.mesh.vertices), dtype=torch.float32)
    rows: list[dict[str, float | str]] = []
    for group, rig in (("artist's rig", artist), ("auto-rigged", auto)):
        space = PoseSpace.build(rig, weights=options.weights)
        made = skin(rig, space.sample(options.poses, seed=1), vertices)
        made = made if rig is artist else made @ turn.T
        row: dict[str, float | str] = {"group": group, "rig": f"{file.stem}, {group}", "joints": rig.skeleton.joint_count}
        row["precision"], row["recall"] = precision_recall(shown.flatten(1), made.flatten(1))
        row["coverage"] = coverage(shown.flatten(1), made.flatten(1))
        row["apd ratio"] = pairwise_distance(made) / pairwise_distance(shown)
        good = real if rig is artist else transferred(artist, auto)
        if good is not None:
            good = chosen_examples(good, options.poses)
            row |= solving(space, good, 6, slow=False) | noticing(space, good)
        rows.append(row)
    return rows


def main(options: Options) -> None:
    torch.set_num_threads(1)
    rows: list[dict[str, float | str]] = []
    for name in options.test:
        try:
            rows += measure(options.motions / "glb" / f"{name}.glb", options)
            print(f"{name} done", flush=True)
        except AkdError as error:
            print(f"{name}: {error}", flush=True)
        if options.rows:
            options.rows.write_text(json.dumps(rows, indent=1))
    print(table(rows, "group"), table(rows, "rig"), sep="\n\n")


if __name__ == "__main__":
    main(tyro.cli(Options))
