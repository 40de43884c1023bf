"""What of this machine the jobs need: versions, cards, memory, disk, packages, and which models would fit."""

import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import torch

from akd.distill.recipe import RECIPES
from akd.errors import AkdError
from akd.pipeline.cost import clip_cost, in_words
from akd.prior.hardware import Hardware
from akd.prior.info import KNOWN_MODELS, memory_needs, prior_info
from akd.prior.load import load_prior
from akd.prior.memory import GIGABYTE
from akd.prior.plan import Plan, cuda_fault, fit, free_gigabytes

State = Literal["good", "note", "bad"]
BIG_MODEL_PACKAGES = ("diffusers", "transformers", "accelerate", "sentencepiece", "protobuf", "ftfy")
"""What big models need; they come with the extra ``prior``."""
LEAST_MEMORY, LEAST_DISK = 3.0, 2.0
"""For the main job with the embedded prior [GB]."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: State
    """``bad`` where the main job would not run."""
    found: str
    """What there is, and the cure if it is not enough."""


def examine(folder: Path = Path()) -> Iterator[Finding]:
    """All findings about this machine; ``folder`` is where results would go."""
    yield Finding("system", "good", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    yield from _torch()
    free = free_gigabytes("cpu")
    yield Finding("main memory", "good" if free >= LEAST_MEMORY else "bad", f"{free:.1f} GB free{_cure(free, LEAST_MEMORY)}")
    disk = shutil.disk_usage(folder).free / GIGABYTE
    yield Finding("disk", "good" if disk >= LEAST_DISK else "bad", f"{disk:.1f} GB free{_cure(disk, LEAST_DISK)}")
    yield from _packages()
    yield _main_job()


def _cure(free: float, least: float) -> str:
    return "" if free >= least else f"; a run needs {least:g}: make room"


def _torch() -> Iterator[Finding]:
    build = "CPU only" if torch.version.cuda is None else f"CUDA {torch.version.cuda}"
    yield Finding("torch", "good", f"{torch.__version__} ({build})")
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(index)
            free = free_gigabytes(f"cuda:{index}")
            numbers = "bf16" if card.major >= 8 else "fp16"
            yield Finding(
                f"cuda:{index}", "good", f"{card.name}, {free:.1f} of {card.total_memory / GIGABYTE:.1f} GB free, {numbers}"
            )
    elif torch.backends.mps.is_available():
        yield Finding("mps", "note", "an Apple card; big models on it are untried")
    else:
        yield Finding("card", "note", f"none: {cuda_fault()} The embedded prior needs none")


def _packages() -> Iterator[Finding]:
    missing = [name for name in BIG_MODEL_PACKAGES if installed(name) is None]
    if missing:
        yield Finding("big models", "note", f"missing {', '.join(missing)}: pip install 'akd[prior]'")
    else:
        yield Finding("big models", "good", ", ".join(f"{name} {installed(name)}" for name in BIG_MODEL_PACKAGES))
    if torch.cuda.is_available():
        yield _gsplat()


def _gsplat() -> Finding:
    """Films on the card need gsplat, which compiles itself at its first use unless a wheel was built for this torch."""
    found = installed("gsplat")
    if found is None:
        return Finding("gsplat", "note", "missing, so films are made on the processor: pip install 'akd[cuda]'")
    if shutil.which("nvcc") is None:
        return Finding("gsplat", "note", f"{found}, but there is no nvcc to compile it with: install the CUDA toolkit")
    return Finding("gsplat", "good", f"{found}, nvcc is there")


def installed(package: str) -> str | None:
    """The version of a package, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _main_job() -> Finding:
    """The embedded prior reads, encodes and predicts."""
    try:
        prior = load_prior()
        size = prior.film.frames, prior.film.height, prior.film.width
        with torch.no_grad():
            z = prior.encode(torch.zeros(1, *size, 3))
            clean = prior.denoise(z, torch.tensor([0.5]), prior.embed("a dog walking")).x0
    except (AkdError, RuntimeError, OSError) as error:
        return Finding("embedded prior", "bad", f"does not run ({str(error).splitlines()[0][:150]}): install akd again")
    finite = bool(clean.isfinite().all())
    return Finding("embedded prior", "good" if finite else "bad", "runs" if finite else "computes nonsense: install torch again")


@dataclass(frozen=True)
class Fit:
    """A known model on a card of some size."""

    name: str
    plan: Plan | None
    """``None`` if there is none."""
    clip_seconds: float | None
    """Estimated time of a clip with the recipe for big models."""

    @property
    def sentence(self) -> str:
        """For people."""
        if self.plan is None or self.clip_seconds is None:
            return "does not fit"
        return f"{self.plan.sentence.split('; ', 1)[-1]} A clip takes about {in_words(self.clip_seconds)}."


def fits(gigabytes: float, device: str = "cuda") -> Iterator[Fit]:
    """How every known model would run on a card with so much free memory; memory is counted, time estimated."""
    for name in KNOWN_MODELS:
        try:
            way_back = RECIPES["big"].fit == "latents"
            plan = fit(Plan(name, device, "bf16", "none"), Hardware(), memory_needs(name), gigabytes, way_back=way_back)
        except AkdError:
            yield Fit(name, None, None)
            continue
        yield Fit(name, plan, clip_seconds(name, plan))


def clip_seconds(name: str, plan: Plan, recipe: str = "big") -> float:
    """Estimated time of a clip with a plan's film."""
    frames, height, width = plan.film or memory_needs(name).film
    return clip_cost(prior_info(name, frames=frames, size=(width, height)), RECIPES[recipe]).seconds
