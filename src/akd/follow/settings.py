"""How strongly each kind of evidence counts, and how the fit proceeds."""

from dataclasses import dataclass

from akd.errors import AkdError


@dataclass(frozen=True)
class FollowSettings:
    """Spreads of what is measured. Pixels are in hundredths of the subject's size (the root of its area times 1.6), lengths on
    the stage in sizes of the body (``Body.size``, 1 ℓ for usual builds)."""

    flow: float = 1.0
    """Weight of optical flow; 0 leaves it out. The same for the next four."""
    silhouette: float = 1.0
    colour: float = 1.0
    limbs: float = 1.0
    """Of limbs in their own colours, in clips that show them so."""
    plausible: float = 1.0
    """Of the pose space; 0 replaces it by a weak pull towards the first pose."""
    staged: bool = True
    """Track frame after frame before all are refined together; otherwise refining starts from the first pose."""
    points: int = 420
    """Skin points at which flow and colours are compared."""
    flow_spread: float = 0.6
    """Of the flow between two frames [hundredths of size]."""
    outline_spread: float = 1.0
    """Of the outline [hundredths of size]."""
    colour_spread: float = 0.10
    """Of a colour channel in [0, 1]."""
    evidence_count: float = 80.0
    """Independent measurements that all points of a frame are worth together: neighbours are wrong together."""
    step_turn: float = 4.0
    """Of a joint's speed while tracking [rad/s]."""
    step_root: float = 2.5
    """Of the root's speed while tracking [ℓ/s]."""
    step_sideways: float = 0.06
    """Of the root's speed across the way the body faces, along the ground [ℓ/s]: bodies go where they face. In 20 of 22 artists'
    motions they end within .07 ℓ of that line, though their hips sway by .1 ℓ/s; tighter than that, because what pulls a body
    off its line is a lost limb, which hundreds of pixels agree about."""
    step_root_turn: float = 0.6
    """Of the root's turning [rad/s]."""
    bend_turn: float = 60.0
    """Of a joint's acceleration [rad/s²]; artists' walks and runs have 20 to 100."""
    bend_root: float = 25.0
    """Of the root's acceleration [ℓ/s²]: a little above gravity on a body of a metre."""
    bend_depth: float = 1.5
    """Of the root's acceleration along the ground towards the camera [ℓ/s²]: artists' runs and jumps have 2 to 9, which moves a
    body by a few hundredths of ℓ within a stride, and a looser one follows every lost limb by several tenths."""
    first_turn: float = 0.01
    """How well the first pose is known, if it is [rad]: looser, what goes wrong later is spread over the beginning, too."""
    first_root: float = 0.005
    """How well the first place is known [ℓ]."""
    knot_frames: int = 2
    """Frames between two knots of the trajectory."""
    predict_iterations: int = 3
    """Gauss–Newton steps per frame by flow alone, before silhouette and colours are asked."""
    track_iterations: int = 5
    """Gauss–Newton steps per frame while tracking."""
    second_look: bool = True
    """Try limb after limb where a part of the subject lacks skin."""
    refine_iterations: int = 1
    """Gauss–Newton steps on all frames together."""
    standing_spread: float = 0.02
    """How still a standing foot is [ℓ]."""

    @classmethod
    def for_marker_films(cls) -> "FollowSettings":
        """For small films in the marker look: limbs count, outlines of 64 pixels do not; whatever turns or goes deep without
        being seen is held tightly. Found on films of walking creatures of known motion, sent through the small autoencoder
        (docs/log.md)."""
        return cls(
            silhouette=0.0, limbs=0.08, colour=0.08, flow=0.08, flow_spread=3.0, colour_spread=0.2, plausible=4.0,
            step_turn=2.5, step_root=0.4, step_root_turn=0.2, bend_depth=0.4, step_sideways=0.3, first_turn=0.03, first_root=0.02,
            second_look=False,
        )  # fmt: skip

    def __post_init__(self) -> None:
        if min(self.flow, self.silhouette, self.colour, self.limbs, self.plausible) < 0:
            raise AkdError("Weights of a follower are zero or positive.")
        if self.flow + self.silhouette + self.colour == 0:
            raise AkdError("A follower needs flow, silhouette or colours to follow.")
