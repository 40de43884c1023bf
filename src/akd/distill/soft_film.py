"""A film whose gradient sees more than the eye does.

A leg that is hidden behind another has no gradient, and one that is two widths away from where it should be has a misleading
one. So the pictures are those of ``film``, exactly, but the gradient is that of the same scene made translucent and a
little out of focus.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.motion import Motion
from akd.render.camera import View
from akd.render.film import (
    FilmSettings,
    MovingSplats,
    backdrop,
    camera_for,
    colors_for,
    followed_path,
    move_splats,
    render_splats,
    shadow_light,
    side_by_side,
)
from akd.skeleton import Skeleton
from akd.splats import SkinnedSplats

CLARITY = 0.3
"""Opacity of the softened scene, as a share of the true one."""
BLUR = 0.04
"""How far out of focus it is [ℓ]."""


def film_softly(
    skeleton: Skeleton, motion: Motion, skinned: SkinnedSplats, settings: FilmSettings, view: View, *,
    following: bool = False,
) -> Float[Tensor, "frame height width 3"]:  # fmt: skip
    """The film of a motion from one side, with the gradient of the softened one.

    ``following``: the gradient knows that the camera follows the body. It looks at the middle of the bounding box, so a limb
    that is raised moves the whole body down in the picture; held fixed, the camera says "higher" for ever, and the way a limb
    should go is often not the one in which the film gets better.
    """
    moving = move_splats(skeleton, motion, skinned)
    if following:
        path = followed_path(moving, settings, motion.fps)
        moving = moving._replace(means=moving.means - (path - path.detach())[:, None])
    return shoot_softly(skeleton, moving, skinned, settings, view, motion.fps)


def shoot_softly(
    skeleton: Skeleton, moving: MovingSplats, skinned: SkinnedSplats, settings: FilmSettings, view: View, fps: float
) -> Float[Tensor, "frame height width 3"]:
    """The same for splats that have been moved already, by whatever."""
    with torch.no_grad():
        light = shadow_light(moving, settings)
    spread = BLUR**2 * torch.eye(3).to(moving.covariances)
    soft = moving._replace(covariances=moving.covariances + spread, opacities=CLARITY * moving.opacities)
    panel = settings.panel

    def shoot(view: View) -> Float[Tensor, "frame height width 3"]:
        camera = camera_for(moving, skinned, fps, panel, view)
        colors = colors_for(skeleton, skinned, moving, panel, camera)
        with torch.no_grad():
            behind = backdrop(moving, camera, panel, light)
            sharp = render_splats(moving, colors, camera, behind)
        seen = render_splats(soft, colors, camera, behind)
        return seen + (sharp - seen).detach()

    return side_by_side([shoot(each) for each in settings.panel_views(view)])
