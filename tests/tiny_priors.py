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


def _clip_sight(width: int) -> tuple[Any, Any]:
    """An image encoder of 257 tokens, as Wan's, and the preparation of its pictures."""
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModel

    config = CLIPVisionConfig(
        hidden_size=width, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=2
    )
    return CLIPImageProcessor(crop_size=32, size=32), CLIPVisionModel(config)


def wan(*, expand_timesteps: bool = False, image: bool = False, boundary: float | None = None, seen: bool = False) -> Any:
    """``boundary`` is between two networks' ranges of noise; with ``seen`` pictures also go through an image encoder."""
    import diffusers
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanTransformer3DModel

    vae = AutoencoderKLWan(
        base_dim=3, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[0.1, 0.2, 0.0, -0.3], latents_std=[1.5, 0.5, 2.0, 1.0],
    )  # fmt: skip
    networks = [
        WanTransformer3DModel(
            patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, text_dim=16, freq_dim=16, ffn_dim=16,
            num_layers=1, in_channels=12 if image and not expand_timesteps else 4, out_channels=4, rope_max_seq_len=32,
            image_dim=16 if seen else None, added_kv_proj_dim=24 if seen else None,
        )
        for _ in range(1 if boundary is None else 2)
    ]  # fmt: skip
    processor, sight = _clip_sight(16) if seen else (None, None)
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    parts = {"transformer": networks[0], "transformer_2": networks[1] if boundary is not None else None}
    parts |= {"image_processor": processor, "image_encoder": sight} if image else {}
    kind = getattr(diffusers, "WanImageToVideoPipeline" if image else "WanPipeline")
    return kind(
        tokenizer=_tokenizer(), text_encoder=_t5(16, "UMT5"), vae=vae, scheduler=scheduler, boundary_ratio=boundary,
        expand_timesteps=expand_timesteps, **parts,
    )  # fmt: skip


def wan_vace() -> Any:
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanVACEPipeline, WanVACETransformer3DModel

    vae = AutoencoderKLWan(
        base_dim=3, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[0.1, 0.2, 0.0, -0.3], latents_std=[1.5, 0.5, 2.0, 1.0],
    )  # fmt: skip
    transformer = WanVACETransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16,
        freq_dim=16, ffn_dim=16, num_layers=3, rope_max_seq_len=32, vace_layers=[0, 2], vace_in_channels=72,
    )  # fmt: skip
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0)
    return WanVACEPipeline(
        tokenizer=_tokenizer(), text_encoder=_t5(16, "UMT5"), vae=vae, scheduler=scheduler, transformer=transformer
    )


def ltx(kind: str = "LTXPipeline") -> Any:
    import diffusers
    from diffusers import AutoencoderKLLTXVideo, FlowMatchEulerDiscreteScheduler, LTXVideoTransformer3DModel

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
    return getattr(diffusers, kind)(FlowMatchEulerDiscreteScheduler(), vae, _t5(16), _tokenizer(128), transformer)


