"""The kernel equals its reference, forward and backward; its gradients equal finite differences; batches equal loops."""

import numpy as np
import pytest
import torch

from akd.character.articulation import Articulation, articulation_of
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.physics import reference
from akd.physics.settings import PhysicsSettings, State, constants
from akd.physics.simulate import between_frames, simulate
from sample_bodies import chain_body, moving_state
from sample_rigs import box_rig

UNCLIPPED = PhysicsSettings(substeps=5, chunk=4, clip_mode="none", assist_stiffness=0.3)
FPS = 100.0


def bodies() -> dict[str, Articulation]:
    return {
        "biped": articulation_of(box_rig(1)), "quadruped": articulation_of(box_rig(2)),
        "spider": articulation_of(creature("spider", seed=3)), "chain": chain_body(5, anchored=True),
    }  # fmt: skip


BODIES = bodies()


def problem(body: Articulation, frames: int = 4, samples: int = 1) -> tuple[State, torch.Tensor]:
    """A body that stands on the ground, or sinks in a little, and moves; and targets for it."""
    starts = [moving_state(body, height=_standing_height(body), speed=0.2, bend=0.01, seed=k) for k in range(samples)]
    start = State(*(torch.cat(parts) for parts in zip(*starts, strict=True)))
    random = torch.Generator().manual_seed(9)
    controls = 0.1 * torch.randn(frames, samples, body.link_count, 3, generator=random, dtype=torch.float64)
    return start, controls


def _standing_height(body: Articulation) -> float:
    if not body.point_count:
        return 0.0
    heads = np.zeros((body.link_count, 3))
    for i in range(1, body.link_count):
        heads[i] = heads[body.parents[i]] + body.offsets[i]
    return -float((heads[body.point_link] + body.points)[:, 1].min()) - 0.002


def weighted_end(parts, seed: int = 5) -> torch.Tensor:
    """Some number that depends on all of a state."""
    random = torch.Generator().manual_seed(seed)
    return sum((torch.randn(part.shape, generator=random, dtype=part.dtype) * part).sum() for part in parts)


@pytest.mark.parametrize("name", list(BODIES))
def test_kernel_equals_reference_forward_and_backward(name: str) -> None:
    body = BODIES[name]
    start, controls = problem(body, frames=2)  # two chunks; the reference is slow
    results = []
    for fused in (True, False):
        leaves = [part.clone().requires_grad_() for part in (*start, controls)]
        state = State(*leaves[:6])
        if fused:
            end = simulate(body, state, leaves[6], UNCLIPPED, FPS).states[-1]
        else:
            end = reference.simulate(body, state, between_frames(leaves[6], 5), constants(body, UNCLIPPED, FPS))[-1]
        weighted_end(end).backward()
        results.append((list(end), [leaf.grad for leaf in leaves]))
    for mine, theirs in zip(results[0][0], results[1][0], strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-8, rtol=1e-8)
    for mine, theirs in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-8 * float(theirs.abs().max() + 1), rtol=1e-7)


@pytest.mark.parametrize("name", ["biped", "quadruped", "spider"])
def test_gradients_equal_finite_differences(name: str) -> None:
    body = BODIES[name]
    start, controls = problem(body, frames=3)
    inputs = [controls, start.velocity, start.spin, start.rates]
    random = torch.Generator().manual_seed(2)
    along = [torch.randn(x.shape, generator=random, dtype=x.dtype) for x in inputs]

    def value(moved: list[torch.Tensor]) -> torch.Tensor:
        state = State(start.position, start.rotation, start.angles, *moved[1:])
        return weighted_end(simulate(body, state, moved[0], UNCLIPPED, FPS).states[-1])

    for k, direction in enumerate(along):
        leaves = [x.clone().requires_grad_() for x in inputs]
        value(leaves).backward()
        slope = float((leaves[k].grad * direction).sum())
        h = 1e-6
        ahead, behind = (value([x + s * h * direction if j == k else x for j, x in enumerate(inputs)]) for s in (1, -1))
        assert slope == pytest.approx(float(ahead - behind) / (2 * h), rel=1e-3, abs=1e-5)


def test_a_batch_is_a_loop() -> None:
    body = BODIES["quadruped"]
    start, controls = problem(body, samples=3)
    controls.requires_grad_()
    together = simulate(body, start, controls, UNCLIPPED, FPS)
    weighted_end(together.states[-1][1]).backward()
    assert (controls.grad[:, (0, 2)] == 0).all()
    for k in range(3):
        leaf = controls.detach()[:, k].clone().requires_grad_()
        alone = simulate(body, start[k], leaf, UNCLIPPED, FPS)
        for mine, theirs in zip(alone.states, together.states, strict=True):
            torch.testing.assert_close(mine, theirs[:, k])
        if k == 1:
            weighted_end(alone.states[-1]).backward()
            torch.testing.assert_close(leaf.grad, controls.grad[:, 1])


def test_single_precision_goes_in_and_out() -> None:
    body = BODIES["biped"]
    start, controls = problem(body)
    exact = simulate(body, start, controls, UNCLIPPED, FPS).states[-1]
    rough = simulate(body, start.to(torch.float32), controls.float(), UNCLIPPED, FPS).states[-1]
    for mine, theirs in zip(rough, exact, strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine.double(), theirs, atol=1e-4, rtol=1e-4)


def test_clipping_bounds_what_flows_back_and_leaves_small_gradients_alone() -> None:
    body = BODIES["quadruped"]
    start, controls = problem(body)

    def gradient(mode: str, clip: float, size: float = 1.0) -> torch.Tensor:
        leaf = controls.clone().requires_grad_()
        settings = PhysicsSettings(substeps=5, chunk=4, clip_mode=mode, clip_norm=clip, assist_stiffness=0.3)  # type: ignore[arg-type]
        (size * weighted_end(simulate(body, start, leaf, settings, FPS).states[-1])).backward()
        return leaf.grad

    free = gradient("none", 1.0)
    torch.testing.assert_close(gradient("global", 1e9), free)
    torch.testing.assert_close(gradient("chunk", 1e9), free)
    assert float(gradient("global", 0.01).norm()) <= 0.01
    first = lambda g: float(g[0].norm())  # noqa: E731  only through many chunks does the end feel the first frame
    assert 0 < first(gradient("chunk", 1e-3)) < 0.1 * first(free)


def test_controls_for_every_substep() -> None:
    body = BODIES["biped"]
    start, controls = problem(body)
    frames = simulate(body, start, controls, UNCLIPPED, FPS)
    substeps = simulate(body, start, between_frames(controls, 5), UNCLIPPED, FPS, every="substep")
    torch.testing.assert_close(substeps.states.angles, frames.states.angles)


def test_what_is_not_finite_is_named() -> None:
    body = BODIES["biped"]
    start, controls = problem(body)
    controls[2, 0, 3] = float("nan")
    with pytest.raises(AkdError, match=f"not finite in frame 1 at bone {body.names[3]}"):
        simulate(body, start, controls, UNCLIPPED, FPS)
    with pytest.raises(AkdError, match="do not fit"):
        simulate(body, start, controls[:, :, :2], UNCLIPPED, FPS)
