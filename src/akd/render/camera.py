"""Pinhole cameras, one per frame, and cameras that follow a character: fitted to its size, on a smoothed path.

OpenCV axes (x right, y down, z forward), pixel centres at half integers.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError

MIN_SIN2_TO_UP = 1e-4
"""Squared sine of the angle between view and up below which "right" is undefined: looking straight up or down."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Where each frame is seen from. All frames share one picture size."""

    world_to_camera: Float[Tensor, "frame 4 4"]
    """Rigid map from the stage to camera axes."""
    intrinsics: Float[Tensor, "frame 3 3"]
    """Focal lengths and principal point [px]; no skew."""
    width: int
    """Picture width [px]."""
    height: int
    """Picture height [px]."""

    def __getitem__(self, frames: slice | Tensor) -> "Camera":
        """The cameras of some frames."""
        return Camera(self.world_to_camera[frames], self.intrinsics[frames], self.width, self.height)

    @property
    def frame_count(self) -> int:
        return self.world_to_camera.shape[0]

    @property
    def centers(self) -> Float[Tensor, "frame 3"]:
        """Where the cameras stand: −Rᵀ t."""
        rotation, shift = self.world_to_camera[:, :3, :3], self.world_to_camera[:, :3, 3]
        return -(rotation.transpose(-1, -2) @ shift[:, :, None]).squeeze(-1)


def look_at(
    eye: Float[Tensor, "frame 3"], target: Float[Tensor, "frame 3"], *, width: int, height: int, fov_y: float
) -> Camera:
    """Cameras at ``eye`` that see ``target`` in the picture's middle, +Y up; ``fov_y`` is the full vertical angle [rad]."""
    if not 0 < fov_y < math.pi:
        raise AkdError(f"the vertical field of view is {fov_y:g} rad; give an angle between 0 and π")
    forward = torch.nn.functional.normalize(target - eye, dim=-1)
    if not bool((forward.norm(dim=-1) > 0.5).all()):
        raise AkdError("a camera stands exactly on the point it looks at; move its eye or its target")
    right = torch.linalg.cross(forward, forward.new_tensor((0.0, 1.0, 0.0)).expand_as(forward))
    # Straight up or down every heading is as good as another: take the one in which +X points up in the picture.
    right = torch.where(right.square().sum(-1, keepdim=True) > MIN_SIN2_TO_UP, right, right.new_tensor((0.0, 0.0, 1.0)))
    right = torch.nn.functional.normalize(right, dim=-1)
    down = torch.linalg.cross(forward, right)
    rotation = torch.stack((right, down, forward), -2)
    pose = torch.cat((rotation, -(rotation @ eye[:, :, None])), -1)
    bottom = pose.new_tensor((0.0, 0.0, 0.0, 1.0)).expand(len(eye), 1, 4)
    return Camera(torch.cat((pose, bottom), 1), _intrinsics(fov_y, width, height, eye), width, height)


def rays(camera: Camera) -> tuple[Float[Tensor, "frame 3"], Float[Tensor, "frame height width 3"]]:
    """Each camera's centre, and unit directions through all its pixel centres, on the stage."""
    pose, k = camera.world_to_camera, camera.intrinsics
    y, x = torch.meshgrid(_centres(camera.height, pose), _centres(camera.width, pose), indexing="ij")
    fx, fy, cx, cy = (k[:, i, j, None, None] for i, j in ((0, 0), (1, 1), (0, 2), (1, 2)))
    in_camera = torch.stack(torch.broadcast_tensors((x - cx) / fx, (y - cy) / fy, torch.ones_like(x)), -1)
    # A row vector times R is Rᵀ times the vector: camera axes back to the stage.
    directions = torch.einsum("fhwi,fij->fhwj", in_camera, pose[:, :3, :3])
    return camera.centers, torch.nn.functional.normalize(directions, dim=-1)


def _centres(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, dtype=like.dtype, device=like.device) + 0.5


def _intrinsics(fov_y: float, width: int, height: int, like: Tensor) -> Tensor:
    focal = 0.5 * height / math.tan(0.5 * fov_y)
    rows = ((focal, 0.0, width / 2), (0.0, focal, height / 2), (0.0, 0.0, 1.0))
    return torch.tensor(rows, dtype=like.dtype, device=like.device).expand(len(like), 3, 3)


class View(NamedTuple):
    """From where a character is filmed, relative to itself."""

    azimuth: float
    """0 = from the front, 90 = from its right, 180 = from behind [degrees]."""
    elevation: float
    """Above the horizon [degrees]."""
    distance: float
    """1 = the sphere around the character at rest just fits the picture."""


def bounding_sphere(points: Float[Tensor, "point 3"]) -> tuple[Float[Tensor, "3"], float]:
    """Middle of the bounding box, and how far the farthest point is from there."""
    middle = (points.amin(0) + points.amax(0)) / 2
    return middle, float((points - middle).norm(dim=-1).max())


def fitting_distance(radius: float, fov: float, width: int, height: int) -> float:
    """How far away a sphere just touches the nearer pair of the picture's edges; ``fov`` is the full vertical angle [degrees]."""
    half = math.radians(fov) / 2
    half = min(half, math.atan(math.tan(half) * width / height))
    return radius / math.sin(half)


def smooth_path(points: Float[Tensor, "frame 3"], fps: float, seconds: float) -> Float[Tensor, "frame 3"]:
    """A path without its wobble: a Gaussian mean over time, ``seconds`` its standard deviation.

    Only what differs from the best constant speed is averaged, mirrored at both ends, so that constant speed stays
    constant speed and the ends are as smooth as the middle.
    """
    sigma = seconds * fps
    reach = min(math.ceil(3 * sigma), len(points) - 1)
    if reach < 1:
        return points.detach()
    time = torch.linspace(-1, 1, len(points), dtype=points.dtype, device=points.device)[:, None]
    steady = points.mean(0) + time * (time * points).sum(0) / time.square().sum()
    rest = points - steady
    steps = torch.arange(-reach, reach + 1, dtype=points.dtype, device=points.device)
    kernel = torch.exp(-0.5 * (steps / sigma) ** 2)
    windows = torch.cat((rest[1 : reach + 1].flip(0), rest, rest[-reach - 1 : -1].flip(0))).unfold(0, 2 * reach + 1, 1)
    return steady + windows @ (kernel / kernel.sum())


@torch.no_grad()
def following_camera(
    path: Float[Tensor, "frame 3"], view: View, *, distance: float, width: int, height: int, fov: float
) -> Camera:
    """A camera per frame that looks at the path from one side, ``distance`` away [ℓ]."""
    azimuth, elevation = math.radians(view.azimuth), math.radians(view.elevation)
    towards = path.new_tensor(
        (math.cos(elevation) * math.cos(azimuth), math.sin(elevation), math.cos(elevation) * math.sin(azimuth))
    )
    return look_at(path + distance * towards, path, width=width, height=height, fov_y=math.radians(fov))
