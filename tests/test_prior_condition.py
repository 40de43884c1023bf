"""Image-to-video: what a network is given and predicts equals diffusers' own pipeline call."""

from pathlib import Path
from typing import Any

import pytest
import torch

from akd.distill.estimators import ESTIMATORS, ScoreInputs, draw_noise, score_gradient
from akd.errors import AkdError
from akd.prior.embedded.family import EmbeddedCogVideoX, embedded_family
from akd.prior.families import FAMILIES
from akd.prior.folder import read_index
from akd.prior.prior import VideoPrior, denoising_error
from akd.prior.schedule import add_noise
from pipeline_calls import network_calls
from tiny_priors import tiny

FILM = (13, 32, 64)
IMAGE_MODELS = ("cogvideox-i2v", "cogvideox-5b-i2v", "cogvideox-1.5-i2v")


def loaded(pipe: Any) -> VideoPrior:
    return VideoPrior(FAMILIES[type(pipe).__name__](pipe))


def picture(prior: VideoPrior) -> torch.Tensor:
    """A first frame, of the size that the model takes."""
    _, height, width = prior.family.grid.nearest(*FILM)
    return torch.rand(1, height, width, 3, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_the_network_sees_and_says_what_it_does_in_diffusers_own_call(name: str) -> None:
    pipe = tiny(name)
    prior = loaded(pipe)
    frames, height, width = prior.family.grid.nearest(*FILM)
    first = picture(prior)
    calls = network_calls(
        pipe, image=first.permute(0, 3, 1, 2), prompt="a dog walking", num_frames=frames, height=height, width=width,
        max_sequence_length=prior.family.max_text_tokens,
    )  # fmt: skip
    assert len(calls) == 2
    condition = prior.condition(first, frames)
    assert condition.cells == 1
    for call in calls:
        channels = prior.latent_shape(frames, height, width).channel
        z_t = call.inputs["hidden_states"].transpose(1, 2)[:, :channels]
        t = (call.inputs["timestep"] + 1) / prior.schedule.train_steps
        found = prior.predict(z_t, t, prior.embed("a dog walking"), condition)
        torch.testing.assert_close(found, call.output.transpose(1, 2), rtol=1e-4, atol=1e-5)
        without = prior.predict(z_t, t, prior.embed("a dog walking"))
        assert (without - found).abs().max() > 1e-4


def test_plain_modules_take_the_first_frame_as_diffusers_does(tmp_path: Path) -> None:
    pipe = tiny("cogvideox-i2v")
    pipe.save_pretrained(tmp_path)
    family = embedded_family(tmp_path, read_index(tmp_path))
    assert isinstance(family, EmbeddedCogVideoX)
    assert family.takes_first_frame
    own, reference = VideoPrior(family), loaded(pipe)
    first = picture(own)
    z_t, t = torch.randn(2, *own.latent_shape(9, 32, 64)), torch.tensor([0.2, 0.9])
    conditions = [prior.condition(first, 9) for prior in (own, reference)]
    torch.testing.assert_close(conditions[0].latents, conditions[1].latents, rtol=1e-5, atol=1e-5)
    for given in (conditions, (None, None)):
        found, expected = (
            prior.predict(z_t, t, prior.embed("a dog walking"), condition)
            for prior, condition in zip((own, reference), given, strict=True)
        )
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_text_to_video_models_refuse_a_first_frame(tmp_path: Path) -> None:
    pipe = tiny("cogvideox")
    pipe.save_pretrained(tmp_path)
    family = embedded_family(tmp_path, read_index(tmp_path))
    assert family is not None
    for prior in (loaded(pipe), VideoPrior(family)):
        assert not prior.takes_first_frame
        with pytest.raises(AkdError, match="image-to-video"):
            prior.condition(picture(prior), 9)


def test_an_image_folder_that_calls_itself_text_to_video_is_left_to_diffusers(tmp_path: Path) -> None:
    tiny("cogvideox-i2v").save_pretrained(tmp_path)
    assert embedded_family(tmp_path, read_index(tmp_path) | {"_class_name": "CogVideoXPipeline"}) is None


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_given_frame_has_no_gradient(estimator: str) -> None:
    prior = loaded(tiny("cogvideox-i2v"))
    z = torch.randn(1, *prior.latent_shape(9, 32, 64), generator=torch.Generator().manual_seed(0))
    noise, t = draw_noise(tuple(z.shape[1:]), 2, (0.4, 0.8), torch.Generator().manual_seed(1))
    words = prior.embed("a dog walking"), (prior.embed(""),)
    inputs = ScoreInputs(noise, t, *words, 3.0, rest=lambda: torch.zeros_like(z))
    given = score_gradient(estimator, prior, z, inputs._replace(condition=prior.condition(picture(prior), 9)))
    free = score_gradient(estimator, prior, z, inputs)
    assert given[:, :, 0].abs().max() == 0
    assert free[:, :, 0].abs().max() > 0
    assert given[:, :, 1:].abs().max() > 0
    assert (given - free)[:, :, 1:].abs().max() > 1e-6


def test_samples_follow_their_first_frame() -> None:
    prior = loaded(tiny("cogvideox-i2v")).with_film({"frames": 9, "height": 32, "width": 64})
    condition = prior.condition(picture(prior))
    given, again, free = (prior.sample("a dog", steps=2, condition=each) for each in (condition, condition, None))
    assert torch.equal(given, again)
    assert not torch.equal(given, free)


def test_errors_are_those_of_the_frames_that_are_not_given() -> None:
    prior = loaded(tiny("cogvideox-i2v"))
    z, t, words = torch.randn(1, *prior.latent_shape(9, 32, 64)), torch.tensor([0.6]), prior.embed("a dog")
    noise, condition = torch.randn_like(z), prior.condition(picture(prior), 9)
    clean = prior.denoise(add_noise(z, noise, prior.schedule.level(t)), t, words, condition=condition).x0
    expected = (clean - z)[:, :, 1:].square().mean()
    torch.testing.assert_close(denoising_error(prior, z, noise, t, words, condition)[0], expected)
