"""A rig as an articulation of rigid bodies: links joined by the same compound joints as the skeleton's.

Lengths are in leg lengths, masses are shares of the body's mass, times are seconds. So the weight of any character times
its leg is its gravity, and constants that suit one character suit all (see ``settings``).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from akd.character.leg import main_chain
from akd.cuboids import SIGNS, Cuboids, bone_cuboids
from akd.errors import AkdError
from akd.rig import Rig
from akd.skeleton import Skeleton

DENSITY = 1000.0
"""Of soft tissue: that of water [kg/m³]."""
MIN_END_MASS = 0.001
"""A last bone lighter than this share of the body is not simulated for itself."""
MIN_BRANCH_MASS = 0.02
"""The same for what hangs off a limb beside its main chain: fingers, ears, jaws, side toes."""
MIN_LINK_MASS = 2e-4
"""No link is lighter than this share of the body …"""
MIN_HALF_WIDTH = 0.02
"""… nor does it turn more easily than a box of this half width [ℓ]: bones without skin would have no inertia at all."""
RING = np.array([(np.cos(turn), 0.0, np.sin(turn)) for turn in np.arange(8) * np.pi / 4])
"""Directions in which the outline of a sole is sampled."""


@dataclass(frozen=True, eq=False)
class Articulation:
    """Everything about the simulated articulation that does not change while it moves. Link 0 is the root."""

    names: tuple[str, ...]
    """The joint that moves each link."""
    parents: Int[np.ndarray, " link"]
    """Index of each link's parent, −1 for the root; parents come before children."""
    joints: Int[np.ndarray, " link"]
    """The skeleton's joint that each link turns about, in rising order."""
    link_of_joint: Int[np.ndarray, " joint"]
    """The link that carries each of the skeleton's joints: its own, or that of the ancestor it was merged into."""
    offsets: Float[np.ndarray, "link 3"]
    """From the parent link's joint to this one at rest [ℓ]; zero for the root."""
    frames: Float[np.ndarray, "link 3 3"]
    """Bone frames: a link turns against its parent by ``B Rx(a) Ry(b) Rz(c) Bᵀ``, as in ``skeleton.joint_rotations``."""
    mass: Float[np.ndarray, " link"]
    """Shares of the whole mass; they sum to 1."""
    com: Float[np.ndarray, "link 3"]
    """Centre of mass, from the link's joint at rest [ℓ]."""
    inertia: Float[np.ndarray, "link 3 3"]
    """About the centre of mass, in stage axes at rest [mass ℓ²]."""
    points: Float[np.ndarray, "point 3"]
    """Where the skin can touch the ground, from the joint of the point's link at rest [ℓ]; links in rising order."""
    point_link: Int[np.ndarray, " point"]
    """The link each point moves with."""
    point_leg: Int[np.ndarray, " point"]
    """The leg (an index into ``rig.legs``) whose sole the point lies on, −1 for all others."""
    gravity: float
    """In ℓ/s²: 9.81 / leg_metres."""
    leg_metres: float = 1.0
    kilograms: float = 1.0
    """Mass of the whole body [kg]."""
    anchored: bool = False
    """Is the root fixed to the stage, as that of a pendulum?"""

    @property
    def link_count(self) -> int:
        return len(self.parents)

    @property
    def point_count(self) -> int:
        return len(self.point_link)


