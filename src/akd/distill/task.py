"""What is to be distilled, and what the prior says of motions when it is asked outright."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from akd.distill.estimators import draw_noise
from akd.distill.recipe import Recipe
from akd.distill.trajectory import Trajectory
from akd.motion import Motion, resample
from akd.prior.prior import VideoPrior
from akd.render.film import film
from akd.rig import GRAVITY, Rig
from akd.splats import SkinnedSplats

COMPARISON_NOISE = (0.45, 0.85)
"""Range of noise at which the prior tells orders of legs apart."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be distilled."""

    rig: Rig
    skinned: SkinnedSplats
    prior: VideoPrior
    prompt: str
    negative_prompts: tuple[str, ...]
    """Sentences to be led away from; the first says that the character rests."""
    recipe: Recipe
    seconds: float
    """Length of the clip."""
    seed: int = 0

    @property
    def fps(self) -> float:
        """The rate at which the prior watches a body of this size."""
        return self.prior.film.rate(self.rig.leg_metres)

    @property
    def film_seconds(self) -> float:
        """How long the prior watches."""
        return (self.prior.film.frames - 1) / self.fps

    @property
    def start_frequency(self) -> float:
        """Strides per second at the start."""
        return self.recipe.cycles_per_film / self.film_seconds

    @property
    def start_speed(self) -> float:
        """Forward at the start [ℓ/s]."""
        return self.recipe.speed * (GRAVITY / self.rig.leg_metres) ** 0.5

    def film_motion(self, trajectory: Trajectory, finer: int = 1) -> Motion:
        """The part of a trajectory that fills a film, at a multiple of its rate."""
        return trajectory.motion(finer * (self.prior.film.frames - 1) + 1, finer * self.fps)


def motion_error(
    task: Task, kind: Callable[..., Tensor], views: int, randomness: torch.Generator
) -> Callable[[Motion], float]:
    """How the prior finds motions, under the same noise and from the same sides for all that are compared."""
    prior = task.prior
    sides = prior.film.sample_views(views, randomness)
    questions = [draw_noise(prior.film_latents, task.recipe.draws, COMPARISON_NOISE, randomness) for _ in sides]

    @torch.no_grad()
    def opinion(motion: Motion) -> float:
        total = 0.0
        for view, (noise, t) in zip(sides, questions, strict=True):
            video = film(task.rig.skeleton, resample(motion, task.fps), task.skinned, prior.film, view)
            total += float(kind(prior, prior.encode(video[None]), noise, t, task.prompt)) / views
        return total

    return opinion
