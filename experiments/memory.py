"""Is the memory that plans count the memory that is used? Real runs on the processor against the tracker, per family.

    python -m experiments memory

Each autoencoder is one of the real classes with fewer channels, so that memory is what a film needs and not time. It runs in a
process of its own in which every tensor is given back to the system at once, and the peak of resident memory is read.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

FILMS = {
    "cogvideox": (17, 288, 288), "wan": (9, 256, 256), "ltx": (49, 384, 384), "hunyuan": (9, 320, 320),
    "hunyuan-1.5": (13, 256, 256),
}
"""Frames, height and width by which each takes a few hundred megabytes."""


@dataclass(frozen=True)
class Comparison:
    """One real run."""

    name: str
    counted: float
    """By the tracker on tensors without values [GB]."""
    used: float
    """Peak of resident memory above what was there before [GB]."""

    @property
    def ratio(self) -> float:
        return self.used / self.counted


def compare(name: str) -> Comparison:
    """A family's encoding and way back in a child process, and counted."""
    quiet = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "experiments.memory", name], env=os.environ | quiet, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return Comparison(name, **json.loads(ran.stdout.splitlines()[-1]))


def small_pipeline(name: str) -> Any:
    """A pipeline whose autoencoder has the depth of the real one and fewer channels; no other part is needed."""
    import diffusers
    import torch

    torch.manual_seed(0)
    made = {
        "cogvideox": lambda: ("CogVideoXPipeline", diffusers.AutoencoderKLCogVideoX(
            block_out_channels=(16, 32, 32, 32), latent_channels=4, layers_per_block=2, norm_num_groups=8)),
        "wan": lambda: ("WanPipeline", diffusers.AutoencoderKLWan(
            base_dim=16, z_dim=4, latents_mean=[0.0] * 4, latents_std=[1.0] * 4)),
        "ltx": lambda: ("LTXPipeline", diffusers.AutoencoderKLLTXVideo(block_out_channels=(32, 64, 64, 64), latent_channels=8)),
        "hunyuan": lambda: ("HunyuanVideoPipeline", diffusers.AutoencoderKLHunyuanVideo(
            block_out_channels=(16, 32, 32, 32), latent_channels=4, norm_num_groups=8)),
        "hunyuan-1.5": lambda: ("HunyuanVideo15Pipeline", diffusers.AutoencoderKLHunyuanVideo15(
            block_out_channels=(16, 32, 32, 32, 32), latent_channels=4)),
    }  # fmt: skip
    kind, vae = made[name]()
    pipeline = getattr(diffusers, kind)
    empty = {each: None for each in pipeline._get_signature_keys(pipeline)[0] if each != "vae"}
    return pipeline(vae=vae, **empty)


def _run_once(name: str) -> None:
    import torch

    from akd.pipeline.selftest import measured
    from akd.prior.families import FAMILIES
    from akd.prior.info import encode_peak

    pipe = small_pipeline(name)
    family = FAMILIES[type(pipe).__name__](pipe)
    family.vae.requires_grad_(False).eval()
    prior: Any = type("Prior", (), {"family": family})
    size = FILMS[name]
    encode_peak(prior, 9, 64, 64, torch.float32, "cpu")  # what libraries load at their first use
    with measured(torch.device("cpu")) as real:
        video = torch.zeros(1, *size, 3).fill_(0.5).requires_grad_()
        latents = family.encode(video.permute(0, 4, 1, 2, 3) * 2 - 1)
        latents.backward(torch.ones_like(latents))
    family.vae.to("meta")
    print(json.dumps({"counted": encode_peak(prior, *size, torch.float32, "meta"), "used": real.gigabytes}))


def main(arguments: list[str] | None = None) -> None:
    """Print the comparison of every family."""
    for name in FILMS:
        found = compare(name)
        print(f"{found.name:10} counted {found.counted:.3f} GB, used {found.used:.3f} GB, ratio {found.ratio:.2f}")


if __name__ == "__main__":
    _run_once(sys.argv[1])
