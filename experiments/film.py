"""Cost of one film in distillation (kinematics, skinning, ground, shadow, rasterising, and back): the table of docs/film.md.

    python -m experiments.film [creature]

Prints core milliseconds (the best of several repetitions), part by part.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import torch

from akd.creatures.build import creature
from akd.motion import Motion
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import DEFAULT, backdrop, camera_for, colors_for, film, move_splats, render_splats, shadow_light
from akd.skeleton import Pose

REPETITIONS = 15


def core_milliseconds(work: Callable[[], object]) -> float:
    """Best of several: other programs only ever make it slower."""
    best = float("inf")
    for _ in range(REPETITIONS):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return 1000 * best


def main(name: str) -> None:
    torch.set_num_threads(1)
    rig = creature(name, 0)
    skinned = skinned_splats(rig, resolution=DEFAULT.height)
    angles = (0.1 * torch.randn(DEFAULT.frames, rig.skeleton.joint_count, 3)).requires_grad_()
    rest = rig.skeleton.rest_pose(DEFAULT.frames)
    motion = Motion(Pose(rest.root_position, rest.root_rotation, angles), DEFAULT.fps)

    def step(**changes) -> None:
        angles.grad = None
        film(rig.skeleton, motion, skinned, replace(DEFAULT, **changes)).square().mean().backward()

    step()
    moving = move_splats(rig.skeleton, motion, skinned)
    light = shadow_light(moving, DEFAULT)
    camera = camera_for(moving, skinned, DEFAULT.fps, DEFAULT, DEFAULT.view)
    colors = colors_for(rig.skeleton, skinned, moving, DEFAULT, camera)
    behind = backdrop(moving, camera, DEFAULT, light)
    parts = {
        "whole step, forward and backward": step,
        "whole step without shadow": lambda: step(shadow=None),
        "forward: kinematics and skinning": lambda: move_splats(rig.skeleton, motion, skinned),
        "forward: shadow": lambda: shadow_light(moving, DEFAULT),
        "forward: ground": lambda: backdrop(moving, camera, DEFAULT, light),
        "forward: rasterising": lambda: render_splats(moving, colors, camera, behind),
    }
    print(f"{name}: {DEFAULT.frames} frames of {DEFAULT.width} × {DEFAULT.height}, {skinned.splats.splat_count} splats")
    for part, work in parts.items():
        print(f"{part:36s}{core_milliseconds(work):8.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "dog")
