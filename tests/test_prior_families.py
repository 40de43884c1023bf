"""Laws that hold for every family, on tiny models of the real classes."""

from typing import Any

import pytest
import torch

from akd.errors import AkdError
from akd.prior.embedded.family import EmbeddedCogVideoX, embedded_family
from akd.prior.families import FAMILIES
from akd.prior.folder import read_index
from akd.prior.prior import VideoPrior
from akd.prior.schedule import add_noise
from tiny_priors import DIFFERENT, tiny


@pytest.fixture(scope="module", params=[*DIFFERENT, "plain", "plain-i2v"])
def prior(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VideoPrior:
    """A tiny model of each diffusers class; the last ones run as plain torch modules."""
    pipe = tiny(request.param.replace("plain", "cogvideox"))
    if not request.param.startswith("plain"):
        return VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    folder = tmp_path_factory.mktemp("plain")
    pipe.save_pretrained(folder)
    family = embedded_family(folder, read_index(folder))
    assert family is not None
    return VideoPrior(family)


def film_of(prior: VideoPrior, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    frames, height, width = prior.family.grid.nearest(13, 32, 64)
    return torch.rand(1, frames, height, width, 3, generator=torch.Generator().manual_seed(1), dtype=dtype)


def test_encode_is_the_models_own_encoding(prior: VideoPrior) -> None:
    video = film_of(prior)
    latents = prior.encode(video)
    assert latents.shape == (1, *prior.latent_shape(*video.shape[1:4]))
    pixels = video.permute(0, 4, 1, 2, 3) * 2 - 1
    vae = prior.family.vae
    if isinstance(prior.family, EmbeddedCogVideoX):
        own = vae.encode(pixels)[:, : latents.shape[1]] * prior.family.config.vae["scaling_factor"]
        torch.testing.assert_close(latents, own)
    elif type(vae).__name__ != "AutoencoderKL":
        mean, std = (_per_channel(vae, name, default) for name, default in (("latents_mean", 0.0), ("latents_std", 1.0)))
        own = (vae.encode(pixels).latent_dist.mean - mean) / std * (vae.config.get("scaling_factor") or 1.0)
        torch.testing.assert_close(latents, own, rtol=1e-4, atol=1e-5)
    assert prior.decode(latents).shape == video.shape


def _per_channel(vae: Any, name: str, default: float) -> torch.Tensor:
    """Statistics of latents, which some autoencoders hold as buffers and some in their configuration."""
    found = dict(vae.named_buffers()).get(name, vae.config.get(name))
    return torch.as_tensor(default if found is None else found).view(1, -1, 1, 1, 1)


def test_gradient_of_encode_equals_the_one_that_remembers_everything(prior: VideoPrior, monkeypatch: pytest.MonkeyPatch) -> None:
    vae = prior.family.vae.double()
    video = film_of(prior, torch.float64)

    def gradient() -> torch.Tensor:
        leaf = video.clone().requires_grad_()
        latents = prior.encode(leaf)
        weights = torch.linspace(-1, 1, latents.numel()).view_as(latents)
        return torch.autograd.grad((latents * weights).sum(), leaf)[0]

    monkeypatch.setattr("akd.prior.checkpointing.CHECKPOINT_MIN_VALUES", 0)
    monkeypatch.setattr("akd.prior.checkpointing.PIECE_FRAMES", 3)
    forgetful = gradient()
    monkeypatch.setattr("akd.prior.checkpointing.PIECE_FRAMES", 10_000)
    monkeypatch.setattr("akd.prior.checkpointing.checkpointed", lambda function, *args, **_: function(*args))
    families = [f"families.{name}" for name in ("cogvideox", "wan", "modelscope", "hunyuan15_encoder")]
    for module in (*families, "embedded.autoencoder"):
        monkeypatch.setattr(f"akd.prior.{module}.checkpointed", lambda function, *args, **_: function(*args))
    if getattr(vae, "is_gradient_checkpointing", False):
        vae.disable_gradient_checkpointing()
    remembering = gradient()
    vae.float()
    assert remembering.abs().max() > 0
    # Some norms compute in single precision whatever they are given.
    torch.testing.assert_close(forgetful, remembering, rtol=1e-5, atol=float(remembering.abs().max()) * 1e-5)


def test_predictions_agree_with_their_guesses(prior: VideoPrior) -> None:
    clean = torch.randn(2, *prior.latent_shape(*film_of(prior).shape[1:4]))
    noise, t = torch.randn_like(clean), torch.tensor([0.3, 0.8])
    level = prior.schedule.level(t)
    z_t = add_noise(clean, noise, level)
    guess = prior.denoise(z_t, t, prior.embed("a dog walking"))
    assert guess.x0.isfinite().all()
    torch.testing.assert_close(add_noise(guess.x0, guess.noise, level), z_t, rtol=1e-3, atol=1e-4)


def test_guidance_goes_from_without_to_with_text(prior: VideoPrior) -> None:
    z_t = torch.randn(1, *prior.latent_shape(*film_of(prior).shape[1:4]))
    t, words, none = torch.tensor([0.6]), prior.embed("a horse galloping"), prior.embed("")
    with_text, without, doubled = (prior.denoise(z_t, t, words, none, scale).x0 for scale in (1.0, 0.0, 2.0))
    torch.testing.assert_close(without, prior.denoise(z_t, t, none).x0)
    torch.testing.assert_close(doubled - with_text, with_text - without, rtol=1e-3, atol=1e-4)
    assert (with_text - without).abs().max() > 1e-7


def test_a_batch_is_its_parts(prior: VideoPrior) -> None:
    z_t = torch.randn(2, *prior.latent_shape(*film_of(prior).shape[1:4]))
    t, words = torch.tensor([0.4, 0.9]), prior.embed("a spider")
    both = prior.predict(z_t, t, words)
    for row in range(2):
        one = slice(row, row + 1)
        torch.testing.assert_close(both[one], prior.predict(z_t[one], t[one], words), rtol=1e-3, atol=1e-4)


def test_half_precision_is_near_full(prior: VideoPrior) -> None:
    z_t = torch.randn(1, *prior.latent_shape(*film_of(prior).shape[1:4]), generator=torch.Generator().manual_seed(2))
    t, words = torch.tensor([0.5]), prior.embed("a cat")
    full = prior.predict(z_t, t, words)
    for network in prior.family.networks:
        network.to(torch.bfloat16)
    try:
        halved = {name: part.to(torch.bfloat16) if part.is_floating_point() else part for name, part in words.items()}
        half = prior.predict(z_t, t, halved)
    finally:
        for network in prior.family.networks:
            network.float()
    assert half.dtype == torch.float32
    assert (half - full).norm() < 0.1 * full.norm() + 1e-3


def test_sentences_are_read_once(prior: VideoPrior) -> None:
    assert prior.embed("a cat") is prior.embed("a cat")


def test_odd_sizes_are_refused_with_the_nearest_that_fits(prior: VideoPrior) -> None:
    grid = prior.family.grid
    frames, height, width = grid.nearest(13, 32, 64)
    with pytest.raises(AkdError, match=f"{frames} frames of {width} × {height}"):
        prior.check_film(frames, height + 1, width)
    if grid.step > 1:
        with pytest.raises(AkdError, match="nearest that fits"):
            prior.encode(torch.rand(1, frames + 1, height, width, 3))


def test_samples_repeat_with_their_seed(prior: VideoPrior) -> None:
    frames, height, width = film_of(prior).shape[1:4]
    small = prior.with_film({"frames": frames, "height": height, "width": width})
    one, again, other = (small.sample("a dog", steps=2, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
