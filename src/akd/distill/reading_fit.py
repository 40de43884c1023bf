"""From what a reader sees in a film of a figure to the trajectory that puts the limbs there."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.trajectory import LOG_FREQUENCY_SCALE, Curves, Trajectory
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
SETTING_OUT = 0.2
"""Share of a film that bodies take from their pose at ease into a cycle."""
TEMPOS = (1.0, 0.6, 0.8, 1.3, 1.7)
"""Multiples of a cycle's frequency from which it is fitted."""


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
    """Fit the curves so that the points come to their places; returns the mean distance [ℓ] that is left.

    A cycle cannot get on by its curves: its steady speed is the film's own, or none if it stays. It is fitted to what comes after
    setting out, from several tempos, because a wrong one is a valley of its own.
    """
    curves = trajectory.curves
    if not trajectory.assumptions.cycle:
        return _descend(trajectory, wanted, fps, start, steps)
    skipped = round(SETTING_OUT * len(wanted.places))
    wanted, start = _steady(trajectory, wanted._replace(places=wanted.places[skipped:]), fps), start + skipped / fps
    tried: list[tuple[float, dict[str, Tensor]]] = []
    before = {name: value.clone() for name, value in curves.state_dict().items()}
    for tempo in TEMPOS if isinstance(getattr(curves, "log_frequency", None), Tensor) else (1.0,):
        curves.load_state_dict(before)
        _set_tempo(curves, tempo)
        miss = _descend(trajectory, wanted, fps, start, steps)
        tried.append((miss, {name: value.clone() for name, value in curves.state_dict().items()}))
    least, best = min(tried, key=lambda each: each[0])
    curves.load_state_dict(best)
    return least


@torch.no_grad()
def _set_tempo(curves: Curves, tempo: float) -> None:
    """Begin at another multiple of the frequency."""
    if tempo != 1.0:
        curves.get_parameter("log_frequency").add_(math.log(tempo) / LOG_FREQUENCY_SCALE)


def _descend(trajectory: Trajectory, wanted: Wanted, fps: float, start: float, steps: int) -> float:
    """L-BFGS on the curves; returns the mean distance [ℓ] that is left."""
    curves = trajectory.curves
    before = curves.coefficients.detach().clone()
    solver = torch.optim.LBFGS(list(curves.parameters()), max_iter=steps, history_size=MEMORY, line_search_fn="strong_wolfe")

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
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    solver.step(total)
    with torch.no_grad():
        return float(apart()[0].norm(dim=-1).mean()) * wanted.size


@torch.no_grad()
def _steady(trajectory: Trajectory, wanted: Wanted, fps: float) -> Wanted:
    """What is wanted of a cycle: with the film's mean speed ahead, which becomes the trajectory's, or without any."""
    middle = wanted.places.mean(1)
    time = torch.arange(len(middle)) / fps
    time = time - time.mean()
    speed = (time[:, None] * middle).sum(0) / time.square().sum() * torch.tensor((1.0, 0.0, 1.0))
    ahead = speed * torch.tensor((1.0, 0.0, 0.0)) if trajectory.assumptions.travels else torch.zeros(3)
    trajectory.speed.copy_(ahead[0])
    return wanted._replace(places=wanted.places - ((speed - ahead) * (time - time[0])[:, None])[:, None])
