"""The embedded prior's plain torch modules equal the classes of diffusers and transformers, and need neither library."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from akd.errors import AkdError
from akd.prior.embedded.autoencoder import Autoencoder, _CausalConv, _Resnet, _Shortcut
from akd.prior.embedded.family import EmbeddedCogVideoX, embedded_family
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.prior.families.cogvideox import CogVideoX
from akd.prior.folder import EMBEDDED_FOLDER, read_index, read_object
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.training.prior.networks import build_pipeline
from tiny_priors import tiny

TOLERANCE = 1e-5
"""Largest difference in float32; on the machine that this was written on there is none."""
SENTENCES = (
    "", "a dog walking", "A brown dog walking, seen from the side, full body, on a checkerboard ground.", "zqxj 123 don't co-op",
    "  many   spaces\tand\nlines ", "▁marks ▁▁in▁text ▁", "<pad> </s> <unk> <PAD></s>x<unk>", "ΟΔΥΣΣΕΥΣ İstanbul ǅ ẞ ﬁ",
    "走る犬 a 犬dog犬犬 🐕🐕‍🦺 x",
    "a\x1cb\x85c\u00a0d\u200be\u3000f\x00g", "....,,, a.b,c", "naïve café e\u0301", "word " * 60, "x" * 300,
    "'-'-", "7 legs", "💃",
)  # fmt: skip


@pytest.fixture(scope="module", params=["embedded", "random", "tiny"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[VideoPrior, VideoPrior]:
    """One folder as plain modules and through diffusers: the shipped one, one with random weights, one of other sizes."""
    from diffusers import CogVideoXPipeline

    folder = EMBEDDED_FOLDER
    if request.param != "embedded":
        folder = tmp_path_factory.mktemp(request.param)
        (_random_pipeline() if request.param == "random" else tiny("cogvideox")).save_pretrained(folder)
    family = embedded_family(folder, read_index(folder))
    assert family is not None
    return VideoPrior(family), VideoPrior(CogVideoX(CogVideoXPipeline.from_pretrained(folder)))


def _random_pipeline() -> Any:
    """A pipeline whose first answers are not zero, as those of a new training are."""
    pipe, randomness = build_pipeline(seed=1), torch.Generator().manual_seed(1)
    for weights in pipe.transformer.parameters():
        weights.data += 0.02 * torch.randn(weights.shape, generator=randomness)
    return pipe


def alike(function: Callable[[VideoPrior], torch.Tensor], both: tuple[VideoPrior, VideoPrior]) -> None:
    own, reference = map(function, both)
    assert reference.abs().max() > 0
    torch.testing.assert_close(own, reference, rtol=TOLERANCE, atol=TOLERANCE)


def film(prior: VideoPrior, frames: int, batch: int = 1) -> torch.Tensor:
    frames, height, width = prior.family.grid.nearest(frames, 64, 64)
    return torch.rand(batch, frames, height, width, 3, generator=torch.Generator().manual_seed(frames))


@pytest.mark.parametrize("frames", [1, 5, 9, 13, 17, 33])
def test_encoding_and_its_gradient(both: tuple[VideoPrior, VideoPrior], frames: int) -> None:
    def gradient(prior: VideoPrior) -> torch.Tensor:
        video = film(prior, frames).requires_grad_()
        latents = prior.encode(video)
        return torch.autograd.grad((latents * torch.linspace(-1, 1, latents.numel()).view_as(latents)).sum(), video)[0]

    alike(lambda prior: prior.encode(film(prior, frames, batch=2)), both)
    alike(gradient, both)


@pytest.mark.parametrize("frames", [1, 9, 13, 17])
def test_decoding(both: tuple[VideoPrior, VideoPrior], frames: int) -> None:
    alike(lambda prior: prior.decode(prior.encode(film(prior, frames)).detach()), both)


@pytest.mark.parametrize(("frames", "side"), [(17, 48), (9, 48), (17, 96)])
def test_prediction_and_its_gradient(both: tuple[VideoPrior, VideoPrior], frames: int, side: int) -> None:
    def latents(prior: VideoPrior) -> torch.Tensor:
        shape = prior.latent_shape(*prior.family.grid.nearest(frames, side, 64))
        return torch.randn(2, *shape, generator=torch.Generator().manual_seed(3))

    def gradient(prior: VideoPrior) -> torch.Tensor:
        z_t = latents(prior).requires_grad_()
        text = {name: part.expand(2, -1, -1) for name, part in prior.embed("a dog").items()}
        predicted = prior.family.predict(z_t, prior.schedule.network_time(torch.tensor([0.2, 0.9])), text)
        return torch.autograd.grad((predicted * torch.linspace(-1, 1, predicted.numel()).view_as(predicted)).sum(), z_t)[0]

    alike(lambda prior: prior.predict(latents(prior), torch.tensor([0.2, 0.9]), prior.embed("a dog walking")), both)
    alike(gradient, both)


@pytest.mark.parametrize("text", SENTENCES)
def test_text(both: tuple[VideoPrior, VideoPrior], text: str) -> None:
    alike(lambda prior: prior.embed(text)["encoder_hidden_states"], both)
    own, reference = both
    assert own.family.tokens(text) == reference.family.tokens(text)


def test_everything_else(both: tuple[VideoPrior, VideoPrior]) -> None:
    own, reference = both
    assert own.schedule.alpha_table is not None
    assert reference.schedule.alpha_table is not None
    assert own.schedule.prediction == reference.schedule.prediction
    torch.testing.assert_close(own.schedule.alpha_table, reference.schedule.alpha_table, rtol=1e-12, atol=1e-12)
    for name in ("max_text_tokens", "unknown_token", "compression", "grid", "film", "device"):
        assert getattr(own.family, name) == getattr(reference.family, name)
    assert own.dtype == reference.dtype == torch.float32


def test_the_tokenizer_equals_the_library_on_hundreds_of_odd_sentences() -> None:
    from tokenizers import Tokenizer

    library = Tokenizer.from_file(str(EMBEDDED_FOLDER / "tokenizer" / "tokenizer.json"))
    own = UnigramTokenizer.read(read_object(EMBEDDED_FOLDER / "tokenizer" / "tokenizer.json"))
    words = [piece.replace("▁", " ") for piece in own.pieces]
    signs = [*map(chr, range(32, 127)), *"ÄÖÜßéñŁΣσςİı▁ \t\n\u00a0\u200b\u2003漢字かな한🦊", "\x1c", "\r\n", "e\u0301"]
    draw = random.Random(0)
    for _ in range(1500):
        text = "".join(draw.choice(words if draw.random() < 0.5 else signs) for _ in range(draw.randrange(25)))
        text = draw.choice((str, str.upper, str.title))(text)
        assert own.tokens(text) == library.encode(text, add_special_tokens=False).ids, repr(text)


def test_padding_keeps_the_end_token() -> None:
    tokenizer = UnigramTokenizer.read(read_object(EMBEDDED_FOLDER / "tokenizer" / "tokenizer.json"))
    for text in SENTENCES:
        padded = tokenizer.padded(text, 24)
        assert len(padded) == 24
        assert tokenizer.end in padded


def test_neither_library_is_needed_for_the_embedded_prior() -> None:
    code = """
