"""The embedded prior's parts: its encoder before training, its folder, and what is known about big models."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from akd.errors import AkdError
from akd.prior.families import FAMILIES
from akd.prior.info import KNOWN_MODELS, build_on_meta, parameter_count, prior_info
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.render.film import FilmSettings
from akd.training.prior.cache import ClipCache, to_network
from akd.training.prior.clips import ClipLabel
from akd.training.prior.network_init import init_encoder
from akd.training.prior.networks import build_pipeline, build_vae


class DriftingBlobs(ClipCache):
    """Coloured blobs that drift over grey: clips without a renderer."""

    def __init__(self, count: int) -> None:
        super().__init__([ClipLabel("dog", 0, "walk", 0, 0.0, 0.0, 0.0, 0.0, True)] * count, [(Path(), 0)] * count)

    def video(self, index: int) -> torch.Tensor:
        randomness = torch.Generator().manual_seed(index)
        place, speed, color = (torch.rand(6, n, generator=randomness) for n in (2, 2, 3))
        time = torch.arange(17).view(17, 1, 1, 1)
        y, x = torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij")
        picture = torch.full((17, 64, 64, 3), 0.5)
        for blob in range(6):
            row, column = (place[blob, k] * 64 + (speed[blob, k] - 0.5) * 3 * time for k in (0, 1))
            cover = torch.exp(-((y[None, ..., None] - row) ** 2 + (x[None, ..., None] - column) ** 2) / 40)
            picture = picture * (1 - cover) + color[blob] * cover
        return (picture * 255).round().byte()


def test_the_started_encoder_is_a_code_from_which_pictures_follow_linearly() -> None:
    clips, vae = DriftingBlobs(18), build_vae()
    init_encoder(vae, clips, count=12)
    with torch.no_grad():
        videos = to_network(torch.stack([clips.video(i) for i in range(18)]))
        latents = torch.cat([vae.encode(video[None]).latent_dist.mean for video in videos])
    spread = latents[:12].std((0, 2, 3, 4))
    assert 0.7 < spread.mean() < 1.3  # on average as large as the noise, coarse channels more, fine ones less
    assert spread[:4].mean() > 1.5 * spread[-4:].mean()
    codes = latents[:, :, 1:].permute(0, 2, 3, 4, 1)
    codes = torch.cat((codes, torch.ones(*codes.shape[:-1], 1)), -1)
    cells = videos[:, :, 1:].reshape(18, 3, 8, 2, 8, 8, 8, 8).permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4)
    maps = torch.linalg.lstsq(codes[:12].flatten(0, 3), cells[:12].flatten(0, 3)).solution
    left = (codes[12:] @ maps - cells[12:]).square().mean() / (cells[12:] - cells[12:].mean()).square().mean()
    assert left < 0.15


def test_the_folder_is_one_that_diffusers_loads(tmp_path: Path) -> None:
    from diffusers import CogVideoXPipeline

    pipe = build_pipeline(seed=3)
    pipe.save_pretrained(tmp_path)
    FilmSettings(background=(0.1, 0.2, 0.3)).save(tmp_path / "film.json")
    assert sum(file.stat().st_size for file in tmp_path.rglob("*")) < 30e6
    own = CogVideoXPipeline.from_pretrained(tmp_path)
    prior = load_prior(str(tmp_path))
    assert prior.film.background == (0.1, 0.2, 0.3)
    z, t = torch.randn(1, *prior.latent_shape(25, 48, 96)), torch.tensor([0.7])
    words = own.encode_prompt("a dog walking", do_classifier_free_guidance=False, max_sequence_length=24)[0]
    expected = own.transformer(z.transpose(1, 2), words, prior.schedule.network_time(t), return_dict=False)[0].transpose(1, 2)
    torch.testing.assert_close(prior.predict(z, t, prior.embed("A dog walking")), expected)


def test_encoding_forgets_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """What autograd keeps of a large clip is less than what the plain encoder keeps of it."""
    monkeypatch.setattr("akd.prior.checkpointing.CHECKPOINT_MIN_VALUES", 0)
    pipe = build_pipeline()
    video = torch.rand(1, 17, 48, 96, 3, requires_grad=True)

    def kept(encode) -> int:  # type: ignore[no-untyped-def]
        seen: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            seen[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            latents = encode()
        assert latents.requires_grad
        return sum(seen.values())

    plain = kept(lambda: pipe.vae.encode(video.permute(0, 4, 1, 2, 3) * 2 - 1).latent_dist.mean)
    prior = VideoPrior(FAMILIES["CogVideoXPipeline"](pipe), FilmSettings(width=96, height=48))
    assert kept(lambda: prior.encode(video)) < plain / 5


@pytest.mark.parametrize(
    ("name", "billions"),
    [("THUDM/CogVideoX-2b", 1.694), ("THUDM/CogVideoX-5b", 5.570), ("Wan-AI/Wan2.1-T2V-1.3B-Diffusers", 1.419)],
)
def test_big_models_have_the_parameters_their_names_promise(name: str, billions: float) -> None:
    prior, _ = build_on_meta(KNOWN_MODELS[name])
    assert parameter_count(prior.family.network) / 1e9 == pytest.approx(billions, abs=0.001)


def test_shapes_of_the_paper() -> None:
    info = prior_info("THUDM/CogVideoX-2b")
    assert (info.frames, info.height, info.width) == (49, 480, 720)
    assert info.latents == (16, 13, 60, 90)
    assert info.tokens == 13 * 30 * 45
    assert info.vae_parameters == pytest.approx(215.6e6, rel=0.01)
    with pytest.raises(AkdError, match="49 frames of 720 × 480"):
        prior_info("THUDM/CogVideoX-2b", frames=50)


def test_what_is_missing_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AkdError, match="model_index"):
        load_prior(str(tmp_path))
    with pytest.raises(AkdError, match="without a download"):
        prior_info("someone/unheard-of")
    (tmp_path / "model_index.json").write_text('{"_class_name": "StableDiffusionPipeline"}')
    with pytest.raises(AkdError, match="StableDiffusionPipeline"):
        load_prior(str(tmp_path))


def test_sentences_of_one_meaning_start_alike() -> None:
    from akd.training.prior.clips import caption_tokenizer
    from akd.training.prior.network_init import init_text_encoder
    from akd.training.prior.networks import build_text_encoder

    tokenizer = caption_tokenizer()
    encoder = build_text_encoder(len(tokenizer))
    init_text_encoder(encoder, tokenizer)
    options = {"padding": "max_length", "max_length": 24, "truncation": True, "return_tensors": "pt"}

    def read(sentence: str) -> torch.Tensor:
        with torch.no_grad():
            return encoder(tokenizer([sentence], **options).input_ids)[0]

    walk, alike, other = map(read, ("a dog walking in a park", "a dog strolling in a park", "a spider walking in a park"))
    assert (walk - alike).norm() < 0.7 * (walk - other).norm()
    assert (walk - other).norm(dim=-1).min() > 0.3 * walk.norm(dim=-1).mean()  # every token knows, not only the noun


def test_the_shipped_prior_shows_what_it_reads_and_what_it_dreams(tmp_path: Path) -> None:
    """A held-out clip survives the autoencoder, and who walks in a sample moves more than who stands."""
    from akd.cli.prior import Sample
    from akd.training.data_card import FIRST_HELD_OUT_SEED
    from akd.training.prior.probe import creature_cases

    prior = load_prior()
    case = next(iter(creature_cases("dog", [FIRST_HELD_OUT_SEED], prior.film)))
    video = case.true[None]
    with torch.no_grad():
        again = prior.decode(prior.encode(video))
    assert -10 * (again - video).square().mean().log10() > 23
    walking, standing = (prior.sample(f"a dog {does}", steps=8, seed=1)[0] for does in ("walking", "standing still"))
    assert walking.diff(dim=0).abs().mean() > 1.5 * standing.diff(dim=0).abs().mean()
    out = tmp_path / "samples.png"
    Sample(prompts=("a dog walking",), steps=2, out=out).run()
    assert Image.open(out).size == (9 * 64, 64)
