"""Where the limbs of a filmed figure are: what a reader of films is trained to say (``reader``)."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.motion import Motion
from akd.render.figure import POINT_COUNT, figure_points
from akd.render.film import FilmSettings, followed_path, move_splats
from akd.skeleton import Skeleton, forward_kinematics
from akd.splats import SkinnedSplats


def shown_points(
    skeleton: Skeleton, motion: Motion, figure: SkinnedSplats, settings: FilmSettings
) -> Float[Tensor, "frame row 3"]:
    """All points of a figure as seen from where the camera looks, in sizes of the figure; the last row is that place itself.

    Points that the body lacks are not numbers.
    """
    points, size = figure_points(skeleton), figure.size or 1.0
    path = followed_path(move_splats(skeleton, motion, figure), settings, motion.fps)
    shown = torch.full((motion.frame_count, POINT_COUNT + 1, 3), torch.nan)
    seen = points.at(forward_kinematics(skeleton, motion.pose)) - path[:, None]
    shown[:, points.places] = (seen / size).float()
    shown[:, -1] = (path / size).float()
    return shown
