"""What we track stands in MuJoCo too: the same body, our controls, its own ground, nothing else to hold it for a second."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.measure.trace import trace
from akd.motion import repeat
from akd.physics.mjcf import replay, to_mjcf
from akd.physics.simulate import between_frames
from akd.physics.track import track
from akd.physics.track_settings import TrackSettings

pytest.importorskip("mujoco")
QUICK = TrackSettings(window_iterations=10, whole_iterations=1, crutch=False)
FRAMES = 31


@pytest.mark.parametrize("plan", ["dog", "human"])
def test_a_tracked_walk_stays_upright_and_near_ours_for_a_second(plan: str):
    rig = creature(plan, 0)
    motion = repeat(gait_motion(rig, "walk"), 4)
    motion = replace(motion, pose=motion.pose[:FRAMES])
    result = track(rig, motion, QUICK)
    assert result.tracking_error < 0.05
    assert result.upright_impulse == 0
    text = to_mjcf(rig, result.body, result.physics, result.controls_fps)
    targets = between_frames(torch.as_tensor(result.controls), result.physics.substeps).numpy()
    steps = len(targets) // (FRAMES - 1)
    theirs = trace(rig, replay(text, result.body, result.start, targets, steps, motion.fps))
    ours = trace(rig, result.motion)
    assert theirs.root_rotation[:, 1, 1].min() > 0.95
    assert np.abs(theirs.joints[:, 0, 1] - ours.joints[:, 0, 1]).max() < 0.1
    assert np.linalg.norm(theirs.joints - ours.joints, axis=-1).mean() < 0.15