def ltx2(kind: str = "LTX2Pipeline") -> Any:
    import diffusers
    from diffusers import FlowMatchEulerDiscreteScheduler
    from diffusers.pipelines.ltx2 import LTX2TextConnectors, LTX2Vocoder
    from transformers import Gemma3ForConditionalGeneration

    text = {
        "vocab_size": 1200, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 8,
    }  # fmt: skip
    sight = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 16,
        "patch_size": 8,
    }  # fmt: skip
    gemma = Gemma3ForConditionalGeneration(Gemma3ForConditionalGeneration.config_class(text_config=text, vision_config=sight))
    vae = diffusers.AutoencoderKLLTX2Video(
        latent_channels=8, block_out_channels=(8,), decoder_block_out_channels=(8,), layers_per_block=(1,),
        decoder_layers_per_block=(1, 1), spatio_temporal_scaling=(True,), decoder_spatio_temporal_scaling=(True,),
        decoder_inject_noise=(False, False), downsample_type=("spatiotemporal",), upsample_residual=(False,),
        upsample_factor=(1,), patch_size=4, patch_size_t=1, encoder_causal=True, decoder_causal=False,
    )  # fmt: skip
    sound = diffusers.AutoencoderKLLTX2Audio(
        base_channels=4, output_channels=2, ch_mult=(1,), num_res_blocks=1, attn_resolutions=None, in_channels=2,
        resolution=32, latent_channels=2, norm_type="pixel", causality_axis="height", dropout=0.0, mid_block_add_attention=False,
        sample_rate=16000, mel_hop_length=160, is_causal=True, mel_bins=8,
    )  # fmt: skip
    transformer = diffusers.LTX2VideoTransformer3DModel(
        in_channels=8, out_channels=8, num_attention_heads=2, attention_head_dim=8, cross_attention_dim=16, num_layers=1,
        audio_in_channels=4, audio_out_channels=4, audio_num_attention_heads=2, audio_attention_head_dim=4,
        audio_cross_attention_dim=8, qk_norm="rms_norm_across_heads", caption_channels=16, rope_double_precision=False,
    )  # fmt: skip
    connectors = LTX2TextConnectors(
        caption_channels=16, text_proj_in_factor=2, video_connector_num_attention_heads=4, video_connector_attention_head_dim=4,
        video_connector_num_layers=1, video_connector_num_learnable_registers=None, audio_connector_num_attention_heads=4,
        audio_connector_attention_head_dim=4, audio_connector_num_layers=1, audio_connector_num_learnable_registers=None,
        connector_rope_base_seq_len=32, rope_double_precision=False,
    )  # fmt: skip
    vocoder = LTX2Vocoder(
        in_channels=16, hidden_channels=8, out_channels=2, upsample_kernel_sizes=[4, 4], upsample_factors=[2, 2],
        resnet_kernel_sizes=[3], resnet_dilations=[[1, 3, 5]], leaky_relu_negative_slope=0.1, output_sampling_rate=16000,
    )  # fmt: skip
    return getattr(diffusers, kind)(
        FlowMatchEulerDiscreteScheduler(), vae, sound, gemma, _tokenizer(1024), connectors, transformer, vocoder
    )


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


TEMPLATE = {
    "template": "<|end_header_id|><image><|end_header_id|>{} the the the<|end_header_id|>", "crop_start": 3,
    "image_emb_start": 1, "image_emb_end": 5, "image_emb_len": 4,
}  # fmt: skip
"""What the model's own template has, in few tokens: parts that end in a header, and a picture of four tokens."""


def hunyuan_image(kind: str) -> Any:
    from diffusers import HunyuanVideoImageToVideoPipeline, HunyuanVideoTransformer3DModel
    from diffusers.pipelines.hunyuan_video import pipeline_hunyuan_video_image2video as module
    from transformers import CLIPImageProcessor, CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    module.DEFAULT_PROMPT_TEMPLATE.update(TEMPLATE)  # of this class alone, for as long as tests run
    plain, tokenizer = hunyuan(), _tokenizer(512)
    tokenizer.add_tokens(["<image>", "<|end_header_id|>"], special_tokens=True)
    transformer = HunyuanVideoTransformer3DModel(
        in_channels=4 if kind == "token_replace" else 9, out_channels=4, num_attention_heads=2, attention_head_dim=10,
        num_layers=1, num_single_layers=1, num_refiner_layers=1, patch_size=2, patch_size_t=1,
        guidance_embeds=kind == "token_replace", text_embed_dim=16, pooled_projection_dim=16, rope_axes_dim=(2, 4, 4),
        image_condition_type=kind,
    )  # fmt: skip
    sight = CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2, image_size=16, patch_size=8
    )
    llama = LlamaConfig(
        vocab_size=len(tokenizer) + 1, hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2
    )
    index = tokenizer.convert_tokens_to_ids("<image>")
    config = LlavaConfig(
        vision_config=sight, text_config=llama, image_token_index=index, image_seq_length=4, pad_token_id=tokenizer.pad_token_id
    )
    return HunyuanVideoImageToVideoPipeline(
        LlavaForConditionalGeneration(config), tokenizer, transformer, plain.vae, plain.scheduler, plain.text_encoder_2,
        plain.tokenizer_2, CLIPImageProcessor(crop_size=16, size=16),
    )  # fmt: skip


