"""VRM: the file's own names of its bones are the limb labels, whatever the shape suggests."""

from pathlib import Path

import numpy as np
import pytest

import akd
from akd.assets import load_clips, load_rig, save_clips
from akd.character.clips import read_clip
from akd.character.humanoid import humanoid_joints
from akd.files.gltf.document import read_document
from akd.files.gltf.read import read_gltf
from akd.motion import resample
from akd.skeleton import forward_kinematics
from packed_gltf import as_vrm

KNIGHT = {
    "hips": "hips", "spine": "spine", "chest": "chest", "head": "head",
    **{f"{side}{role}": f"{bone}.{letter}" for side, letter in (("left", "l"), ("right", "r")) for role, bone in (
        ("UpperLeg", "upperleg"), ("LowerLeg", "lowerleg"), ("Foot", "foot"), ("Toes", "toes"), ("UpperArm", "upperarm"),
        ("LowerArm", "lowerarm"), ("Hand", "wrist"),
    )},
}  # fmt: skip


@pytest.mark.parametrize("version", ["1.0", "0.x"])
def test_the_files_labels_are_taken(assets: Path, tmp_path: Path, version: str) -> None:
    path = tmp_path / "knight.vrm"
    path.write_bytes(as_vrm(assets / "kaykit_knight" / "Knight.glb", KNIGHT, version=version, back_to_front=version == "0.x"))
    rig = load_rig(path)
    limbs = {limb.name: [rig.skeleton.names[j] for j in limb.joints] for limb in rig.skeleton.limbs}
    assert {limb.kind for limb in rig.skeleton.limbs} == {"leg", "arm", "spine", "head"}
    assert limbs["arm_L0"][:3] == ["upperarm.l", "lowerarm.l", "wrist.l"]
    assert limbs["leg_R0"] == ["upperleg.r", "lowerleg.r", "foot.r", "toes.r"]
    left = rig.skeleton.positions[rig.skeleton.names.index("upperarm.l")]
    assert left[2] < -0.05  # the left side is at −Z of the stage
    assert humanoid_joints(rig)["leftHand"] == rig.skeleton.names.index("wrist.l")


def test_labels_swapped_in_the_file_are_swapped_here(assets: Path, tmp_path: Path) -> None:
    """They are the file's word, not a guess from names or shape: what is called an arm is one."""
    other = {"left": "right", "right": "left"}
    swapped = {
        next((role.replace(side, to, 1) for side, to in other.items() if role.startswith(side)), role): bone
        for role, bone in KNIGHT.items()
    }
    path = tmp_path / "knight.vrm"
    path.write_bytes(as_vrm(assets / "kaykit_knight" / "Knight.glb", swapped))
    rig = load_rig(path)
    (arm,) = (limb for limb in rig.skeleton.limbs_of("arm") if limb.side == "L")
    assert rig.skeleton.names[arm.joints[0]] == "upperarm.r"


def test_too_few_labels_are_not_believed(assets: Path, tmp_path: Path) -> None:
    path = tmp_path / "knight.vrm"
    path.write_bytes(as_vrm(assets / "kaykit_knight" / "Knight.glb", {"hips": "hips"}))
    assert {limb.kind for limb in load_rig(path).skeleton.limbs} >= {"leg", "arm", "head", "spine"}


def test_a_clip_goes_into_the_users_own_vrm(assets: Path, tmp_path: Path) -> None:
    path = tmp_path / "knight.vrm"
    path.write_bytes(as_vrm(assets / "kaykit_knight" / "Knight.glb", KNIGHT))
    rig = akd.load_rig(path)
    akd.save(rig, read_clip(rig, "Walking_A").motion, tmp_path / "out.glb", name="new")
    again = load_rig(tmp_path / "out.glb")
    assert again.origin is not None
    assert "new" in {clip.name for clip in again.origin.file.clips}
    assert again.origin.file.humanoid == rig.origin.file.humanoid  # type: ignore[union-attr]
    assert np.allclose(again.skeleton.positions, rig.skeleton.positions)


@pytest.mark.parametrize("name", ["cesium_man/CesiumMan.glb", "q_woman/Smooth_Female_Casual.glb"])
def test_human_bones_are_found_without_labels(assets: Path, name: str) -> None:
    rig = load_rig(assets / name)
    joints = humanoid_joints(rig)
    names = {role: rig.skeleton.names[joint] for role, joint in joints.items()}
    if "Casual" in name:
        assert names["leftUpperArm"] == "UpperArm.L"
        assert names["leftShoulder"] == "Shoulder.L"
        assert names["rightFoot"] == "Foot.R"
        assert names["hips"] == "Body"  # the legs hang on it, whatever the artist calls it
        assert (names["neck"], names["head"]) == ("Neck", "Head")
    else:
        assert names["leftUpperLeg"] == "leg_joint_L_1"
    assert len(set(joints.values())) == len(joints)


@pytest.mark.parametrize("name", ["kaykit_knight/Knight.glb#Walking_A", "cesium_man/CesiumMan.glb"])
def test_a_vrma_turns_the_bones_as_the_clip_does(assets: Path, tmp_path: Path, name: str) -> None:
    """Read as a plain glTF: directions of thighs, shins and arms as in the clip, and arms stretched out at rest."""
    rig, clips = load_clips(str(assets / name))
    motion = resample(read_clip(rig, clips[0]).motion, 30)
    save_clips(rig, {"walk": motion}, tmp_path / "walk.vrma")
    file = read_gltf(tmp_path / "walk.vrma")
    content = read_document(tmp_path / "walk.vrma").json
    table = content["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    assert {"hips", "head", "leftUpperArm", "rightLowerLeg"} <= set(table)
    place = {role: file.names.index(content["nodes"][entry["node"]]["name"]) for role, entry in table.items()}
    rest = file.rest[:, :3, 3]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = rest[place[f"{side}LowerArm"]] - rest[place[f"{side}UpperArm"]]
        leg = rest[place[f"{side}LowerLeg"]] - rest[place[f"{side}UpperLeg"]]
        assert np.allclose(arm / np.linalg.norm(arm), (sign, 0, 0), atol=1e-5)
        assert np.allclose(leg / np.linalg.norm(leg), (0, -1, 0), atol=1e-5)
    assert file.sample is not None
    found = file.sample("walk", motion.times)[..., :3, 3]
    posed = forward_kinematics(rig.skeleton, motion.pose).position.numpy()
    joints = humanoid_joints(rig)
    for upper, lower in (("leftUpperLeg", "leftLowerLeg"), ("rightUpperArm", "rightLowerArm"), ("leftLowerLeg", "leftFoot")):
        theirs = found[:, place[lower]] - found[:, place[upper]]
        ours = (posed[:, joints[lower]] - posed[:, joints[upper]])[:, [2, 1, 0]] * (-1, 1, 1)  # stage → looking along +Z
        cosines = (theirs * ours).sum(1) / np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours, axis=1)
        assert cosines.min() > 0.999
