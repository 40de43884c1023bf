"""Settings of tracking: the default recipe, and the paper's."""

from dataclasses import dataclass, field
from typing import Literal

from akd.contact.prepare import TargetSettings
from akd.errors import AkdError
from akd.physics.settings import PhysicsSettings
from akd.physics.tolerances import Tolerances


@dataclass(frozen=True)
class TrackSettings:
    """Iterations, rates and weights of the three stages of ``search``."""

    window: int = 4
    """Frames of the first stage's windows."""
    window_iterations: int = 15
    """Steps of Adam on all windows side by side."""
    follow_iterations: int = 1
    """Gauss–Newton steps at every frame of the second stage (receding horizon); 0 leaves it out."""
    whole_iterations: int = 60
    """Steps of Adam on the whole clip."""
    rate: float = 0.02
    """Learning rate for windows of four frames [rad]; longer ones take smaller steps, with the root of their length."""
    whole_rate_share: float = 0.4
    """Share of it for the whole clip, which starts near a solution."""
    final_rate_share: float = 0.1
    """Share of the learning rate that is left at the end of each stage."""
    rotation_weight: float = 0.5
    """Weight of the bones' rotations against their positions; with too little, heads are spun to keep balance."""
    sole_weight: float = 1.0
    """Weight of the soles' contact points; 0 leaves the paper's loss."""
    velocity_weight: float = 0.3
    """Weight of velocities, in √(g ℓ): against trembling. 0 leaves the paper's loss."""
    slip_weight: float = 0.2
    """Weight of the velocity over the ground of feet in stance [s]; 0 leaves the paper's loss."""
    clearance_weight: float = 3.0
    """Weight of how far swinging feet are below their target, against scuffing; 0 leaves the paper's loss."""
    smoothness_weight: float = 0.2
    """λ3: weight of the change of controls from one to the next."""
    every: Literal["frame", "substep"] = "frame"
    """Controls at every frame, with straight lines between, or at every substep as in the paper."""
    attempts: int = 4
    """Largest number of repetitions of the last two stages; they end once the rollout is within the tolerances."""
    tolerances: Tolerances | None = field(default_factory=Tolerances)
    """By which the best rollout is chosen; None: by the loss alone."""
    assist: bool = True
    """Try once more with the assist torque if the body falls without it."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """How the target is prepared."""
    physics: PhysicsSettings = field(default_factory=lambda: PhysicsSettings(contact_stiffness=1000.0, clip_norm=30.0))
    """Stiff contact, so that feet do not sink in where they land; and a gradient norm that suits a sum over all bones."""

    def __post_init__(self) -> None:
        for name in ("window", "whole_iterations", "attempts"):
            if getattr(self, name) < 1:
                raise AkdError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.every == "substep" and self.follow_iterations:
            raise AkdError("Controls at every substep are found for the whole clip at once: set follow_iterations to 0.")


PAPER = TrackSettings(
    window_iterations=0, follow_iterations=0, whole_iterations=200, rate=0.01, whole_rate_share=1.0, final_rate_share=1.0,
    sole_weight=0.0, velocity_weight=0.0, slip_weight=0.0, clearance_weight=0.0, every="substep", attempts=1, tolerances=None,
    assist=False, target=TargetSettings(lock=False), physics=PhysicsSettings(substeps=100, assist_stiffness=1.0),
)  # fmt: skip
"""AKD's own way: the whole clip from the start, controls at every substep, an assist torque, no foot locking."""
RECIPES: dict[str, TrackSettings] = {"default": TrackSettings(), "paper": PAPER}