def hunyuan15(*, image: bool = False, meanflow: bool = False) -> Any:
    import diffusers
    from diffusers import FlowMatchEulerDiscreteScheduler
    from diffusers.guiders import ClassifierFreeGuidance
    from transformers import SiglipImageProcessor, SiglipVisionConfig, SiglipVisionModel
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel

    vae = diffusers.AutoencoderKLHunyuanVideo15(
        latent_channels=4, block_out_channels=(8, 8, 8, 8, 8), layers_per_block=1, scaling_factor=1.03682
    )
    transformer = diffusers.HunyuanVideo15Transformer3DModel(
        in_channels=9, out_channels=4, num_attention_heads=2, attention_head_dim=10, num_layers=1, num_refiner_layers=1,
        text_embed_dim=16, text_embed_2_dim=16, image_embed_dim=16, rope_axes_dim=(2, 4, 4), target_size=48,
        task_type="i2v" if image else "t2v", use_meanflow=meanflow,
    )  # fmt: skip
    config = Qwen2_5_VLTextModel.config_class(
        vocab_size=1200, hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
        rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}, max_position_embeddings=256,
    )  # fmt: skip
    tokenizer = _tokenizer(512)
    tokenizer.chat_template = "{{ messages[-1]['content'] }}"
    parts = {}
    if image:
        sight = SiglipVisionConfig(
            hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=8
        )
        parts = {"image_encoder": SiglipVisionModel(sight), "feature_extractor": SiglipImageProcessor(size=SIGHT)}
    kind = getattr(diffusers, "HunyuanVideo15ImageToVideoPipeline" if image else "HunyuanVideo15Pipeline")
    pipe = kind(
        text_encoder=Qwen2_5_VLTextModel(config), tokenizer=tokenizer, transformer=transformer, vae=vae,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0), text_encoder_2=_t5(16), tokenizer_2=_tokenizer(256),
        guider=ClassifierFreeGuidance(guidance_scale=1.0), **parts,
    )  # fmt: skip
    # Numbers of tokens of the real model, which no configuration holds.
    pipe.tokenizer_max_length, pipe.prompt_template_encode_start_idx, pipe.tokenizer_2_max_length = 16, 0, 16
    pipe.vision_num_semantic_tokens = 16
    return pipe


SIGHT = {"height": 32, "width": 32}


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
    "wan-2.2-a14b": lambda: wan(boundary=0.875),
    "wan-2.1-i2v": lambda: wan(image=True, seen=True),
    "wan-2.2-i2v": lambda: wan(image=True, boundary=0.9),
    "wan-2.2-ti2v": lambda: wan(image=True, expand_timesteps=True),
    "wan-vace": wan_vace,
    "ltx": ltx,
    "ltx-i2v": lambda: ltx("LTXImageToVideoPipeline"),
    "ltx-condition": lambda: ltx("LTXConditionPipeline"),
    "ltx-2": ltx2,
    "ltx-2-i2v": lambda: ltx2("LTX2ImageToVideoPipeline"),
    "hunyuan": hunyuan,
    "hunyuan-i2v": lambda: hunyuan_image("token_replace"),
    "hunyuan-33-i2v": lambda: hunyuan_image("latent_concat"),
    "hunyuan-1.5": hunyuan15,
    "hunyuan-1.5-i2v": lambda: hunyuan15(image=True),
    "hunyuan-1.5-steps": lambda: hunyuan15(image=True, meanflow=True),
    "modelscope": modelscope,
}

SAME_NETWORKS = ("wan-2.2-ti2v", "ltx-i2v", "ltx-2-i2v", "hunyuan-1.5-steps")
"""Pipelines that differ from another one only in what their own call prepares."""
DIFFERENT = [name for name in TINY if name not in SAME_NETWORKS]


def tiny(name: str) -> Any:
    """The pipeline of that name, always with the same weights."""
    torch.manual_seed(0)
    return TINY[name]()
