"""Sizes and costs of a prior without its weights: its networks are built on torch's meta device, which has shapes only.

The configurations of the big models are copied here as published, so that nothing has to be downloaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from akd.errors import AkdError
from akd.prior.families import FAMILIES, family_class
from akd.prior.folder import INDEX, read_index, read_object
from akd.prior.load import EMBEDDED, EMBEDDED_FOLDER
from akd.prior.prior import LatentShape, VideoPrior

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
WAN_22_VAE = {
    "base_dim": 160, "decoder_base_dim": 256, "z_dim": 48, "in_channels": 12, "out_channels": 12, "patch_size": 2,
    "is_residual": True, "scale_factor_spatial": 16, "latents_mean": [0.0] * 48, "latents_std": [1.0] * 48,
}  # fmt: skip
SCHEDULERS = {
    "CogVideoXPipeline": ("CogVideoXDDIMScheduler", {"prediction_type": "v_prediction", "rescale_betas_zero_snr": True}),
    "WanPipeline": ("UniPCMultistepScheduler", {"prediction_type": "flow_prediction", "use_flow_sigmas": True}),
    "LTXPipeline": ("FlowMatchEulerDiscreteScheduler", {}),
    "HunyuanVideoPipeline": ("FlowMatchEulerDiscreteScheduler", {}),
    "TextToVideoSDPipeline": ("DDIMScheduler", {}),
}
"""Scheduler class and configuration of each pipeline."""


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


KNOWN_MODELS: dict[str, KnownModel] = {
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
"""Models by their name on the hub."""


@dataclass(frozen=True)
class PriorInfo:
    """Sizes and costs of a prior and a film for it; memory and work are estimates."""

    name: str
    network_parameters: int
    vae_parameters: int
    text_parameters: int
    frames: int
    height: int
    width: int
    latents: LatentShape
    tokens: int
    """Tokens of the film, without those of the text."""
    weights_gigabytes: float
    """Network and autoencoder, in the given precision; the text encoder can leave once the sentence is embedded."""
    encode_gigabytes: float
    """What encoding one film with gradient holds at its peak, a chunk of frames at a time (estimate)."""
    encode_teraflop: float
    """One encoding and its backward pass, with what checkpointing recomputes."""
    predict_teraflop: float
    """One prediction with classifier-free guidance: two evaluations of the network."""

    @property
    def step_teraflop(self) -> float:
        """One distillation step with one draw of noise."""
        return self.encode_teraflop + self.predict_teraflop


def prior_info(
    name: str = EMBEDDED, *, frames: int | None = None, size: tuple[int, int] | None = None, dtype: torch.dtype = torch.bfloat16
) -> PriorInfo:
    """Sizes and costs of a prior, for its own film or one of other frames and (width, height)."""
    known = known_model(name)
    prior, text_encoders = build_on_meta(known)
    width, height = size or (prior.film.width, prior.film.height)
    film = replace(prior.film, frames=frames or prior.film.frames, width=width, height=height)
    latents = prior.latent_shape(film.frames, film.height, film.width)
    network, vae = prior.family.network, prior.family.vae
    counts = parameter_count(network), parameter_count(vae), sum(map(parameter_count, text_encoders))
    encode, held = _encode_cost(prior, film.frames, film.height, film.width, dtype)
    return PriorInfo(
        name, *counts, film.frames, film.height, film.width, latents, _tokens(network, latents),
        (counts[0] + counts[1]) * dtype.itemsize / 1e9, held, encode, _predict_cost(prior, known, latents),
    )  # fmt: skip


def known_model(name: str) -> KnownModel:
    """The configuration of a model, from ``KNOWN_MODELS`` or from its folder."""
    if name in KNOWN_MODELS:
        return KNOWN_MODELS[name]
    folder = EMBEDDED_FOLDER if name == EMBEDDED else Path(name)
    if not (folder / INDEX).is_file():
        known = ", ".join((EMBEDDED, *KNOWN_MODELS))
        raise AkdError(f"Nothing is known about {name!r} without a download: give its folder, or one of {known}.")
    index = read_index(folder)
    family_class(index["_class_name"], name)

    def part(which: str) -> Part:
        config = read_object(folder / which / "config.json")
        if index.get(which, [None, None])[1] is None:
            raise AkdError(f"{folder / INDEX} names no class for {which}: copy the whole folder again.")
        return index[which][1], {key: value for key, value in config.items() if not key.startswith("_")}

    network = part("unet" if "unet" in index else "transformer")
    length, width = network[1].get("max_text_seq_length", 77), network[1].get("text_embed_dim", 1024)
    text: dict[str, tuple[int, ...]] = {"encoder_hidden_states": (1, length, width)}
    return KnownModel(index["_class_name"], network, part("vae"), (part("text_encoder"),), text)


def build_on_meta(known: KnownModel) -> tuple[VideoPrior, list[nn.Module]]:
    """The model without weights, and its text encoders."""
    try:
        import diffusers
        import transformers
    except ImportError as error:
        raise AkdError("Sizes and costs need diffusers, whose networks are counted: run `pip install 'akd[prior]'`.") from error

    kind, options = SCHEDULERS[known.pipeline]
    with torch.device("meta"):
        network, vae = (getattr(diffusers, name)(**config) for name, config in (known.network, known.vae))
        readers = [_text_encoder(transformers, *part) for part in known.text_encoders]
    parts: dict[str, Any] = {"vae": vae, "scheduler": getattr(diffusers, kind)(**options), **dict(known.options)}
    parts["unet" if known.pipeline == "TextToVideoSDPipeline" else "transformer"] = network
    pipeline = getattr(diffusers, known.pipeline)
    empty = {name: None for name in pipeline._get_signature_keys(pipeline)[0] if name not in parts}
    return VideoPrior(FAMILIES[known.pipeline](pipeline(**parts, **empty))), readers


def _text_encoder(transformers: Any, name: str, config: dict[str, Any]) -> nn.Module:
    kind = getattr(transformers, name)
    return kind(kind.config_class(**config))


def parameter_count(network: nn.Module) -> int:
    """Number of trained values of a network."""
    return sum(parameter.numel() for parameter in network.parameters())


def _tokens(network: Any, latents: LatentShape) -> int:
    across = network.config.get("patch_size") or 1
    in_time = network.config.get("patch_size_t") or 1
    if isinstance(across, (tuple, list)):
        in_time, across, _ = across
    return (latents.frame // in_time) * (latents.row // across) * (latents.column // across)


def _encode_cost(prior: VideoPrior, frames: int, height: int, width: int, dtype: torch.dtype) -> tuple[float, float]:
    """Work of an encoding, its recomputation and its backward pass [TFLOP]; activations that one chunk of frames keeps [GB]."""
    video = torch.empty(1, 3, frames, height, width, device="meta", requires_grad=True)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        prior.family.encode(video.detach())
    chunk = video[:, :, : prior.family.encode_chunk_frames]
    held = 0

    def note(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal held
        held += tensor.numel() * dtype.itemsize
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        prior.family.vae.encode(chunk if prior.family.compression[1] > 1 else chunk[0].transpose(0, 1))
    return 4 * counter.get_total_flops() / 1e12, held / 1e9


def _predict_cost(prior: VideoPrior, known: KnownModel, latents: LatentShape) -> float:
    text = {name: torch.zeros(shape, device="meta") for name, shape in known.text.items()}
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        prior.family.predict(torch.empty(1, *latents, device="meta"), torch.ones(1, device="meta"), text)
    return 2 * counter.get_total_flops() / 1e12
