"""Laws that every character made from a body plan obeys, and what sentences mean."""

import ast
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from experiments.soundness import Soundness, random_pose, soundness, stretch_under

from akd.creatures import plans
from akd.creatures.build import creature
from akd.creatures.plans import PLANS
from akd.creatures.plans.carnivores import DOG, FOX
from akd.creatures.remesh import collapse_short_edges, split_long_edges
from akd.creatures.shap_e import shap_e_mesh, stage_mesh
from akd.creatures.words import NEAREST, SYNONYMS, character, read
from akd.errors import AkdError
from akd.rig import Rig
from akd.skeleton import bone_frames

BIPEDS = ("human", "child", "astronaut", "robot", "tyrannosaur", "ostrich", "chick", "bird", "bat")
LEGLESS = ("fish", "shark", "dolphin", "eel", "snake")
LEGS = dict.fromkeys(BIPEDS, 2) | {"ant": 6, "beetle": 6, "spider": 8} | dict.fromkeys(LEGLESS, 0)
INDIVIDUALS = [(name, 0) for name in PLANS] + [(name, 7) for name in ("dog", "spider")]


@cache
def built(name: str, seed: int) -> tuple[Rig, Soundness]:
    rig = creature(name, seed)
    return rig, soundness(rig)


each = pytest.mark.parametrize(("name", "seed"), INDIVIDUALS)


@each
def test_surface_is_closed_in_one_piece_and_without_slivers(name: str, seed: int) -> None:
    _, found = built(name, seed)
    assert found.bad_edges == 0
    assert found.components == 1
    assert found.smallest_angle > 0.2
    assert 3_000 <= found.vertices <= 10_000


@each
def test_left_mirrors_right(name: str, seed: int) -> None:
    rig, found = built(name, seed)
    skeleton = rig.skeleton
    assert found.asymmetry == 0
    np.testing.assert_array_equal(skeleton.mirror[skeleton.mirror], np.arange(skeleton.joint_count))
    np.testing.assert_allclose(skeleton.positions[skeleton.mirror], skeleton.positions * (1, 1, -1), atol=1e-12)


@each
def test_weights_are_local(name: str, seed: int) -> None:
    _, found = built(name, seed)
    assert found.weight_error < 1e-9
    assert found.influences <= 4
    assert found.opposite_weight == 0


@each
def test_feet_stand_flat_on_the_ground_at_leg_length_one(name: str, seed: int) -> None:
    rig, found = built(name, seed)
    assert found.lowest == 0
    assert found.sole_height < 1e-3
    assert len(rig.soles) == len(rig.legs) == LEGS.get(name, 4)
    if name in LEGLESS:
        assert np.ptp(rig.mesh.vertices[:, 1]) == pytest.approx(2.0, abs=0.1)
        return
    assert found.smallest_sole >= 4
    assert np.median([rig.skeleton.positions[leg.joints[0], 1] for leg in rig.legs]) == pytest.approx(1.0)


@each
def test_legs_do_not_touch_at_rest(name: str, seed: int) -> None:
    assert built(name, seed)[1].leg_gap > 0.02


@each
def test_every_joint_belongs_to_one_limb(name: str, seed: int) -> None:
    skeleton = built(name, seed)[0].skeleton
    owned = sorted(joint for limb in skeleton.limbs for joint in limb.joints)
    assert owned == list(range(skeleton.joint_count))
    assert 15 <= skeleton.joint_count <= 40
    for leg in skeleton.limbs_of("leg"):
        assert ("left" in skeleton.names[leg.tip]) == (leg.side == "L")
        assert skeleton.parents[list(leg.joints[1:])].tolist() == list(leg.joints[:-1])
    fronts = [skeleton.positions[leg.joints[0], 0] for leg in skeleton.limbs_of("leg")]
    assert fronts == sorted(fronts, reverse=True)
    np.testing.assert_array_equal(skeleton.frames, bone_frames(skeleton.parents, skeleton.positions, skeleton.tails))


@each
def test_a_tumble_does_not_tear_the_skin(name: str, seed: int) -> None:
    rig, _ = built(name, seed)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        stretch = stretch_under(rig, random_pose(rig.skeleton, rng, 0.4))
        assert np.percentile(stretch, 99.5) < 4


def test_same_seed_same_bytes_and_other_seed_other_animal() -> None:
    first, again, other = creature("fox", 3), creature("fox", 3), creature("fox", 4)
    assert first.mesh.vertices.tobytes() == again.mesh.vertices.tobytes()
    assert first.mesh.colors.tobytes() == again.mesh.colors.tobytes()
    assert first.weights.tobytes() == again.weights.tobytes()
    assert not np.allclose(first.skeleton.positions, other.skeleton.positions)


def test_knees_and_hocks_bend_the_right_way() -> None:
    for name in ("dog", "cat", "horse", "cow"):
        skeleton = built(name, 0)[0].skeleton
        x = skeleton.positions[:, 0]
        hip, knee, hock, toe = (x[joint] for joint in next(leg for leg in skeleton.limbs_of("leg") if leg.order == 1).joints)
        shoulder, elbow, wrist, _ = (x[joint] for joint in skeleton.limbs_of("leg")[0].joints)
        assert knee > hip
        assert knee > hock
        assert toe > hock
        assert elbow < shoulder
        assert elbow < wrist


