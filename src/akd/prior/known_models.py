"""Configurations of the known big models, as published: what is needed to build them without their weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from akd.prior.folder import SAME_OWNERS

Part = tuple[str, dict[str, Any]]
"""Class name and configuration."""


@dataclass(frozen=True)
class KnownModel:
    """Classes and configurations from which a model is built without its weights."""

    pipeline: str
    """Name of the pipeline class."""
    network: Part
    vae: Part
    text_encoders: tuple[Part, ...]
    text: Mapping[str, tuple[int, ...]]
    """Shapes of an embedded sentence, by the network's argument."""
    options: tuple[tuple[str, Any], ...] = ()
    """Arguments of the pipeline itself."""
    two_networks: bool = False
    """Whether there is a second network of the same kind, for little noise."""
    few_steps: int | None = None
    """Denoising steps, without guidance, of the model itself if it is step-distilled, or of its few-step versions (LoRA weights,
    or a repository of their own); ``None`` if none is known here."""


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
CLIP_L_SIGHT: Part = ("CLIPVisionModel", {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 336,
    "patch_size": 14,
})  # fmt: skip
CLIP_H: Part = ("CLIPTextModel", {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16,
})  # fmt: skip
CLIP_H_SIGHT: Part = ("CLIPVisionModel", {
    "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 16, "patch_size": 14,
})  # fmt: skip
QWEN_7B: Part = ("Qwen2_5_VLTextModel", {
    "vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4,
})  # fmt: skip
BYT5: Part = ("T5EncoderModel", {
    "vocab_size": 1510, "d_model": 1472, "d_kv": 64, "d_ff": 3584, "num_layers": 12, "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
})  # fmt: skip
SIGLIP: Part = ("SiglipVisionModel", {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16, "image_size": 384,
    "patch_size": 14,
})  # fmt: skip
GEMMA_12B: Part = ("Gemma3TextModel", {
    "vocab_size": 262208, "hidden_size": 3840, "intermediate_size": 15360, "num_hidden_layers": 48, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 256,
})  # fmt: skip
COG_VAE: Part = ("AutoencoderKLCogVideoX", {"scaling_factor": 0.7})
WAN_TEXT = {"encoder_hidden_states": (1, 512, 4096)}
HUNYUAN: dict[str, Any] = {"num_attention_heads": 24, "num_layers": 20}
LTX: dict[str, Any] = {"num_attention_heads": 32, "num_layers": 28}
WAN_22_VAE = {
    "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48, "in_channels": 12, "out_channels": 12, "patch_size": 2,
    "is_residual": True, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48,
}  # fmt: skip
LTX_095_VAE = {
    "block_out_channels": (128, 256, 512, 1024, 2048), "down_block_types": ("LTXVideo095DownBlock3D",) * 4,
    "decoder_block_out_channels": (256, 512, 1024), "layers_per_block": (4, 6, 6, 2, 2), "decoder_layers_per_block": (5, 5, 5, 5),
    "spatio_temporal_scaling": (True,) * 4, "decoder_spatio_temporal_scaling": (True,) * 3, "decoder_inject_noise": (False,) * 4,
    "downsample_type": ("spatial", "temporal", "spatiotemporal", "spatiotemporal"), "upsample_residual": (True,) * 3,
    "upsample_factor": (2,) * 3, "timestep_conditioning": True, "spatial_compression_ratio": 32, "temporal_compression_ratio": 8,
}  # fmt: skip
LTX_TEXT = {"encoder_hidden_states": (1, 128, 4096), "encoder_attention_mask": (1, 128)}
LTX2_TEXT = {
    "encoder_hidden_states": (1, 1024, 3840), "audio_encoder_hidden_states": (1, 1024, 3840),
    "encoder_attention_mask": (1, 1024), "audio_encoder_attention_mask": (1, 1024),
}  # fmt: skip
HUNYUAN_15_TEXT = {
    "encoder_hidden_states": (1, 1000, 3584), "encoder_attention_mask": (1, 1000),
    "encoder_hidden_states_2": (1, 256, 1472), "encoder_attention_mask_2": (1, 256),
}  # fmt: skip
FLOW: Part = ("FlowMatchEulerDiscreteScheduler", {})
WAN_SCHEDULER: Part = ("UniPCMultistepScheduler", {"prediction_type": "flow_prediction", "use_flow_sigmas": True})
COG_SCHEDULER: Part = ("CogVideoXDDIMScheduler", {"prediction_type": "v_prediction", "rescale_betas_zero_snr": True})
SCHEDULERS: dict[str, Part] = {
    "CogVideoXPipeline": COG_SCHEDULER, "CogVideoXImageToVideoPipeline": COG_SCHEDULER, "WanPipeline": WAN_SCHEDULER,
    "WanImageToVideoPipeline": WAN_SCHEDULER, "WanVACEPipeline": WAN_SCHEDULER, "LTXPipeline": FLOW,
    "LTXImageToVideoPipeline": FLOW, "LTXConditionPipeline": FLOW, "LTX2Pipeline": FLOW, "LTX2ImageToVideoPipeline": FLOW,
    "HunyuanVideoPipeline": FLOW, "HunyuanVideoImageToVideoPipeline": FLOW,
    "HunyuanVideo15Pipeline": FLOW, "HunyuanVideo15ImageToVideoPipeline": FLOW,
    "TextToVideoSDPipeline": ("DDIMScheduler", {}),
}  # fmt: skip
"""Scheduler class and configuration of each pipeline."""


