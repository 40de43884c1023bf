"""Devices, numbers, offloading and films: what is chosen, what is refused, and that everything follows the device."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from akd.distill.loop import Distillation
from akd.distill.recipe import RECIPES
from akd.errors import AkdError
from akd.pipeline import job as jobs
from akd.pipeline.job import Job, make_task
from akd.prior.families import FAMILIES
from akd.prior.family import FilmGrid
from akd.prior.hardware import Hardware, film_size
from akd.prior.info import MemoryNeeds, encode_peak
from akd.prior.load import check_packages, load_prior
from akd.prior.placement import Resident, place
from akd.prior.plan import Plan, choose_device, choose_dtype, fit, is_small, plan_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from simulated_card import CARD, CardTensor, simulated_card
from stick_rigs import person
from test_big_recipes import shortened
from tiny_priors import DIFFERENT, tiny

NEEDS = MemoryNeeds((49, 480, 720), FilmGrid(16, 1, 4), 11.0, 11.0, 0.5, 9.5, 1.5, 16.5)
PLAN = Plan("model", CARD, "bf16", "none")


@pytest.mark.parametrize(
    ("free", "offload", "batch"), [(80, "none", 45), (29, "none", 11), (24, "model", 7), (19, "model", 4), (18, "model", 3)]
)
def test_the_plan_is_the_fastest_that_fits(free: float, offload: str, batch: int) -> None:
    plan = fit(PLAN, Hardware(), NEEDS, free)
    assert (plan.offload, plan.batch, plan.film) == (offload, batch, None)
    assert plan.peak_gigabytes is not None
    assert plan.peak_gigabytes <= free
    assert f"{plan.peak_gigabytes:.1f} GB" in plan.sentence


def test_a_film_that_does_not_fit_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def smaller(plan: Plan, needs: MemoryNeeds, sides: float, frames: float) -> MemoryNeeds:
        return replace(needs, film=(49, round(480 * sides), round(720 * sides)), encode_gigabytes=16.5 * sides**2)

    monkeypatch.setattr("akd.prior.plan._smaller", smaller)
    plan = fit(PLAN, Hardware(quantize="none"), NEEDS, 11.5)
    assert (plan.film, plan.offload) == ((49, 360, 540), "sequential")
    assert plan.hardware.film == "49x360x540"
    assert "49 frames, 540 × 360" in plan.sentence


def test_recipes_that_fit_pictures_need_no_way_back_through_the_encoder() -> None:
    needs = replace(NEEDS, look_gigabytes=6.0)
    plan = fit(PLAN, Hardware(film="49x480x720"), needs, 14.0, way_back=False)
    assert (plan.offload, plan.film) == ("model", None)
    with pytest.raises(AkdError, match="needs about 18 GB"):
        fit(PLAN, Hardware(film="49x480x720", quantize="none"), needs, 14.0)


def test_the_processor_holds_all_weights_while_it_loads() -> None:
    with pytest.raises(AkdError, match="needs about 22 GB on cpu"):
        fit(Plan("model", "cpu", "fp32", "none"), Hardware(film="49x480x720"), replace(NEEDS, encode_gigabytes=1.0), 14.0)


def test_what_does_not_fit_is_refused_with_a_cure() -> None:
    with pytest.raises(AkdError, match=r"needs about 18 GB on card:0, where 4\.0 GB are free.*--film"):
        fit(PLAN, Hardware(film="49x480x720", quantize="none"), NEEDS, 4.0)
    with pytest.raises(AkdError, match="needs about 29 GB"):
        fit(PLAN, Hardware(offload="none", film="49x480x720", quantize="none"), NEEDS, 24.0)


def test_devices_that_are_not_there_are_named_with_their_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AkdError, match="no device 'gpu'"):
        Hardware(device="gpu")
    if not torch.cuda.is_available():
        monkeypatch.setattr("torch.version.cuda", None)
        with pytest.raises(AkdError, match="built without CUDA"):
            choose_device("cuda")
        monkeypatch.setattr("torch.version.cuda", "12.8")
        with pytest.raises(AkdError, match="nvidia-smi"):
            choose_device("cuda:1")
    if not torch.backends.mps.is_available():
        with pytest.raises(AkdError, match="Mac"):
            choose_device("mps")


def test_cards_are_used_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    assert choose_device("auto") == "cuda"
    assert choose_device("auto", small=True) == "cpu"
    with pytest.raises(AkdError, match="has 1"):
        choose_device("cuda:1")
    for capability, dtype in ((9, "bf16"), (7, "fp16")):
        monkeypatch.setattr("torch.cuda.get_device_capability", lambda device, found=capability: (found, 0))
        assert choose_dtype("auto", "cuda") == dtype
    assert choose_dtype("auto", "cpu") == "fp32"
    assert choose_dtype("fp16", "cpu") == "fp16"


def test_films_are_three_numbers() -> None:
    assert film_size("25x320x480") == film_size("25×320×480") == (25, 320, 480)
    for wrong in ("25", "25x320", "0x320x480", "a x b x c", "25x320x480x3"):
        with pytest.raises(AkdError, match="FRAMESxHEIGHTxWIDTH"):
            Hardware(film=wrong)


def test_the_embedded_prior_takes_what_is_asked_for() -> None:
    assert is_small("embedded")
    assert plan_prior("embedded") == Plan("embedded", "cpu", "fp32", "none")
    prior = load_prior(film="9x32x48", dtype="bf16")
    assert (prior.film.frames, prior.film.height, prior.film.width) == (9, 32, 48)
    assert prior.dtype == torch.bfloat16


def test_a_job_remembers_its_hardware() -> None:
    job = Job("a dog walking", device="cuda:1", dtype="bf16", offload="model", film="9x32x48")
    assert Job.from_dict(job.as_dict()) == job
    assert job.hardware == Hardware("cuda:1", "bf16", "model", "9x32x48")
    with pytest.raises(AkdError, match="offload"):
        Job.from_dict(job.as_dict() | {"offload": "everything"})
    with pytest.raises(AkdError, match="FRAMESxHEIGHTxWIDTH"):
        Job("a dog walking", film="large")


def gradient(prior: VideoPrior, video: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """One distillation step on latents: the prediction, with the first frame given if that is possible, and the gradient of the
    pixels towards it."""
    leaf = video.clone().requires_grad_()
    z = prior.encode(leaf)
    noise = torch.linspace(-1, 1, z.numel()).view(z.shape).to(z)
    t = torch.tensor([0.5, 0.8])
    z_t = torch.cat((z.detach() + noise, z.detach() - noise))
    condition = prior.condition(video[:, 0], video.shape[1]) if prior.takes_first_frame else None
    predicted = prior.denoise(z_t, t, prior.embed("a dog walking"), prior.embed(""), 3.0, condition).x0
    (z - predicted.mean(0, keepdim=True)).square().sum().backward()
    assert leaf.grad is not None
    return predicted.cpu(), leaf.grad


@pytest.mark.parametrize("offload", ["none", "model", "sequential"])
@pytest.mark.parametrize("name", DIFFERENT)
def test_all_families_follow_the_device(name: str, offload: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a step meets a tensor of another device, and the numbers are those of the processor."""
    monkeypatch.setattr("akd.prior.checkpointing.CHECKPOINT_MIN_VALUES", 0)
    pipe = tiny(name)
    prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    frames, height, width = prior.family.grid.nearest(9, 32, 64)
    video = torch.rand(1, frames, height, width, 3, generator=torch.Generator().manual_seed(1))
    expected = gradient(prior, video)
    with simulated_card() as card:
        prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
        place(prior.family, card, offload)
        prior.batch = 1
        assert prior.device == card
        prior.read(("a dog walking", ""))
        assert prior.embed("")["encoder_hidden_states"].device == card
        found = gradient(prior, video)
        with pytest.raises(AkdError, match="text encoder has left"):
            prior.embed("a cat")
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)


