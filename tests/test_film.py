"""Films follow the motion, and the ground, the camera, the shadow and the colours keep their promises."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
import trimesh
from PIL import Image

import stick_rigs
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.files.video import contact_sheet, every, read_video, write_picture, write_video
from akd.gait.table import MIN_LEG_METRES
from akd.motion import Motion
from akd.reconstruct.skinned import skinned_splats
from akd.render import preview
from akd.render.camera import View, bounding_sphere, fitting_distance, following_camera, look_at, smooth_path
from akd.render.decimate import decimate
from akd.render.film import FilmSettings, backdrop, camera_for, film, film_views, move_splats, render_splats, shadow_light
from akd.render.ground import Ground, Shadow, cast_shadow, checker_mean, ground_layer, ground_points
from akd.render.looks import BODY, PALETTE, limb_color, marker_colors
from akd.render.preview import PreviewSettings, preview_frames
from akd.skeleton import Limb, Pose
from akd.splats import SkinnedSplats, Splats, sh_from_color

SMALL = FilmSettings(width=16, height=16, frames=2)


@pytest.fixture(scope="module")
def rig():
    return stick_rigs.dog()


@pytest.fixture(scope="module")
def skinned(rig):
    return skinned_splats(rig, count=400)


def wriggle(rig, frames=3, dtype=torch.float32, seed=0):
    """A motion with every joint bent, high enough that no splat crosses the ground."""
    generator = torch.Generator().manual_seed(seed)
    pose = rig.skeleton.rest_pose(frames, dtype=dtype)
    angles = 0.2 * torch.randn(pose.angles.shape, generator=generator, dtype=dtype)
    return Motion(Pose(pose.root_position + torch.tensor((0.0, 0.5, 0.0), dtype=dtype), pose.root_rotation, angles), 8.0)


def as_double(skinned):
    s = skinned.splats
    fields = (s.means, s.rotations, s.scales, s.opacities, s.sh)
    return SkinnedSplats(Splats(*(field.double() for field in fields)), skinned.weights.double())


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_gradient_with_respect_to_the_motion_equals_finite_differences(rig, backend):
    skinned = as_double(skinned_splats(rig, count=60))
    motion = wriggle(rig, 2, torch.float64)
    moving = move_splats(rig.skeleton, motion, skinned)
    camera = camera_for(moving, skinned, 8.0, SMALL, SMALL.view)
    behind = backdrop(moving, camera, SMALL)
    colors = marker_colors(rig.skeleton, skinned.weights)
    target = torch.rand(2, 16, 16, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def loss(root, turn, angles):
        moving = move_splats(rig.skeleton, Motion(Pose(root, turn, angles), 8.0), skinned)
        return ((render_splats(moving, colors, camera, behind, backend=backend) - target) ** 2).sum()

    inputs = [x.clone().requires_grad_() for x in (motion.pose.root_position, motion.pose.root_rotation, motion.pose.angles)]
    gradients = torch.autograd.grad(loss(*inputs), inputs)
    generator = torch.Generator().manual_seed(2)
    for _ in range(4):
        step = [torch.randn(x.shape, generator=generator, dtype=torch.float64) for x in inputs]
        ends = [loss(*(x.detach() + sign * 1e-6 * d for x, d in zip(inputs, step, strict=True))) for sign in (1, -1)]
        slope = sum((g * d).sum() for g, d in zip(gradients, step, strict=True))
        assert slope.item() == pytest.approx((ends[0] - ends[1]).item() / 2e-6, rel=1e-4, abs=1e-6)


def test_camera_carries_no_gradient_but_still_follows(rig, skinned):
    motion = wriggle(rig)
    shift = torch.zeros(3, requires_grad=True)
    moved = Motion(Pose(motion.pose.root_position + shift, motion.pose.root_rotation, motion.pose.angles), 8.0)
    settings = replace(SMALL, ground=None)
    still = film(rig.skeleton, motion, skinned, settings)
    video = film(rig.skeleton, moved, skinned, settings)
    weights = torch.linspace(-1, 1, 16)
    (gradient,) = torch.autograd.grad((video * weights[:, None]).sum(), shift)
    assert gradient.abs().max() > 1e-3  # moving the character would change the picture …
    away = Motion(Pose(motion.pose.root_position + 3.0, motion.pose.root_rotation, motion.pose.angles), 8.0)
    # … but the camera goes along.
    torch.testing.assert_close(film(rig.skeleton, away, skinned, settings), still, atol=1e-3, rtol=0)


def test_several_views_at_once_are_the_single_views(rig, skinned):
    motion, views = wriggle(rig), SMALL.sample_views(3, torch.Generator().manual_seed(0))
    together = film_views(rig.skeleton, motion, skinned, SMALL, views)
    for video, view in zip(together, views, strict=True):
        torch.testing.assert_close(video, film(rig.skeleton, motion, skinned, SMALL, view))
    assert together.shape == (3, 3, 16, 16, 3)


def test_splats_below_the_ground_vanish(rig, skinned):
    pose = rig.skeleton.rest_pose(2)
    sunk = Motion(Pose(pose.root_position - torch.tensor((0.0, 9.0, 0.0)), pose.root_rotation, pose.angles), 8.0)
    moving = move_splats(rig.skeleton, sunk, skinned)
    assert moving.opacities.abs().max() == 0
    camera = following_camera(torch.zeros(2, 3), SMALL.view, distance=8.0, width=16, height=16, fov=30.0)
    colors = marker_colors(rig.skeleton, skinned.weights)
    behind = backdrop(moving, camera, SMALL, shadow_light(moving, SMALL))
    torch.testing.assert_close(render_splats(moving, colors, camera, behind), behind)
    torch.testing.assert_close(behind, backdrop(moving, camera, replace(SMALL, shadow=None)))  # nor do they cast a shadow


def ground_camera(shift=0.0, size=64, dtype=torch.float64):
    eye = torch.tensor([[0.3 + shift, 2.0, 5.0]], dtype=dtype)
    return look_at(eye, eye + torch.tensor([[0.2, -0.35, -1.0]], dtype=dtype), width=size, height=size, fov_y=0.8)


def test_ground_pixels_are_the_mean_of_the_board_over_the_pixel():
    fine, coarse = 24, ground_camera(size=32)
    point, footprint, hits = ground_points(coarse)
    near = hits[0] & (footprint[0].amax(-1) < 1.0)
    point_fine, _, _ = ground_points(ground_camera(size=32 * fine))
    samples = (point_fine.floor().sum(-1).remainder(2) == 0).double()[0]
    truth = samples.reshape(32, fine, 32, fine).mean((1, 3))
    error = (checker_mean(point, footprint)[0] - truth)[near]
    assert near.sum() > 300
    assert error.abs().mean() < 0.04  # the box around a slanted footprint is a little larger than the footprint
    assert error.mean().abs() < 0.01


def test_far_ground_has_the_mean_colour_and_does_not_shimmer():
    ground = Ground(((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), tile=0.3, fade=1.0)
    cameras = [ground_camera(0.05 * step) for step in range(7)]
    pictures = torch.cat([ground_layer(camera, ground, (0.5, 0.5, 0.5), 1e6) for camera in cameras])
    _, footprint, hits = ground_points(ground_camera())
    far = hits[0] & (footprint[0].amin(-1) > 4 * ground.tile)
    assert far.sum() > 50
    assert (pictures[:, far] - 0.5).abs().max() < 0.05
    assert (pictures[1:] - pictures[:-1])[:, far].abs().mean() < 0.02
    near = hits[0] & (footprint[0].amax(-1) < ground.tile / 2)
    assert pictures[:, near].std() > 0.2  # while squares near by are black and white


def test_ground_fades_into_the_background_without_an_edge():
    background = (0.2, 0.5, 0.9)
    layer = ground_layer(ground_camera(), Ground(((0.0, 0.0, 0.0), (0.1, 0.1, 0.1))), background, 8.0)[0]
    torch.testing.assert_close(layer[0, 0], torch.tensor(background, dtype=torch.float64))
    rows = layer[:, 32].diff(dim=0).abs().amax(-1)
    assert rows.max() < 0.25


def one_splat(height):
    means = torch.tensor([[[1.0, height, -2.0], [1.3, height, -2.2]]], dtype=torch.float64)
    covariances = (0.3**2 * torch.eye(3, dtype=torch.float64)).expand(1, 2, 3, 3)
    return means, covariances, torch.ones(1, 2, dtype=torch.float64)


@pytest.mark.parametrize("height", [0.0, 0.5, 2.0])
def test_shadow_follows_the_law_of_the_paper(height):
    shadow = Shadow(strength=0.6, decay=0.8, size=64)
    light = cast_shadow(*one_splat(height), shadow)
    under, away = torch.tensor([[[[1.0, -2.0]]]], dtype=torch.float64), torch.tensor([[[[9.0, 9.0]]]], dtype=torch.float64)
    assert light(under).item() == pytest.approx(1 - 0.6 * math.exp(-0.8 * height), abs=0.02)
    assert light(away).item() == 1.0


def test_camera_path_keeps_constant_speed_and_loses_wobble():
    time = torch.arange(24, dtype=torch.float64)[:, None]
    straight = time * torch.tensor((0.3, 0.0, -0.1), dtype=torch.float64)
    torch.testing.assert_close(smooth_path(straight, 8.0, 0.5), straight)
    wobble = 0.2 * torch.sin(time * math.pi * 0.8) * torch.tensor((0.0, 1.0, 0.0), dtype=torch.float64)
    assert smooth_path(straight + wobble, 8.0, 0.5)[:, 1].abs().max() < 0.02


def test_a_sphere_at_fitting_distance_touches_the_picture_edge():
    for width, height in ((64, 64), (128, 72), (72, 128)):
        distance = fitting_distance(2.0, 30.0, width, height)
        focal = 0.5 * height / math.tan(math.radians(15))
        # The outline of a sphere is a circle of half angle asin(r / d).
        edge = focal * math.tan(math.asin(2.0 / distance))
        assert edge == pytest.approx(min(width, height) / 2)


def test_characters_of_all_sizes_fill_the_same_share(rig, skinned):
    settings = replace(SMALL, width=48, height=48, ground=None, background=(0.0, 0.0, 0.0))
    s = skinned.splats
    shares = []
    for factor in (1.0, 5.0):
        grown = SkinnedSplats(Splats(s.means * factor, s.rotations, s.scales * factor, s.opacities, s.sh), skinned.weights)
        skeleton = replace(rig.skeleton, positions=rig.skeleton.positions * factor, tails=rig.skeleton.tails * factor)
        shares.append((film(skeleton, Motion(skeleton.rest_pose(1), 8.0), grown, settings) > 0.1).any(-1).float().mean().item())
    assert shares[0] == pytest.approx(shares[1], abs=0.01)
    assert 0.05 < shares[0] < 0.8


def test_bounding_sphere_holds_all_points():
    points = torch.randn(50, 3)
    middle, radius = bounding_sphere(points)
    assert (points - middle).norm(dim=-1).max() == pytest.approx(radius)


def test_no_two_limbs_share_a_colour():
    colors = [*PALETTE.values(), BODY]
    colors += [limb_color(Limb("leg", side, order, (0,), 0)) for side in ("L", "R") for order in range(4, 7)]
    assert min(math.dist(a, b) for a, b in combinations(colors, 2)) > 0.1
    assert min(math.dist(a, b) for a, b in combinations([*PALETTE.values(), BODY], 2)) > 0.2


def test_marker_look_paints_each_limb_in_its_own_colour(rig):
    weights = torch.eye(rig.skeleton.joint_count)
    colors = marker_colors(rig.skeleton, weights)
    for limb in rig.skeleton.limbs:
        for joint in limb.joints:
            torch.testing.assert_close(colors[joint], torch.tensor(limb_color(limb)))
    yellow, blue, red, green = (PALETTE["leg", side, order] for order in (0, 1) for side in ("L", "R"))
    assert yellow[2] < 0.3 < yellow[1]
    assert blue[2] > 0.8
    assert red[0] > 0.8 > 0.3 > red[1]
    assert green[1] > 0.5 > 0.2 > green[0]


def test_settings_survive_their_file_and_name_mistakes(tmp_path):
    settings = FilmSettings(width=96, look="natural", ground=Ground(tile=2.0), shadow=None, azimuth=(10.0, 20.0))
    settings.save(tmp_path / "film.json")
    assert FilmSettings.load(tmp_path / "film.json") == settings
    (tmp_path / "film.json").write_text('{"fps": 8.0}')  # written before the reference leg was a setting
    assert FilmSettings.load(tmp_path / "film.json") == FilmSettings(fps=8.0, reference_leg=None)
    (tmp_path / "film.json").write_text('{"widht": 3}')
    with pytest.raises(AkdError, match="widht"):
        FilmSettings.load(tmp_path / "film.json")
    with pytest.raises(AkdError, match="no film settings"):
        FilmSettings.load(tmp_path / "none.json")
    ranges = ({"azimuth": (5.0, 1.0)}, {"fov": 200.0}, {"distance": (0.0, 1.0)}, {"reference_leg": 0.0})
    wrong = ({"width": 0}, {"fps": -1.0}, *ranges)
    for bad in wrong:
        with pytest.raises(AkdError):
            FilmSettings(**bad)
    with pytest.raises(AkdError, match="Tile"):
        Ground(tile=0.0)
    with pytest.raises(AkdError, match="shadow"):
        Shadow(strength=2.0)


def test_time_scales_with_the_root_of_leg_length_only_where_the_settings_say_so():
    real_time, scaled = FilmSettings(fps=12.0), FilmSettings(fps=12.0, reference_leg=0.9)
    assert {real_time.rate(leg) for leg in (0.01, 0.3, 0.9, 4.0)} == {12.0}
    assert scaled.rate(0.9) == 12.0
    assert scaled.rate(3.6) == pytest.approx(6.0)
    assert scaled.rate(0.225) == pytest.approx(24.0)
    assert scaled.rate(0.001) == scaled.rate(MIN_LEG_METRES)  # no faster than the shortest legs step


@pytest.mark.parametrize("faces", [500, 3000])
def test_decimated_meshes_keep_their_shape(faces):
    sphere = trimesh.creation.icosphere(5)
    small = decimate(np.array(sphere.vertices), np.array(sphere.faces), faces)
    assert faces / 3 < len(small.faces) <= faces < len(sphere.faces)
    assert len(np.unique(small.kept)) == len(small.kept)
    left = trimesh.Trimesh(sphere.vertices[small.kept], small.faces, process=False)
    assert left.volume == pytest.approx(sphere.volume, rel=0.1 if faces == 500 else 0.02)
    assert left.area == pytest.approx(sphere.area, rel=0.1 if faces == 500 else 0.02)


def test_decimation_keeps_groups_apart():
    sphere = trimesh.creation.icosphere(4)
    vertices, count = np.concatenate((sphere.vertices, 1.001 * sphere.vertices)), len(sphere.vertices)
    faces = np.concatenate((sphere.faces, sphere.faces + count))
    small = decimate(vertices, faces, 2000, groups=np.repeat((0, 1), count))
    inner = small.kept[small.faces] < count
    assert (inner.all(1) | ~inner.any(1)).all()
    assert inner.any()
    assert not inner.all()


def test_previews_of_huge_meshes_show_the_same_from_fewer_faces(monkeypatch):
    rig = creature("chick")
    motion = Motion(rig.skeleton.rest_pose(1), 12.0)
    settings = PreviewSettings(width=48, height=48)  # faces are smaller than a pixel
    full = next(preview_frames(rig, motion, settings))
    monkeypatch.setattr(preview, "MAX_FACES", len(rig.mesh.faces) // 2)
    fewer = next(preview_frames(rig, motion, settings))
    assert not torch.equal(full, fewer)
    assert (full - fewer).abs().mean() < 0.01


def test_views_are_drawn_from_the_range_and_repeat_with_the_seed():
    draw = [FilmSettings().sample_views(20, torch.Generator().manual_seed(4)) for _ in range(2)]
    assert draw[0] == draw[1]
    for view in draw[0]:
        assert 50 <= view.azimuth <= 70
        assert 1.0 <= view.distance <= 1.15


def test_bad_films_say_so(rig, skinned):
    with pytest.raises(AkdError, match="at least one view"):
        film_views(rig.skeleton, wriggle(rig), skinned, SMALL, [])
    with pytest.raises(AkdError, match="limb labels"):
        film(replace(rig.skeleton, limbs=()), wriggle(rig), skinned, SMALL)


def test_shadow_light_is_only_cast_where_there_is_ground(rig, skinned):
    moving = move_splats(rig.skeleton, wriggle(rig), skinned)
    assert shadow_light(moving, replace(SMALL, ground=None)) is None
    assert shadow_light(moving, SMALL) is not None


def test_colours_that_depend_on_direction_turn_with_the_character(rig, skinned):
    sh = torch.cat((sh_from_color(torch.full((400, 3), 0.5)), 0.3 * torch.randn(400, 3, 3)), 1)[: skinned.splats.splat_count]
    glossy = SkinnedSplats(replace(skinned.splats, sh=sh), skinned.weights)
    settings = replace(SMALL, look="natural", ground=None)
    pose = rig.skeleton.rest_pose(1)
    half_turn = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    ahead = film(rig.skeleton, Motion(pose, 8.0), glossy, settings, View(60.0, 20.0, 1.0))
    turned = Motion(Pose(pose.root_position, half_turn, pose.angles), 8.0)
    torch.testing.assert_close(film(rig.skeleton, turned, glossy, settings, View(240.0, 20.0, 1.0)), ahead, atol=2e-3, rtol=0)


@pytest.mark.parametrize("look", ["natural", "marker"])
def test_preview_shows_a_lit_character_in_the_middle(rig, look):
    settings = PreviewSettings(width=96, height=54, look=look)
    rest = rig.skeleton.rest_pose(2)
    buried = Pose(rest.root_position - torch.tensor((0.0, 9.0, 0.0)), rest.root_rotation, rest.angles)
    frames, empty = (torch.stack(list(preview_frames(rig, Motion(pose, 30.0), settings))) for pose in (rest, buried))
    assert frames.shape == (2, 54, 96, 3)
    assert (frames - empty)[:, 20:34, 30:66].abs().max() > 0.2
    assert frames.min() > 0.01  # nothing is black, not even in shadow


def clip():
    ramp = torch.linspace(0, 1, 6)[:, None, None, None]
    return (ramp * torch.tensor((1.0, 0.5, 0.25))).expand(6, 33, 47, 3)


@pytest.mark.parametrize("ending", [".mp4", ".gif"])
def test_videos_are_written_and_read_back(tmp_path, ending):
    frames, fps = read_video(write_video(tmp_path / f"clip{ending}", clip(), 10.0))
    assert fps == pytest.approx(10.0, abs=0.01)
    assert len(frames) == 6
    assert (frames[:, :33, :47] - clip()).abs().max() < 0.05


def test_gif_keeps_the_clip_length_at_awkward_rates(tmp_path):
    path = write_video(tmp_path / "clip.gif", torch.rand(24, 8, 8, 3), 24.0)
    with Image.open(path) as picture:
        total = 0
        for index in range(picture.n_frames):
            picture.seek(index)
            total += picture.info["duration"]
    assert total == pytest.approx(1000, abs=10)


def test_pictures_and_contact_sheets(tmp_path):
    sheet = contact_sheet(clip(), columns=4, enlarge=2, gap=2)
    assert sheet.shape == (2 * 66 + 2, 4 * 94 + 3 * 2, 3)
    torch.testing.assert_close(sheet[68 + 5, 96 + 7], clip()[5, 0, 0])
    path = write_picture(tmp_path / "deep" / "sheet.png", sheet)
    with Image.open(path) as picture:
        assert np.abs(np.asarray(picture) / 255 - sheet.numpy()).max() < 0.51 / 255
    assert every(clip(), 3)[:, 0, 0, 0].tolist() == pytest.approx([0, 0.4, 1], abs=0.21)


def test_bad_videos_say_so(tmp_path):
    with pytest.raises(AkdError, match=r"\.mp4 or \.gif"):
        write_video(tmp_path / "clip.webm", clip(), 10.0)
    with pytest.raises(AkdError, match="at least one frame"):
        write_video(tmp_path / "clip.mp4", clip()[:0], 10.0)
    with pytest.raises(AkdError, match="positive"):
        write_video(tmp_path / "clip.mp4", clip(), 0.0)
    with pytest.raises(AkdError, match="not finite"):
        write_video(tmp_path / "clip.mp4", clip() * float("nan"), 10.0)
    with pytest.raises(AkdError, match="no video"):
        read_video(tmp_path / "none.mp4")
    (tmp_path / "broken.mp4").write_bytes(b"not a video")
    with pytest.raises(AkdError, match="ffmpeg"):
        read_video(tmp_path / "broken.mp4")
    with pytest.raises(AkdError, match="contact sheet"):
        contact_sheet(clip(), columns=0)
