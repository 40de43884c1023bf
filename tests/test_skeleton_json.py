"""Skeletons as JSON: a skeleton, or one sentence."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files.skeleton_json import read_skeleton_json


def written(folder: Path, content: Any) -> Path:
    path = folder / "skeleton.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def joint(name: Any = "b", parent: Any = "a", position: Any = (0, 2, 0)) -> dict[str, Any]:
    return {"name": name, "parent": parent, "position": position}


def test_joints_in_any_order(tmp_path: Path) -> None:
    rig = read_skeleton_json(written(tmp_path, {"joints": [joint(), joint("a", None, [0, 1, 0])]}))
    assert rig.names == ("a", "b")
    assert rig.parents.tolist() == [-1, 0]
    assert rig.rest[:, 1, 3].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ('{"joints": ' + '{"a":' * 100_000, "nested too deep"),
        ("9" * 5000, "not JSON"),
        ("", "not JSON"),
        ("[]", "no joints"),
        ({"joints": {}}, "no joints"),
        ({"joints": [1]}, "without a name"),
        ({"joints": [joint(name=[])]}, "without a name"),
        ({"joints": [joint(parent=[1])]}, "no other joint"),
        ({"joints": [joint(parent={"x": 1})]}, "no other joint"),
        ({"joints": [joint(parent="x" * 10_000)]}, "no other joint"),
        ({"joints": [joint("a", None), joint("a", None)]}, "twice"),
        ({"joints": [joint("a", "b"), joint("b", "a")]}, "loop"),
        ({"joints": [joint("a", None, None)]}, "three numbers"),
        ({"joints": [joint("a", None, [0, 1])]}, "three numbers"),
        ({"joints": [joint("a", None, [0, "1", 2])]}, "three numbers"),
        ({"joints": [joint("a", None, [0, True, 2])]}, "three numbers"),
        ({"joints": [joint("a", None, [0, 10**400, 2])]}, "three numbers"),
        ({"joints": [joint("a", None, [0, float("nan"), 2])]}, "not finite"),
        ({"joints": [joint("a", None, [0, float("inf"), 2])]}, "not finite"),
        ({"joints": [joint("a", None, [0, 1e300, 2])]}, "beyond"),
        ({"joints": [joint("a", None, [0, -(10**299), 2])]}, "beyond"),
    ],
)
def test_what_is_no_skeleton_is_one_sentence(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(AkdError, match=words) as caught:
        read_skeleton_json(written(tmp_path, content))
    assert re.fullmatch(r"[^\n]{1,400}\.", str(caught.value))


def test_a_chain_of_many_joints_is_read_soon(tmp_path: Path) -> None:
    joints = [joint(str(i), str(i - 1) if i else None, [0, i, 0]) for i in range(20_000)]
    rig = read_skeleton_json(written(tmp_path, {"joints": joints[::-1]}))
    assert np.array_equal(rig.parents, np.arange(20_000) - 1)


def test_names_can_be_written(tmp_path: Path) -> None:
    rig = read_skeleton_json(written(tmp_path, {"joints": [joint("\ud800", None), joint("b", "\ud800")]}))
    for name in rig.names:
        name.encode()
