"""Gaits that artists and our own creatures mean are the gaits that are measured."""

from pathlib import Path

import pytest

from akd.character import build_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.files.gltf.read import read_gltf
from akd.measure.evaluation import evaluate


@pytest.mark.parametrize("file", ["q_wolf/Wolf.glb", "q_horse/Horse.glb"])
def test_walk_and_gallop_of_artists(assets: Path, file: str) -> None:
    rig = build_rig(read_gltf(assets / file))
    walk, gallop = (
        evaluate(rig, read_clip(rig, f"AnimalArmature|{name}").motion, from_file=True) for name in ("Walk", "Gallop")
    )
    assert (walk.gait, gallop.gait) == ("walk", "gallop")
    assert min(walk.alternation or (0,)) > 0.8
    assert (walk.duty_factor or 0) > 0.5 > (gallop.duty_factor or 1)
    assert walk.heading == pytest.approx(1, abs=0.03)
    assert 0 < (walk.treadmill_speed or 0) < (gallop.treadmill_speed or 0)


def test_walking_backwards_is_walking(assets: Path) -> None:
    rig = build_rig(read_gltf(assets / "kaykit_knight/Knight.glb"))
    result = evaluate(rig, read_clip(rig, "Walking_Backwards").motion, from_file=True)
    assert result.gait == "walk"
    assert result.heading == pytest.approx(-1, abs=0.03)


@pytest.mark.parametrize(("fps", "frames"), [(30.0, None), (8.0, 17)])
def test_gaits_of_our_creatures(fps: float, frames: int | None) -> None:
    horse = creature("horse", 0)
    for name in ("walk", "trot", "pace", "gallop", "bound"):
        result = evaluate(horse, gait_motion(horse, name, fps=fps, frames=frames), from_file=False)
        assert result.gait == name
        assert result.verdict == "good"
        assert result.skating_ratio == 0
        assert result.corner_depth < 0.002
