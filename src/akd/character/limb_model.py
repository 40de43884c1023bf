"""The limb model of a rig: legs that reach, feet that stand, arms, spine, neck and tail, and their kinematics in numpy.

Rotations are relative to parents, in stage axes.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.character.leg import UP, Leg, leg_of, main_chain
from akd.rig import Rig
from akd.skeleton import Kind, Limb, Skeleton

FrameVectors = Float[np.ndarray, "frame 3"]
"""One vector per frame: a path, a shift."""
JointRotations = Float[np.ndarray, "frame joint 3 3"]
"""Relative to the parent, or to rest on the stage, in stage axes; the parameter says which."""
JointPositions = Float[np.ndarray, "frame joint 3"]
MOST_TERMS = 2**25
"""Frames × joints × points that are skinned at once joint by joint [24 bytes each]; above, the joints' maps are blended first."""
SOLE_SHARE = 0.3
"""A joint that moves at least this share of the sole carries the foot: heel and ball belong to the ankle, a paw to the toe."""
MAX_ANKLE_HEIGHT = 0.2
"""A joint nearer to the ground than this is an ankle, not a hock [ℓ],"""
LOW_SOLE_SHARE = 0.18
"""and carries the foot already with this share."""
SOLE_THICKNESS = 0.03
"""Vertices of a leg this near to its lowest touch the ground [ℓ]."""
SOLE_SAMPLES = 32
"""Vertices of a sole that are sampled besides those on its outline: toes that bend make new lowest points."""
FOOT_HEIGHT = 0.25
"""Vertices of a leg below this height can come to touch the ground when the foot tilts [ℓ]."""
MAX_COLLAR_RATIO = 0.75
"""A bone shorter than this share of the next may be a collar bone; upper and lower arms are nearly alike."""
MAX_COLLAR_START = 0.4
"""A collar bone begins nearer to the middle of the body than this share of where it ends."""
CACHED_RIGS = 8
"""Rigs whose limb model is cached; a limb model holds its rig, so caching all would keep every rig alive."""


def local_to_stage(skeleton: Skeleton, root: FrameVectors, rotations: JointRotations) -> tuple[JointRotations, JointPositions]:
    """Forward kinematics: rotations relative to parents → rotations on the stage and joint positions [ℓ]."""
    stage, position = np.empty_like(rotations), np.empty((*rotations.shape[:2], 3))
    stage[:, 0], position[:, 0] = rotations[:, 0], root
    for joint in range(1, skeleton.joint_count):
        parent = skeleton.parents[joint]
        offset = skeleton.positions[joint] - skeleton.positions[parent]
        position[:, joint] = position[:, parent] + stage[:, parent] @ offset
        stage[:, joint] = stage[:, parent] @ rotations[:, joint]
    return stage, position


def axis_rotations(axis: int, angle: Float[np.ndarray, " frame"]) -> Float[np.ndarray, "frame 3 3"]:
    """Rotation matrices about one axis of the stage."""
    return Rotation.from_rotvec(angle[:, None] * np.eye(3)[axis]).as_matrix()


def skinned(
    rig: Rig, index: Int[np.ndarray, " point"], stage: JointRotations, position: JointPositions
) -> Float[np.ndarray, "frame point 3"]:
    """Linear blend skinning of the vertices ``index`` under stage rotations and positions of the joints [ℓ]."""
    weights, vertices = rig.weights[index], rig.mesh.vertices[index]
    used = np.flatnonzero(weights.max(0) > 1e-4)
    shift = position[:, used] - (stage[:, used] @ rig.skeleton.positions[used, :, None])[..., 0]
    if len(stage) * len(used) * len(index) > MOST_TERMS:  # other last digits, but 3,000 joints took 9 GB and half a minute
        blended = weights[:, used] @ np.concatenate((stage[:, used].reshape(len(stage), -1, 9), shift), -1)
        return (blended[..., :9].reshape(*blended.shape[:2], 3, 3) @ vertices[:, :, None])[..., 0] + blended[..., 9:]
    moved = vertices @ np.swapaxes(stage[:, used], -1, -2) + shift[:, :, None]
    return np.einsum("pj,fjpc->fpc", weights[:, used], moved)


