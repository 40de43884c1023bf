"""The bones of a human body by their VRM names: as a file labels them, or as our limb labels imply them."""

import numpy as np

from akd.character.leg import main_chain
from akd.character.limb_model import limb_model
from akd.character.symmetry import RestGeometry
from akd.errors import AkdError
from akd.files.labels_json import LabelFile, NamedLimb
from akd.rig import FileRig, Rig
from akd.skeleton import Kind, Side

SPINE = ("hips", "spine", "chest", "upperChest")
LEG = ("UpperLeg", "LowerLeg", "Foot", "Toes")
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")
SIDES: dict[str, Side] = {"left": "L", "right": "R"}
NEEDED = ("hips", *(f"{side}{part}" for side in SIDES for part in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm")))
"""Bones without which a file's labels are no humanoid's, and are not believed."""


def humanoid_labels(file: FileRig, body: RestGeometry) -> LabelFile | None:
    """Limb labels from what a file says its bones are; None where it does not say enough.

    Joints that it does not name (hair, skirts, fingers) belong to the limb of the nearest named joint above them.
    """
    role_of = {bone: role for role, bone in file.humanoid if bone in body.names}
    if not set(NEEDED) <= set(role_of.values()):
        return None
    limb_of: list[tuple[Kind, Side]] = []
    for joint, name in enumerate(body.names):
        parent = int(body.parents[joint])
        inherited: tuple[Kind, Side] = limb_of[parent] if parent >= 0 else ("spine", "C")
        limb_of.append(_limb(role_of[name]) if name in role_of else inherited)
    limbs = [
        NamedLimb(kind, side, 0, tuple(body.names[j] for j, mine in enumerate(limb_of) if mine == (kind, side)))
        for kind, side in dict.fromkeys(limb_of)
    ]
    facing = None if file.forward is None else (float(file.forward[0]), float(file.forward[1]), float(file.forward[2]))
    return LabelFile(f"The humanoid in {file.path.name if file.path else 'the file'}", tuple(limbs), facing)


def _limb(role: str) -> tuple[Kind, Side]:
    """The limb that a bone of VRM belongs to. Fingers have names of their own and belong to the arm, eyes and jaw to the head."""
    for word, side in SIDES.items():
        if role.startswith(word) and not role.endswith("Eye"):
            return ("leg" if role.removeprefix(word) in LEG else "arm"), side
    if role in SPINE:
        return "spine", "C"
    return ("neck", "C") if role == "neck" else ("head", "C")


CURE = "leave --names out, and write another format than .vrma"


def humanoid_joints(rig: Rig) -> dict[str, int]:
    """The joint behind each VRM bone of a rig: two legs, two arms, spine, neck and head.

    A file's own labels come first. Toes, shoulders, chest and neck are left out where there are none.
    """
    skeleton, place = rig.skeleton, {name: joint for joint, name in enumerate(rig.skeleton.names)}
    if rig.origin is not None and rig.origin.file.humanoid:
        return {role: place[bone] for role, bone in rig.origin.file.humanoid if bone in place}
    legs = {limb.side: limb for limb in skeleton.limbs_of("leg")}
    arms = {limb.side: limb for limb in skeleton.limbs_of("arm")}
    if len(rig.legs) != 2 or set(legs) != {"L", "R"} or set(arms) != {"L", "R"} or len(skeleton.limbs_of("arm")) != 2:
        raise AkdError(f"{rig.name} has not two legs and two arms, so its bones have no human names: {CURE}.")
    model, out = limb_model(rig), dict[str, int]()
    spine = _spine(rig, [limb.joints[0] for limb in legs.values()])
    out |= dict(zip(SPINE if len(spine) != 3 else SPINE[:3], _spread(spine, len(SPINE)), strict=False))
    neck = [joint for limb in skeleton.limbs_of("neck") for joint in limb.joints]
    head = [joint for limb in skeleton.limbs_of("head") for joint in limb.joints]
    out |= ({"neck": neck[0]} if neck else {}) | ({"head": head[0]} if head else {})
    for word, side in SIDES.items():
        chain = main_chain(skeleton, legs[side])
        out |= {f"{word}{part}": joint for part, joint in zip(LEG, chain, strict=False)}
        upper = next(arm.upper for arm in model.arms if arm.upper in arms[side].joints)
        chain = main_chain(skeleton, arms[side])
        begin = chain.index(upper) if upper in chain else 0
        parts = ARM[1:] if begin == 0 else ARM
        out |= {f"{word}{part}": joint for part, joint in zip(parts, chain[max(begin - 1, 0) :], strict=False)}
    missing = next((role for role in NEEDED if role not in out), None)
    if missing is not None:
        raise AkdError(f"{rig.name} has no joint that is a human {missing}, so its bones have no human names: {CURE}.")
    return out


def _spine(rig: Rig, thighs: list[int]) -> list[int]:
    """From the joint that the legs hang on to the chest."""
    skeleton = rig.skeleton
    joints = [joint for limb in skeleton.limbs_of("spine") for joint in limb.joints]
    hips = int(skeleton.parents[thighs[0]])
    return [hips, *(joint for joint in joints if skeleton.is_ancestor[hips, joint] and joint != hips)]


def _spread(spine: list[int], count: int) -> list[int]:
    """At most ``count`` of the joints, the first and the last among them."""
    return [spine[i] for i in np.unique(np.linspace(0, len(spine) - 1, min(count, len(spine))).round().astype(int))]
