"""Matrices and the translations, rotations and scales they are made of."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from akd.files.gltf.nodes import Trs, decompose


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, 1, 1), (-1, -1, 1), (-1, -1, -1)])
def test_decompose_inverts_compose(signs: tuple[int, int, int]) -> None:
    random = np.random.default_rng(3)
    scale = random.uniform(0.1, 3, (50, 3)) * signs
    parts = Trs(random.normal(size=(50, 3)), Rotation.random(50, random_state=5).as_quat(), scale)
    found = decompose(parts.matrix(), Trs(np.zeros(3), np.array([0, 0, 0, 1.0]), np.array(signs, float)))
    for one, other in zip(found, parts, strict=True):
        np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-9)
    np.testing.assert_allclose(found.matrix(), parts.matrix(), atol=1e-9)
    assert np.all((found.rotation[1:] * found.rotation[:-1]).sum(1) >= 0)


def test_a_hidden_part_keeps_its_rotation() -> None:
    turn = Rotation.from_rotvec([0.3, 0.5, -0.2]).as_quat()
    scale = np.array([1, 0, 0, 1.0])[:, None].repeat(3, 1)
    found = decompose(Trs(np.zeros((4, 3)), np.tile(turn, (4, 1)), scale).matrix())
    np.testing.assert_allclose(found.rotation, np.tile(turn, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(found.scale, scale, atol=1e-12)