def _cogvideox(heads: int, layers: int, *, pipeline: str = "CogVideoXPipeline", **more: Any) -> KnownModel:
    network = ("CogVideoXTransformer3DModel", {"num_attention_heads": heads, "num_layers": layers, **more})
    text = {"encoder_hidden_states": (1, more.get("max_text_seq_length", 226), 4096)}
    return KnownModel(pipeline, network, COG_VAE, (T5_XXL,), text)


def _wan(
    heads: int, layers: int, width: int, vae: dict[str, Any] | None = None, *, pipeline: str = "WanPipeline",
    boundary: float | None = None, each_token: bool = False, readers: tuple[Part, ...] = (UMT5_XXL,),
    few_steps: int | None = None, **more: Any,
) -> KnownModel:  # fmt: skip
    kind = "WanVACETransformer3DModel" if "vace_layers" in more else "WanTransformer3DModel"
    network = (kind, {"num_attention_heads": heads, "num_layers": layers, "ffn_dim": width, **more})
    options: tuple[tuple[str, Any], ...] = (("boundary_ratio", boundary),)
    options += () if pipeline == "WanVACEPipeline" else (("expand_timesteps", each_token),)
    two = boundary is not None
    return KnownModel(pipeline, network, ("AutoencoderKLWan", vae or {}), readers, WAN_TEXT, options, two, few_steps)


def _hunyuan(pipeline: str, text_tokens: int, *readers: Part, few_steps: int | None = None, **more: Any) -> KnownModel:
    network: Part = ("HunyuanVideoTransformer3DModel", {**HUNYUAN, "guidance_embeds": True, **more})
    text = {
        "encoder_hidden_states": (1, text_tokens, 4096), "pooled_projections": (1, 768),
        "encoder_attention_mask": (1, text_tokens),
    }  # fmt: skip
    return KnownModel(
        pipeline, network, ("AutoencoderKLHunyuanVideo", {}), (LLAMA_8B, CLIP_L, *readers), text, few_steps=few_steps
    )


def _hunyuan15(pipeline: str, *readers: Part, few_steps: int | None = None) -> KnownModel:
    network: Part = ("HunyuanVideo15Transformer3DModel", {"num_attention_heads": 16, "num_layers": 54})
    vae: Part = ("AutoencoderKLHunyuanVideo15", {})
    return KnownModel(pipeline, network, vae, (QWEN_7B, BYT5, *readers), HUNYUAN_15_TEXT, few_steps=few_steps)


