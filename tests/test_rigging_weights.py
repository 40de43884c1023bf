"""Heat weights: laws that hold on every mesh, and closeness to what is known exactly."""

import numpy as np
import pytest

from akd.assets import load_rig
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.measure.rigging import weight_errors
from akd.mesh import Mesh
from akd.rigging import surface as surface_module
from akd.rigging import visibility
from akd.rigging.bones import bones_of, closest_on_bones
from akd.rigging.surface import weld
from akd.rigging.visibility import MAX_APPROACH, bone_ends, leads_elsewhere
from akd.rigging.weights import FADE_RANGE, PAPER, diffuse, faded, heat_weights, laplacian, nearest_weights
from akd.skeleton import Skeleton


def tube(length: float = 4.0, radius: float = 0.3, rings: int = 33, around: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A closed tube along X."""
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    ring = np.stack((np.zeros(around), radius * np.cos(turn), radius * np.sin(turn)), -1)
    points = np.concatenate([ring + (x, 0, 0) for x in np.linspace(0, length, rings)] + [[(0.0, 0, 0), (length, 0, 0)]])
    faces = []
    for r in range(rings - 1):
        for a in range(around):
            b, c, d = (a + 1) % around, a + around, (a + 1) % around + around
            faces += [(r * around + a, r * around + b, r * around + c), (r * around + b, r * around + d, r * around + c)]
    first, last = len(points) - 2, (rings - 1) * around
    faces += [(first, (a + 1) % around, a) for a in range(around)]
    faces += [(len(points) - 1, last + a, last + (a + 1) % around) for a in range(around)]
    return points, np.array(faces)


def mesh_of(points: np.ndarray, faces: np.ndarray) -> Mesh:
    return Mesh(points, faces, np.full(points.shape, 0.5))


def chain(*places: tuple[float, float, float]) -> Skeleton:
    return Skeleton.from_joints(tuple(f"j{i}" for i in range(len(places))), np.arange(len(places)) - 1, np.array(places, float))


ARM = chain((0.1, 0, 0), (2, 0, 0))


def check(weights: np.ndarray, k: int = 4) -> None:
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-9)
    assert ((weights > 0).sum(1) <= k).all()


def test_halves_of_a_tube_follow_their_bones_and_blend_between() -> None:
    points, faces = tube()
    weights = heat_weights(mesh_of(points, faces), ARM)
    check(weights)
    assert weights[points[:, 0] < 1.2, 0].min() > 0.95
    assert weights[points[:, 0] > 2.8, 1].min() > 0.95
    np.testing.assert_allclose(weights[np.abs(points[:, 0] - 2) < 1e-9], 0.5, atol=0.05)


def test_weights_do_not_depend_on_place_size_or_turn() -> None:
    points, faces = tube()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    move = lambda x: 37 * x @ turn.T + (5, -3, 100)  # noqa: E731
    moved = heat_weights(mesh_of(move(points), faces), chain(*move(ARM.positions)))
    np.testing.assert_allclose(moved, heat_weights(mesh_of(points, faces), ARM), atol=1e-3)


def test_seams_and_repeated_faces_change_nothing() -> None:
    points, faces = tube()
    whole = heat_weights(mesh_of(points, faces), ARM)
    split = heat_weights(mesh_of(points[faces.ravel()], np.arange(faces.size).reshape(-1, 3)), ARM)
    np.testing.assert_allclose(split, whole[faces.ravel()], atol=1e-9)
    twice = heat_weights(mesh_of(points, np.concatenate((faces, faces[:, ::-1], faces[:40, [1, 1, 2]]))), ARM)
    np.testing.assert_allclose(twice, whole, atol=1e-9)


def test_an_inside_out_piece_gets_the_same_weights() -> None:
    points, faces = tube()
    np.testing.assert_allclose(
        heat_weights(mesh_of(points, faces[:, ::-1]), ARM), heat_weights(mesh_of(points, faces), ARM), atol=1e-6
    )


def test_heat_is_the_solution_of_its_equation() -> None:
    surface = weld(mesh_of(*tube()))
    matrix, area = laplacian(surface)
    source = np.random.default_rng(0).dirichlet(np.ones(3), len(area))
    hot = np.random.default_rng(1).uniform(0, 2, len(area))
    found = diffuse(matrix, area, hot, source)
    np.testing.assert_allclose(matrix @ found + (area * hot)[:, None] * found, (area * hot)[:, None] * source, atol=1e-9)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-9)


def test_nothing_bleeds_to_a_limb_that_is_near_through_the_air() -> None:
    """Two parallel legs joined at one end only."""
    rig = creature("human", 0)
    weights = heat_weights(rig.mesh, rig.skeleton)
    lower = [n for n in rig.skeleton.names if any(word in n for word in ("knee", "ankle", "shin"))]
    shins = {side: [rig.skeleton.index(n) for n in lower if side in n] for side in ("left", "right")}
    assert shins["left"]
    assert shins["right"]
    assert weights[rig.mesh.vertices[:, 2] < -0.02][:, shins["right"]].max() < 1e-6
    assert weights[rig.mesh.vertices[:, 2] > 0.02][:, shins["left"]].max() < 1e-6


def test_a_button_moves_as_one_with_what_it_sits_on() -> None:
    points, faces = tube()
    button, button_faces = tube(length=0.2, radius=0.05, rings=3, around=6)
    both = np.concatenate((points, button + (2.9, 0.33, 0)))
    weights = heat_weights(mesh_of(both, np.concatenate((faces, button_faces + len(points)))), ARM)
    check(weights)
    np.testing.assert_array_equal(weights[len(points) :], np.tile((0.0, 1.0), (len(button), 1)))


def test_a_leaf_ends_where_its_flesh_does() -> None:
    surface = weld(mesh_of(*tube()))
    assert bone_ends(ARM, surface)[1, 0] == pytest.approx(4.0, abs=0.1)


def test_a_skull_goes_on_beyond_ears() -> None:
    """Where all children branch off, the bone goes on through the flesh; without that the muzzle would follow the ears."""
    places = np.array([(0.1, 0, 0), (2, 0, 0), (2.1, 0.25, -0.1), (2.1, 0.25, 0.1)])
    skeleton = Skeleton.from_joints(("neck", "head", "left ear", "right ear"), np.array([-1, 0, 1, 1]), places)
    bones = bones_of(skeleton, bone_ends(skeleton, weld(mesh_of(*tube()))), branching=0.4)
    np.testing.assert_allclose(bones.tail[bones.joint == 1].max(0), (4.0, 0.1, 0.04), atol=0.1)
    assert bones_of(skeleton, places, branching=1.0).joint.tolist().count(1) == 2


def test_a_bone_does_not_end_in_the_flesh_of_another() -> None:
    places = np.array([(0.1, 0, 0), (1, 0, 0), (2.5, 0, 0), (3.9, 0, 0)])
    skeleton = Skeleton.from_joints(("root", "bud", "limb", "hand"), np.array([-1, 0, 0, 2]), places)
    bud = bone_ends(skeleton, weld(mesh_of(*tube())))[1]
    assert bud[0] < 2.2


def test_ends_of_mirrored_limbs_are_mirrored() -> None:
    points, faces = tube()
    points = points @ np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    skeleton = chain(*(points[:12].mean(0), points[200:212].mean(0) + 0.05))
    mirror = np.array([1.0, 1.0, -1.0])
    ends = bone_ends(skeleton, weld(mesh_of(points, faces)))
    other = bone_ends(chain(*(skeleton.positions * mirror)), weld(mesh_of(points * mirror, faces[:, ::-1].copy())))
    np.testing.assert_allclose(other, ends * mirror, atol=1e-3)


def test_distance_to_bones_is_the_distance_to_the_nearest_of_many_samples() -> None:
    bones = bones_of(chain((0, 0, 0), (1, 2, 0), (1, 2, 3)), np.full((3, 3), 4.0))
    points = np.random.default_rng(0).normal(size=(50, 3)) * 3
    distance, _ = closest_on_bones(bones, points)
    samples = bones.head + np.linspace(0, 1, 2001)[:, None, None] * (bones.tail - bones.head)
    np.testing.assert_allclose(distance, np.linalg.norm(points[:, None, None] - samples, axis=-1).min(1), atol=1e-2)


@pytest.mark.parametrize("name", ["Fox", "CesiumMan", "Wolf", "KnightCharacter"])
def test_nearer_to_artists_than_the_nearest_bone(assets, name: str) -> None:
    rig = load_rig(next(assets.glob(f"*/{name}.glb")))
    ours = heat_weights(rig.mesh, rig.skeleton)
    check(ours)
    rival = nearest_weights(rig.mesh, bones_of(rig.skeleton, bone_ends(rig.skeleton, weld(rig.mesh))))
    errors = [weight_errors(w, rig.weights).l1 for w in (ours, rival)]
    assert errors[0] < max(errors[1], 0.6)
    assert errors[0] < 0.6
    check(heat_weights(rig.mesh, rig.skeleton, k=2), 2)


def abused() -> dict[str, tuple[Mesh, Skeleton]]:
    rng = np.random.default_rng(0)
    points, faces = tube()
    shells = np.concatenate([points * (1, 1 + 0.01 * i, 1 + 0.01 * i) for i in range(4)])
    soup = (rng.uniform(0, 4, (60, 1, 3)) * (1, 0.2, 0.2) + 0.05 * rng.normal(size=(60, 3, 3))).reshape(-1, 3)
    flips = np.where(rng.random(len(faces))[:, None] < 0.5, faces[:, ::-1], faces)
    return {
        "faces missing": (mesh_of(points, faces[rng.random(len(faces)) < 0.5]), ARM),
        "shells": (mesh_of(shells, np.concatenate([faces + i * len(points) for i in range(4)])), ARM),
        "normals at random": (mesh_of(points, flips), ARM),
        "noise": (mesh_of(points + 0.1 * rng.normal(size=points.shape), faces), ARM),
        "60 loose triangles": (mesh_of(soup, np.arange(180).reshape(-1, 3)), ARM),
        "fan on one edge": (mesh_of(points, np.array([(0, 1, i) for i in range(2, 30)])), ARM),
        "single triangle": (mesh_of(points[[0, 4, 30]], np.array([[0, 1, 2]])), ARM),
        "flat triangle": (mesh_of(np.zeros((3, 3)), np.array([[0, 1, 2]])), ARM),
        "no faces": (mesh_of(points, np.zeros((0, 3), int)), ARM),
        "no vertices": (mesh_of(np.zeros((0, 3)), np.zeros((0, 3), int)), ARM),
        "one bone": (mesh_of(points, faces), chain((1, 0, 0))),
        "bones outside": (mesh_of(points, faces), chain((50, 0, 0), (60, 0, 0))),
        "bones at one place": (mesh_of(points, faces), chain((1, 0, 0), (1, 0, 0), (1, 0, 0))),
        "bone on the skin": (mesh_of(points, faces), chain((0, 0.3, 0), (2, 0.3, 0))),
    }


@pytest.mark.parametrize("settings", [None, PAPER], ids=["ours", "paper"])
@pytest.mark.parametrize("case", list(abused()))
def test_abuse_gives_weights(case: str, settings) -> None:
    mesh, skeleton = abused()[case]
    weights = heat_weights(mesh, skeleton, settings=settings)
    assert weights.shape == (mesh.vertex_count, skeleton.joint_count)
    check(weights)


def test_no_influences_is_an_error() -> None:
    with pytest.raises(AkdError, match="k is 0"):
        heat_weights(mesh_of(*tube()), ARM, k=0)


def test_a_bone_reaches_its_straight_child_and_stops_short_of_the_others() -> None:
    """A forearm ends at the wrist, whether or not a thumb grows beside it; a root goes on in what carries most."""
    places = np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (1.5, 1, 0), (3, 0, 0)], float)
    skeleton = Skeleton.from_joints(("arm", "forearm", "hand", "thumb", "finger"), np.array([-1, 0, 1, 1, 2]), places)
    bones = bones_of(skeleton, places, branching=0.4)
    ends = {tuple(end) for end in bones.tail[bones.joint == 1].round(6).tolist()}
    assert ends == {(2.0, 0.0, 0.0), (1.2, 0.4, 0.0)}
    trunk = Skeleton.from_joints(("hips", "leg", "spine", "head"), np.array([-1, 0, 0, 2]), places[[0, 3, 1, 2]])
    bones = bones_of(trunk, places[[0, 3, 1, 2]], branching=0.4)
    assert {tuple(end) for end in bones.tail[bones.joint == 0].round(6).tolist()} == {(1.0, 0.0, 0.0), (0.6, 0.4, 0.0)}


def test_faint_weights_fade_without_a_jump_and_the_strongest_stays() -> None:
    share = np.linspace(0, 1, 2001)
    weights = faded(np.stack((share, 1 - share), 1))
    assert (weights[share < FADE_RANGE[0], 0] == 0).all()
    np.testing.assert_array_equal(weights[share > FADE_RANGE[1], 0], share[share > FADE_RANGE[1]])
    assert np.abs(np.diff(weights, axis=0)).max() < 0.002
    np.testing.assert_array_equal(faded(np.full((1, 100), 0.01)), np.full((1, 100), 0.01))


def test_weights_of_huge_meshes_are_those_of_a_decimated_copy(monkeypatch):
    rig = creature("human")
    full = heat_weights(rig.mesh, rig.skeleton)
    monkeypatch.setattr(surface_module, "MAX_FACES", len(rig.mesh.faces) // 2)
    interpolated = heat_weights(rig.mesh, rig.skeleton)
    np.testing.assert_allclose(interpolated.sum(1), 1)
    assert ((interpolated > 0).sum(1) <= 4).all()
    assert not np.array_equal(interpolated, full)
    assert np.abs(interpolated - full).sum(1).mean() < 0.1


def test_looking_at_near_bones_only_finds_the_same_rays_that_lead_elsewhere() -> None:
    """Bones that no ray can come near are left out, which must not change the answer."""
    rng = np.random.default_rng(0)
    parents = np.array([-1, *(int(rng.integers(max(0, j - 6), j)) for j in range(1, 120))])
    skeleton = Skeleton.from_joints(tuple(f"j{j}" for j in range(120)), parents, rng.normal(size=(120, 3)))
    bones, seen = bones_of(skeleton, skeleton.positions), set()
    for joint in range(1, 120):
        rays = rng.normal(size=(40, 3)) * rng.uniform(0.02, 0.6, (40, 1))
        start, others = skeleton.positions[joint], (bones.joint != joint) & (bones.joint != parents[joint])
        (before, _), (after, _) = closest_on_bones(bones, start[None]), closest_on_bones(bones, start + rays)
        expected = (after < MAX_APPROACH * before)[:, others].any(1)
        np.testing.assert_array_equal(leads_elsewhere(skeleton, bones, joint, rays), expected)
        seen |= set(expected.tolist())
    assert seen == {True, False}


def test_rays_that_cannot_win_are_not_measured(monkeypatch) -> None:
    """With 3,000 bones, all rays of all leaves took longer than all the rest of rigging."""
    rig = creature("dog")
    surface, measured, leads = weld(rig.mesh), [], visibility.leads_elsewhere

    def counted(*arguments):
        measured.append(len(arguments[-1]))
        return leads(*arguments)

    monkeypatch.setattr(visibility, "leads_elsewhere", counted)
    ends, few = bone_ends(rig.skeleton, surface), sum(measured)
    monkeypatch.setattr(visibility, "RAYS_AT_ONCE", 10**6)
    np.testing.assert_array_equal(bone_ends(rig.skeleton, surface), ends)
    assert few < (sum(measured) - few) / 3
