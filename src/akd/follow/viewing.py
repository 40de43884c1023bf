"""Skin points in pictures: where they are, how they move with the skin, and which of them can be seen."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from akd.follow.body import Body, PosedBody
from akd.render.camera import Camera
from akd.render.depth_picture import depth_picture

NEAR = 0.05
"""Points nearer to the camera than this are not projected [ℓ]."""
DEPTH_TOLERANCE = 0.04
"""How far behind the nearest skin a point may lie and still count as that skin [sizes]: a slanted surface within a pixel."""


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """A camera per frame, in numpy, for pictures of the size that is worked at."""

    rotation: Float[np.ndarray, "frame 3 3"]
    shift: Float[np.ndarray, "frame 3"]
    focal: Float[np.ndarray, "frame 2"]
    """[px]"""
    middle: Float[np.ndarray, "frame 2"]
    """Principal point [px]."""
    width: int
    height: int

    @classmethod
    def of(cls, camera: Camera, width: int, height: int, frame_count: int) -> "Viewpoint":
        """A camera seen at another size of picture; a single one holds for all frames."""
        scale = np.array((width / camera.width, height / camera.height))
        pose, k = camera.world_to_camera.double().numpy(), camera.intrinsics.double().numpy()
        if len(pose) == 1:
            pose, k = np.repeat(pose, frame_count, 0), np.repeat(k, frame_count, 0)
        focal, middle = k[:, [0, 1], [0, 1]] * scale, k[:, :2, 2] * scale
        return cls(pose[:, :3, :3], pose[:, :3, 3], focal, middle, width, height)

    def moved(self, by: Float[np.ndarray, "frame 3"]) -> "Viewpoint":
        """Every frame's camera moved on the stage [ℓ]."""
        return replace(self, shift=self.shift - (self.rotation @ by[:, :, None])[..., 0])

    def __getitem__(self, frames: slice) -> "Viewpoint":
        parts = (self.rotation[frames], self.shift[frames], self.focal[frames], self.middle[frames])
        return Viewpoint(*parts, self.width, self.height)


@dataclass(frozen=True, eq=False)
class Seen:
    """Skin points in the picture of one frame."""

    places: Float[np.ndarray, "point 2"]
    slopes: Float[np.ndarray, "point 2 3"]
    """How a place changes with the point's position on the stage [px/ℓ]."""
    shown: Bool[np.ndarray, " point"]
    """Nothing of the body hides them."""
    depth: Float[np.ndarray, "height width"]
    """Of the nearest skin at each pixel [ℓ]; infinite beside the body."""

    @property
    def mask(self) -> Bool[np.ndarray, "height width"]:
        """Where the body is."""
        return np.isfinite(self.depth)


def look(body: Body, view: Viewpoint, now: PosedBody) -> list[Seen]:
    """What the pictures of all frames show."""
    return [_look(body, view, now, frame) for frame in range(len(now.points))]


def _look(body: Body, view: Viewpoint, now: PosedBody, frame: int) -> Seen:
    places, depth, slopes = project(view, now.points[frame], frame)
    shell, shell_depth, _ = project(view, now.shell[frame], frame)
    picture = depth_picture(shell, shell_depth, body.faces, view.width, view.height)
    column, row = (np.clip(places[:, k].astype(int), 0, side - 1) for k, side in ((0, view.width), (1, view.height)))
    inside = ((places > 0) & (places < (view.width, view.height))).all(1)
    return Seen(places, slopes, inside & (depth < picture[row, column] + DEPTH_TOLERANCE * body.size), picture)


def project(
    view: Viewpoint, points: Float[np.ndarray, "point 3"], frame: int
) -> tuple[Float[np.ndarray, "point 2"], Float[np.ndarray, " point"], Float[np.ndarray, "point 2 3"]]:
    """Places [px], depths [ℓ], and how places change with positions."""
    rotation = view.rotation[frame]
    local = points @ rotation.T + view.shift[frame]
    depth = np.maximum(local[:, 2], NEAR)
    flat = local[:, :2] / depth[:, None]
    # u = f x / z, so du = f (dx − (x/z) dz) / z
    slopes = (rotation[:2] - flat[:, :, None] * rotation[2]) * (view.focal[frame] / depth[:, None])[:, :, None]
    return flat * view.focal[frame] + view.middle[frame], depth, slopes
