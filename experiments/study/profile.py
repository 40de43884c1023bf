"""Processor time of one iteration by part, the prior's and ours: ``python -m experiments.study profile``, docs/distill.md."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from akd.distill import loop
from akd.distill.loop import Distillation
from akd.distill.task import Task


def profile(task: Task, iterations: int = 3) -> dict[str, float]:
    """Seconds of processor time per iteration, by part: other programs do not matter.

    Going back through the film and through the encoder are timed in a separate pass. The first iteration is not
    counted: it compiles and reads sentences.
    """
    run = Distillation(task)
    run.step()
    seconds: dict[str, float] = defaultdict(float)
    with _timed(seconds):
        begun = time.process_time()
        for _ in range(iterations):
            run.step()
        seconds["all"] = time.process_time() - begun
    film_back, encoder_back = _backward(task, run)
    steps = iterations * task.recipe.fit_steps * len(run.candidates)
    parts = {
        "prior: network": seconds["network"], "prior: encoder": seconds["encoder"],
        "prior: back through the encoder": steps * encoder_back,
        "film": seconds["film"], "back through film and kinematics": steps * film_back,
    }  # fmt: skip
    parts["everything else"] = max(seconds["all"] - sum(parts.values()), 0.0)
    return {name: value / iterations for name, value in (parts | {"all": seconds["all"]}).items()}


def own_share(parts: dict[str, float]) -> float:
    """The share that is not the prior's."""
    return 1 - sum(value for name, value in parts.items() if name.startswith("prior")) / parts["all"]


@contextmanager
def _timed(seconds: dict[str, float]) -> Iterator[None]:
    def clocked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **options: Any) -> Any:
            begun = time.process_time()
            result = function(*args, **options)
            seconds[name] += time.process_time() - begun
            return result

        return inner

    from akd.prior.prior import VideoPrior

    with (
        mock.patch.object(VideoPrior, "predict", clocked("network", VideoPrior.predict)),
        mock.patch.object(VideoPrior, "encode", clocked("encoder", VideoPrior.encode)),
        mock.patch.object(loop, "film_softly", clocked("film", loop.film_softly)),
    ):
        yield


def _backward(task: Task, run: Distillation) -> tuple[float, float]:
    """Seconds back through the film to the motion, and back through the encoder to the film."""
    settings = task.prior.film
    motion = run.trajectory.motion(settings.frames, task.fps)
    video = loop.film_softly(task.rig.skeleton, motion, task.skinned, settings, settings.view)
    seen = video.detach().requires_grad_()
    z = task.prior.encode(seen[None])
    begun = time.process_time()
    (slope,) = torch.autograd.grad(z.sum(), seen)
    between = time.process_time()
    video.backward(slope)
    return time.process_time() - between, between - begun
