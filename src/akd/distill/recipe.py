"""Recipes: every choice that distillation leaves open, as one value."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from akd.distill.assumptions import CANDIDATES, CandidateName
from akd.distill.estimators import ESTIMATORS
from akd.distill.trajectory import CurveKind, is_antiphase
from akd.errors import AkdError

RecipeName = Literal["default", "looks", "quick", "paper", "big"]
PAPER_LATENTS = 1_123_200
"""Size of the latents of the paper's film, to which the weights of the losses belong."""
RENAMED = {
    "lags": "phase_offsets", "look_ahead": "denoising_steps", "steps_each": "fit_steps", "trial": "decide_at",
    "footing": "contact", "footing_from": "contact_from", "plant": "lock_feet", "restraint": "coefficient_penalty",
    "strides_per_film": "cycles_per_film", "t_settled": "t_annealed",
}  # fmt: skip
"""Entries of runs that version 0.1 began, and what they are called now."""
LIMITS: dict[str, tuple[float, float]] = {
    "iterations": (1, 1_000_000), "draws": (1, 1000), "compared_draws": (1, 1000), "denoising_steps": (1, 1000),
    "fit_steps": (1, 1000), "samples": (1, 1000),
    "guidance": (-1000, 1000), "learning_rate": (0, 100), "t_start": (0, 1), "t_end": (0, 1), "t_annealed": (0, 1),
    "prune_at": (0, 1), "decide_at": (0, 1), "phases_at": (0, 1), "smooth": (0, 1e12), "ground": (0, 1e12),
    "contact": (0, 1e12), "contact_from": (0, 1), "coefficient_penalty": (0, 1e12),
    "cycles_per_film": (0.01, 100), "speed": (-10, 10),
}  # fmt: skip
"""Beyond these a number is a mistake: memory, time or the step size would run away."""
RENAMED_ESTIMATORS = {"lively": "vp_sds"}