import sys
for name in ("diffusers", "transformers", "tokenizers", "huggingface_hub", "accelerate"):
    sys.modules[name] = None
import torch
from akd.prior.load import load_prior
prior = load_prior()
prior.check_sentence("a dog walking")
z = prior.encode(torch.rand(1, 17, 64, 64, 3))
x0, noise = prior.denoise(z, torch.tensor([0.5]), prior.embed("a dog walking"), prior.embed(""), 4.0)
print(prior.decode(x0).shape)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "17, 64, 64, 3" in ran.stdout


def test_zeros_are_left_out_and_all_else_is_kept() -> None:
    config = read_object(EMBEDDED_FOLDER / "vae" / "config.json")
    torch.manual_seed(0)
    full = Autoencoder(config).eval().requires_grad_(False)
    with torch.no_grad():
        for silent in (full.encoder.down_blocks[0], full.encoder.down_blocks[2]):  # one without and one with a shortcut layer
            for part in silent.resnets[0].conv2.conv.parameters():
                part.zero_()
        narrow = full.encoder.down_blocks[1].resnets[0].conv1.conv
        narrow.weight[..., [0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 0, 2, 0, 1, 2]] = 0
    video = torch.rand(1, 3, 17, 16, 16)
    expected = full.encode(video)
    torch.testing.assert_close(full.without_zeros().encode(video), expected, rtol=1e-6, atol=1e-6)
    blocks = (*full.encoder.down_blocks, full.encoder.mid_block)
    kinds = [type(resnet) for block in blocks for resnet in block.resnets]
    assert kinds == [_Shortcut, _Resnet, _Shortcut, _Resnet, _Resnet, _Resnet]
    widths = [part.conv.kernel_size[2] for part in full.encoder.modules() if isinstance(part, _CausalConv)]
    assert sorted(widths) == [1, *[3] * 9]