def articulation_of(rig: Rig) -> Articulation:
    """Links with the mass and inertia of their cuboids, tiny bones merged into their parents, touching points on the skin."""
    if not rig.legs or not any(len(sole) for sole in rig.soles):
        raise AkdError(f"{rig.name} has no feet to stand on, so physics cannot put it on the ground: give it a rig with legs.")
    cuboids = bone_cuboids(rig)
    volume = 8 * cuboids.half.prod(1)
    if volume.sum() < 1e-6:
        raise AkdError(f"The bones of {rig.name} have no volume ({volume.sum():.1e} ℓ³), so they have no mass: use a solid mesh.")
    skeleton = rig.skeleton
    share = np.maximum(volume / volume.sum(), MIN_LINK_MASS)
    link_of_joint = _merge(skeleton, share / share.sum())
    joints = np.unique(link_of_joint)
    link_of_joint = np.searchsorted(joints, link_of_joint)
    heads = skeleton.positions[joints]
    parents = np.where(skeleton.parents[joints] < 0, -1, link_of_joint[skeleton.parents[joints]])
    mass, com, inertia = _mass_properties(cuboids, share / share.sum(), link_of_joint)
    points, point_link, point_leg = _touching_points(rig, cuboids, link_of_joint)
    return Articulation(
        names=tuple(skeleton.names[joint] for joint in joints), parents=parents, joints=joints, link_of_joint=link_of_joint,
        offsets=np.where(parents[:, None] < 0, 0.0, heads - heads[parents]), frames=skeleton.frames[joints],
        mass=mass, com=com - heads, inertia=inertia,
        points=points - heads[point_link], point_link=point_link, point_leg=point_leg,
        gravity=rig.gravity, leg_metres=rig.leg_metres, kilograms=float(volume.sum() * DENSITY * rig.leg_metres**3),
    )  # fmt: skip


def _merge(skeleton: Skeleton, share: np.ndarray) -> np.ndarray:
    """For each joint the joint it moves with in the simulation: itself, or the nearest ancestor that is kept."""
    below = skeleton.is_ancestor @ share
    kept_chain = {joint for limb in skeleton.limbs for joint in main_chain(skeleton, limb)}
    legs = {joint for limb in skeleton.limbs_of("leg") for joint in main_chain(skeleton, limb)}
    carrier = np.arange(skeleton.joint_count)
    for joint in range(1, skeleton.joint_count):
        parent = carrier[skeleton.parents[joint]]
        orphan = parent != skeleton.parents[joint]  # its parent was merged, so all below it is
        tiny = below[joint] < (MIN_END_MASS if joint in kept_chain else MIN_BRANCH_MASS)
        if orphan or (tiny and joint not in legs):
            carrier[joint] = parent
    return carrier


def _mass_properties(cuboids: Cuboids, share: np.ndarray, link: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre on the stage and inertia about it of each link: those of its cuboids together."""
    half = np.maximum(cuboids.half, MIN_HALF_WIDTH)
    squares = half**2
    principal = share[:, None] / 3 * (squares.sum(1, keepdims=True) - squares)
    own = np.einsum("jik,jk,jlk->jil", cuboids.axes, principal, cuboids.axes)
    mass = np.bincount(link, share)
    com = np.stack([np.bincount(link, share * cuboids.center[:, axis]) for axis in range(3)], -1) / mass[:, None]
    away = cuboids.center - com[link]
    steiner = (away**2).sum(1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None, :]
    inertia = np.zeros((len(mass), 3, 3))
    np.add.at(inertia, link, own + share[:, None, None] * steiner)
    return mass, com, inertia


def _touching_points(rig: Rig, cuboids: Cuboids, link_of_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices of the skin, their links and legs: eight per bone, and the outline of every sole.

    The corners of a cuboid stick out of the skin and would touch the ground before the skin does, so each corner is
    replaced by the vertex of its bone that reaches furthest toward it.
    """
    owner = rig.weights.argmax(1)
    leg_of_vertex: dict[int, int] = {}
    for joint in range(rig.skeleton.joint_count):
        own = np.flatnonzero(owner == joint)
        if len(own):
            local = (rig.mesh.vertices[own] - cuboids.center[joint]) @ cuboids.axes[joint]
            corners = local / np.maximum(cuboids.half[joint], 1e-6) @ SIGNS.T
            leg_of_vertex |= dict.fromkeys(own[corners.argmax(0)].tolist(), -1)
    for leg, sole in enumerate(rig.soles):
        for joint in np.unique(owner[sole]):
            patch = sole[owner[sole] == joint]
            outline = patch[(rig.mesh.vertices[patch] @ RING.T).argmax(0)]
            leg_of_vertex |= dict.fromkeys(outline.tolist(), leg)
    vertices = np.array(sorted(leg_of_vertex, key=lambda vertex: (link_of_joint[owner[vertex]], vertex)))
    legs = np.array([leg_of_vertex[vertex] for vertex in vertices.tolist()])
    return rig.mesh.vertices[vertices].astype(float), link_of_joint[owner[vertices]], legs