@dataclass(frozen=True)
class Recipe:
    """How a motion is distilled. Weights of losses are relative to a sum over the latents of the paper's film."""

    iterations: int = 90
    curves: CurveKind = "fourier"
    """Of cycles; what happens once is made of splines. Splines and free frames are without candidates."""
    estimator: str = "vp_sds"
    """One of ``ESTIMATORS``."""
    draws: int = 8
    """Noise samples per film: the embedded prior's network costs less than film and encoder."""
    denoising_steps: int = 1
    """Denoising steps per score: one predicts the mean of all films, several predict one of them."""
    samples: int = 1
    """First films that a prior whose films are read finishes for each candidate; the motion with the least error is kept."""
    fit_steps: int = 1
    """Steps of the optimiser towards one prediction before the next is made …"""
    fit: Literal["latents", "pictures"] = "latents"
    """… which is compared with the film as latents, or decoded and as pictures out of focus, without the encoder."""
    guidance: float = 3.5
    """Classifier-free guidance."""
    first_frame: bool = True
    """Give image-to-video priors the film's own first frame, so that they need not guess how the character looks."""
    learning_rate: float = 0.03
    t_start: tuple[float, float] = (0.8, 0.9)
    """Range of timesteps at the first iteration …"""
    t_end: tuple[float, float] = (0.6, 0.7)
    """… and from the share ``t_annealed`` of the iterations on; linear in between."""
    t_annealed: float = 1.0
    candidates: tuple[CandidateName, ...] = ("in phase", "antiphase", "staying", "once", "carried", "aloft")
    """Structures that are begun where the body suits them (see ``assumptions``) …"""
    prune_at: float = 0.1
    """… of which the better two go on after this share of the iterations …"""
    decide_at: float = 0.25
    """… and one after this share: the one with the least error …"""
    compared_draws: int = 8
    """… over so many noise samples of each view."""
    phases_at: tuple[float, ...] = (0.15, 0.4, 0.7)
    """Shares of the iterations after which the order of the legs is chosen (see ``phases``)."""
    splats: Literal["fast", "paper"] = "fast"
    """Computed from the triangles, or reconstructed from 200 rendered views."""
    film_gradient: Literal["soft", "sharp"] = "soft"
    """That of the film made translucent and a little out of focus (see ``soft_film``), or the film's own."""
    scales: Literal["body", "plain"] = "body"
    """One unit of a curve is what that joint can do, or one radian and one leg length everywhere."""
    anatomy: bool = True
    """Knees and elbows bend one way (see ``hinges``), and arms of people start hanging (see ``creatures.neutral``)."""
    smooth: float = 2e5
    """Weight of the second differences of Θ."""
    ground: float = 1e7
    """Weight of the depth of the bones' cuboids in the ground."""
    contact: float = 1e5
    """Weight of slip and lift of standing feet (see ``losses``); with 0, speed and height are not updated either."""
    contact_from: float = 0.3
    """Share of the iterations after which slip and lift count: before, gliding feet leave the legs free to find their swing."""
    lock_feet: bool = True
    """Lock standing feet in place in the finished clip."""
    coefficient_penalty: float = 100.0
    """Weight of the squared coefficients: what the prior does not ask for stays still."""
    cycles_per_film: float = 1.4
    """Cycle frequency at the start, the same for every prompt."""
    speed: float = 0.5
    """Forward speed at the start, the same for every prompt [√(g ℓ)]; a walk cannot be faster than 1."""

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not all(low <= part <= high for part in (value if isinstance(value, tuple) else (value,))):
                raise AkdError(f"The recipe's {name.replace('_', ' ')} lies between {low:g} and {high:g}, not at {value}.")
        if not self.candidates or not set(self.candidates) <= set(CANDIDATES):
            given = ", ".join(self.candidates) or "none"
            raise AkdError(f"The recipe's candidates are some of {', '.join(CANDIDATES)}, not {given}.")
        if self.estimator not in ESTIMATORS:
            raise AkdError(f"There is no estimator {self.estimator!r}; choose one of {', '.join(ESTIMATORS)}.")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Recipe":
        """A recipe from a run's ``config.json``; names of version 0.1 are understood, unknown ones refused."""
        named: dict[str, Any] = {
            RENAMED.get(name, name): tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        if "phase_offsets" in named:  # before there were candidates of other kinds
            offsets = named.pop("phase_offsets")
            named["candidates"] = tuple("antiphase" if is_antiphase(offset) else "in phase" for offset in offsets)
        estimator = named.get("estimator", cls.estimator)
        named["estimator"] = RENAMED_ESTIMATORS.get(estimator, estimator)
        if not named.get("plausible"):  # the pose space's energy, which runs could have a weight for
            named.pop("plausible", None)
        unknown = sorted(set(named) - {entry.name for entry in fields(cls)})
        if unknown:
            raise AkdError(f"The run was begun by another version of akd (it says {unknown[0]!r}): begin it anew.")
        return cls(**named)

    def rate(self, iteration: int) -> float:
        """The learning rate at an iteration: it falls to zero like a square root."""
        return self.learning_rate * (1 - iteration / self.iterations) ** 0.5

    def noise_range(self, iteration: int) -> tuple[float, float]:
        """The range of timesteps at an iteration."""
        share = min(iteration / max(self.t_annealed * self.iterations - 1, 1), 1.0)
        low, high = ((1 - share) * a + share * b for a, b in zip(self.t_start, self.t_end, strict=True))
        return low, high


DEFAULT = Recipe()
PAPER = Recipe(
    iterations=10_000, curves="frames", estimator="sds", draws=1, guidance=100.0, learning_rate=0.01, t_start=(0.02, 0.98),
    t_end=(0.02, 0.5), t_annealed=0.5, first_frame=False, phases_at=(), splats="paper", film_gradient="sharp", scales="plain",
    anatomy=False, contact=0.0, lock_feet=False, coefficient_penalty=0.0, speed=0.0,
)  # fmt: skip
"""The paper's: angles of every frame, nothing assumed, two evaluations an iteration. It does not publish a learning rate."""
QUICK = Recipe(
    iterations=8, estimator="sds", draws=1, denoising_steps=8, fit_steps=40, fit="pictures", learning_rate=0.05,
    t_start=(0.93, 0.95), t_end=(0.5, 0.55), phases_at=(0.4, 0.7), compared_draws=4,
)  # fmt: skip
"""Few looks, then fit: the prior finishes the film of the motion so far, with its first frame given where it takes one, and the
motion is fitted to that film without asking it again."""
LOOKS = replace(
    QUICK, iterations=1, samples=4, denoising_steps=24, fit_steps=80, guidance=3.0, t_start=(1.0, 1.0), t_end=(1.0, 1.0),
    phases_at=(), candidates=("once", "carried", "aloft"),
)  # fmt: skip
"""One look for a prior whose films of figures are read: four films from noise alone, given the body at ease, of which the prior
keeps one. Bodies with legs are only given free curves, which follow whatever the film shows; cycles of the same film are worse
readings of it, and further looks from less noise calm the motion (docs/log.md)."""
BIG = replace(QUICK, denoising_steps=12, fit_steps=60, guidance=5.0, compared_draws=1)
"""For large models, whose evaluations are dear and whose encoders' way back needs the most memory: the quick recipe with more
steps for each look, the guidance of their makers (low, because the first frame is given) and one draw where candidates are
compared. Never run on a real card."""
RECIPES: dict[str, Recipe] = {"default": DEFAULT, "quick": QUICK, "looks": LOOKS, "paper": PAPER, "big": BIG}
