"""What we track stands in MuJoCo too: the same body, our controls, its own ground, nothing else to hold it for a second."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.contact.traces import Trace, trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.motion import Motion, repeat
from akd.physics.mjcf import replay, to_mjcf
from akd.physics.simulate import between_frames
from akd.physics.track import track
from akd.physics.track_settings import TrackSettings
from akd.rig import Rig

pytest.importorskip("mujoco")
QUICK = TrackSettings(window_iterations=10, whole_iterations=1, assist=False, attempts=1)
FRAMES = 31


def replayed(rig: Rig, motion: Motion) -> tuple[Trace, Trace]:
    """MuJoCo's motion with our controls, and our own."""
    result = track(rig, motion, QUICK)
    assert result.tracking_error < 0.05
    assert result.upright_impulse == 0
    text = to_mjcf(rig, result.body, result.physics, result.controls_fps)
    targets = between_frames(torch.as_tensor(result.controls), result.physics.substeps).numpy()
    steps = len(targets) // (motion.frame_count - 1)
    return trace(rig, replay(text, result.body, result.start, targets, steps, motion.fps)), trace(rig, result.motion)


def stays_near(theirs: Trace, ours: Trace) -> None:
    assert theirs.root_rotation[:, 1, 1].min() > 0.95
    assert np.abs(theirs.joints[:, 0, 1] - ours.joints[:, 0, 1]).max() < 0.1
    assert np.linalg.norm(theirs.joints - ours.joints, axis=-1).mean() < 0.15


@pytest.mark.parametrize("plan", ["dog", "human"])
def test_a_tracked_walk_stays_upright_and_near_ours_for_a_second(plan: str):
    rig = creature(plan, 0)
    motion = repeat(gait_motion(rig, "walk"), 4)
    stays_near(*replayed(rig, replace(motion, pose=motion.pose[:FRAMES])))


def test_so_does_an_artists_walk(assets: Path):
    rig = load_rig(assets / "fox_khronos/Fox.glb")
    stays_near(*replayed(rig, read_clip(rig, "Walk").motion))
