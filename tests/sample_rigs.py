"""Hand-made rigs of boxes with 0, 2, 4 … legs, and strides on them whose every number is known in advance."""

import numpy as np
import torch

from akd.mesh import Mesh
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb, Skeleton

HIP, KNEE, ANKLE = 1.0, 0.5, 0.1  # heights at rest: the legs are one leg length long
KNEE_AHEAD = 0.2  # bent at rest, so that feet can also reach forward
SPACING, HALF_WIDTH = 0.9, 0.2  # between pairs of legs, and from the middle to a foot
CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
QUADS = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])


def box_rig(pair_count: int = 2) -> Rig:
    """A box body on pairs of legs (hip, knee, foot), front to hind, left before right; every bone a rigid box."""
    names, parents, positions, limbs = ["body"], [-1], [(0.0, 1.2, 0.0)], [Limb("spine", "C", 0, (0,), 0)]
    boxes = [((0.0, 1.2, 0.0), (0.5 + SPACING * max(pair_count - 1, 0) / 2, 0.15, 0.15))]
    for order in range(pair_count):
        x = SPACING * ((pair_count - 1) / 2 - order)
        for side, z in (("L", -HALF_WIDTH), ("R", HALF_WIDTH)):
            first = len(names)
            names += [f"{part}_{side}{order}" for part in ("hip", "knee", "foot")]
            parents += [0, first, first + 1]
            positions += [(x, HIP, z), (x + KNEE_AHEAD, KNEE, z), (x, ANKLE, z)]
            boxes += [((x + KNEE_AHEAD / 2, 0.75, z), (0.05, 0.2, 0.05)), ((x + KNEE_AHEAD / 2, 0.3, z), (0.04, 0.15, 0.04))]
            boxes += [((x, ANKLE / 2, z), (0.08, ANKLE / 2, 0.05))]
            limbs.append(Limb("leg", side, order, (first, first + 1, first + 2), first + 2))  # type: ignore[arg-type]
    skeleton = Skeleton.from_joints(tuple(names), np.array(parents), np.array(positions))
    mirror = np.array([0] + [joint + 3 if (joint - 1) // 3 % 2 == 0 else joint - 3 for joint in range(1, len(names))])
    vertices = np.concatenate([np.array(center) + CORNERS * np.array(half) for center, half in boxes])
    feet = np.arange(3, len(names), 3)
    return Rig(
        mesh=_box_mesh(vertices), skeleton=skeleton.labelled(tuple(limbs), mirror),
        weights=np.repeat(np.eye(len(names)), 8, 0),
        soles=tuple(8 * foot + np.flatnonzero(CORNERS[:, 1] < 0) for foot in feet), name=f"box{2 * pair_count}",
    )  # fmt: skip


def stride(
    rig: Rig, phases: tuple[float, ...], *, duty: float = 0.6, period: float = 1.0, amplitude: float = 0.25, lift: float = 0.15,
    seconds: float = 2.0, fps: float = 30.0, in_place: bool = False, drop: float = 0.0,
) -> Motion:
    """Feet that stand still on the ground for ``duty`` of the time and swing in between, landing at ``phases``.

    Each foot goes ``amplitude`` before and behind its hip; the root travels just as fast as the stance demands, or
    stands (``in_place``). ``drop`` lowers all of it, to let feet sink in.
    """
    time = torch.arange(round(seconds * fps) + 1, dtype=torch.float64) / fps
    pose = rig.skeleton.rest_pose(len(time), dtype=torch.float64)
    pose.root_position[:, 1] -= drop
    if not in_place:
        pose.root_position[:, 0] += time * 2 * amplitude / (duty * period)
    for leg, phase in zip(rig.legs, phases, strict=True):
        u = (time / period - phase) % 1.0
        swing = ((u - duty) / (1 - duty)).clamp(0, 1)
        ahead = torch.where(u < duty, amplitude * (1 - 2 * u / duty), -amplitude * torch.cos(torch.pi * swing))
        hip, knee, foot = leg.joints
        pose.angles[:, [hip, knee, foot], 1] = _leg_angles(ahead, lift * torch.sin(torch.pi * swing) + ANKLE)
    return Motion(pose, fps)


def _leg_angles(ahead: torch.Tensor, height: torch.Tensor) -> torch.Tensor:
    """Turns of hip, knee and foot about the lateral axis that put the ankle there and keep the foot level."""
    thigh, shin = np.hypot(KNEE_AHEAD, HIP - KNEE), np.hypot(KNEE_AHEAD, KNEE - ANKLE)
    down = HIP - height
    reach = torch.hypot(ahead, down)
    # Angles from straight down, positive forward: those of the straight line, plus or minus the triangle's.
    line = torch.atan2(ahead, down)
    upper = line + torch.acos((thigh**2 + reach**2 - shin**2) / (2 * thigh * reach))
    lower = line - torch.acos((shin**2 + reach**2 - thigh**2) / (2 * shin * reach))
    hip = upper - np.arctan2(KNEE_AHEAD, HIP - KNEE)
    knee = lower + np.arctan2(KNEE_AHEAD, KNEE - ANKLE) - hip
    return torch.stack((hip, knee, -hip - knee), -1)


def _box_mesh(vertices: np.ndarray) -> Mesh:
    quads = (np.arange(len(vertices) // 8)[:, None, None] * 8 + QUADS).reshape(-1, 4)
    faces = np.concatenate((quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]))
    return Mesh(vertices, faces, np.full_like(vertices, 0.6))
