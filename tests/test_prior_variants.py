"""Other weights of a network: 8 bits, GGUF files, LoRA, layers over several cards; really run, on tiny models."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from akd.errors import AkdError
from akd.prior import variants
from akd.prior.hardware import Hardware
from akd.prior.load import load_prior
from akd.prior.plan import Plan, fit
from akd.prior.prior import VideoPrior
from test_prior_hardware import NEEDS, PLAN
from tiny_priors import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Wan model whose rows have 32 numbers, which is what quantised blocks need."""
    from diffusers import WanTransformer3DModel

    pipe = tiny("wan")
    torch.manual_seed(1)
    pipe.transformer = WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=4, text_dim=16,
        freq_dim=32, ffn_dim=64, num_layers=1, rope_max_seq_len=32,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("wan")
    pipe.save_pretrained(path)
    return path


def prediction(prior: VideoPrior) -> torch.Tensor:
    z_t = torch.randn(1, *prior.latent_shape(9, 32, 64), generator=torch.Generator().manual_seed(0))
    return prior.predict(z_t, torch.tensor([0.5]), prior.embed("a dog walking"))


def load(folder: Path, **options: Any) -> VideoPrior:
    return load_prior(str(folder), device="cpu", **options)


def test_eight_bits_are_near_to_all(folder: Path) -> None:
    pytest.importorskip("torchao")
    plain, small = load(folder), load(folder, quantize="int8")
    weight = small.family.network.blocks[0].ffn.net[0].proj.weight
    assert "Int8" in type(weight).__name__ + type(weight.data).__name__ or hasattr(weight, "tensor_impl")
    expected, found = prediction(plain), prediction(small)
    assert not torch.equal(found, expected)
    assert (found - expected).norm() < 0.02 * expected.norm()


def test_a_gguf_file_stands_for_the_network(folder: Path, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    plain = load(folder)
    file = tmp_path / "network-q8.gguf"
    writer = gguf.GGUFWriter(file, "wan")
    for name, weight in plain.family.network.state_dict().items():
        values = weight.float().numpy()
        large = name.startswith("blocks") and name.endswith("weight") and values.ndim == 2
        kind = gguf.GGMLQuantizationType.Q8_0 if large else None
        if kind is None:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    small = load(folder, gguf=str(file))
    assert "GGUF" in type(small.family.network.blocks[0].attn1.to_q).__name__
    expected, found = prediction(plain), prediction(small)
    assert not torch.equal(found, expected)
    assert (found - expected).norm() < 0.02 * expected.norm()


def test_lora_weights_are_added(folder: Path, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    from diffusers import WanPipeline

    plain = load(folder)
    network = load(folder).family.network
    network.add_adapter(peft.LoraConfig(r=2, lora_alpha=2, target_modules=["to_q"], init_lora_weights=False))
    layers = peft.get_peft_model_state_dict(network)
    WanPipeline.save_lora_weights(tmp_path, transformer_lora_layers=layers)
    added = load(folder, lora=str(tmp_path))
    merged = plain.family.network
    before = prediction(plain)
    for name in ("attn1", "attn2"):
        low, high = (layers[f"blocks.0.{name}.to_q.lora_{letter}.weight"] for letter in "AB")
        getattr(merged.blocks[0], name).to_q.weight.data += high @ low
    found = prediction(added)
    torch.testing.assert_close(found, prediction(plain), rtol=1e-4, atol=1e-5)
    assert (found - before).abs().max() > 1e-4


def test_layers_over_devices_compute_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import WanTransformer3DModel

    plain, asked = WanTransformer3DModel.from_pretrained, []

    def noted(*args: Any, **options: Any) -> Any:
        asked.append(options.get("device_map"))
        return plain(*args, **options)

    monkeypatch.setattr(WanTransformer3DModel, "from_pretrained", noted)
    spread = load(folder, spread=True)
    assert asked == ["auto"]
    torch.testing.assert_close(prediction(spread), prediction(load(folder)))


def test_attention_backends_are_those_of_diffusers(folder: Path) -> None:
    torch.testing.assert_close(prediction(load(folder, attention="_native_math")), prediction(load(folder)), rtol=1e-4, atol=1e-5)
    with pytest.raises(AkdError, match="attention backend 'sunlight'"):
        load(folder, attention="sunlight")


def test_compiling_is_asked_of_the_repeated_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import WanTransformer3DModel

    asked = []
    monkeypatch.setattr(WanTransformer3DModel, "compile_repeated_blocks", lambda self: asked.append(type(self).__name__))
    load(folder)
    assert asked == []
    load(folder, compile=True)
    assert asked == ["WanTransformer3DModel"]


@pytest.mark.parametrize(
    ("options", "package"), [({"gguf": "."}, "gguf"), ({"lora": "."}, "peft"), ({"quantize": "int8"}, "torchao")]
)
def test_missing_packages_are_named(
    folder: Path, options: dict[str, str], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "find_spec", lambda name: None)
    with pytest.raises(AkdError, match=f"pip install {package}"):
        load(folder, **options)


def test_weights_that_are_not_there_are_named() -> None:
    with pytest.raises(AkdError, match="--lora names nowhere/at all"):
        Hardware(lora="nowhere/at all")
    with pytest.raises(AkdError, match="already quantised"):
        Hardware(gguf=".", quantize="int8")


def test_plans_take_eight_bits_only_where_nothing_faster_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    large = replace(NEEDS, network_gigabytes=28.0, largest_network_gigabytes=28.0)
    plan = fit(PLAN, Hardware(), large, 24.0)
    assert (plan.offload, plan.quantize) == ("model", "int8")
    assert plan.hardware.quantize == "int8"
    assert fit(PLAN, Hardware(quantize="none"), large, 24.0).offload == "sequential"
    assert fit(PLAN, Hardware(), NEEDS, 24.0).quantize == "none"
    monkeypatch.setattr("akd.prior.plan.find_spec", lambda name: None)
    assert fit(PLAN, Hardware(), large, 24.0).offload == "sequential"
    small = tmp_path / "small.gguf"
    small.write_bytes(b"")
    with small.open("r+b") as file:
        file.truncate(9_000_000_000)  # a sparse file
    plan = fit(PLAN, Hardware(gguf=str(small)), large, 24.0)
    assert plan.offload == "model"


def test_small_models_with_other_weights_go_through_diffusers() -> None:
    assert Plan("embedded", "cpu", "fp32", "none").is_plain
    assert not Plan("embedded", "cpu", "fp32", "none", wanted=Hardware(lora=".")).is_plain
