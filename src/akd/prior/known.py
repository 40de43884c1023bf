"""Configurations of the big models, as published with them, so that their size can be told without a download."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Part = tuple[str, dict[str, Any]]
"""Class name and configuration."""


@dataclass(frozen=True)
class KnownModel:
    """What is needed to build a model without its weights."""

    pipeline: str
    network: Part
    vae: Part
    text_encoders: tuple[Part, ...]
    text: Mapping[str, tuple[int, ...]]
    """Shapes of an embedded sentence."""
    options: tuple[tuple[str, Any], ...] = ()
    """Of the pipeline itself."""


T5_XXL: Part = ("T5EncoderModel", {
    "vocab_size": 32128, "d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24, "num_heads": 64,
    "feed_forward_proj": "gated-gelu",
})  # fmt: skip
UMT5_XXL: Part = ("UMT5EncoderModel", {**T5_XXL[1], "vocab_size": 256384})
LLAMA_8B: Part = ("LlamaModel", {
    "vocab_size": 128320, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8,
})  # fmt: skip
CLIP_L: Part = ("CLIPTextModel", {
    "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
})  # fmt: skip
CLIP_H: Part = ("CLIPTextModel", {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16,
})  # fmt: skip
COG_VAE: Part = ("AutoencoderKLCogVideoX", {"scaling_factor": 0.7})
WAN_TEXT = {"encoder_hidden_states": (1, 512, 4096)}


def _cogvideox(heads: int, layers: int, **more: Any) -> KnownModel:
    network = ("CogVideoXTransformer3DModel", {"num_attention_heads": heads, "num_layers": layers, **more})
    text = {"encoder_hidden_states": (1, more.get("max_text_seq_length", 226), 4096)}
    return KnownModel("CogVideoXPipeline", network, COG_VAE, (T5_XXL,), text)


def _wan(heads: int, layers: int, width: int, vae: dict[str, Any], channels: int = 16, *, each_token: bool = False) -> KnownModel:
    config = {
        "num_attention_heads": heads, "num_layers": layers, "ffn_dim": width, "in_channels": channels, "out_channels": channels,
    }  # fmt: skip
    network = ("WanTransformer3DModel", config)
    options = (("expand_timesteps", each_token),)
    return KnownModel("WanPipeline", network, ("AutoencoderKLWan", vae), (UMT5_XXL,), WAN_TEXT, options)


WAN_22_VAE = {
    "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48, "in_channels": 12, "out_channels": 12, "patch_size": 2,
    "is_residual": True, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48,
}  # fmt: skip

KNOWN: dict[str, KnownModel] = {
    "THUDM/CogVideoX-2b": _cogvideox(30, 30),
    "THUDM/CogVideoX-5b": _cogvideox(48, 42, use_rotary_positional_embeddings=True, use_learned_positional_embeddings=False),
    "THUDM/CogVideoX1.5-5B": _cogvideox(
        48, 42, use_rotary_positional_embeddings=True, patch_size_t=2, patch_bias=False, sample_width=170, sample_height=96,
        sample_frames=81, max_text_seq_length=224,
    ),
    "Wan-AI/Wan2.1-T2V-1.3B-Diffusers": _wan(12, 30, 8960, {}),
    "Wan-AI/Wan2.1-T2V-14B-Diffusers": _wan(40, 40, 13824, {}),
    "Wan-AI/Wan2.2-TI2V-5B-Diffusers": _wan(24, 30, 14336, WAN_22_VAE, 48, each_token=True),
    "Lightricks/LTX-Video": KnownModel(
        "LTXPipeline", ("LTXVideoTransformer3DModel", {}), ("AutoencoderKLLTXVideo", {}), (T5_XXL,),
        {"encoder_hidden_states": (1, 128, 4096), "encoder_attention_mask": (1, 128)},
    ),
    "hunyuanvideo-community/HunyuanVideo": KnownModel(
        "HunyuanVideoPipeline", ("HunyuanVideoTransformer3DModel", {"guidance_embeds": True}), ("AutoencoderKLHunyuanVideo", {}),
        (LLAMA_8B, CLIP_L),
        {"encoder_hidden_states": (1, 256, 4096), "pooled_projections": (1, 768), "encoder_attention_mask": (1, 256)},
    ),
    "ali-vilab/text-to-video-ms-1.7b": KnownModel(
        "TextToVideoSDPipeline", ("UNet3DConditionModel", {"cross_attention_dim": 1024, "attention_head_dim": 64}),
        ("AutoencoderKL", {
            "block_out_channels": (128, 256, 512, 512), "down_block_types": ("DownEncoderBlock2D",) * 4,
            "up_block_types": ("UpDecoderBlock2D",) * 4, "layers_per_block": 2, "latent_channels": 4,
        }),
        (CLIP_H,), {"encoder_hidden_states": (1, 77, 1024)},
    ),
}  # fmt: skip