def test_a_network_is_on_the_device_only_while_it_works() -> None:
    pipe = tiny("cogvideox")
    prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    with simulated_card() as card:
        place(prior.family, card, "model")
        assert all(isinstance(resident, Resident) for resident in prior.family.residents)
        layer = prior.family.network.proj_out
        z = prior.encode(torch.rand(1, 9, 32, 32, 3, requires_grad=True))
        assert not isinstance(layer.weight.data, CardTensor)
        prior.predict(z.detach(), torch.tensor([0.5]), prior.embed("a dog"))
        assert isinstance(layer.weight.data, CardTensor)
        z.sum().backward()
        assert not isinstance(layer.weight.data, CardTensor)


@pytest.mark.parametrize("recipe", RECIPES)
def test_distillation_follows_the_device(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole loop with film, ground and shadow on the card; joints stay in main memory."""
    monkeypatch.setattr(jobs, "film_device", lambda device: device)
    monkeypatch.setattr(jobs, "film_splats", lambda rig, settings, *, mode: skinned_splats(rig, mode=mode, count=40))
    job = Job("a person walking", recipe=shortened(recipe))
    with simulated_card():
        prior = load_prior(device=CARD, film="5x16x16")
        run = Distillation(make_task(job, prior, person()))
        assert run.task.skinned.weights.device == prior.device
        assert run.step()["score"] > 0  # whole runs are in test_big_recipes


def test_the_tracker_counts_what_is_there() -> None:
    """On tensors without values as on real ones."""
    pipe = tiny("cogvideox")
    prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    real = encode_peak(prior, 9, 64, 64, torch.float32, "cpu")
    prior.family.vae.to("meta")
    assert encode_peak(prior, 9, 64, 64, torch.float32, "meta") == pytest.approx(real, rel=0.02)


def test_big_models_are_told_the_users_own_words() -> None:
    prior = VideoPrior(FAMILIES["LTXPipeline"](tiny("ltx")))
    prompt, negative = jobs.sentences(Job("a red fox walking slowly over snow"), prior)
    assert prompt == "a red fox walking slowly over snow"
    assert negative == (prior.family.negative_prompt,)
    prompt, _ = jobs.sentences(Job("a red fox walking.", scene=True), prior)
    assert prompt.startswith("a red fox walking. The whole body stays in the frame.")
    assert "front right" in prompt
    for name, family in FAMILIES.items():  # each says view and ground in its own way
        assert family.scene.startswith("{} "), name
        assert all(word in family.scene.lower() for word in ("front right", "grey", "whole body")), name
    prompt, negative = jobs.sentences(Job("a dog walking"), VideoPrior(FAMILIES["WanPipeline"](tiny("wan"))))
    assert negative == ("",)


def test_packages_of_tokenizers_are_named_before_a_download(monkeypatch: pytest.MonkeyPatch) -> None:
    index = {"_class_name": "CogVideoXPipeline", "tokenizer": ["transformers", "T5Tokenizer"]}
    check_packages("some/model", index)
    monkeypatch.setattr("akd.prior.load._installed", lambda module: module != "google.protobuf")
    with pytest.raises(AkdError, match="some/model needs packages that are missing: run `pip install protobuf`"):
        check_packages("some/model", index)


def test_the_first_frequency_depends_on_the_body_and_not_on_the_film() -> None:
    rig = person()
    short, long = (load_prior(film=film) for film in ("9x32x32", "17x32x32"))
    one, other = (make_task(Job("a person walking"), prior, rig).start_frequency for prior in (short, long))
    assert one == other
    assert one == pytest.approx(1.4 / (16 / (12 * (0.9 / rig.leg_metres) ** 0.5)))
