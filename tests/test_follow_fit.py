"""The fit: its Jacobian equals finite differences, its band solver a dense one, and a filmed motion comes back."""

import numpy as np
import pytest
import torch

from akd.errors import AkdError
from akd.follow.begin import begin
from akd.follow.body import Body, posed
from akd.follow.clip import Clip
from akd.follow.coordinates import to_coordinates, to_motion
from akd.follow.equations import SPAN, picture_rows, solve_banded, spline_equations
from akd.follow.first_frame import FirstFrame, frame_camera, parse_view
from akd.follow.match import Match
from akd.follow.settings import FollowSettings
from akd.follow.standing import lock_standing
from akd.follow.subject import find_subject
from akd.follow.track import bare_patch, track_frame
from akd.follow.viewing import Viewpoint, look
from akd.motion import Motion
from akd.render.depth_picture import depth_picture
from akd.render.preview import still
from akd.skeleton import forward_kinematics
from akd.splines import Spline
from sample_rigs import box_rig, stride

cv2 = pytest.importorskip("cv2")
SIZE = (240, 160)


def filmed(rig, motion, view="side"):
    """A clip of a motion, and its first frame."""
    seen = parse_view(view)
    camera = frame_camera(rig, motion.pose[motion.frame_count // 2].to(torch.float32), seen, *SIZE)
    frames = []
    for index in range(motion.frame_count):
        picture, _ = still(rig, motion.pose[index].to(torch.float32), camera, background=(0.93, 0.93, 0.95), supersample=2)
        frames.append(np.uint8(255 * picture.numpy().clip(0, 1)))
    first = FirstFrame(camera, motion.pose[0].to(torch.float32), rig.skeleton.names)
    return Clip(np.stack(frames), motion.fps, 0.0, SIZE), first


def joint_error(rig, one, other):
    a, b = (forward_kinematics(rig.skeleton, each.pose.to(torch.float64)).position for each in (one, other))
    return float((a - b).norm(dim=-1).mean())


@pytest.fixture(scope="module")
def walk():
    rig = box_rig(1)
    rig.mesh.colors[:] = np.random.default_rng(0).random((len(rig.mesh.colors) // 8, 1, 3)).repeat(8, 1).reshape(-1, 3)
    motion = stride(rig, (0.0, 0.5), seconds=0.6, fps=20, amplitude=0.25)
    clip, first = filmed(rig, motion)
    return rig, motion, clip, first, find_subject(clip)


def test_coordinates_come_back():
    rig = box_rig(2)
    motion = stride(rig, (0.0, 0.5, 0.5, 0.0), seconds=0.5)
    again = to_motion(rig, to_coordinates(motion.pose), motion.fps)
    assert joint_error(rig, motion, again) < 1e-9


def test_the_jacobian_equals_finite_differences():
    rig = box_rig(2)
    body = Body.of(rig, count=60)
    rng = np.random.default_rng(1)
    y = to_coordinates(rig.skeleton.rest_pose(1, dtype=torch.float64))
    y[:, 3:] += 0.3 * rng.normal(size=y[:, 3:].shape)
    view = Viewpoint.of(frame_camera(rig, rig.skeleton.rest_pose(), parse_view("three-quarter"), *SIZE), *SIZE, 1)
    now = posed(body, y)
    found = picture_rows(body, now, look(body, view, now)[0], 0, np.arange(60))
    step = 1e-3
    for column, coordinate in enumerate(body.active):
        change = np.zeros_like(y)
        change[0, coordinate] = step
        there, back = (look(body, view, posed(body, y + sign * change))[0].places for sign in (1, -1))
        np.testing.assert_allclose(found[..., column], (there - back) / (2 * step), atol=0.05)


def test_the_band_solver_equals_a_dense_one():
    rng = np.random.default_rng(2)
    spline = Spline(1.0, 5)
    basis = spline.basis(np.linspace(0, 1, 11))
    width = 3
    a = rng.normal(size=(11, width, width))
    diagonal = a @ np.swapaxes(a, 1, 2) + 5 * np.eye(width)
    beside, right = 0.3 * rng.normal(size=(10, width, width)), rng.normal(size=(11, width))
    blocks, pull = spline_equations(basis, diagonal, beside, right)
    assert blocks.shape[1] == SPAN
    whole = np.zeros((11 * width, 11 * width))
    for t in range(11):
        whole[t * width : (t + 1) * width, t * width : (t + 1) * width] = diagonal[t]
        if t < 10:
            whole[t * width : (t + 1) * width, (t + 1) * width : (t + 2) * width] = beside[t]
            whole[(t + 1) * width : (t + 2) * width, t * width : (t + 1) * width] = beside[t].T
    spread = np.kron(basis, np.eye(width))
    expected = np.linalg.solve(spread.T @ whole @ spread, spread.T @ right.reshape(-1)).reshape(-1, width)
    np.testing.assert_allclose(solve_banded(blocks, pull), expected, atol=1e-8)


def test_a_camera_that_moves_with_the_body_sees_the_same():
    rig = box_rig(1)
    body = Body.of(rig, count=60)
    y = to_coordinates(rig.skeleton.rest_pose(3, dtype=torch.float64))
    by = np.random.default_rng(3).normal(size=(3, 3))
    view = Viewpoint.of(frame_camera(rig, rig.skeleton.rest_pose(), parse_view("three-quarter"), *SIZE), *SIZE, 3)
    gone = y.copy()
    gone[:, :3] += by
    for one, other in zip(look(body, view, posed(body, y)), look(body, view.moved(by), posed(body, gone)), strict=True):
        np.testing.assert_allclose(one.places, other.places, atol=1e-2)


def test_the_nearer_triangle_hides_the_farther():
    places = np.array(((0.0, 0.0), (10.0, 0.0), (0.0, 10.0), (0.0, 0.0), (4.0, 0.0), (0.0, 4.0)))
    depth = np.array((2.0, 2.0, 2.0, 1.0, 1.0, 1.0))
    picture = depth_picture(places, depth, np.array(((0, 1, 2), (3, 4, 5))), 10, 10)
    assert picture[0, 0] == 1
    assert picture[0, 8] == 2
    assert np.isinf(picture[9, 9])


@pytest.mark.long
def test_a_filmed_walk_comes_back(walk):
    rig, motion, clip, first, subject = walk
    run = begin(rig, clip, subject, first=first)
    while run.iteration < run.iterations:
        run.step()
    followed = run.finish()
    still_error = joint_error(rig, motion, Motion(motion.pose[torch.zeros(motion.frame_count, dtype=torch.long)], motion.fps))
    assert joint_error(rig, motion, followed.motion) < 0.1
    assert joint_error(rig, motion, followed.motion) < 0.35 * still_error
    assert followed.match.verdict == "follows"
    assert followed.match.overlap > 0.8
    assert set(followed.match.limbs) == {limb.name for limb in rig.skeleton.limbs}


@pytest.mark.long
def test_an_interrupted_fit_ends_the_same(walk):
    rig, _, clip, first, subject = walk
    settings = FollowSettings(refine_iterations=1, track_iterations=2)
    whole, halves = (begin(rig, clip, subject, first=first, settings=settings) for _ in range(2))
    for run, count in ((whole, 9), (halves, 5)):
        for _ in range(count):
            run.step()
    again = begin(rig, clip, subject, first=first, settings=settings)
    again.load(halves.arrays())
    while again.iteration < 9:
        again.step()
    np.testing.assert_array_equal(again.y, whole.y)


def test_the_largest_part_without_skin_is_found():
    mask, body = np.zeros((2, 40, 40), bool)
    mask[5:35, 5:35] = True
    body[5:35, 6:20] = True  # a rim of one pixel lacks skin on the left, half of the subject on the right
    patch = bare_patch(mask, body)
    assert patch[10:30, 22:33].all()
    assert not patch[:, :20].any()
    assert not bare_patch(mask, mask).any()


def test_a_lost_leg_is_found_where_the_subject_lacks_skin(walk):
    """Its end comes nearer by half, which it does not without the second look."""
    rig, motion, clip, first, subject = walk
    truth = to_coordinates(motion.pose)
    lost, foot = truth.copy(), rig.legs[0].joints[-1]
    hip = 3 + 3 * rig.legs[0].joints[0] + np.arange(3)
    swings = hip[np.ptp(truth[:, hip], axis=0).argmax()]
    lost[1:3, swings] += 0.9
    # As if it had been lost in the frame before: momentum and flow keep it where it is.
    lost[0] = lost[1]

    def error(row):
        one, other = (forward_kinematics(rig.skeleton, to_motion(rig, y, clip.fps).pose).position for y in (row, truth[2:3]))
        return float((one - other)[:, foot].norm())

    runs = [begin(rig, clip, subject, first=first, settings=FollowSettings(second_look=second)) for second in (True, False)]
    found, without = (error(track_frame(run.scene, 2, lost, run._paint)) for run in runs)
    assert found < 0.5 * error(lost[2:3]) < without


def test_an_outline_that_grows_hardly_brings_a_body_nearer(walk):
    """Seen from the side, bodies keep their line; what grows is more often a lost limb than a step towards the camera."""
    rig, _, clip, first, _ = walk
    size = tuple(round(1.1 * side) for side in SIZE)
    rim = [(a - b) // 2 for a, b in zip(size, SIZE, strict=True)]
    large = cv2.resize(clip.frames[0], size)[rim[1] : rim[1] + SIZE[1], rim[0] : rim[0] + SIZE[0]]
    grown = Clip(np.stack((clip.frames[0], large)), clip.fps, 0.0, SIZE)

    def nearer(**settings):
        run = begin(rig, grown, find_subject(grown), first=first, settings=FollowSettings(flow=0.0, colour=0.0, **settings))
        gone = track_frame(run.scene, 1, run.y, run._paint)[0, :3] - run.y[0, :3]
        return -float(gone @ run.scene.view.rotation[0, 2])

    assert abs(nearer()) < 0.25 * nearer(step_sideways=0.3)


def test_a_still_and_another_shape_are_refused(walk):
    rig, _, clip, first, subject = walk
    frozen = Clip(np.repeat(clip.frames[:1], 6, 0), clip.fps, 0.0, clip.size)
    with pytest.raises(AkdError, match="Nothing moves"):
        begin(rig, frozen, find_subject(frozen), first=first)
    wide = Clip(clip.frames, clip.fps, 0.0, (500, 100))
    with pytest.raises(AkdError, match="--size 500x100"):
        begin(rig, wide, subject, first=first)


def test_another_character_is_refused(walk):
    _, _, clip, first, subject = walk
    other = box_rig(3)
    shown = FirstFrame(first.camera, other.skeleton.rest_pose(), other.skeleton.names)
    with pytest.raises(AkdError, match="does not show this character"):
        begin(other, clip, subject, first=shown)


def test_verdicts():
    def verdict(overlap, motionless):
        return Match(overlap, overlap, motionless, {"leg_L0": 0.1, "head_C0": 1.0}, 1.0)

    assert verdict(0.9, 0.5).verdict == "follows"
    assert verdict(0.7, 0.5).verdict == "loose"
    assert verdict(0.4, 0.3).verdict == "lost"
    assert verdict(0.8, 0.79).verdict == "no better than motionless"
    assert verdict(0.97, 0.97).verdict == "follows"
    assert "leg_L0" in verdict(0.9, 0.5).sentence
    assert "motionless" in verdict(0.8, 0.79).sentence


def test_a_body_is_given_its_way_only_if_the_camera_goes_along():
    """Before a plain background a body that walks in place and one that the camera follows look the same."""
    rig = box_rig(2)
    motion = stride(rig, (0.0, 0.5, 0.5, 0.0), seconds=2.0, in_place=True)
    kept, _, notes = lock_standing(rig, motion, going_along=False)
    assert float((kept.pose.root_position - motion.pose.root_position)[:, [0, 2]].norm(dim=-1).max()) < 0.05
    assert "--camera following" in notes[-1]
    given, _, notes = lock_standing(rig, motion, going_along=True)
    way = given.pose.root_position[-1, 0] - given.pose.root_position[0, 0]
    assert float(way) == pytest.approx(2 * 2 * 0.25 / 0.6, rel=0.15)
    assert "goes along" in notes[-1]
    travelling = stride(rig, (0.0, 0.5, 0.5, 0.0), seconds=2.0)
    assert not any("--camera" in note for note in lock_standing(rig, travelling, going_along=False)[2])
