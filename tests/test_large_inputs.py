"""Large inputs cost little: limits of processor time and memory for whole commands, each in a process of its own.

The limits are about three times what a quiet machine takes (``python -m experiments.growth``), because processor time, too,
grows on a busy one; before the cures these commands took more than ten times as much, or ended in a traceback.
"""

from pathlib import Path

import pytest
from experiments.evaluate import long_walk
from experiments.growth import Command, Growth, cost, hairy_dog, subdivided_dog, textured_dog, walking, walking_hairy_dog

from akd.creatures.build import creature
from akd.distill import reach
from akd.files.gltf.write_rig import write_rig

INPUTS = {
    "3,000 bones": lambda: walking_hairy_dog(3000),
    "a million triangles": lambda: walking(subdivided_dog(5)),
    "8192² texels": lambda: walking(textured_dog(8192)),
    "an hour of frames": lambda: (creature("dog", 0), long_walk(creature("dog", 0), 108_000)),
}


@pytest.fixture(scope="module")
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rig, motion = INPUTS[request.param]()
    path = tmp_path_factory.mktemp("large") / "in.glb"
    write_rig(rig, {"walk": motion}, path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "command", "seconds", "gigabytes"),
    [
        ("3,000 bones", "inspect", 20, 1.5), ("3,000 bones", "rig", 60, 3.0), ("3,000 bones", "evaluate", 30, 2.0),
        ("3,000 bones", "animate", 150, 5.0),
        ("a million triangles", "inspect", 20, 2.0), ("a million triangles", "rig", 50, 3.0),
        ("a million triangles", "animate", 120, 4.0), ("8192² texels", "inspect", 20, 2.0),
        ("an hour of frames", "inspect", 20, 2.0), ("an hour of frames", "evaluate", 90, 4.0),
    ],
    indirect=["file"],
)  # fmt: skip
def test_large_inputs_are_done_soon_and_in_little_memory(file: Path, command: Command, seconds: int, gigabytes: float) -> None:
    used = cost(command, file, Growth(seconds=seconds, gigabytes=16))
    assert used is not None, f"akd {command} failed, or took more than {seconds} s of processor time"
    assert used.gigabytes < gigabytes


@pytest.mark.long
def test_a_thousand_bones_are_inspected_soon(tmp_path: Path) -> None:
    """A third of the bones that took more than 40 s once; the large ones are slow tests."""
    rig, walk = walking_hairy_dog(1000)
    write_rig(rig, {"walk": walk}, tmp_path / "in.glb")
    assert cost("inspect", tmp_path / "in.glb", Growth(seconds=12)) is not None


def test_the_pose_space_is_not_asked_about_thousands_of_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its attention takes memory with their square: 3,000 asked for more than 14 GB."""
    monkeypatch.setattr(reach, "load_network", lambda _: pytest.fail("it was asked"))
    rig = hairy_dog(reach.MOST_JOINTS + 1)
    assert reach.joint_reach(rig).shape == (6 + 3 * (rig.skeleton.joint_count - 1),)
