"""Tracking: windows cover the clip, the best is kept, torques and impulse are what they say, files come out whole."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig, save_animation
from akd.character.articulation import articulation_of
from akd.cli import main
from akd.contact.prepare import TargetSettings, prepare
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.files.motion_npz import read_motion, write_motion
from akd.motion import Motion
from akd.physics import track as tracking
from akd.physics import track_settings
from akd.physics.objective import Objective, Weights
from akd.physics.search import Search, moving_states, window_frames
from akd.physics.settings import PhysicsSettings
from akd.physics.track import TrackResult, extended_loop, track
from akd.physics.track_settings import PAPER, TrackSettings
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics

QUICK = TrackSettings(window_iterations=8, whole_iterations=3, assist=False, attempts=1)


@pytest.fixture(scope="module")
def dog() -> tuple[Rig, Motion]:
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk")
    return rig, replace(motion, pose=motion.pose[:13])


@pytest.fixture(scope="module")
def tracked(dog) -> TrackResult:
    return track(*dog, QUICK)


@pytest.mark.parametrize("window", [1, 4, 5, 12])
def test_windows_cover_every_frame(window: int):
    at = window_frames(window, 12)
    assert set(at[1:].flatten().tolist()) >= set(range(1, 13))
    assert torch.equal(at.diff(dim=0), torch.ones_like(at[1:]))
    assert at.min() == 0
    assert at.max() == 12


def test_states_move_as_fast_as_the_motion(dog):
    rig, motion = dog
    position = torch.linspace(0, 1, 13)[:, None] * torch.tensor((2.0, 0.0, 0.0))
    still = Pose(position, motion.pose.root_rotation[:1].expand(13, 4), motion.pose.angles[:1].expand(13, -1, 3))
    states = moving_states(articulation_of(rig), still, 12.0)
    assert torch.allclose(states.velocity, torch.tensor((2.0, 0.0, 0.0)).expand(13, 3), atol=1e-5)
    assert states.spin.abs().max() < 1e-4
    assert states.rates.abs().max() < 1e-4


def test_following_is_one_simulation(dog):
    """What is found frame by frame is kept as controls, and with these the whole clip does the same."""
    rig, motion = dog
    search = Search(articulation_of(rig), rig, prepare(rig, motion), QUICK)
    search.windows(4, 4, iter(()))
    before = search.controls.detach().clone()
    search.follow(1, iter(()))
    assert not torch.equal(before, search.controls)
    search.windows(12, 1, iter(()))
    assert search.best.error < 0.03


def test_a_loop_is_followed_into_its_next_round():
    """Joints and stances go on as they began, one cycle of travel further, and no angle jumps."""
    rig = creature("dog", 0)
    target = prepare(rig, gait_motion(rig, "walk"))
    longer, last = extended_loop(rig, target, 5), target.motion.frame_count - 1
    joints, once = (forward_kinematics(rig.skeleton, each.motion.pose).position for each in (longer, target))
    assert torch.allclose(joints[: last + 1], once, atol=1e-4)
    assert torch.allclose(joints[last + 1 :], once[1:6] + (once[last] - once[0]).mean(0), atol=1e-4)
    assert np.array_equal(longer.stance[last + 1 :], target.stance[1:6])
    steps = longer.motion.pose.angles.diff(dim=0).abs()
    assert steps[last:].max() <= steps[:last].max() + 1e-6
    assert extended_loop(rig, replace(target, loops=False), 5).motion is target.motion


def test_of_a_loop_the_clip_itself_is_kept():
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk")
    result = track(rig, motion, replace(QUICK, window_iterations=1, follow_iterations=1, whole_iterations=1))
    assert result.target.loops
    assert result.motion.frame_count == result.target.motion.frame_count == len(result.controls) == motion.frame_count
    assert len(result.torques) == (motion.frame_count - 1) * result.physics.substeps


def test_only_standing_soles_slip_and_only_swinging_ones_scuff(dog):
    """A body that slides sideways at 0.01 ℓ a frame, and one that is 0.02 ℓ too low."""
    rig, motion = dog
    body, pose = articulation_of(rig), motion.pose.to(torch.float64)
    at = torch.arange(13)[:, None]

    def cost(stands: bool, off: torch.Tensor) -> float:
        stance = np.full((13, len(rig.legs)), stands)
        plain, strict = (
            Objective.of(rig, body, pose, stance, Weights(0.0, 1.0, 0.0, *extra)) for extra in ((0.0, 0.0), (2.0, 3.0))
        )
        moved = replace(pose, root_position=pose.root_position + off)[:, None]
        extra = [objective.residuals(moved, at).square().sum() for objective in (strict, plain)]
        return float(extra[0] - extra[1])

    slide = 0.01 * torch.arange(13.0)[:, None] * torch.tensor((0.0, 0.0, 1.0))
    low = -0.02 * torch.tensor((0.0, 1.0, 0.0))
    feet = len(rig.legs)
    assert cost(True, slide) == pytest.approx(12 * feet * (2 * 0.01) ** 2, rel=1e-4)
    assert cost(False, slide) == pytest.approx(0, abs=1e-9)
    assert cost(False, low) == pytest.approx(12 * feet * (3 * 0.02) ** 2, rel=1e-4)
    assert cost(False, -low) == pytest.approx(0, abs=1e-9)
    assert cost(True, low) == pytest.approx(0, abs=1e-9)


def test_tracking_learns_and_keeps_the_best(tracked):
    first = tracked.losses[: QUICK.window_iterations]
    assert first[-1] < 0.6 * first[0]
    assert tracked.tracking_error < 0.03
    assert tracked.motion.frame_count == tracked.target.motion.frame_count
    assert tracked.metrics.verdict != "broken"


def test_the_motion_starts_in_the_target(dog, tracked):
    rig, _ = dog
    here, there = (forward_kinematics(rig.skeleton, m.pose[0].to(torch.float32)) for m in (tracked.motion, tracked.target.motion))
    assert torch.allclose(here.position, there.position, atol=1e-5)


def test_bones_that_are_not_simulated_move_as_in_the_target(tracked):
    merged = np.setdiff1d(np.arange(len(tracked.body.link_of_joint)), tracked.body.joints)
    here, there = (m.pose.angles[:, merged].float() for m in (tracked.motion, tracked.target.motion))
    assert torch.allclose(here, there)


def test_torques_are_those_of_the_controllers(tracked):
    steps = (tracked.motion.frame_count - 1) * tracked.physics.substeps
    assert tracked.torques.shape == (steps, tracked.body.link_count, 3)
    assert not tracked.torques[:, 0].any()
    # At the last frame: k_e (θ̂ − θ) − k_d θ̇ in units of m g ℓ.
    joints = torch.as_tensor(tracked.body.joints)
    spring = tracked.physics.stiffness * (tracked.controls[-1] - tracked.motion.pose.angles[-1, joints].numpy())
    assert np.abs(tracked.torques[-1, 1:] - spring[1:]).max() < 1.0
    assert np.abs(tracked.torques).max() < 5
    assert tracked.work > 0


def test_without_the_virtual_torque_there_is_no_impulse_and_with_it_there_is(dog, tracked):
    assert tracked.upright_impulse == 0
    helped = track(*dog, replace(QUICK, window_iterations=0, follow_iterations=0, physics=PhysicsSettings(assist_stiffness=1.0)))
    assert helped.upright_impulse > 0


def test_a_body_that_falls_is_given_an_assist_torque(dog, monkeypatch):
    monkeypatch.setattr(tracking, "FALLEN_ERROR", 1e-6)
    result = track(*dog, replace(QUICK, window_iterations=0, follow_iterations=1, whole_iterations=1, assist=True))
    assert result.physics.assist_stiffness == tracking.ASSIST_STIFFNESS
    assert any("upright" in note for note in result.notes)


def test_the_papers_way_controls_every_substep(dog):
    rig, motion = dog
    short = replace(motion, pose=motion.pose[:5])
    settings = replace(PAPER, whole_iterations=2, physics=replace(PAPER.physics, substeps=20))
    result = track(rig, short, settings)
    assert result.controls.shape == (4 * 20, result.body.link_count, 3)
    assert PAPER.whole_iterations == 200
    assert PAPER.target == TargetSettings(lock=False)
    assert PAPER.smoothness_weight == 0.2


def test_small_bodies_are_controlled_more_often_than_they_are_filmed():
    rig = creature("spider", 0)
    motion = gait_motion(rig, "walk")
    short = replace(motion, pose=motion.pose[:5])
    result = track(rig, short, replace(QUICK, window_iterations=1, follow_iterations=0, whole_iterations=1))
    assert result.controls_fps == pytest.approx(3 * motion.fps)
    assert len(result.controls) == 3 * 4 + 1
    assert result.motion.frame_count == 5
    assert len(result.torques) == 4 * 3 * result.physics.substeps


def test_progress_is_told(dog):
    seen = []
    quick = replace(QUICK, window_iterations=2, follow_iterations=0, whole_iterations=1)
    track(*dog, quick, progress=lambda steps, count: (seen.append(step) or step for step in steps))
    assert seen == list(range(3))


def test_bad_settings_and_rigs_end_in_a_sentence(dog):
    with pytest.raises(AkdError, match="at least 1"):
        TrackSettings(window=0)
    with pytest.raises(AkdError, match="attempts must be at least 1, not 0"):
        TrackSettings(attempts=0)
    with pytest.raises(AkdError, match="follow_iterations to 0"):
        TrackSettings(every="substep")
    rig, motion = dog
    legless = replace(rig, skeleton=replace(rig.skeleton, limbs=()), soles=())
    with pytest.raises(AkdError, match="no feet"):
        track(legless, motion)
    with pytest.raises(AkdError, match="too short"):
        track(rig, replace(motion, pose=motion.pose[:1]))


def test_motions_come_back_from_disk_whatever_the_order_of_joints(dog, tmp_path: Path):
    rig, motion = dog
    write_motion(tmp_path / "m.npz", rig.skeleton, motion)
    again = read_motion(tmp_path / "m.npz", rig.skeleton)
    assert torch.equal(again.pose.angles, motion.pose.angles)
    assert again.fps == motion.fps
    stored = dict(np.load(tmp_path / "m.npz"))
    order = np.arange(len(stored["joints"]))[::-1]
    np.savez(tmp_path / "r.npz", **(stored | {"joints": stored["joints"][order], "angles": stored["angles"][:, order]}))
    assert torch.equal(read_motion(tmp_path / "r.npz", rig.skeleton).pose.angles, motion.pose.angles)
    np.savez(tmp_path / "bad.npz", angles=np.zeros(3))
    with pytest.raises(AkdError, match="not a motion"):
        read_motion(tmp_path / "bad.npz", rig.skeleton)


def run(monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["akd", "track", *map(str, arguments)])
    main()


def test_the_command_writes_everything_and_overwrites_nothing(dog, tmp_path: Path, monkeypatch, capsys):
    quick = replace(QUICK, window_iterations=2, follow_iterations=0, whole_iterations=1)
    monkeypatch.setitem(track_settings.RECIPES, "default", quick)
    rig, motion = dog
    save_animation(rig, motion, tmp_path / "dog.glb", name="walk")
    out = tmp_path / "tracked"
    run(monkeypatch, f"{tmp_path / 'dog.glb'}#walk", "--out", out, "--no-film")
    assert "skating ratio" in capsys.readouterr().out
    assert {path.name for path in out.iterdir()} == {"animated.glb", "motion.npz", "controls.npz", "metrics.json", "body.xml"}
    assert [clip.name for clip in load_rig(out / "animated.glb").origin.file.clips] == ["walk", "tracked"]
    assert json.loads((out / "metrics.json").read_text())["upright_impulse"] == 0
    assert set(np.load(out / "controls.npz").files) >= {"controls", "torques", "start_velocity", "links"}
    with pytest.raises(SystemExit):
        run(monkeypatch, f"{tmp_path / 'dog.glb'}#walk", "--out", out)
    assert "exists already" in capsys.readouterr().err
    (out / "animated.glb").rename(out / "rig.glb")
    run(monkeypatch, out, "--out", tmp_path / "again", "--no-film", "--json")
    assert json.loads(capsys.readouterr().out)["tracking_error"] < 0.5
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path)
    assert "no rig.glb" in capsys.readouterr().err
