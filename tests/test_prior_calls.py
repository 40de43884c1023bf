"""What a family predicts equals what its network says inside diffusers' own pipeline call, with and without a first frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor

from akd.errors import AkdError
from akd.files.video import read_picture
from akd.prior.families import FAMILIES
from akd.prior.given import given_to
from akd.prior.placement import place
from akd.prior.prior import VideoPrior
from pipeline_calls import NetworkCall, network_calls
from simulated_card import CardTensor, simulated_card
from tiny_priors import tiny

SENTENCE = "a dog walking"
FILM = (13, 32, 64)


def loaded(pipe: Any) -> VideoPrior:
    return VideoPrior(FAMILIES[type(pipe).__name__](pipe))


def picture(height: int, width: int) -> Image.Image:
    pixels = torch.rand(height, width, 3, generator=torch.Generator().manual_seed(5))
    return Image.fromarray((pixels * 255).byte().numpy())


def as_tensor(image: Image.Image) -> Tensor:
    values = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    return values.view(1, image.height, image.width, 3) / 255


def tokens(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A row of tokens as latents."""
    return values.transpose(1, 2).unflatten(2, shape[1:])


def film(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Latents beside which others may stand."""
    return values[:, : shape[0]]


Case = tuple[str, Callable[[Tensor, tuple[int, ...]], Tensor], dict[str, Any]]
SIZED: dict[str, Any] = {"sized": True}
CASES: list[Case] = [
    ("wan", film, SIZED), ("wan-2.2", film, SIZED), ("wan-2.2-a14b", film, SIZED),
    ("wan-2.1-i2v", film, SIZED), ("wan-2.2-i2v", film, SIZED), ("wan-2.2-ti2v", film, SIZED),
    ("ltx", tokens, SIZED | {"frame_rate": 24}), ("ltx-i2v", tokens, SIZED | {"frame_rate": 24}),
    ("ltx-condition", tokens, SIZED | {"frame_rate": 24, "image_cond_noise_scale": 0.0}),
    ("ltx-2", tokens, SIZED | {"modality_scale": 2.0}), ("ltx-2-i2v", tokens, SIZED | {"modality_scale": 2.0, "image_crf": 0}),
    ("hunyuan-i2v", film, SIZED), ("hunyuan-33-i2v", film, SIZED),
    ("hunyuan-1.5", film, SIZED), ("hunyuan-1.5-i2v", film, {}), ("hunyuan-1.5-steps", film, {}),
]  # fmt: skip
GIVEN_A_FRAME = ("i2v", "ti2v", "condition", "steps")


@pytest.mark.parametrize(("name", "layout", "options"), CASES, ids=[case[0] for case in CASES])
def test_a_family_predicts_what_its_network_says_in_diffusers_own_call(
    name: str, layout: Callable[[Tensor, tuple[int, ...]], Tensor], options: dict[str, Any]
) -> None:
    pipe = tiny(name)
    prior = loaded(pipe)
    frames, height, width = prior.family.grid.nearest(*FILM)
    if "sized" not in options:  # the pipeline chooses a size that it was trained for
        height, width = prior.film.height, prior.film.width
    given = name.endswith(GIVEN_A_FRAME)
    first = picture(height, width)
    arguments = {key: value for key, value in options.items() if key != "sized"} | {"prompt": SENTENCE, "num_frames": frames}
    arguments |= {"height": height, "width": width} if "sized" in options else {}
    arguments |= {"image": first} if given else {}
    networks = ("transformer", "transformer_2") if len(prior.family.networks) == 2 else ("transformer",)
    calls = [call for call in network_calls(pipe, parts=networks, **arguments) if call.inputs.get("isolate_modalities", True)]
    assert len(calls) == 2
    condition = prior.condition(as_tensor(first), frames) if given else None
    shape = tuple(prior.latent_shape(frames, height, width))
    for call in calls if name != "hunyuan-1.5-steps" else calls[-1:]:
        z_t, t = _noisy(call, layout, shape), call.inputs["timestep"].max().reshape(1) / prior.schedule.train_steps
        found = prior.predict(z_t, t, prior.embed(SENTENCE), condition)
        skipped = 1 if given else 0
        torch.testing.assert_close(
            found[:, :, skipped:], layout(call.output, shape)[:, :, skipped:], rtol=1e-4, atol=1e-5
        )
        if given:
            without = prior.predict(z_t, t, prior.embed(SENTENCE))
            assert (without - found)[:, :, 1:].abs().max() > 1e-4


def _noisy(call: NetworkCall, layout: Callable[[Tensor, tuple[int, ...]], Tensor], shape: tuple[int, ...]) -> Tensor:
    """The noisy film that a network was given; where a frame stands in it, something else is put there, which must not matter."""
    z_t = layout(call.inputs["hidden_states"], shape).clone()
    timestep = call.inputs["timestep"]
    if timestep.ndim > 1 and timestep.min() < timestep.max():
        z_t[:, :, 0] = torch.randn(z_t[:, :, 0].shape, generator=torch.Generator().manual_seed(3))
    return z_t


def test_two_networks_share_the_times_at_their_boundary() -> None:
    pipe = tiny("wan-2.2-a14b")
    prior = loaded(pipe)
    z_t, words = torch.randn(3, *prior.latent_shape(9, 32, 64)), prior.embed(SENTENCE)
    t = torch.tensor([0.5, 0.95, 0.874])
    together = prior.predict(z_t, t, words)
    for row, network in enumerate((pipe.transformer_2, pipe.transformer, pipe.transformer_2)):
        alone = network(z_t[row : row + 1], timestep=1000 * t[row : row + 1], return_dict=False, **words)[0]
        torch.testing.assert_close(together[row : row + 1], alone, rtol=1e-4, atol=1e-5)


def test_of_two_networks_only_one_is_on_the_card() -> None:
    prior = loaded(tiny("wan-2.2-a14b"))
    first, second = (network.proj_out for network in prior.family.networks)
    with simulated_card() as card:
        place(prior.family, card, "model")
        z_t, words = torch.randn(1, *prior.latent_shape(9, 32, 64)), prior.embed(SENTENCE)
        for t, here, away in ((0.95, first, second), (0.3, second, first)):
            prior.predict(z_t, torch.tensor([t]), words)
            assert isinstance(here.weight.data, CardTensor)
            assert not isinstance(away.weight.data, CardTensor)


@pytest.mark.parametrize("name", ["wan-2.2", "ltx", "ltx-condition", "ltx-2"])
def test_a_frame_that_stands_in_the_film_is_the_first_of_its_samples(name: str) -> None:
    prior = loaded(tiny(name))
    frames, height, width = prior.family.grid.nearest(*FILM)
    prior = prior.with_film({"frames": frames, "height": height, "width": width})
    condition = prior.condition(as_tensor(picture(height, width)))
    made = prior.sample_latents("a dog", steps=2, condition=condition)
    torch.testing.assert_close(made[:, :, :1], condition.latents)
    z_t = torch.randn(2, *made.shape[1:])
    guess = prior.denoise(z_t, torch.tensor([0.4, 0.8]), prior.embed("a dog"), condition=condition)
    torch.testing.assert_close(guess.x0[:, :, :1], condition.latents.expand(2, -1, -1, -1, -1))


@pytest.mark.parametrize("control", ["film", "first frame", "both", "nothing", "reference"])
def test_vace_follows_a_control_film_as_in_diffusers_own_call(control: str) -> None:
    pipe = tiny("wan-vace")
    prior = loaded(pipe)
    frames, height, width = 13, 32, 64
    pixels = (torch.rand(frames, height, width, 3, generator=torch.Generator().manual_seed(5)) * 255).byte()
    if control == "first frame":
        pixels[1:] = 127  # as near to grey as eight bits come
    movie = [Image.fromarray(each.numpy()) for each in pixels]
    white = [Image.new("L", (width, height), 255) for _ in movie]
    given: dict[str, Any] = {} if control == "nothing" else {"video": movie, "mask": white}
    if control in ("first frame", "both"):
        given["mask"] = [Image.new("L", (width, height), 0), *white[1:]]
    if control == "reference":
        given["reference_images"] = [movie[4]]
    calls = network_calls(pipe, prompt=SENTENCE, num_frames=frames, height=height, width=width, **given)
    film, first = pixels[None] / 255, pixels[:1] / 255
    conditions = {
        "film": lambda: prior.control(film), "both": lambda: prior.control(film, first), "nothing": lambda: None,
        "first frame": lambda: prior.condition(first, frames),
        "reference": lambda: prior.control(film, reference=pixels[4:5] / 255),
    }  # fmt: skip
    condition = conditions[control]()
    assert condition is None or condition.cells == (0 if control in ("film", "reference") else 1)
    for call in calls:
        t = call.inputs["timestep"] / prior.schedule.train_steps
        found = prior.predict(call.inputs["hidden_states"], t, prior.embed(SENTENCE), condition)
        # Grey of eight bits is 1/255 off the middle in diffusers' film where only the first frame is given.
        close = {"rtol": 0.02, "atol": 0.02} if control == "first frame" else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(found, call.output, **close)


def test_a_picture_for_reference_is_no_part_of_the_sample(tmp_path: Path) -> None:
    prior = loaded(tiny("wan-vace")).with_film({"frames": 5, "height": 32, "width": 64})
    picture(64, 32).save(tmp_path / "fox.png")
    _, condition = given_to(prior, reference=tmp_path / "fox.png")
    assert condition is not None
    assert condition.ahead == 1
    assert prior.sample("a fox", steps=2, condition=condition).shape == (1, 5, 32, 64, 3)
    beside = read_picture(tmp_path / "fox.png", size=(32, 64), whole=True)
    assert beside[:, :8].min() == beside[:, -8:].min() == 1  # nothing of a tall picture is cut
    with pytest.raises(AkdError, match="leave out --reference"):
        given_to(loaded(tiny("wan")), reference=tmp_path / "fox.png")


def test_only_vace_takes_a_control_film() -> None:
    prior = loaded(tiny("wan"))
    with pytest.raises(AkdError, match="VACE"):
        prior.control(torch.rand(1, 13, 32, 64, 3))


def test_distilled_models_are_sampled_at_the_times_of_their_training() -> None:
    from diffusers.pipelines.ltx2.utils import DISTILLED_SIGMA_VALUES

    for name in ("ltx-condition", "ltx-2"):
        schedule = loaded(tiny(name)).schedule
        assert schedule.sampling_times(8).tolist() == pytest.approx([*DISTILLED_SIGMA_VALUES, 0.0])
        assert len(schedule.sampling_times(9)) == 10
