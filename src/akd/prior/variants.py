"""Other weights of a model's network: in 8 bits, from a GGUF file, with LoRA, spread over cards. All as diffusers does it."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from akd.errors import AkdError
from akd.prior.plan import DTYPES, Plan

PACKAGES = {"gguf": "gguf", "lora": "peft", "quantize": "torchao", "spread": "accelerate"}
"""Packages by the option that needs them."""


def check_variants(plan: Plan) -> None:
    """Refuse options whose packages are missing, before anything is loaded."""
    asked = plan.wanted
    used = {"gguf": asked.gguf, "lora": asked.lora, "quantize": plan.quantize == "int8", "spread": asked.spread}
    for option, package in PACKAGES.items():
        if used[option] and find_spec(package) is None:
            raise AkdError(f"--{option} needs the package {package}, which is missing: run `pip install {package}`.")


def network_parts(source: str, index: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Arguments with which diffusers loads a pipeline with the weights that a plan asks for."""
    names = [name for name in ("transformer", "transformer_2", "unet") if index.get(name, [None, None])[1] is not None]
    asked = plan.wanted
    if asked.gguf is not None:
        if len(names) > 1:
            raise AkdError("A .gguf file holds one network, and this model has two: leave out --gguf and use --quantize int8.")
        return {names[0]: _from_gguf(source, index, names[0], Path(asked.gguf), plan)}
    options: dict[str, Any] = {"quantization_config": _eight_bits(names)} if plan.quantize == "int8" else {}
    if asked.spread:
        options |= {name: _spread(source, index, name, plan) for name in names}
    return options


def _network_class(index: Mapping[str, Any], name: str) -> Any:
    import diffusers

    return getattr(diffusers, index[name][1])


def _from_gguf(source: str, index: Mapping[str, Any], name: str, file: Path, plan: Plan) -> Any:
    from diffusers import GGUFQuantizationConfig

    kind = _network_class(index, name)
    if not hasattr(kind, "from_single_file"):
        raise AkdError(f"diffusers cannot read a {index[name][1]} from a .gguf file: use --quantize int8.")
    dtype = DTYPES[plan.dtype]
    return kind.from_single_file(
        str(file), quantization_config=GGUFQuantizationConfig(compute_dtype=dtype), config=source, subfolder=name, dtype=dtype
    )


def _eight_bits(names: list[str]) -> Any:
    """diffusers' configuration for networks whose linear layers keep 8-bit weights."""
    from diffusers import PipelineQuantizationConfig, TorchAoConfig
    from torchao.quantization import Int8WeightOnlyConfig

    eight: Any = TorchAoConfig(Int8WeightOnlyConfig())
    return PipelineQuantizationConfig(quant_mapping=dict.fromkeys(names, eight))


def _spread(source: str, index: Mapping[str, Any], name: str, plan: Plan) -> Any:
    kind = _network_class(index, name)
    return kind.from_pretrained(source, subfolder=name, device_map="auto", dtype=DTYPES[plan.dtype], use_safetensors=True)


def finish_pipeline(pipe: Any, plan: Plan) -> None:
    """LoRA weights, attention backend and compilation of a pipeline that is loaded."""
    asked = plan.wanted
    if asked.lora is not None:
        if not hasattr(pipe, "load_lora_weights"):
            raise AkdError(f"A {type(pipe).__name__} takes no LoRA weights: leave out --lora.")
        pipe.load_lora_weights(asked.lora)
    for network in (getattr(pipe, name, None) for name in ("transformer", "transformer_2", "unet")):
        if network is not None and asked.attention is not None:
            _set_attention(network, asked.attention)
        if network is not None and asked.compile:
            network.compile_repeated_blocks()


def _set_attention(network: Any, name: str) -> None:
    try:
        network.set_attention_backend(name)
    except (ValueError, ImportError, RuntimeError, AttributeError) as error:
        reason = str(error).split("\n")[0][:150].rstrip(".")
        raise AkdError(f"The attention backend {name!r} cannot be used ({reason}): leave out --attention.") from error
