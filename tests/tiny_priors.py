"""Pipelines of the real diffusers classes, as small as they go, with random weights."""

from typing import Any

import torch

from akd.training.prior.clips import caption_tokenizer


def _t5(width: int, kind: str = "T5") -> Any:
    import transformers

    config = getattr(transformers, f"{kind}Config")(
        vocab_size=1200, d_model=width, d_kv=8, d_ff=16, num_layers=1, num_heads=2, dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
    )
    return getattr(transformers, f"{kind}EncoderModel")(config)


def _clip(width: int) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(
        vocab_size=1200, hidden_size=width, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=77, projection_dim=width, pad_token_id=0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return CLIPTextModel(config)


def _tokenizer(length: int = 77) -> Any:
    tokenizer = caption_tokenizer()
    tokenizer.model_max_length = length
    return tokenizer


def cogvideox(*, rotary: bool = False, patch_size_t: int | None = None, image: bool = False) -> Any:
    from diffusers import (
        AutoencoderKLCogVideoX,
        CogVideoXDDIMScheduler,
        CogVideoXImageToVideoPipeline,
        CogVideoXPipeline,
        CogVideoXTransformer3DModel,
    )

    vae = AutoencoderKLCogVideoX(
        block_out_channels=(4, 4, 4, 4), latent_channels=4, layers_per_block=1, norm_num_groups=2, scaling_factor=0.7,
        invert_scale_latents=image and patch_size_t is not None,
    )  # fmt: skip
    transformer = CogVideoXTransformer3DModel(
        num_attention_heads=2, attention_head_dim=16, num_layers=1, time_embed_dim=8,
        in_channels=8 if image else 4, out_channels=4, text_embed_dim=16, max_text_seq_length=8,
        sample_width=8, sample_height=4, sample_frames=9, spatial_interpolation_scale=1.0,
        use_rotary_positional_embeddings=rotary, patch_size_t=patch_size_t, patch_bias=patch_size_t is None,
        use_learned_positional_embeddings=image and rotary and patch_size_t is None,
        ofs_embed_dim=8 if image and patch_size_t else None,
    )  # fmt: skip
    scheduler = CogVideoXDDIMScheduler(prediction_type="v_prediction", rescale_betas_zero_snr=True, timestep_spacing="trailing")
    kind = CogVideoXImageToVideoPipeline if image else CogVideoXPipeline
    return kind(_tokenizer(), _t5(16), vae, transformer, scheduler)


def wan(*, expand_timesteps: bool = False) -> Any:
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel

    vae = AutoencoderKLWan(
        base_dim=3, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[0.1, 0.2, 0.0, -0.3], latents_std=[1.5, 0.5, 2.0, 1.0],
    )  # fmt: skip
    transformer = WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16,
        freq_dim=16, ffn_dim=16, num_layers=1, rope_max_seq_len=32,
    )  # fmt: skip
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    return WanPipeline(_tokenizer(), _t5(16, "UMT5"), vae, scheduler, transformer, expand_timesteps=expand_timesteps)


def ltx() -> Any:
    from diffusers import AutoencoderKLLTXVideo, FlowMatchEulerDiscreteScheduler, LTXPipeline, LTXVideoTransformer3DModel

    vae = AutoencoderKLLTXVideo(
        latent_channels=8, block_out_channels=(8, 8, 8, 8), decoder_block_out_channels=(8, 8, 8, 8),
        layers_per_block=(1, 1, 1, 1, 1), decoder_layers_per_block=(1, 1, 1, 1, 1),
        spatio_temporal_scaling=(True, True, False, False),
        decoder_spatio_temporal_scaling=(True, True, False, False), patch_size=1, patch_size_t=1,
        encoder_causal=True, decoder_causal=False,
    )  # fmt: skip
    transformer = LTXVideoTransformer3DModel(
        in_channels=8, out_channels=8, num_attention_heads=2, attention_head_dim=8, cross_attention_dim=16, num_layers=1,
        caption_channels=16,
    )
    return LTXPipeline(FlowMatchEulerDiscreteScheduler(), vae, _t5(16), _tokenizer(), transformer)


def hunyuan() -> Any:
    from diffusers import (
        AutoencoderKLHunyuanVideo,
        FlowMatchEulerDiscreteScheduler,
        HunyuanVideoPipeline,
        HunyuanVideoTransformer3DModel,
    )
    from transformers import LlamaConfig, LlamaModel

    vae = AutoencoderKLHunyuanVideo(
        latent_channels=4, block_out_channels=(8, 8, 8, 8), layers_per_block=1, norm_num_groups=4, scaling_factor=0.476986
    )
    transformer = HunyuanVideoTransformer3DModel(
        in_channels=4, out_channels=4, num_attention_heads=2, attention_head_dim=10, num_layers=1, num_single_layers=1,
        num_refiner_layers=1, patch_size=2, patch_size_t=1, guidance_embeds=True, text_embed_dim=16, pooled_projection_dim=16,
        rope_axes_dim=(2, 4, 4),
    )  # fmt: skip
    config = LlamaConfig(vocab_size=1200, hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2)
    llama = LlamaModel(config)
    return HunyuanVideoPipeline(
        llama, _tokenizer(512), transformer, vae, FlowMatchEulerDiscreteScheduler(shift=7.0), _clip(16), _tokenizer()
    )


def modelscope() -> Any:
    from diffusers import AutoencoderKL, DDIMScheduler, UNet3DConditionModel
    from diffusers.pipelines.deprecated.text_to_video_synthesis.pipeline_text_to_video_synth import TextToVideoSDPipeline

    vae = AutoencoderKL(
        block_out_channels=(8, 8), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4, norm_num_groups=2, sample_size=32,
    )  # fmt: skip
    unet = UNet3DConditionModel(
        block_out_channels=(8, 8), layers_per_block=1, sample_size=8, in_channels=4, out_channels=4,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        cross_attention_dim=16, attention_head_dim=4, norm_num_groups=2,
    )  # fmt: skip
    scheduler = DDIMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False)
    return TextToVideoSDPipeline(vae, _clip(16), _tokenizer(), unet, scheduler)


TINY = {
    "cogvideox": cogvideox,
    "cogvideox-5b": lambda: cogvideox(rotary=True),
    "cogvideox-1.5": lambda: cogvideox(rotary=True, patch_size_t=2),
    "cogvideox-i2v": lambda: cogvideox(image=True),
    "cogvideox-5b-i2v": lambda: cogvideox(rotary=True, image=True),
    "cogvideox-1.5-i2v": lambda: cogvideox(rotary=True, patch_size_t=2, image=True),
    "wan": wan,
    "wan-2.2": lambda: wan(expand_timesteps=True),
    "ltx": ltx,
    "hunyuan": hunyuan,
    "modelscope": modelscope,
}


def tiny(name: str) -> Any:
    """The pipeline of that name, always with the same weights."""
    torch.manual_seed(0)
    return TINY[name]()
