"""How a motion is tracked: our way, and the paper's."""

from dataclasses import dataclass, field
from typing import Literal

from akd.contact.prepare import TargetSettings
from akd.errors import AkdError
from akd.physics.aims import Aims
from akd.physics.settings import PhysicsSettings


@dataclass(frozen=True)
class TrackSettings:
    """The three stages of ``search``, and what counts as near."""

    window: int = 4
    """Frames of the first stage's windows."""
    window_iterations: int = 15
    """Steps of Adam on all windows side by side."""
    follow_iterations: int = 1
    """Steps of Gauss–Newton at every frame of the second stage; 0 leaves it out."""
    whole_iterations: int = 60
    """Steps of Adam on the whole clip."""
    rate: float = 0.02
    """Learning rate for windows of four frames [rad]; longer ones take smaller steps, with the root of their length."""
    polish: float = 0.4
    """Share of it for the whole clip, which works already."""
    cooling: float = 0.1
    """Share of the learning rate that is left at the end of each stage."""
    turn: float = 0.5
    """Weight of the bones' rotations against their positions; with too little, heads are spun to keep balance."""
    feet: float = 1.0
    """Weight of the soles' touching points; 0 leaves the paper's loss."""
    pace: float = 0.3
    """Weight of velocities, in √(g ℓ): against trembling. 0 leaves the paper's loss."""
    stand: float = 0.2
    """Weight of the velocity over the ground of feet that should stand [s]; 0 leaves the paper's loss."""
    clear: float = 3.0
    """Weight of how much too low swinging feet are, which would scuff; 0 leaves the paper's loss."""
    smooth: float = 0.2
    """λ3: weight of the change of controls from one to the next."""
    every: Literal["frame", "substep"] = "frame"
    """Are there controls at every frame, with straight lines between, or at every substep as in the paper?"""
    attempts: int = 4
    """Times that a clip is followed and improved as a whole, at most: no more once it has reached the aims."""
    aims: Aims | None = field(default_factory=Aims)
    """By what the best is chosen; None: by the loss alone."""
    crutch: bool = True
    """Try once more with the virtual upright torque if the body falls without it."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """How the target is mended before."""
    physics: PhysicsSettings = field(default_factory=lambda: PhysicsSettings(ground_stiffness=1000.0, clip=30.0))
    """A firm ground, so that feet do not sink in where they land; and a clip that suits a sum over all bones."""

    def __post_init__(self) -> None:
        for name in ("window", "whole_iterations", "attempts"):
            if getattr(self, name) < 1:
                raise AkdError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.every == "substep" and self.follow_iterations:
            raise AkdError("Controls at every substep are found for the whole clip at once: set follow_iterations to 0.")


PAPER = TrackSettings(
    window_iterations=0, follow_iterations=0, whole_iterations=200, rate=0.01, polish=1.0, cooling=1.0, feet=0.0, pace=0.0,
    stand=0.0, clear=0.0, every="substep", attempts=1, aims=None, crutch=False, target=TargetSettings(lock=False),
    physics=PhysicsSettings(substeps=100, upright=1.0),
)  # fmt: skip
"""AKD's own way: the whole clip from the start, controls at every substep, a virtual torque, no foot locking."""
RECIPES: dict[str, TrackSettings] = {"default": TrackSettings(), "paper": PAPER}
