"""B-splines: weights sum to one and act locally, polynomials come back, loops meet at their ends."""

import numpy as np
import pytest

from akd.splines import Spline


@pytest.mark.parametrize("loop", [False, True])
def test_weights_sum_to_one_and_are_local(loop):
    spline = Spline(2.0, 7, loop=loop)
    basis = spline.basis(np.linspace(0, 2, 60))
    np.testing.assert_allclose(basis.sum(1), 1, atol=1e-12)
    assert ((basis > 1e-12).sum(1) <= 4).all()
    assert basis.shape[1] == (7 if loop else 10)


def test_a_cubic_comes_back():
    times = np.linspace(0, 1.5, 40)
    values = np.stack((times**3 - times, 2 - times**2), 1)
    spline = Spline(1.5, 4)
    control = spline.fit(times, values, stiffness=0)
    between = np.linspace(0, 1.5, 97)
    np.testing.assert_allclose(spline.basis(between) @ control, np.stack((between**3 - between, 2 - between**2), 1), atol=1e-6)


def test_a_loop_goes_on():
    spline = Spline(1.0, 6, loop=True)
    control = np.random.default_rng(0).normal(size=(6, 2))
    step = 1e-4
    ends = spline.basis(np.array((1 - step, 1.0, 1 + step))) @ control
    begin = spline.basis(np.array((-step, 0.0, step))) @ control
    np.testing.assert_allclose(ends, begin, atol=1e-9)


def test_stretches_without_values_are_bridged():
    spline = Spline(1.0, 12)
    times = np.array((0.0, 0.1, 0.9, 1.0))
    control = spline.fit(times, times[:, None], stiffness=1e-3)
    np.testing.assert_allclose((spline.basis(np.array([0.5])) @ control)[0, 0], 0.5, atol=0.02)
