"""Recipes: every choice that distillation leaves open."""

from dataclasses import dataclass
from typing import Literal

from akd.distill.estimators import Estimator
from akd.distill.trajectory import CurveKind
from akd.errors import AkdError

RecipeName = Literal["default", "paper"]
PAPER_LATENTS = 1_123_200
"""Numbers in the latents of the film that the paper's weights belong to."""


@dataclass(frozen=True)
class Recipe:
    """How a motion is distilled. The weights of the terms stand beside a sum over latents of the paper's film."""

    iterations: int = 90
    curves: CurveKind = "fourier"
    estimator: Estimator = "vp_sds"
    draws: int = 8
    """Noises per picture: the prior's network costs less than film and encoder."""
    denoising_steps: int = 1
    """Steps in which noise is removed before the prior is believed: one blurs all that may be, several choose."""
    fit_steps: int = 1
    """Steps of the motion towards what the prior believes, before it is asked again."""
    guidance: float = 3.5
    learning_rate: float = 0.03
    t_start: tuple[float, float] = (0.8, 0.9)
    """Range of noise at the first iteration …"""
    t_end: tuple[float, float] = (0.6, 0.7)
    """… and at ``t_annealed`` of the iterations and from then on; in between it moves steadily."""
    t_annealed: float = 1.0
    phase_offsets: tuple[float, ...] = (0.0, 0.5)
    """By how much of a round the right side may follow the left: a motion is begun with each …"""
    decide_at: float = 0.25
    """… and after this share of the iterations the prior chooses."""
    phases_at: tuple[float, ...] = (0.15, 0.4, 0.7)
    """Shares of the iterations after which the prior is asked which legs go when (see ``phases``)."""
    anatomy: bool = True
    """Knees and elbows bend one way (see ``hinges``), and arms of people hang until they are told otherwise (see ``reach``)."""
    smooth: float = 2e5
    """Weight of the second differences of Θ."""
    ground: float = 1e7
    """Weight of the depth of the bones' cuboids in the ground."""
    contact: float = 1e5
    """Weight of the slip and lift of feet that stand (see ``objective.steps``); with 0, speed and height stay, too."""
    contact_from: float = 0.3
    """Share of the iterations after which feet count: before, a body that glides over the ground asks for legs that move."""
    lock_feet: bool = True
    """Hold standing feet in place when all iterations are over."""
    coefficient_penalty: float = 100.0
    """Weight of the distance from neutral: what the prior does not ask for stays still."""
    plausible: float = 0.0
    """Weight of the pose space's energy, averaged over frames: how strange each pose is for a body like this. 0 leaves it out."""
    cycles_per_film: float = 1.4
    """Stride frequency at the start, in rounds per film, the same for every sentence."""
    speed: float = 0.5
    """Speed at the start, the same for every sentence [√(g ℓ)]: at 1 a walk cannot be faster."""

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.draws < 1:
            raise AkdError(f"A recipe needs iterations and draws of noise, not {self.iterations} and {self.draws}.")

    def rate(self, iteration: int) -> float:
        """The learning rate at an iteration: it falls to zero, slowly at first."""
        return self.learning_rate * (1 - iteration / self.iterations) ** 0.5

    def noise_range(self, iteration: int) -> tuple[float, float]:
        """Between which times noise is drawn at an iteration."""
        share = min(iteration / max(self.t_annealed * self.iterations - 1, 1), 1.0)
        low, high = ((1 - share) * a + share * b for a, b in zip(self.t_start, self.t_end, strict=True))
        return low, high


DEFAULT = Recipe()
PAPER = Recipe(
    iterations=10_000, curves="frames", estimator="sds", draws=1, guidance=100.0, learning_rate=0.01, t_start=(0.02, 0.98),
    t_end=(0.02, 0.5), t_annealed=0.5, phases_at=(), anatomy=False, contact=0.0, lock_feet=False,
)  # fmt: skip
"""The paper's; it does not publish a learning rate."""
RECIPES: dict[str, Recipe] = {"default": DEFAULT, "paper": PAPER}