@dataclass(frozen=True, eq=False)
class Foot:
    """What stands on the ground."""

    leg: Leg
    toes: tuple[int, ...]
    """Joints beyond the foot joint that carry part of the sole: they stay flat while the heel rises."""
    centre: Float[np.ndarray, " 3"]
    """Mean of the sole at rest, at the height of its lowest point."""
    ball: Float[np.ndarray, " 3"]
    """Pivot of the foot when the heel rises: the joint of the toes, or the front end of the sole."""
    heel: Float[np.ndarray, " 3"]
    """Pivot of the foot when the toes rise."""
    sole: Int[np.ndarray, " sole"]
    outline: Int[np.ndarray, " point"]
    """The vertices that can be lowest, whichever way the foot tilts."""
    side: float
    """−1 on the left, +1 on the right, 0 in the middle."""
    order: int

    @property
    def length(self) -> float:
        """From heel to ball [ℓ]."""
        return float(self.ball[0] - self.heel[0])


@dataclass(frozen=True, eq=False)
class Arm:
    """A limb that swings freely."""

    upper: int
    fore: int | None
    """The joint at the elbow, where there is one."""
    joints: tuple[int, ...]
    side: float
    directions: Float[np.ndarray, "2 3"]
    """Unit vectors along upper arm and forearm at rest."""


