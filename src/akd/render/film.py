"""Film: a motion in, a video out, differentiable in the motion.

Kinematics, skinning and rasterising carry the gradient. The camera, the ground, the shadow and the switch that hides
splats below the ground do not: a motion should not look better by pushing the camera around.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.motion import Motion
from akd.render.camera import Camera
from akd.render.film_settings import FilmSettings
from akd.render.follow_camera import View, bounding_sphere, fitting_distance, following_camera, smooth_path
from akd.render.ground import Light, ground_layer
from akd.render.looks import look_colors
from akd.render.rasterize import Backend, rasterize
from akd.render.shadow import cast_shadow
from akd.render.spherical_harmonics import color_from_direction
from akd.skeleton import Skeleton, forward_kinematics
from akd.skinning import blended_transforms
from akd.splats import SkinnedSplats

DEFAULT = FilmSettings()


class MovingSplats(NamedTuple):
    """A character's splats in every frame of a motion."""

    means: Float[Tensor, "frame splat 3"]
    covariances: Float[Tensor, "frame splat 3 3"]
    opacities: Float[Tensor, "frame splat"]
    """0 below the ground."""
    turns: Float[Tensor, "frame splat 3 3"]
    """∇φ, how each splat is turned away from rest."""


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
    light = shadow_light(moving, settings)
    videos = []
    for view in views:
        camera = camera_for(moving, skinned, motion.fps, settings, view)
        colors = colors_for(skeleton, skinned, moving, settings, camera)
        videos.append(shoot(moving, colors, camera, backdrop(moving, camera, settings, light), backend=backend))
    return torch.stack(videos)


def move_splats(skeleton: Skeleton, motion: Motion, skinned: SkinnedSplats) -> MovingSplats:
    """Kinematics and skinning of every frame."""
    splats = skinned.splats
    turns, shift = blended_transforms(skeleton, forward_kinematics(skeleton, motion.pose), skinned.weights)
    means = (turns @ splats.means[:, :, None]).squeeze(-1) + shift
    above = means[..., 1].detach() >= 0
    return MovingSplats(means, turns @ splats.covariances @ turns.transpose(-1, -2), splats.opacities * above, turns)


@torch.no_grad()
def camera_for(moving: MovingSplats, skinned: SkinnedSplats, fps: float, settings: FilmSettings, view: View) -> Camera:
    """A camera that follows the middle of the character's bounding box, at a distance that fits its size at rest."""
    middle = (moving.means.amin(1) + moving.means.amax(1)) / 2
    _, radius = bounding_sphere(skinned.splats.means)
    distance = view.distance * fitting_distance(radius, settings.fov, settings.width, settings.height)
    path = smooth_path(middle, fps, settings.follow)
    return following_camera(path, view, distance=distance, width=settings.width, height=settings.height, fov=settings.fov)


def colors_for(
    skeleton: Skeleton, skinned: SkinnedSplats, moving: MovingSplats, settings: FilmSettings, camera: Camera
) -> Float[Tensor, "splat 3"] | Float[Tensor, "frame splat 3"]:
    """Colours in the chosen look; those that depend on direction see the camera as the turned splat sees it."""
    if settings.look == "natural" and skinned.splats.sh.shape[1] > 1:
        sight = (moving.means - camera.centers[:, None]).detach()
        return color_from_direction(skinned.splats.sh, (sight[..., None, :] @ moving.turns.detach()).squeeze(-2))
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
    return ground_layer(camera, settings.ground, settings.background, float(away) * settings.ground.fade, light)


def shoot(
    moving: MovingSplats, colors: Float[Tensor, "splat 3"] | Float[Tensor, "frame splat 3"], camera: Camera,
    background: Float[Tensor, "frame height width 3"] | Float[Tensor, "3"], *, backend: Backend = "auto",
) -> Float[Tensor, "frame height width 3"]:
    """Splats over a backdrop, seen by a given camera."""
    return rasterize(
        moving.means, moving.covariances, moving.opacities, colors, camera, background=background, backend=backend
    ).image
