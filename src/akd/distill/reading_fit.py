"""From what a reader sees in a film of a figure to the trajectory that puts the limbs there."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.trajectory import Trajectory
from akd.prior.reader import Reading
from akd.render.figure import FigurePoints, figure_points, figure_size
from akd.rig import Rig
from akd.skeleton import forward_kinematics

TOLERANCE = 0.1
"""Distance from which on a point's miss counts as its size, no longer as its square [sizes of the figure]."""
PENALTY = 1e-4
"""Weight of the squared coefficients: what no point shows stays as it was."""
SMOOTHNESS = 0.1
"""Weight of the squared second differences of the angles."""
POINT_WEIGHT = 100.0
"""Weight of the points' distances."""
MEMORY = 20
"""Steps that L-BFGS remembers."""


class Wanted(NamedTuple):
    """Where the points of a figure should be."""

    figure: FigurePoints
    places: Float[Tensor, "frame point 3"]
    """On the stage [ℓ]."""
    size: float
    """Of the figure [ℓ]."""


def wanted_of(rig: Rig, reading: Reading, start: Float[Tensor, "3"]) -> Wanted:
    """The places that a film was read as; it begins over the place ``start`` on the ground."""
    figure, size = figure_points(rig.skeleton), figure_size(rig.skeleton)
    path = reading.path[0] * size + start * start.new_tensor((1.0, 0.0, 1.0))
    return Wanted(figure, reading.points[0][:, figure.places] * size + path[:, None], size)


def fit_to_points(trajectory: Trajectory, wanted: Wanted, fps: float, start: float, steps: int) -> float:
    """Fit the curves so that the points come to their places, by L-BFGS; returns the mean distance [ℓ] that is left."""
    curves = trajectory.curves
    before = curves.coefficients.detach().clone()
    solver = torch.optim.LBFGS(
        list(curves.parameters()), max_iter=steps, history_size=MEMORY, line_search_fn="strong_wolfe"
    )

    def apart() -> tuple[Float[Tensor, "frame point 3"], Tensor]:
        motion = trajectory.motion(len(wanted.places), fps, start)
        posed = forward_kinematics(trajectory.skeleton, motion.pose)
        return (wanted.figure.at(posed) - wanted.places) / wanted.size, motion.pose.angles

    def total() -> Tensor:
        solver.zero_grad()
        miss, angles = apart()
        loss = POINT_WEIGHT * torch.nn.functional.huber_loss(miss, torch.zeros_like(miss), delta=TOLERANCE)
        loss = loss + SMOOTHNESS * (angles[2:] - 2 * angles[1:-1] + angles[:-2]).square().mean()
        loss = loss + PENALTY * (curves.coefficients - before).square().mean()
        loss.backward()
        return loss

    solver.step(total)
    with torch.no_grad():
        return float(apart()[0].norm(dim=-1).mean()) * wanted.size
