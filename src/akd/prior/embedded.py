"""The embedded prior's networks: CogVideoX's own classes, small.

Random numbers while training are drawn for a 17 × 64 × 64 film: latents of 5 × 8 × 8 cells and 12 channels, 80 tokens.
"""

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from diffusers import AutoencoderKLCogVideoX, CogVideoXTransformer3DModel

LATENT_CHANNELS = 12
"""Eight lose the far legs where four frames share one cell."""
VAE_CHANNELS = (8, 16, 32, 64)
"""Doubling the last is nearly free, since the cost lies in the large pictures."""
TEXT_TOKENS = 24
"""Longest caption, in words."""


def small_vae(seed: int = 0) -> "AutoencoderKLCogVideoX":
    """The 3D causal autoencoder: four frames and 8 × 8 pixels to a cell."""
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    torch.manual_seed(seed)
    return AutoencoderKLCogVideoX(
        block_out_channels=VAE_CHANNELS, latent_channels=LATENT_CHANNELS, layers_per_block=1, norm_num_groups=8,
        temporal_compression_ratio=4, sample_height=64, sample_width=64, scaling_factor=1.0,
    )  # fmt: skip