@dataclass(frozen=True, eq=False)
class LimbModel:
    """Feet, arms and chains of a rig, in the order of its labels."""

    rig: Rig
    feet: tuple[Foot, ...]
    """In the order of ``rig.legs``."""
    arms: tuple[Arm, ...]
    """Left before right."""
    spine: tuple[int, ...]
    """Joints between root and neck or head, from the root outwards."""
    neck: tuple[int, ...]
    """Joints of neck and head, from the body outwards."""
    tails: tuple[tuple[int, ...], ...]
    wings: tuple[tuple[int, ...], ...]
    watched: Int[np.ndarray, " point"] = field(default_factory=lambda: np.zeros(0, int))
    """Further vertices of all but the feet that are kept out of the ground."""

    @property
    def skeleton(self) -> Skeleton:
        return self.rig.skeleton

    @property
    def gravity(self) -> float:
        """[ℓ/s²]"""
        return self.rig.gravity

    @cached_property
    def kilograms(self) -> float:
        """Mass of a body as dense as water [kg]; that of an open mesh is a rough guess."""
        first, second, third = (self.rig.mesh.vertices[corner] for corner in self.rig.mesh.faces.T)
        volume = abs(float((first * np.cross(second, third)).sum())) / 6
        return 1000 * volume * self.rig.leg_metres**3

    @cached_property
    def is_upright(self) -> bool:
        """Is the trunk carried upright, as a person's, and not level, as a dog's or a tyrannosaur's?"""
        if not self.neck:
            return len(self.feet) == 2 and len(self.arms) == 2
        rise = self.skeleton.positions[self.neck[0]] - self.skeleton.positions[0]
        return bool(rise[1] > 1.2 * np.hypot(rise[0], rise[2]))

    @cached_property
    def is_humanoid(self) -> bool:
        return len(self.feet) == 2 and len(self.arms) == 2 and self.is_upright

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Left and right foot of each pair of legs, from the front; empty if some leg has no partner."""
        left, right = ([i for i, foot in enumerate(self.feet) if foot.side == side] for side in (-1.0, 1.0))
        if len(left) != len(right) or len(left) + len(right) != len(self.feet):
            return ()
        return tuple(zip(left, right, strict=True))

    @cached_property
    def trunk_length(self) -> float:
        """From hindmost to foremost foot [ℓ]."""
        return float(np.ptp([foot.centre[0] for foot in self.feet])) if self.feet else 0.0

    @cached_property
    def appendages(self) -> tuple[tuple[int, ...], ...]:
        """Chains that can be lifted off the ground by bending: neck with head, what hangs off the head, tails, arms."""
        head = {joint for limb in self.skeleton.limbs if limb.kind == "head" for joint in limb.joints} - set(self.neck)
        branches = [[joint] for joint in sorted(head) if self.skeleton.parents[joint] not in head]
        for branch in branches:
            branch += [joint for joint in sorted(head) if joint not in branch and self.skeleton.is_ancestor[branch[0], joint]]
        arms = [(arm.upper,) for arm in self.arms]
        return tuple(chain for chain in (self.neck, *map(tuple, branches), *self.tails, *arms) if chain)

    @cached_property
    def trunk_points(self) -> Int[np.ndarray, " point"]:
        """Vertices of all but the feet that may come to touch the ground: for every joint the outermost downwards."""
        owner, height = self.point_owner, self.rig.mesh.vertices[:, 1]
        upper = {joint for foot in self.feet for joint in foot.leg.chain[:-1]}
        feet = {joint for limb in self.rig.legs for joint in limb.joints} - upper
        tilt = np.radians(np.arange(-75, 76, 15))
        fan = np.stack((np.sin(tilt), -np.cos(tilt), 0 * tilt), -1)
        fan = np.concatenate((fan, [(0.0, -1.0, 0.5), (0.0, -1.0, -0.5)]))
        chosen = []
        for joint in set(np.unique(owner).tolist()) - feet:
            own = np.flatnonzero((owner == joint) & ((height > FOOT_HEIGHT) | (joint not in upper)))
            if not own.size:
                continue
            chosen.append(own[np.argmax(self.rig.mesh.vertices[own] @ fan.T, axis=0)])
        return np.unique(np.concatenate((*chosen, self.watched)))

    @cached_property
    def point_owner(self) -> Int[np.ndarray, " vertex"]:
        """The joint that moves each vertex most."""
        return self.rig.weights.argmax(1)

    @cached_property
    def height_matrix(self) -> Float[np.ndarray, "vertex lever"]:
        """Weight × (x, y, z, 1) of every vertex for every joint: the heights of all skin are one product with this matrix."""
        arms = np.concatenate((self.rig.mesh.vertices, np.ones((len(self.rig.weights), 1))), 1)
        levers = self.rig.weights[:, :, None] * arms[:, None]
        return levers.reshape(len(arms), levers.shape[1] * levers.shape[2]).astype(np.float32)  # also of a rig without skin

    def watching(self, points: Int[np.ndarray, " point"]) -> "LimbModel":
        """The same limb model that keeps these vertices out of the ground too."""
        feet, left = [], points
        for foot, limb in zip(self.feet, self.rig.legs, strict=True):
            owner, upper = self.point_owner[left], foot.leg.chain[:-1]
            low = ~np.isin(owner, upper) | (self.rig.mesh.vertices[left, 1] <= FOOT_HEIGHT)
            own = np.isin(owner, limb.joints) & low
            feet.append(replace(foot, outline=np.union1d(foot.outline, left[own])))
            left = left[~own]
        return replace(self, feet=tuple(feet), watched=np.union1d(self.watched, left))


@lru_cache(CACHED_RIGS)
def limb_model(rig: Rig) -> LimbModel:
    """The limb model of this rig, found once."""
    skeleton = rig.skeleton
    chains: dict[Kind, list[list[int]]] = {
        kind: [main_chain(skeleton, limb) for limb in skeleton.limbs_of(kind)]
        for kind in ("spine", "neck", "head", "tail", "wing")
    }
    spine = sorted({joint for chain in chains["spine"] for joint in chain} - {0})
    neck = sorted({joint for kind in ("neck", "head") for chain in chains[kind] for joint in chain} - set(spine) - {0})
    return LimbModel(
        rig,
        tuple(_foot(rig, limb, number) for number, limb in enumerate(rig.legs)),
        tuple(_arm(skeleton, limb) for limb in skeleton.limbs_of("arm")),
        tuple(joint for joint in spine if not neck or skeleton.is_ancestor[joint, neck[0]]),
        tuple(neck),
        tuple(map(tuple, chains["tail"])),
        tuple(map(tuple, chains["wing"])),
    )


def _foot(rig: Rig, limb: Limb, number: int) -> Foot:
    skeleton, vertices = rig.skeleton, rig.mesh.vertices
    sole = _sole(rig, limb, number)
    carried = _carried(rig, limb, sole)
    chain = main_chain(skeleton, limb)
    share, height = carried[chain], skeleton.positions[chain, 1] - vertices[sole, 1].min(initial=0.0)
    carries = share >= np.where(height < MAX_ANKLE_HEIGHT, LOW_SOLE_SHARE, SOLE_SHARE)
    foot = chain[int(np.argmax(carries if carries.any() else share == share.max()))]
    toes = tuple(joint for joint in limb.joints if skeleton.parents[joint] == foot and carried[joint] > 0.1)
    points = vertices[sole] if sole.size else skeleton.tails[[limb.tip]]
    low = points[:, 1].min()
    centre, ball, heel = (
        np.array([x, low, points[:, 2].mean()]) for x in (points[:, 0].mean(), points[:, 0].max(), points[:, 0].min())
    )
    if toes:
        # Toes that stay flat stay where they are only if the foot turns about the very joint they hang on.
        joint = skeleton.positions[list(toes)].mean(0)
        ball[:2] = np.clip(joint[0], heel[0], ball[0]), joint[1]
    leg = leg_of(skeleton, limb, foot, centre, limb.order == 0 and len(rig.legs) > 2)
    side = {"L": -1.0, "R": 1.0, "C": 0.0}[limb.side]
    return Foot(leg, toes, centre, ball, heel, sole, _outline(rig, limb, (foot, *toes), sole), side, limb.order)


def _sole(rig: Rig, limb: Limb, number: int) -> Int[np.ndarray, " sole"]:
    """The vertices that touch the ground at rest; the lowest of the leg where the rig does not say."""
    if number < len(rig.soles) and rig.soles[number].size:
        return rig.soles[number]
    own = np.flatnonzero(rig.weights[:, list(limb.joints)].sum(1) > 0.5)
    height = rig.mesh.vertices[own, 1]
    return own[height < height.min() + SOLE_THICKNESS] if own.size else own


def _carried(rig: Rig, limb: Limb, sole: Int[np.ndarray, " sole"]) -> Float[np.ndarray, " joint"]:
    """The share of what touches the ground at rest that each joint moves; heels count, even if the sole patch leaves them out."""
    if not sole.size:
        return np.eye(rig.skeleton.joint_count)[limb.tip]
    height = rig.mesh.vertices[:, 1]
    touches = (rig.weights[:, list(limb.joints)].sum(1) > 0.5) & (height < height[sole].min() + SOLE_THICKNESS)
    return np.maximum(rig.weights[touches].mean(0) if touches.any() else 0.0, rig.weights[sole].mean(0))


def _outline(rig: Rig, limb: Limb, joints: tuple[int, ...], sole: Int[np.ndarray, " sole"]) -> Int[np.ndarray, " point"]:
    below = [j for j in limb.joints if rig.skeleton.is_ancestor[joints[0], j]]
    height, whole = rig.mesh.vertices[:, 1], rig.weights[:, list(limb.joints)].sum(1) > 0.5
    # Skin just above the ground counts whichever joint moves it: a heel that hangs on the hock must not sink in.
    own = np.flatnonzero((rig.weights[:, below].sum(1) > 0.5) & (height < FOOT_HEIGHT) | whole & (height < 2 * SOLE_THICKNESS))
    own = np.union1d(own, sole)
    tilt, turn = np.meshgrid(np.radians((0, 15, 30, 50, 75)), np.arange(8) * np.pi / 4)
    fan = np.stack((np.sin(tilt) * np.cos(turn), -np.cos(tilt), np.sin(tilt) * np.sin(turn)), -1).reshape(-1, 3)
    if not own.size:
        return own
    hull = own[np.argmax(rig.mesh.vertices[own] @ fan.T, axis=0)]
    return np.union1d(hull, sole[:: max(len(sole) // SOLE_SAMPLES, 1)])


def _arm(skeleton: Skeleton, limb: Limb) -> Arm:
    chain = main_chain(skeleton, limb)
    ends = np.concatenate((skeleton.positions[chain], skeleton.tails[chain[-1:]]))
    length = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    first = 1 if _starts_with_collar(ends, length) else 0
    fore = chain[first + 1] if len(chain) > first + 1 else None
    lines = np.diff(ends[first:], axis=0)
    upper = lines[0] if np.linalg.norm(lines[0]) > 1e-9 else -UP
    lower = lines[1] if len(lines) > 1 and np.linalg.norm(lines[1]) > 1e-9 else upper
    directions = np.stack((upper / np.linalg.norm(upper), lower / np.linalg.norm(lower)))
    return Arm(chain[first], fore, limb.joints, {"L": -1.0, "R": 1.0, "C": 0.0}[limb.side], directions)


def _starts_with_collar(ends: Float[np.ndarray, "end 3"], length: Float[np.ndarray, " bone"]) -> bool:
    """Is the first bone of an arm a collar bone: clearly shorter than the next, or, of four or more, one that begins near the
    middle of the chest?"""
    if len(length) > 2 and length[0] < 0.3 * length.sum() and length[0] < MAX_COLLAR_RATIO * length[1]:
        return True
    return bool(len(length) > 3 and abs(ends[0, 2]) < MAX_COLLAR_START * abs(ends[1, 2]))
