"""Whether a device computes what it should, in the memory and time that were promised: run before the first hour is spent."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from akd.creatures.build import creature
from akd.distill.assumptions import CANDIDATES
from akd.distill.estimators import ScoreInputs, draw_noise, score_gradient
from akd.distill.loop import initial_trajectory
from akd.distill.recipe import Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import Task
from akd.prior.info import build_on_meta, known_model, quiet_casts
from akd.prior.load import load_prior
from akd.prior.memory import GIGABYTE
from akd.prior.placement import Residence, place
from akd.prior.plan import DTYPES, Plan
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import film_splats
from akd.render.rasterize import film_device

MIN_COSINE = 0.95
"""Joint gradients on a device in its own numbers agree at least so well with those in float32 on the processor."""


@dataclass(frozen=True)
class Agreement:
    """How far the embedded prior on a device agrees with that on the processor."""

    latents: float
    """Cosine of the latents of one film."""
    prediction: float
    """Cosine of the clean latents that are predicted."""
    joints: float
    """Cosine of the gradients of the joints' coefficients."""

    @property
    def holds(self) -> bool:
        return min(self.latents, self.prediction, self.joints) >= MIN_COSINE


@dataclass
class Measured:
    """Memory and time of something that was computed."""

    gigabytes: float = 0.0
    """The most that was in use at once, without what was there before."""
    seconds: float = 0.0
    _before: float = field(default=0.0, repr=False)


def agreement(device: str, dtype: Any = "auto") -> Agreement:
    """The embedded prior on a device against the same on the processor, on one step of a walking dog."""
    ours, theirs = _step(load_prior(device=device, dtype=dtype)), _step(load_prior(device="cpu", dtype="fp32"))
    return Agreement(*(_cosine(a, b) for a, b in zip(ours, theirs, strict=True)))


def _step(prior: VideoPrior) -> tuple[Tensor, Tensor, Tensor]:
    """Latents, gradient of the prior and gradient of the joints in one step."""
    rig = creature("dog", 0)
    recipe = Recipe(draws=2)
    skinned = film_splats(rig, prior.film).to(film_device(prior.device))
    task = Task(rig, skinned, prior, "a dog walking", ("a dog standing",), recipe, 2.0)
    trajectory, view = initial_trajectory(task, CANDIDATES["antiphase"]), prior.film.view
    video = film_softly(rig.skeleton, task.film_motion(trajectory), task.skinned, prior.film, view)
    z = prior.encode(video[None])
    noise, t = draw_noise(prior.film_latents, 2, (0.7, 0.7), torch.Generator().manual_seed(0))
    inputs = ScoreInputs(noise, t, prior.embed(task.prompt), (prior.embed(task.negative_prompts[0]),), 3.0)
    gradient = score_gradient("sds", prior, z.detach(), inputs)
    z.backward(gradient)
    joints = trajectory.curves.coefficients.grad
    assert joints is not None
    return z.detach().cpu(), gradient.cpu(), joints


def _cosine(a: Tensor, b: Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(a.flatten().double(), b.flatten().double(), 0))


def full_step(plan: Plan, offload: Residence | None = None) -> tuple[Measured, Measured]:
    """One encoding with its way back, and one evaluation of the network, of a whole model with random weights."""
    device, dtype = torch.device(plan.device), DTYPES[plan.dtype]
    prior = random_prior(plan.name, device, dtype, offload or plan.offload)
    frames, height, width = plan.film or (prior.film.frames, prior.film.height, prior.film.width)
    text = {name: torch.zeros(shape, device=device, dtype=dtype) for name, shape in known_model(plan.name).text.items()}
    video = torch.rand(1, frames, height, width, 3, requires_grad=True)
    with measured(device) as encoding:
        z = prior.encode(video)
        z.backward(torch.ones_like(z))
    with measured(device) as evaluation:
        prior.predict(torch.randn(z.shape), torch.tensor([0.5]), text)
    return encoding, evaluation


def random_prior(name: str, device: torch.device, dtype: torch.dtype, offload: Residence) -> VideoPrior:
    """A model of that configuration with random weights, made in main memory and brought to the device."""
    prior, _ = build_on_meta(known_model(name))
    for part in (*prior.family.networks, prior.family.vae):
        with quiet_casts():
            part.to(dtype).to_empty(device="cpu")
        for weight in (*part.parameters(), *part.buffers()):
            if weight.is_floating_point():
                torch.nn.init.normal_(weight, std=0.02)
    place(prior.family, device, offload)
    return prior


@contextmanager
def measured(device: torch.device) -> Iterator[Measured]:
    """Memory and time of what is done meanwhile."""
    result = Measured()
    before = _restart(device)
    begun = time.perf_counter()
    yield result
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    result.seconds = time.perf_counter() - begun
    result.gigabytes = (_peak(device) - before) / GIGABYTE


def _restart(device: torch.device) -> int:
    """Forget earlier peaks; returns the bytes in use."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")  # the peak of resident memory begins anew
    return _status("VmRSS") or _peak(device)


def _peak(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(name: str) -> int:
    """A line of Linux's account of this process [bytes]; 0 elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