def test_of_the_shipped_encoder_little_is_left() -> None:
    family = load_prior().family
    assert isinstance(family, EmbeddedCogVideoX)
    encoder = family.vae.encoder
    every = [resnet for block in (*encoder.down_blocks, encoder.mid_block) for resnet in block.resnets]
    assert [resnet for resnet in every if isinstance(resnet, _Resnet)] == [encoder.down_blocks[1].resnets[0]]
    assert sum(weights.numel() for weights in encoder.parameters()) < 110_000  # of the 763,656 that are stored


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("transformer", {"use_rotary_positional_embeddings": True}),
        ("transformer", {"patch_size_t": 2}),
        ("vae", {"use_quant_conv": True}),
        ("text_encoder", {"feed_forward_proj": "relu"}),
        ("scheduler", {"prediction_type": "epsilon"}),
        ("tokenizer", {"normalizer": None}),
    ],
)
def test_other_configurations_are_left_to_diffusers(tmp_path: Path, part: str, changes: dict[str, Any]) -> None:
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "prior")
    name = {"scheduler": "scheduler_config.json", "tokenizer": "tokenizer.json"}.get(part, "config.json")
    file = folder / part / name
    file.write_text(json.dumps(read_object(file) | changes))
    assert embedded_family(folder, read_index(folder)) is None


def test_other_classes_are_left_to_diffusers(tmp_path: Path) -> None:
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "prior")
    assert embedded_family(folder, read_index(folder) | {"vae": ["diffusers", "AutoencoderKLWan"]}) is None
    (folder / "tokenizer" / "tokenizer.json").unlink()
    assert embedded_family(folder, read_index(folder)) is None


def test_offloading_is_left_to_diffusers() -> None:
    assert isinstance(load_prior().family, EmbeddedCogVideoX)
    assert isinstance(load_prior(offload="model").family, CogVideoX)


def test_weights_that_do_not_fit_are_named(tmp_path: Path) -> None:
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "prior")
    file = folder / "transformer" / "config.json"
    file.write_text(json.dumps(read_object(file) | {"num_layers": 9}))
    with pytest.raises(AkdError, match=r"transformer do not fit its config\.json \(Missing key"):
        load_prior(str(folder))


def test_half_precision_is_near_full() -> None:
    half, full = load_prior(dtype="bf16"), load_prior()
    z, t = torch.randn(1, 24, 9, 8, 8, generator=torch.Generator().manual_seed(0)), torch.tensor([0.5])
    found, expected = (prior.predict(z, t, prior.embed("a dog walking")) for prior in (half, full))
    assert half.dtype == torch.bfloat16
    assert (found - expected).norm() < 0.1 * expected.norm()


def test_what_the_folder_says_holds_on_both_paths() -> None:
    plain, diffusers = load_prior(), load_prior(offload="model")
    assert plain.film == diffusers.film
    assert plain.trained_on_captions is diffusers.trained_on_captions is True
    assert plain.with_film({"frames": 9}).trained_on_captions
