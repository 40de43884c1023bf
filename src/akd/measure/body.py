"""What a body does, whatever its rig: end points of limbs, trunk, head and contacts over time.

Both judges of a motion (``recognise``, ``actions``) see only this: lengths in leg lengths ℓ, limbs by label, the ground at
y = 0, and the travel that a clip in place pretends to have. So they work for any number of joints and any rest pose.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import uniform_filter1d

from akd.character.leg import main_chain
from akd.character.limb_model import limb_model
from akd.contact import treadmill
from akd.contact.traces import Trace, in_heading_frame, trace, yaw
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb, Skeleton, forward_kinematics

Build = Literal["two-legged", "four-legged", "many-legged", "winged", "legless"]
Path = Float[np.ndarray, "frame 3"]
Paths = Float[np.ndarray, "frame _ 3"]
MAX_AXIS_POINTS = 9
"""The body axis is looked at in this many places at most."""


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """A motion as its limbs' end points, on the stage [ℓ]. Arrays of limbs have no column where the body has none."""

    fps: float
    gravity: float
    """[ℓ/s²]"""
    build: Build
    root: Path
    yaw: Float[np.ndarray, " frame"]
    """Heading of the root, continuous [rad]."""
    up: Path
    """The root's upward direction."""
    pelvis: Path
    """Middle of the tops of the hindmost legs."""
    chest: Path
    """Middle of the shoulders: the tops of arms, of wings or of the foremost legs."""
    head: Path
    """The head's far end."""
    axis: Float[np.ndarray, "frame point 3"]
    """Joints from the head's end to the tail's, evenly chosen."""
    feet: Paths
    """Soles, each above its own ground; legs from front to hind, left before right."""
    hips: Paths
    """Tops of the legs."""
    leg_lengths: Float[np.ndarray, " leg"]
    hands: Paths
    """Far ends of the arms, left before right."""
    shoulders: Paths
    arm_lengths: Float[np.ndarray, " arm"]
    """From shoulder to hand along the bones."""
    wings: Paths
    """Far ends of the wings."""
    wing_roots: Paths
    wing_lengths: Float[np.ndarray, " wing"]
    lowest: Float[np.ndarray, " frame"]
    """Height of the lowest skin above the ground on which the feet stand."""
    arm_sides: str
    """One letter per arm: L or R."""
    rest_pelvis: Float[np.ndarray, " 3"]
    """The same points at rest."""
    rest_chest: Float[np.ndarray, " 3"]
    rest_head: Float[np.ndarray, " 3"]
    travel: Float[np.ndarray, " 3"]
    """Velocity that was given back to a clip in place [ℓ/s]."""

    @property
    def frame_count(self) -> int:
        return len(self.root)

    @property
    def tempo(self) -> float:
        """√(ℓ/g): the time in which bodies of all sizes do the same [s]."""
        return float(self.gravity**-0.5)

    def seen(self, points: Float[np.ndarray, "frame *limb 3"]) -> np.ndarray:
        """Points as seen from the pelvis, along the heading: forward, up (from the ground), to the right."""
        flat = points[:, None] if points.ndim == 2 else points
        out = in_heading_frame(flat, self.pelvis, self.yaw)
        return out[:, 0] if points.ndim == 2 else out

    def speed(self, points: np.ndarray) -> np.ndarray:
        """How fast points move [ℓ per √(ℓ/g)], over three frames."""
        return np.linalg.norm(self.velocity(points), axis=-1)

    def velocity(self, points: np.ndarray) -> np.ndarray:
        """Derivative over three frames [per √(ℓ/g)]."""
        if len(points) < 2:
            return np.zeros_like(points)
        smooth = uniform_filter1d(points, 3, axis=0, mode="nearest") if len(points) > 4 else points
        return np.gradient(smooth, axis=0) * self.fps * self.tempo


def body_motion(rig: Rig, motion: Motion, traced: Trace | None = None) -> BodyMotion:
    """What the limbs of a rig do in a motion, on its ground and with its travel."""
    traced = traced or trace(rig, motion)
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    position, rotation = posed.position.numpy(), posed.rotation.numpy()
    feet, raised, travel = _grounded(traced)
    shift = raised * np.array([0.0, 1.0, 0.0]) + np.arange(len(position))[:, None] / motion.fps * travel
    moved = position + shift[:, None]
    ends = _bone_ends(rig.skeleton, moved, rotation)
    anatomy = _Anatomy(rig)

    def at(joints: list[int]) -> Paths:
        return moved[:, joints] if joints else np.zeros((len(moved), 0, 3))

    def end(joints: list[int]) -> Paths:
        return ends[:, joints] if joints else np.zeros((len(moved), 0, 3))

    rest = rig.skeleton.positions
    return BodyMotion(
        fps=motion.fps,
        gravity=rig.gravity,
        build=build_of(rig),
        root=moved[:, 0],
        yaw=yaw(rotation[:, 0]),
        up=rotation[:, 0, :, 1],
        pelvis=at(anatomy.pelvis).mean(1),
        chest=at(anatomy.chest).mean(1),
        head=end([anatomy.head])[:, 0],
        axis=at(anatomy.axis),
        feet=feet,
        hips=at(anatomy.hips),
        leg_lengths=anatomy.lengths("leg"),
        hands=end(anatomy.tips("arm")),
        shoulders=at(anatomy.shoulders),
        arm_lengths=anatomy.arm_lengths(),
        wings=end(anatomy.tips("wing")),
        wing_roots=at([main_chain(rig.skeleton, limb)[0] for limb in rig.skeleton.limbs_of("wing")]),
        wing_lengths=anatomy.lengths("wing"),
        lowest=traced.lowest + raised,
        arm_sides="".join(limb.side for limb in rig.skeleton.limbs_of("arm")),
        rest_pelvis=rest[anatomy.pelvis].mean(0),
        rest_chest=rest[anatomy.chest].mean(0),
        rest_head=rig.skeleton.tails[anatomy.head],
        travel=travel,
    )