IMAGE: dict[str, Any] = {"pipeline": "WanImageToVideoPipeline", "in_channels": 36}
KNOWN_MODELS: dict[str, KnownModel] = {
    "THUDM/CogVideoX-2b": _cogvideox(30, 30),
    "THUDM/CogVideoX-5b": _cogvideox(48, 42, use_rotary_positional_embeddings=True, use_learned_positional_embeddings=False),
    "THUDM/CogVideoX1.5-5B": _cogvideox(
        48, 42, use_rotary_positional_embeddings=True, patch_size_t=2, patch_bias=False, sample_width=170, sample_height=96,
        sample_frames=81, max_text_seq_length=224,
    ),
    "THUDM/CogVideoX-5b-I2V": _cogvideox(
        48, 42, use_rotary_positional_embeddings=True, use_learned_positional_embeddings=True, in_channels=32,
        pipeline="CogVideoXImageToVideoPipeline",
    ),
    "Wan-AI/Wan2.1-T2V-1.3B-Diffusers": _wan(12, 30, 8960, few_steps=3),
    "Wan-AI/Wan2.1-T2V-14B-Diffusers": _wan(40, 40, 13824, few_steps=4),
    "Wan-AI/Wan2.1-I2V-14B-480P-Diffusers": _wan(
        40, 40, 13824, **IMAGE, image_dim=1280, added_kv_proj_dim=5120, readers=(UMT5_XXL, CLIP_H_SIGHT), few_steps=4
    ),
    "Wan-AI/Wan2.1-VACE-1.3B-diffusers": _wan(
        12, 30, 8960, pipeline="WanVACEPipeline", vace_layers=list(range(0, 30, 2)), vace_in_channels=96
    ),
    "Wan-AI/Wan2.1-VACE-14B-diffusers": _wan(
        40, 40, 13824, pipeline="WanVACEPipeline", vace_layers=list(range(0, 40, 5)), vace_in_channels=96
    ),
    "Wan-AI/Wan2.2-TI2V-5B-Diffusers": _wan(
        24, 30, 14336, WAN_22_VAE, each_token=True, in_channels=48, out_channels=48, few_steps=4
    ),
    "Wan-AI/Wan2.2-T2V-A14B-Diffusers": _wan(40, 40, 13824, boundary=0.875, few_steps=4),
    "Wan-AI/Wan2.2-I2V-A14B-Diffusers": _wan(40, 40, 13824, boundary=0.9, few_steps=4, **IMAGE),
    "Lightricks/LTX-Video": KnownModel(
        "LTXPipeline", ("LTXVideoTransformer3DModel", LTX), ("AutoencoderKLLTXVideo", {}), (T5_XXL,), LTX_TEXT
    ),
    "Lightricks/LTX-Video-0.9.5": KnownModel(
        "LTXConditionPipeline", ("LTXVideoTransformer3DModel", LTX), ("AutoencoderKLLTXVideo", LTX_095_VAE), (T5_XXL,), LTX_TEXT
    ),
    "Lightricks/LTX-Video-0.9.8-13B-distilled": KnownModel(
        "LTXConditionPipeline",
        ("LTXVideoTransformer3DModel", {**LTX, "num_layers": 48, "attention_head_dim": 128, "cross_attention_dim": 4096}),
        ("AutoencoderKLLTXVideo", LTX_095_VAE), (T5_XXL,), LTX_TEXT, few_steps=8,
    ),
    "Lightricks/LTX-2": KnownModel(
        "LTX2Pipeline", ("LTX2VideoTransformer3DModel", {"num_attention_heads": 32, "num_layers": 48}),
        ("AutoencoderKLLTX2Video", {"spatial_compression_ratio": 32, "temporal_compression_ratio": 8}), (GEMMA_12B,), LTX2_TEXT,
        few_steps=8,
    ),
    "hunyuanvideo-community/HunyuanVideo": _hunyuan("HunyuanVideoPipeline", 256, few_steps=6),
    "hunyuanvideo-community/HunyuanVideo-I2V": _hunyuan(
        "HunyuanVideoImageToVideoPipeline", 396, CLIP_L_SIGHT, image_condition_type="token_replace"
    ),
    "hunyuanvideo-community/HunyuanVideo-1.5-Diffusers-480p_t2v": _hunyuan15("HunyuanVideo15Pipeline"),
    "hunyuanvideo-community/HunyuanVideo-1.5-Diffusers-480p_i2v": _hunyuan15(
        "HunyuanVideo15ImageToVideoPipeline", SIGLIP, few_steps=8
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
"""Models by their name on the hub."""
STRUCTURE = ("num_attention_heads", "num_layers", "in_channels", "image_condition_type", "patch_size_t")
"""Entries of a network's configuration by which models of a family are told apart."""


def recognised(pipeline: str, network: Mapping[str, Any], *, two_networks: bool = False) -> str | None:
    """The name of the known model that a folder with this pipeline and network configuration most likely holds."""
    alike: dict[str, int] = {}
    for name, known in KNOWN_MODELS.items():
        told = {key: value for key, value in known.network[1].items() if key in STRUCTURE}
        same = "num_layers" in told and all(network.get(key) == value for key, value in told.items())
        if same and (known.pipeline, known.two_networks) == (pipeline, two_networks):
            alike[name] = len(told)
    return max(alike, key=lambda name: alike[name], default=None)


RENAMED = {f"{SAME_OWNERS['THUDM']}/{name.split('/')[1]}": name for name in KNOWN_MODELS if name.startswith("THUDM/")}
"""The owner of CogVideoX has two names on the hub."""