def test_remeshing_keeps_a_closed_surface_closed() -> None:
    vertices, faces = _octahedron(3)
    coarse = collapse_short_edges(vertices, faces, np.full(len(vertices), 0.5))
    fine = split_long_edges(vertices, faces, np.where(vertices[:, 0] > 0.3, 0.05, 1.0))
    assert len(coarse[0]) < 0.7 * len(vertices)
    assert len(fine[0]) > len(vertices)
    for points, triangles in (coarse, fine):
        assert len(points) - len(triangles) // 2 == 2  # Euler: V − E + F with E = 3 F / 2
        edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), 1)
        assert set(np.unique(edges, axis=0, return_counts=True)[1]) == {2}


def _octahedron(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    vertices = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
    faces = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(rounds):
        vertices, faces = split_long_edges(vertices, faces, np.full(len(vertices), 1e-3))
    return vertices, faces


@pytest.mark.parametrize(
    ("prompt", "plan"),
    [
        ("a small brown dog", "dog"), ("an elephant", "elephant"), ("a robot", "robot"), ("a tall giraffe", "giraffe"),
        ("a T-rex", "tyrannosaur"), ("puppies running on grass", "dog"), ("wolves", "dog"), ("a horse near a cow", "horse"),
        ("a knight punching", "human"), ("a brontosaurus", "sauropod"), ("a girl dancing", "child"), ("a tarantula", "spider"),
        ("a fish swimming", "fish"), ("a bird flying", "bird"), ("a snake slithering", "snake"), ("a dragon", "dragon"),
        ("an eagle flies", "bird"), ("a grey shark", "shark"), ("a dolphin swims", "dolphin"), ("a small duck", "chick"),
    ],
)
def test_sentences_pick_plans_without_complaint(prompt: str, plan: str) -> None:
    reading = read(prompt)
    assert reading.plan == plan
    assert reading.notes == ()


def test_every_word_of_the_tables_leads_to_a_plan() -> None:
    assert set(SYNONYMS.values()) == set(PLANS)
    assert set(NEAREST.values()) <= set(PLANS)
    assert not set(SYNONYMS) & set(NEAREST)


def test_what_is_only_nearly_understood_is_said() -> None:
    assert "horse" in read("a donkey").notes[0]
    assert "elephant" in read("an elefant").notes[0]
    assert "8 legs" in read("an eight-legged thing").notes[0]
    assert "flerb" in " ".join(read("a flerb").notes)
    assert "xyzzy" in read("a xyzzy dog").notes[0]


def test_adjectives_shape_the_body_by_degrees() -> None:
    plain, fat, small = (character(prompt)[0] for prompt in ("a cat", "a fat orange cat", "a small cat"))
    width = [np.ptp(rig.mesh.vertices[rig.weights.argmax(1) == rig.skeleton.index("spine_2"), 2]) for rig in (plain, fat)]
    assert width[1] > 1.15 * width[0]
    assert small.leg_metres == pytest.approx(0.65 * plain.leg_metres)
    red, green, blue = np.median(fat.mesh.colors, 0)
    assert red > green > blue


def test_colours_find_their_part() -> None:
    reading = read("a woman in a red shirt and blue jeans")
    assert set(reading.colors) == {"shirt", "trousers"}
    assert set(read("a black horse with white mane").colors) == {"", "mane"}
    assert read("a white dog with black spots").pattern == "spots"


def test_shap_e_names_the_extra_when_diffusers_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with pytest.raises(AkdError, match="diffusers"):
        shap_e_mesh("a chair")


def test_shap_e_meshes_are_stood_up_facing_forward() -> None:
    # A marker at the front (−Y) and the top (+Z) of Shap-E's axes.
    verts = torch.tensor([[0, -1.0, 0], [0, 1, 0], [0.5, 0, 0], [0, 0, 2.0]])
    channels = {name: torch.full((4,), 0.5) for name in "RGB"}
    mesh = stage_mesh(SimpleNamespace(verts=verts, faces=torch.tensor([[0, 1, 2], [0, 2, 3]]), vertex_channels=channels))
    assert mesh.vertices[:, 0].argmax() == 0
    assert mesh.vertices[:, 1].argmax() == 3
    assert mesh.vertices[:, 1].min() == 0
    assert mesh.vertices[:, 1].max() == 1


def test_unknown_plans_are_refused_with_the_list() -> None:
    with pytest.raises(AkdError, match="giraffe"):
        creature("unicorn")


def test_a_plan_is_known_by_its_own_words_or_by_its_name():
    assert DOG.nouns()[0] == "dog"
    assert FOX.nouns() == ("fox", "vixen")
    assert replace(DOG, name="warg").nouns() == ("warg",)
    assert replace(DOG, name="warg", words="warg direwolf").nouns() == ("warg", "direwolf")
    for plan in PLANS.values():
        assert plan.name in plan.words.split()
        assert all(SYNONYMS[word] == plan.name for word in plan.nouns())


def test_every_plan_declared_in_a_module_is_found():
    package = Path(plans.__file__).parent
    declared = [
        target.id
        for path in package.glob("*.py")
        if path.name != "__init__.py"
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
    ]
    assert sorted(name.lower() for name in declared) == sorted(PLANS)
