"""Film: from a motion to a video, differentiable in the motion; and the settings of a film with their file format.

Kinematics, skinning and rasterising carry the gradient. The camera, the ground, the shadow and the switch that hides
splats below the ground do not: a motion should not look better by moving the camera.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.files.writing import write_file
from akd.gait.table import MIN_LEG_METRES
from akd.motion import Motion
from akd.render.camera import Camera, View, bounding_sphere, fitting_distance, following_camera, smooth_path
from akd.render.ground import Ground, Light, Shadow, cast_shadow, ground_layer
from akd.render.looks import Color, Look, look_colors
from akd.render.rasterize import Backend, rasterize
from akd.skeleton import Skeleton, forward_kinematics
from akd.splats import SkinnedSplats, blended_transforms, color_from_direction

CameraPath = Literal["box", "body"]


@dataclass(frozen=True)
class FilmSettings:
    """How a clip is filmed. A video prior's folder keeps the settings it was trained with as ``film.json``."""

    width: int = 64
    """Picture width [px]."""
    height: int = 64
    """Picture height [px]."""
    frames: int = 17
    """How many frames the prior looks at together."""
    fps: float = 12.0
    """Frames per second of what the prior has seen; the motion itself is filmed frame by frame as it is."""
    reference_leg: float | None = None
    """Leg length at which ``fps`` is real time [m]; with other legs time scales with √length, so that bodies of all sizes step in
    about as many frames (see ``rate``). ``None``: real time for every body."""
    azimuth: tuple[float, float] = (50.0, 70.0)
    """Range the camera stands in: 0 = in front, 90 = on the character's right [degrees]."""
    elevation: tuple[float, float] = (16.0, 26.0)
    """Range above the horizon [degrees]."""
    distance: tuple[float, float] = (1.0, 1.15)
    """Range of distances; at 1 the sphere around the character at rest just fits the picture, whatever its size."""
    fov: float = 30.0
    """Full vertical field of view [degrees]."""
    panels: tuple[float, ...] = (0.0,)
    """The picture is made of so many views side by side, each turned by this much from the film's view [degrees]. A second view
    shows what one hides: depth, and limbs behind the body."""
    camera: CameraPath = "box"
    """What the camera follows: "box", the middle of the bounding box, or "body", the mean of the character over the ground, at
    the height that it has in the first frame, so that a jump rises in the picture and a fall sinks."""
    follow: float = 0.5
    """How slowly the camera follows: time of its Gaussian mean [s]."""
    look: Look = "marker"
    background: Color = (0.80, 0.86, 0.92)
    ground: Ground | None = field(default_factory=Ground)
    """``None`` leaves the plain background."""
    shadow: Shadow | None = field(default_factory=Shadow)
    """``None`` for none; there is none without ground, either."""

    def __post_init__(self) -> None:
        for name in ("width", "height", "frames", "fps"):
            if not getattr(self, name) > 0:
                raise AkdError(f"Film setting {name!r} must be positive, not {getattr(self, name)}.")
        for name in ("azimuth", "elevation", "distance"):
            low, high = getattr(self, name)
            if low > high:
                raise AkdError(f"Film setting {name!r} is a range from low to high, not ({low}, {high}).")
        if not self.panels or self.width % len(self.panels):
            raise AkdError(f"A film of {len(self.panels)} panels cannot be {self.width} pixels wide: each has the same width.")
        if self.reference_leg is not None and not self.reference_leg > 0:
            raise AkdError(f"Film setting 'reference_leg' is a length in metres or null, not {self.reference_leg}.")
        if not 0 < self.fov < 180 or not self.distance[0] > 0:
            raise AkdError(f"Field of view [degrees] and distances must be positive, not {self.fov} and {self.distance[0]}.")

    def rate(self, leg_metres: float) -> float:
        """Frames per second of real time at which a body with legs of this length [m] is filmed."""
        if self.reference_leg is None:
            return self.fps
        return self.fps * (self.reference_leg / max(leg_metres, MIN_LEG_METRES)) ** 0.5

    @property
    def panel(self) -> "FilmSettings":
        """The settings of one panel."""
        return replace(self, width=self.width // len(self.panels), panels=(0.0,))

    def panel_views(self, view: View) -> list[View]:
        """The view of every panel, from left to right."""
        return [view._replace(azimuth=view.azimuth + turn) for turn in self.panels]

    @property
    def view(self) -> View:
        """The middle of the camera's range."""
        return View(*(sum(ends) / 2 for ends in (self.azimuth, self.elevation, self.distance)))

    def sample_views(self, count: int, generator: torch.Generator | None = None) -> list[View]:
        """Random views from the camera's range."""
        low, high = torch.tensor((self.azimuth, self.elevation, self.distance)).T
        return [View(*row.tolist()) for row in low + (high - low) * torch.rand(count, 3, generator=generator)]

    def save(self, path: Path | str) -> None:
        """Write as JSON."""
        write_file(path, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> "FilmSettings":
        """Read JSON written by ``save`` or by hand; what is left out keeps its default."""
        path = Path(path)
        if not path.is_file():
            raise AkdError(f"There are no film settings at {path}.")
        try:
            return cls._from_json(json.loads(path.read_text()))
        except (json.JSONDecodeError, TypeError, ValueError) as error:
            raise AkdError(f"{path.name!r} does not hold film settings: {error}.") from error

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> "FilmSettings":
        for name, part in (("ground", Ground), ("shadow", Shadow)):
            if values.get(name) is not None:
                values[name] = part(**_tuples(values[name]))
        return cls(**_tuples(values))


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where we have tuples."""

    def fixed(value: Any) -> Any:
        return tuple(map(fixed, value)) if isinstance(value, list) else value

    return {name: fixed(value) for name, value in values.items()}


DEFAULT = FilmSettings()


class MovingSplats(NamedTuple):
    """A character's splats in every frame of a motion."""

    means: Float[Tensor, "frame splat 3"]
    covariances: Float[Tensor, "frame splat 3 3"]
    opacities: Float[Tensor, "frame splat"]
    """0 below the ground."""
    deformations: Float[Tensor, "frame splat 3 3"]
    """∇φ, the deformation gradient of each splat relative to rest."""
    unit: float = 1.0
    """Length in which the ground's tiles are measured [ℓ]: one, or a figure's size."""


def film(
    skeleton: Skeleton, motion: Motion, skinned: SkinnedSplats, settings: FilmSettings = DEFAULT, view: View | None = None,
    *, backend: Backend = "auto",
) -> Float[Tensor, "frame height width 3"]:
    """Film a motion from one side, from the middle of the camera's range if none is given."""
    return film_views(skeleton, motion, skinned, settings, [view or settings.view], backend=backend)[0]


def film_views(
    skeleton: Skeleton, motion: Motion, skinned: SkinnedSplats, settings: FilmSettings, views: Sequence[View],
    *, backend: Backend = "auto",
) -> Float[Tensor, "view frame height width 3"]:
    """Film a motion from several sides at once; the character is moved and its shadow cast only once."""
    if not views:
        raise AkdError("Filming needs at least one view, and there is none.")
    moving = move_splats(skeleton, motion, skinned)
    light, panel = shadow_light(moving, settings), settings.panel

    def shoot(view: View) -> Float[Tensor, "frame height width 3"]:
        camera = camera_for(moving, skinned, motion.fps, panel, view)
        colors = colors_for(skeleton, skinned, moving, panel, camera)
        return render_splats(moving, colors, camera, backdrop(moving, camera, panel, light), backend=backend)

    return torch.stack([side_by_side([shoot(each) for each in settings.panel_views(view)]) for view in views])


def side_by_side(panels: Sequence[Float[Tensor, "frame height _panel 3"]]) -> Float[Tensor, "frame height width 3"]:
    """One picture of several panels."""
    return torch.cat(list(panels), 2)


def move_splats(skeleton: Skeleton, motion: Motion, skinned: SkinnedSplats) -> MovingSplats:
    """Kinematics and skinning of every frame."""
    splats = skinned.splats
    deformations, shift = blended_transforms(skeleton, forward_kinematics(skeleton, motion.pose), skinned.weights)
    means = (deformations @ splats.means[:, :, None]).squeeze(-1) + shift
    above = means[..., 1].detach() >= 0
    return MovingSplats(
        means, deformations @ splats.covariances @ deformations.transpose(-1, -2), splats.opacities * above, deformations,
        skinned.size or 1.0,
    )  # fmt: skip


@torch.no_grad()
def camera_for(moving: MovingSplats, skinned: SkinnedSplats, fps: float, settings: FilmSettings, view: View) -> Camera:
    """A camera that follows the character, at a distance that fits its size at rest."""
    radius = skinned.size or bounding_sphere(skinned.splats.means)[1]
    distance = view.distance * fitting_distance(radius, settings.fov, settings.width, settings.height)
    path = followed_path(moving, settings, fps)
    return following_camera(path, view, distance=distance, width=settings.width, height=settings.height, fov=settings.fov)


def followed_path(moving: MovingSplats, settings: FilmSettings, fps: float) -> Float[Tensor, "frame 3"]:
    """Where the camera looks, with its gradient."""
    middle = (moving.means.amin(1) + moving.means.amax(1)) / 2
    if settings.camera == "box":
        return smooth_path(middle, fps, settings.follow)
    over_ground = smooth_path(moving.means.mean(1), fps, settings.follow)
    return torch.stack((over_ground[:, 0], middle[:1, 1].expand(len(middle)), over_ground[:, 2]), -1)


def colors_for(
    skeleton: Skeleton, skinned: SkinnedSplats, moving: MovingSplats, settings: FilmSettings, camera: Camera
) -> Float[Tensor, "splat 3"] | Float[Tensor, "frame splat 3"]:
    """Colours in the chosen look; those that depend on direction see the camera as the turned splat sees it."""
    if settings.look == "natural" and skinned.splats.sh.shape[1] > 1:
        directions = (moving.means - camera.centers[:, None]).detach()
        return color_from_direction(skinned.splats.sh, (directions[..., None, :] @ moving.deformations.detach()).squeeze(-2))
    return look_colors(settings.look, skeleton, skinned)


def shadow_light(moving: MovingSplats, settings: FilmSettings) -> Light | None:
    """The shadow on the ground, where the settings ask for one."""
    if settings.ground is None or settings.shadow is None:
        return None
    return cast_shadow(moving.means, moving.covariances, moving.opacities, settings.shadow)


@torch.no_grad()
def backdrop(
    moving: MovingSplats, camera: Camera, settings: FilmSettings, light: Light | None = None
) -> Float[Tensor, "frame height width 3"] | Float[Tensor, "3"]:
    """What is behind the character: the ground in its light, or one colour."""
    if settings.ground is None:
        return camera.world_to_camera.new_tensor(settings.background)
    away = (camera.centers - moving.means.mean(1)).norm(dim=-1).mean()
    ground = replace(settings.ground, tile=settings.ground.tile * moving.unit)
    return ground_layer(camera, ground, settings.background, float(away) * ground.fade, light)


def render_splats(
    moving: MovingSplats, colors: Float[Tensor, "splat 3"] | Float[Tensor, "frame splat 3"], camera: Camera,
    background: Float[Tensor, "frame height width 3"] | Float[Tensor, "3"], *, backend: Backend = "auto",
) -> Float[Tensor, "frame height width 3"]:
    """Render splats over a backdrop with a given camera."""
    return rasterize(
        moving.means, moving.covariances, moving.opacities, colors, camera, background=background, backend=backend
    ).image
