"""The public names: each is there, teaches, and costs nothing until it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

import akd

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("name", akd.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    value = getattr(akd, name)
    assert callable(value) is False or (value.__doc__ or "").strip()
    assert name in dir(akd)


def test_importing_akd_imports_nothing_heavy() -> None:
    script = "import sys, akd; print([name for name in ('torch', 'numpy', 'scipy', 'warp', 'tyro') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match="load_rig"):
        _ = akd.load_ring


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_use_only_the_public_names(example: Path) -> None:
    lines = [line.strip() for line in example.read_text().splitlines()]
    assert [line for line in lines if line.startswith(("import akd", "from akd"))] == ["import akd"]


@pytest.mark.parametrize("name", ["05_pose_ik", "07_new_creature"])
def test_short_examples_run(name: str, tmp_path: Path) -> None:
    (example,) = (path for path in EXAMPLES if path.stem == name)
    ended = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "Wrote" in ended.stdout


def test_a_motion_is_saved_by_suffix_and_nothing_is_overwritten(tmp_path: Path) -> None:
    rig = akd.make_character("a brown dog")
    motion = _still(rig)
    for suffix in (".glb", ".fbx", ".bvh", ".npz", ".xml"):
        path = akd.save(rig, motion, tmp_path / f"dog{suffix}")
        assert path.stat().st_size > 100
    with pytest.raises(akd.AkdError, match="exists already"):
        akd.save(rig, motion, tmp_path / "dog.glb")
    with pytest.raises(akd.AkdError, match="written as"):
        akd.save(rig, motion, tmp_path / "dog.docx")


def _still(rig: akd.Rig) -> akd.Motion:
    import torch

    pose = rig.skeleton.rest_pose()
    parts = (part.expand(4, *part.shape) for part in (pose.root_position, pose.root_rotation, pose.angles))
    return akd.Motion(akd.Pose(*(torch.clone(part) for part in parts)), fps=30.0)
