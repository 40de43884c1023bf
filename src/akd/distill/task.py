"""What is to be distilled: character, prior, sentences, recipe, and the clip that is wanted in the end."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.creatures.wish import Wish
from akd.distill.estimators import draw_noise
from akd.distill.recipe import Recipe
from akd.distill.trajectory import Trajectory
from akd.motion import Motion, resample
from akd.prior.family import Condition
from akd.prior.prior import VideoPrior
from akd.render.film import FilmSettings, film
from akd.rig import GRAVITY, Rig
from akd.splats import SkinnedSplats

CLIP_FPS = 30.0
"""Frames per second of finished clips, whatever rate the prior's films have."""
REFERENCE_FILM = FilmSettings(frames=17, fps=12.0, reference_leg=0.9)
"""The film to which the recipes' cycles belong, as long as four thirds of a second for legs of 0.9 m."""
COMPARISON_VIEWS = 3
"""Views under which candidates are compared."""
COMPARISON_NOISE = (0.45, 0.85)
"""Range of timesteps at which errors tell the orders of legs apart."""


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that one distillation needs."""

    rig: Rig
    skinned: SkinnedSplats
    prior: VideoPrior
    prompt: str
    """As the prior reads it."""
    negative_prompts: tuple[str, ...]
    """The first describes the character at rest."""
    recipe: Recipe
    seconds: float
    """Length of the finished clip."""
    seed: int = 0
    loop: bool = False
    """The finished clip is a whole number of cycles."""
    wish: Wish | None = None
    """What the sentence asks for: its action puts one candidate first and has no other effect, and side, speed and count are
    done to the finished clip."""

    @property
    def fps(self) -> float:
        """Frames per second of the prior's film for a body of this size."""
        return self.prior.film.rate(self.rig.leg_metres)

    @property
    def film_seconds(self) -> float:
        """Length of the prior's film."""
        return (self.prior.film.frames - 1) / self.fps

    @property
    def span(self) -> float:
        """Seconds that are optimised: a clip shorter than the film is optimised as long as the film, and cut."""
        return max(self.seconds, self.film_seconds)

    @property
    def start_frequency(self) -> float:
        """Cycles per second at the start: by the body's size, whatever the length of the prior's film."""
        return self.recipe.cycles_per_film / ((REFERENCE_FILM.frames - 1) / REFERENCE_FILM.rate(self.rig.leg_metres))

    @property
    def start_speed(self) -> float:
        """Forward speed at the start [ℓ/s]."""
        return self.recipe.speed * (GRAVITY / self.rig.leg_metres) ** 0.5

    def condition(self, video: Float[Tensor, "frame height width 3"]) -> Condition | None:
        """A film's own first frame, if the prior can be given one and the recipe wants it."""
        given = self.prior.takes_first_frame and self.recipe.first_frame
        return self.prior.condition(video[:1].detach(), len(video)) if given else None

    def film_motion(self, trajectory: Trajectory, finer: int = 1) -> Motion:
        """The part of a trajectory that fills a film, at a multiple of its frame rate."""
        return trajectory.motion(finer * (self.prior.film.frames - 1) + 1, finer * self.fps)

    @torch.no_grad()
    def clip(self, trajectory: Trajectory) -> Motion:
        """The clip as it was optimised, at the rate of finished clips."""
        curves = trajectory.curves
        if self.loop and curves.period is not None:
            seconds = max(round(self.seconds / curves.period), 1) * curves.period
            count = max(round(seconds * CLIP_FPS), 4)
            return trajectory.motion(count + 1, count / seconds)
        seconds = min(self.seconds, curves.duration)  # what happens once is over with the prior's film
        if curves.has_corners:
            # Linear interpolation between frames would show as corners at a higher rate.
            return resample(trajectory.motion(round(seconds * self.fps) + 1, self.fps), CLIP_FPS)
        return trajectory.motion(round(seconds * CLIP_FPS) + 1, CLIP_FPS)


def motion_error(
    task: Task, error: Callable[..., Tensor], views: int, randomness: torch.Generator
) -> Callable[[Motion], float]:
    """A function from motions to the prior's error on their films, with the same noise and views for every motion."""
    prior = task.prior
    cameras = prior.film.sample_views(views, randomness)
    draws = [draw_noise(prior.film_latents, task.recipe.compared_draws, COMPARISON_NOISE, randomness) for _ in cameras]

    @torch.no_grad()
    def mean_error(motion: Motion) -> float:
        total = 0.0
        for view, (noise, t) in zip(cameras, draws, strict=True):
            video = film(task.rig.skeleton, resample(motion, task.fps), task.skinned, prior.film, view)
            total += float(error(prior, prior.encode(video[None]), noise, t, task.prompt, task.condition(video))) / views
        return total

    return mean_error
