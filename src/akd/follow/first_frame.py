"""The frame to give to an image-to-video model, and the camera and pose it shows, so that the clip can be followed from there."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.creatures.neutral import neutral_pose
from akd.errors import AkdError
from akd.files.writing import write_file
from akd.render.camera import Camera, View, bounding_sphere, fitting_distance, following_camera
from akd.render.ground import Ground
from akd.render.looks import Color
from akd.render.preview import still
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics
from akd.splats import skin_points

VIEWS = {"three-quarter": (40.0, 10.0), "side": (90.0, 5.0), "front": (0.0, 8.0), "behind": (180.0, 12.0), "top": (0.0, 89.0)}
"""Azimuth (0 = from the front, 90 = from its right) and elevation of each named view [degrees]."""
FOV = 30.0
"""Full vertical field of view [degrees]: that of a portrait lens, as most pictures of single characters have."""
ROOM = 1.3
"""Distance of the camera, 1 = the character just fits: room to jump and stretch without leaving the picture."""
BACKGROUND: Color = (0.94, 0.94, 0.94)
"""Plain and bright but not white, so that white fur still has an edge."""
GROUND = Ground(((0.76, 0.76, 0.77), (0.82, 0.82, 0.83)), tile=1.0, fade=2.5)
SIDES = (64, 8192)
"""Least and most pixels of a picture's side."""
FORMAT = "akd first frame 1"


@dataclass(frozen=True, eq=False)
class FirstFrame:
    """What a picture of a character shows."""

    camera: Camera
    """One camera: that of the first frame."""
    pose: Pose
    """Of the first frame, without batch axes."""
    joints: tuple[str, ...]
    """Names of the joints the pose is of."""

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        value = {
            "format": FORMAT,
            "camera": {
                "width": self.camera.width, "height": self.camera.height,
                "world_to_camera": self.camera.world_to_camera[0].tolist(), "intrinsics": self.camera.intrinsics[0].tolist(),
            },
            "pose": {
                "root_position": self.pose.root_position.tolist(), "root_rotation": self.pose.root_rotation.tolist(),
                "angles": dict(zip(self.joints, self.pose.angles.tolist(), strict=True)),
            },
        }  # fmt: skip
        write_file(path, json.dumps(value, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path | str, rig: Rig) -> "FirstFrame":
        """Read what ``save`` wrote for this character."""
        path = Path(path)
        if not path.is_file():
            raise AkdError(f"There is no file {path}: make it with `akd picture`, or leave --first out.")
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            if value["format"] != FORMAT:
                raise ValueError(f"its format is {str(value['format'])[:40]!r}")
            angles = value["pose"]["angles"]
            camera = _camera(value["camera"])
            root = [_numbers(value["pose"][name], (size,)) for name, size in (("root_position", 3), ("root_rotation", 4))]
            if set(angles) == set(rig.skeleton.names):
                turned = torch.stack([_numbers(angles[name], (3,)) for name in rig.skeleton.names])
        except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
            reason = str(error).split("\n")[0][:120] or type(error).__name__
            raise AkdError(f"{path} is not what `akd picture` writes ({reason}): make it anew.") from error
        if set(angles) != set(rig.skeleton.names):
            raise AkdError(f"{path} is of another character: its {len(angles)} joints are not those of {rig.name!r}.")
        if not float(root[1].norm()) > 1e-6:
            raise AkdError(f"{path} has a root rotation of length zero: make it anew with `akd picture`.")
        return cls(camera, Pose(root[0], root[1], turned), rig.skeleton.names)


def _camera(value: dict[str, Any]) -> Camera:
    width, height = value["width"], value["height"]
    if not all(type(side) is int and 1 <= side <= 65536 for side in (width, height)):
        raise ValueError(f"its picture is {width} × {height}")
    intrinsics = _numbers(value["intrinsics"], (3, 3))
    if not (intrinsics[0, 0] > 0 and intrinsics[1, 1] > 0):
        raise ValueError("its focal length is not positive")
    return Camera(_numbers(value["world_to_camera"], (4, 4))[None], intrinsics[None], width, height)


def _numbers(value: Any, shape: tuple[int, ...]) -> Float[Tensor, "..."]:
    array = np.asarray(value, np.float32)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{str(value)[:40]} is not {shape} finite numbers")
    return torch.from_numpy(array)


def pose_at_ease(rig: Rig) -> Pose:
    """The character standing, its arms hanging where they hang by nature, on the ground."""
    rest = rig.skeleton.rest_pose()
    pose = Pose(rest.root_position, rest.root_rotation, neutral_pose(rig))
    lowest = float(posed_vertices(rig, pose)[:, 1].min())
    at_rest = float(rig.mesh.vertices[:, 1].min())
    raised = torch.tensor((0.0, max(at_rest, 0.0) - lowest if rig.legs else at_rest - lowest, 0.0))
    return Pose(pose.root_position + raised, pose.root_rotation, pose.angles)


def posed_vertices(rig: Rig, pose: Pose) -> Float[Tensor, "vertex 3"]:
    """The skin of one pose [ℓ]."""
    weights, points = (torch.from_numpy(np.asarray(values, np.float32)) for values in (rig.weights, rig.mesh.vertices))
    return skin_points(rig.skeleton, forward_kinematics(rig.skeleton, pose), weights, points)


def parse_view(text: str) -> View:
    """A view by name, or as AZIMUTH,ELEVATION in degrees."""
    if text in VIEWS:
        return View(*VIEWS[text], ROOM)
    try:
        azimuth, elevation = (float(part) for part in text.split(","))
    except ValueError:
        azimuth = elevation = math.nan
    if not (abs(azimuth) <= 360 and abs(elevation) <= 90):
        raise AkdError(f"A view is {', '.join(VIEWS)} or AZIMUTH,ELEVATION in degrees such as 30,10, not {text!r}.")
    return View(azimuth, elevation, ROOM)


def parse_size(text: str) -> tuple[int, int]:
    """WIDTHxHEIGHT in pixels."""
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdigit() and height.isdigit() and all(SIDES[0] <= int(n) <= SIDES[1] for n in (width, height))):
        raise AkdError(f"A size is WIDTHxHEIGHT in pixels from {SIDES[0]} to {SIDES[1]}, such as 1280x720, not {text!r}.")
    return int(width), int(height)


def frame_camera(rig: Rig, pose: Pose, view: View, width: int, height: int, *, fov: float = FOV) -> Camera:
    """A camera that sees a pose as a whole from one side, with room around it."""
    middle, radius = bounding_sphere(posed_vertices(rig, pose))
    distance = view.distance * fitting_distance(radius, fov, width, height)
    return following_camera(middle[None], view, distance=distance, width=width, height=height, fov=fov)


def make_first_frame(
    rig: Rig, *, view: View | None = None, width: int = 1280, height: int = 720, pose: Pose | None = None
) -> FirstFrame:
    """Camera and pose of a picture of the character, at ease unless another pose is given."""
    if not len(rig.mesh.faces):
        raise AkdError(f"{rig.name} has no surface, so there is nothing to see: give a character with a mesh.")
    pose = pose_at_ease(rig) if pose is None else pose
    return FirstFrame(frame_camera(rig, pose, view or parse_view("three-quarter"), width, height), pose, rig.skeleton.names)


def draw_first_frame(rig: Rig, first: FirstFrame, *, ground: bool = False) -> Float[Tensor, "height width 3"]:
    """The picture itself, over a plain background or on the ground."""
    return still(rig, first.pose, first.camera, background=BACKGROUND, ground=GROUND if ground else None)[0]
