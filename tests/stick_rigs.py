"""Small labelled rigs built from boxes, whose anatomy is known by construction."""

import numpy as np

from akd.mesh import Mesh
from akd.rig import Rig
from akd.skeleton import Limb, Skeleton

BOX = np.array([(x, y, z) for x in (0.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACES = np.array(
    [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
)


def box_rig(
    joints: dict[str, tuple[str, tuple[float, float, float], str]], tails: dict[str, tuple[float, float, float]], name: str
) -> Rig:
    """Joints as name → (parent, position, limb); limbs are written kind_side_order. Every bone is a box, feet are flat."""
    names = tuple(joints)
    parents = np.array([names.index(parent) if parent else -1 for parent, _, _ in joints.values()])
    positions = np.array([position for _, position, _ in joints.values()], float)
    bare = Skeleton.from_joints(names, parents, positions)
    ends = bare.tails.copy()
    for joint, tail in tails.items():
        ends[names.index(joint)] = tail
    skeleton = Skeleton.from_joints(names, parents, positions, ends)
    partner = [n.replace("_L", "_#").replace("_R", "_L").replace("_#", "_R") for n in names]
    mirror = np.array([names.index(other) for other in partner])
    skeleton = skeleton.labelled(_limbs(joints, names), mirror)
    return _boxed(skeleton, name)


def _limbs(joints: dict, names: tuple[str, ...]) -> tuple[Limb, ...]:
    limbs = {}
    for joint, (_, _, limb) in joints.items():
        limbs.setdefault(limb, []).append(names.index(joint))
    out = []
    for limb, members in limbs.items():
        kind, side, order = limb.split("_")
        out.append(Limb(kind, side, int(order), tuple(members), members[-1]))
    return tuple(out)


def _boxed(skeleton: Skeleton, name: str) -> Rig:
    vertices, faces, weights = [], [], []
    for joint in range(skeleton.joint_count):
        start, along = skeleton.positions[joint], skeleton.tails[joint] - skeleton.positions[joint]
        frame = skeleton.frames[joint] if joint else np.eye(3)
        length = np.linalg.norm(along)
        box = start + (BOX * np.array([length, 0.04, 0.04])) @ frame.T
        faces.append(FACES + 8 * joint)
        vertices.append(box)
        weights.append(np.tile(np.eye(skeleton.joint_count)[joint], (8, 1)))
    vertices, weights = np.concatenate(vertices), np.concatenate(weights)
    soles = []
    for limb in skeleton.limbs_of("leg"):
        own = np.flatnonzero(weights[:, limb.tip])
        vertices[own[np.argsort(vertices[own, 1])[:4]], 1] = 0.0
        soles.append(own[vertices[own, 1] < 0.01])
    mesh = Mesh(vertices, np.concatenate(faces), np.full_like(vertices, 0.6))
    return Rig(mesh, skeleton, weights, tuple(soles), 0.5, name)


def paired(joints: dict) -> dict:
    """Write joints ending in ``_R`` once, with z > 0; their left partners are added."""
    out = {}
    for joint, (parent, (x, y, z), limb) in joints.items():
        if not joint.endswith("_R"):
            out[joint] = (parent, (x, y, z), limb)
            continue
        for side, sign in (("L", -1), ("R", 1)):
            swap = lambda text, side=side: text.replace("_R", f"_{side}")  # noqa: E731
            out[swap(joint)] = (swap(parent), (x, y, sign * z), swap(limb))
    return out


def dog() -> Rig:
    joints = paired({
        "pelvis": ("", (-0.6, 1.1, 0), "spine_C_0"), "chest": ("pelvis", (0.0, 1.15, 0), "spine_C_0"),
        "withers": ("chest", (0.6, 1.15, 0), "spine_C_0"), "neck": ("withers", (0.75, 1.25, 0), "neck_C_0"),
        "head": ("neck", (1.0, 1.6, 0), "head_C_0"), "tail1": ("pelvis", (-0.75, 1.1, 0), "tail_C_0"),
        "tail2": ("tail1", (-1.0, 1.0, 0), "tail_C_0"), "tail3": ("tail2", (-1.25, 0.9, 0), "tail_C_0"),
        "arm_R": ("withers", (0.6, 1.0, 0.18), "leg_R_0"), "forearm_R": ("arm_R", (0.45, 0.65, 0.18), "leg_R_0"),
        "wrist_R": ("forearm_R", (0.55, 0.25, 0.18), "leg_R_0"), "forepaw_R": ("wrist_R", (0.57, 0.06, 0.18), "leg_R_0"),
        "thigh_R": ("pelvis", (-0.6, 1.0, 0.16), "leg_R_1"), "shin_R": ("thigh_R", (-0.4, 0.62, 0.16), "leg_R_1"),
        "hock_R": ("shin_R", (-0.75, 0.32, 0.16), "leg_R_1"), "paw_R": ("hock_R", (-0.68, 0.06, 0.16), "leg_R_1"),
    })  # fmt: skip
    tails = {f"{paw}_{side}": (x + 0.16, 0.04, z * s) for paw, x, z in (("forepaw", 0.57, 0.18), ("paw", -0.68, 0.16))
             for side, s in (("L", -1), ("R", 1))}  # fmt: skip
    return box_rig(joints, tails | {"head": (1.25, 1.5, 0), "tail3": (-1.5, 0.8, 0)}, "dog")


def person() -> Rig:
    """In T-pose with straight legs."""
    joints = paired({
        "hips": ("", (0, 1.02, 0), "spine_C_0"), "belly": ("hips", (0, 1.2, 0), "spine_C_0"),
        "chest": ("belly", (0, 1.4, 0), "spine_C_0"),
        "neck": ("chest", (0, 1.65, 0), "neck_C_0"), "head": ("neck", (0, 1.75, 0), "head_C_0"),
        "collar_R": ("chest", (0, 1.6, 0.05), "arm_R_0"), "arm_R": ("collar_R", (0, 1.6, 0.2), "arm_R_0"),
        "forearm_R": ("arm_R", (0, 1.6, 0.5), "arm_R_0"), "hand_R": ("forearm_R", (0, 1.6, 0.8), "arm_R_0"),
        "thigh_R": ("hips", (0, 1.0, 0.11), "leg_R_0"), "shin_R": ("thigh_R", (0, 0.54, 0.11), "leg_R_0"),
        "foot_R": ("shin_R", (-0.02, 0.09, 0.11), "leg_R_0"),
    })  # fmt: skip
    tails = {f"foot_{side}": (0.22, 0.05, 0.11 * s) for side, s in (("L", -1), ("R", 1))}
    return box_rig(joints, tails | {"head": (0, 2.0, 0)}, "person")


def spider(pairs: int = 4) -> Rig:
    joints: dict = {"body": ("", (0, 1.0, 0), "spine_C_0")}
    for k in range(pairs):
        x = 0.35 * (pairs - 1) / 2 - 0.35 * k
        out = 2.6 * x
        joints |= {
            f"coxa{k}_R": ("body", (x, 1.0, 0.25), f"leg_R_{k}"),
            f"femur{k}_R": (f"coxa{k}_R", (x * 1.2, 1.05, 0.4), f"leg_R_{k}"),
            f"tibia{k}_R": (f"femur{k}_R", ((x * 1.2 + out) / 2, 1.7, 1.0), f"leg_R_{k}"),
            f"tarsus{k}_R": (f"tibia{k}_R", (out, 0.2, 1.6), f"leg_R_{k}"),
        }  # fmt: skip
    joints = paired(joints)
    tails = {n: (p[0] * 1.03, 0.02, p[2] * 1.03) for n, (_, p, _) in joints.items() if n.startswith("tarsus")}
    return box_rig(joints, tails | {"body": (0.7, 1.0, 0)}, "spider")
