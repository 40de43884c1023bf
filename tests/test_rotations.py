"""Rotations: every representation comes back, and every gradient is finite, at the identity and at half turns too."""

import pytest
import torch

from akd import rotations as r

BATCHES = [(), (1,), (3, 2)]


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def random_rotations(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(*shape, 4, generator=generator)
    return r.quaternion_to_matrix(q)


def special_rotations() -> torch.Tensor:
    """Identity, tiny turns, half turns, and gimbal lock of both signs."""
    half = torch.pi / 2
    angles = [
        (0, 0, 0), (1e-9, 0, 0), (0, 1e-12, 0), (torch.pi, 0, 0), (0, 0, torch.pi), (torch.pi, 0, torch.pi),
        (0.3, half, 0.7), (0.3, -half, 0.7), (-2.0, half, 2.5), (0, half, 0), (0, half - 1e-9, 0),
    ]  # fmt: skip
    return r.angles_to_matrix(torch.tensor(angles))


@pytest.mark.parametrize("batch", BATCHES)
def test_matrices_are_rotations(batch):
    m = r.angles_to_matrix(torch.randn(*batch, 3))
    torch.testing.assert_close(m @ m.transpose(-1, -2), torch.eye(3).expand(*batch, 3, 3))
    torch.testing.assert_close(torch.linalg.det(m), torch.ones(batch))


def test_angles_are_turns_about_x_then_y_then_z():
    a, b, c = 0.4, -0.7, 1.1
    one = lambda *angles: r.angles_to_matrix(torch.tensor(angles))  # noqa: E731
    torch.testing.assert_close(one(a, b, c), one(a, 0.0, 0.0) @ one(0.0, b, 0.0) @ one(0.0, 0.0, c))
    quarter = one(0.0, 0.0, torch.pi / 2)
    torch.testing.assert_close(quarter @ torch.tensor((1.0, 0, 0)), torch.tensor((0.0, 1, 0)), atol=1e-15, rtol=0)


@pytest.mark.parametrize("matrices", [lambda: random_rotations(200), special_rotations])
def test_every_representation_comes_back(matrices):
    matrices = matrices()
    # Within 1e-6 of gimbal lock the smallest angles are below what a rotation matrix can hold.
    torch.testing.assert_close(r.angles_to_matrix(r.matrix_to_angles(matrices)), matrices, atol=2e-6, rtol=0)
    q = r.matrix_to_quaternion(matrices)
    torch.testing.assert_close(r.quaternion_to_matrix(q), matrices, atol=1e-12, rtol=0)
    v = r.quaternion_to_rotation_vector(q)
    torch.testing.assert_close(r.quaternion_to_matrix(r.rotation_vector_to_quaternion(v)), matrices, atol=1e-12, rtol=0)


def test_angles_in_the_chart_come_back_exactly():
    angles = (torch.rand(500, 3) - 0.5) * torch.tensor((2 * torch.pi, 0.99 * torch.pi, 2 * torch.pi))
    torch.testing.assert_close(r.matrix_to_angles(r.angles_to_matrix(angles)), angles, atol=1e-9, rtol=0)


@pytest.mark.parametrize("frames", [1, 2, 400])
def test_continuous_angles_at_once_are_those_one_by_one(frames: int):
    steps = 0.4 * torch.randn(frames, 5, 3, generator=torch.Generator().manual_seed(3))
    matrices = r.angles_to_matrix(steps.cumsum(0))
    found = r.continuous_angles(matrices)
    unlocked = torch.zeros(frames, 5, 1, dtype=torch.bool)
    assert torch.allclose(found, r._continued_one_by_one(r.matrix_to_angles(matrices), unlocked), atol=1e-9)
    assert torch.allclose(r.angles_to_matrix(found), matrices, atol=1e-9)
    assert frames < 400 or found.abs().max() > torch.pi, "some have turned round"


def test_continuous_angles_follow_a_curve_through_gimbal_lock():
    t = torch.linspace(0, 1, 101)
    curve = torch.stack((0.3 + 0.2 * t, torch.pi * t, 0.5 - t), -1)  # b passes exactly through π/2
    matrices = r.angles_to_matrix(curve)
    back = r.continuous_angles(matrices)
    torch.testing.assert_close(r.angles_to_matrix(back), matrices, atol=1e-6, rtol=0)
    assert (back[1:] - back[:-1]).abs().max() < 0.1


def test_multiplication_composes():
    p, q = torch.randn(7, 4), torch.randn(7, 4)
    torch.testing.assert_close(
        r.quaternion_to_matrix(r.quaternion_multiply(p, q)), r.quaternion_to_matrix(p) @ r.quaternion_to_matrix(q)
    )


def test_slerp_has_constant_speed():
    p, q = r.rotation_vector_to_quaternion(torch.zeros(3)), r.rotation_vector_to_quaternion(torch.tensor((0, 1.2, 0)))
    middle = r.slerp(p, -q, torch.tensor([0.25]))  # −q is the same rotation: the short way is taken
    torch.testing.assert_close(r.quaternion_to_rotation_vector(middle), torch.tensor((0, 0.3, 0)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "function",
    [
        lambda v: r.angles_to_matrix(v),
        lambda v: r.rotation_vector_to_quaternion(v),
        lambda v: r.quaternion_to_matrix(r.rotation_vector_to_quaternion(v)),
        lambda v: r.matrix_to_angles(r.angles_to_matrix(v)),
        lambda v: r.matrix_to_quaternion(r.angles_to_matrix(v)),
        lambda v: r.quaternion_to_rotation_vector(r.rotation_vector_to_quaternion(v)),
    ],
)
def test_gradients_are_finite(function, dtype):
    half = torch.pi / 2
    points = [(0, 0, 0), (1e-20, 0, 0), (1e-9, 0, 0), (torch.pi, 0, 0), (0, torch.pi - 1e-7, 0), (0, half, 0), (0.3, -half, 1.0)]
    v = torch.tensor(points, dtype=dtype, requires_grad=True)
    function(v).square().sum().backward()
    assert v.grad is not None
    assert torch.isfinite(v.grad).all()


def test_gradients_are_right_near_zero_and_pi():
    v = torch.tensor([(1e-3, 0, 0), (0.2, -0.4, 0.9), (0, 3.14, 0)], requires_grad=True)
    assert torch.autograd.gradcheck(r.rotation_vector_to_quaternion, v)
    assert torch.autograd.gradcheck(r.angles_to_matrix, v)
    assert torch.autograd.gradcheck(lambda x: r.matrix_to_quaternion(r.angles_to_matrix(x)), v)
