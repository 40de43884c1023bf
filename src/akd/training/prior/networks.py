"""The embedded prior's networks: CogVideoX's own classes, small.

A film of 25 × 48 × 96 becomes latents of 13 × 6 × 12 cells with 24 channels, which are 104 tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from akd.training.data_card import SHIPPED_CARD
from akd.training.prior.clips import caption_tokenizer

Vae = Any
"""An ``AutoencoderKLCogVideoX``, whose layers type checkers cannot see."""
CELL_FRAMES = 2
"""Frames that share a cell. CogVideoX has 4; in so few pixels the legs of four frames would blur into one."""
LATENT_CHANNELS = 24
"""CogVideoX has 16, on ten times as many cells."""
VAE_CHANNELS = (8, 16, 32, 64)
"""Channels of the levels. Doubling the last is nearly free, since most of the cost is at high resolution."""
TEXT_TOKENS = 24
"""Longest caption, in words."""
TEXT_WIDTH = 64
"""Width of text embeddings."""
NOISE_SHIFT = 0.3
"""Factor of the noise of CogVideoX's plain schedule: below one, less."""


def build_vae(seed: int = 0) -> Vae:
    """The 3D causal autoencoder, with two frames of 8 × 8 pixels in a cell."""
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    torch.manual_seed(seed)
    return AutoencoderKLCogVideoX(
        block_out_channels=VAE_CHANNELS, latent_channels=LATENT_CHANNELS, layers_per_block=1, norm_num_groups=8,
        temporal_compression_ratio=CELL_FRAMES, sample_height=48, sample_width=96, scaling_factor=1.0,
    )  # fmt: skip


def build_transformer(seed: int = 0, *, first_frame: bool = False) -> Any:
    """A transformer of 4.9 M parameters on 104 tokens; position embeddings are fixed sinusoids, as in CogVideoX-2B.
    ``first_frame``: its latents are given on further channels.

    Its first answer is zero and its blocks add nothing to begin with, as in DiT (Peebles and Xie 2023).
    """
    from diffusers.models.transformers.cogvideox_transformer_3d import CogVideoXTransformer3DModel

    torch.manual_seed(seed)
    network = CogVideoXTransformer3DModel(
        num_attention_heads=6, attention_head_dim=32, num_layers=8, time_embed_dim=64,
        in_channels=(1 + first_frame) * LATENT_CHANNELS, out_channels=LATENT_CHANNELS, text_embed_dim=TEXT_WIDTH,
        max_text_seq_length=TEXT_TOKENS, patch_size=3, sample_width=12, sample_height=6,
        sample_frames=25, temporal_compression_ratio=CELL_FRAMES, spatial_interpolation_scale=1.0,
    )  # fmt: skip
    norms = [norm for block in network.transformer_blocks for norm in (block.norm1, block.norm2)]
    for layer in (network.proj_out, *(norm.linear for norm in norms)):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    return network


def build_text_encoder(vocabulary: int, seed: int = 0) -> Any:
    """A T5 encoder of two layers: captions need little grammar."""
    from transformers import T5Config, T5EncoderModel

    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=vocabulary, d_model=TEXT_WIDTH, d_kv=16, d_ff=2 * TEXT_WIDTH, num_layers=2, num_heads=4, dropout_rate=0.0,
        feed_forward_proj="gated-gelu", relative_attention_num_buckets=16, relative_attention_max_distance=32,
    )  # fmt: skip
    return T5EncoderModel(config)


def build_scheduler() -> Any:
    """CogVideoX's schedule: v-prediction, zero terminal signal-to-noise ratio.

    CogVideoX-2B shifts its noise up by 3, because large pictures are redundant; ours are tiny, so it is shifted down.
    """
    from diffusers.schedulers.scheduling_ddim_cogvideox import CogVideoXDDIMScheduler

    return CogVideoXDDIMScheduler(
        prediction_type="v_prediction", rescale_betas_zero_snr=True, timestep_spacing="trailing", snr_shift_scale=NOISE_SHIFT,
        clip_sample=False, set_alpha_to_one=True,
    )  # fmt: skip


def build_pipeline(seed: int = 0, words: Sequence[str] = SHIPPED_CARD.words, *, first_frame: bool = False) -> Any:
    """The whole pipeline with random weights and a tokenizer of these words."""
    from diffusers.pipelines.cogvideo.pipeline_cogvideox import CogVideoXPipeline

    tokenizer: Any = caption_tokenizer(words)
    text_encoder = build_text_encoder(len(tokenizer), seed)
    network = build_transformer(seed, first_frame=first_frame)
    return CogVideoXPipeline(tokenizer, text_encoder, build_vae(seed), network, build_scheduler())