def build_of(rig: Rig) -> Build:
    """What kind of body a rig has."""
    legs = len(rig.legs)
    if legs == 0:
        return "winged" if len(rig.skeleton.limbs_of("wing")) >= 2 else "legless"
    return "two-legged" if legs <= 2 else "four-legged" if legs <= 4 else "many-legged"


def _grounded(traced: Trace) -> tuple[Paths, float, Float[np.ndarray, " 3"]]:
    """Feet above their own ground and with their travel; how far the body is raised for that, and the travel [ℓ/s]."""
    feet, root = traced.feet, traced.joints[:, 0]
    if not feet.shape[1]:
        return feet, 0.0, np.zeros(3)
    heights = treadmill.stance_heights(feet, in_heading_frame(feet, root, yaw(traced.root_rotation))[..., 0])
    feet = feet - heights[:, None] * np.array([0.0, 1.0, 0.0])
    velocity = treadmill.treadmill_velocity(feet, root, traced.fps)
    travel = np.zeros(3) if velocity is None else velocity
    return treadmill.on_treadmill(feet, travel, traced.fps), -float(np.median(heights)), travel


def _bone_ends(skeleton: Skeleton, position: Paths, rotation: np.ndarray) -> Paths:
    """Where bones end in every frame."""
    along = skeleton.tails - skeleton.positions
    return position + np.einsum("fjab,jb->fja", rotation, along)


class _Anatomy:
    """Joints of a rig by what they are."""

    def __init__(self, rig: Rig) -> None:
        self.rig, skeleton = rig, rig.skeleton
        tops = [main_chain(skeleton, limb)[0] for limb in rig.legs]
        hindmost = max((limb.order for limb in rig.legs), default=0)
        self.hips = tops
        self.pelvis = [top for top, limb in zip(tops, rig.legs, strict=True) if limb.order == hindmost] or [0]
        self.shoulders = [arm.upper for arm in limb_model(rig).arms]
        self.head = self._head(skeleton)
        wings = [main_chain(skeleton, limb)[0] for limb in skeleton.limbs_of("wing")]
        foremost = [top for top, limb in zip(tops, rig.legs, strict=True) if limb.order == 0 and hindmost > 0]
        self.chest = self.shoulders or foremost or wings or [self._neck_base(skeleton)]
        self.axis = self._axis(skeleton)

    def tips(self, kind: Literal["arm", "wing"]) -> list[int]:
        return [limb.tip for limb in self.rig.skeleton.limbs_of(kind)]

    def lengths(self, kind: Literal["leg", "wing"]) -> Float[np.ndarray, " limb"]:
        """Along the bones from the top to the far end."""
        return np.array(
            [_length(self.rig.skeleton, main_chain(self.rig.skeleton, limb)) for limb in self.rig.skeleton.limbs_of(kind)]
        )

    def arm_lengths(self) -> Float[np.ndarray, " arm"]:
        """From the shoulder, collar bones left out."""
        skeleton, out = self.rig.skeleton, []
        for limb, shoulder in zip(skeleton.limbs_of("arm"), self.shoulders, strict=True):
            chain = main_chain(skeleton, limb)
            out.append(_length(skeleton, chain[chain.index(shoulder) :]))
        return np.array(out)

    def _head(self, skeleton: Skeleton) -> int:
        for kind in ("head", "neck"):
            limbs = skeleton.limbs_of(kind)  # type: ignore[arg-type]
            if limbs:
                # The last joint of the main chain may be an ear or a jaw; the first of the head carries the skull.
                return limbs[0].joints[0] if kind == "head" else limbs[0].tip
        return self._spine_end(skeleton)

    def _neck_base(self, skeleton: Skeleton) -> int:
        for limb in (*skeleton.limbs_of("neck"), *skeleton.limbs_of("head")):
            return limb.joints[0]
        return self._spine_end(skeleton)

    @staticmethod
    def _spine_end(skeleton: Skeleton) -> int:
        spines: tuple[Limb, ...] = skeleton.limbs_of("spine")
        return spines[0].tip if spines else 0

    def _axis(self, skeleton: Skeleton) -> list[int]:
        """From the head along the spine to the end of the tail."""
        ends = [self.head, *(limb.tip for limb in skeleton.limbs_of("tail")[:1])]
        chain = _upwards(skeleton, ends[0])
        if len(ends) > 1:
            behind = _upwards(skeleton, ends[1])
            shared = next((joint for joint in chain if joint in behind), 0)
            chain = chain[: chain.index(shared) + 1] + behind[: behind.index(shared)][::-1]
        keep = np.unique(np.linspace(0, len(chain) - 1, min(len(chain), MAX_AXIS_POINTS)).round().astype(int))
        return [chain[index] for index in keep]


def _upwards(skeleton: Skeleton, joint: int) -> list[int]:
    """A joint and its ancestors."""
    out = [joint]
    while skeleton.parents[out[-1]] >= 0:
        out.append(int(skeleton.parents[out[-1]]))
    return out


def _length(skeleton: Skeleton, chain: list[int]) -> float:
    ends = np.concatenate((skeleton.positions[chain], skeleton.tails[chain[-1:]]))
    return float(max(np.linalg.norm(np.diff(ends, axis=0), axis=1).sum(), 1e-6))
