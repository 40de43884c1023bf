"""A training run that is killed and one that is not end alike; what is filmed and said is fixed by seeds."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from akd.errors import AkdError
from akd.training.data_card import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS
from akd.training.loop import TrainingConfig, TrainingState, learning_rate_factor, train
from akd.training.prior.clips import CLIP_FILM, ClipLabel, caption_tokenizer, clip_caption, individuals

CONFIG = TrainingConfig(steps=12, learning_rate=0.01, warmup=2, save_every=4)


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[torch.Tensor, dict[str, float]]:
    x = torch.randn(16, 3, generator=randomness)
    return (network(x) - x.sum(1, keepdim=True)).square().mean(), {}


class Killed(Exception):
    pass


@pytest.mark.parametrize("muon", [(), ("0.",)])
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path: Path, muon: tuple[str, ...]) -> None:
    config = replace(CONFIG, muon=muon)
    whole = train(small_network(), loss, config, tmp_path / "whole")

    def deadly(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[torch.Tensor, dict[str, float]]:
        if step == 10:
            raise Killed
        return loss(network, step, randomness)

    with pytest.raises(Killed):
        train(small_network(), deadly, config, tmp_path / "killed")
    resumed = train(small_network(), loss, config, tmp_path / "killed")
    assert len(resumed.optimisers) == (2 if muon else 1)
    for name, weight in whole.trained.items():
        assert torch.equal(weight, resumed.trained[name])
        assert torch.equal(whole.average[name], resumed.average[name])


def test_a_state_of_another_network_is_refused(tmp_path: Path) -> None:
    train(small_network(), loss, CONFIG, tmp_path)
    with pytest.raises(AkdError, match="other weights"):
        TrainingState(nn.Linear(2, 2), CONFIG).load(tmp_path / "state.safetensors")


def test_the_learning_rate_goes_up_stays_and_falls() -> None:
    config = TrainingConfig(steps=100, learning_rate=1.0, warmup=10, cooldown=0.2)
    factors = [learning_rate_factor(step, config) for step in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[50] == 1
    assert factors[-1] == pytest.approx(0.05)
    assert all(b <= a for a, b in pairwise(factors[60:]))


def test_training_never_meets_what_is_held_out() -> None:
    drawn = list(individuals(400))
    assert len(set(drawn)) == 400
    assert not {plan for plan, _ in drawn} & set(HELD_OUT_PLANS)
    assert max(seed for _, seed in drawn) < FIRST_HELD_OUT_SEED


def test_bodies_that_go_alike_are_filmed_alike() -> None:
    settings = CLIP_FILM
    assert settings.rate(0.9) == settings.fps
    assert settings.rate(3.6) == pytest.approx(settings.fps / 2)


def label(motion: str) -> ClipLabel:
    return ClipLabel("dog", 0, motion, 0, 0.0, 60.0, 20.0, 1.0, True)


def test_captions_fit_and_hold_no_unknown_word() -> None:
    tokenizer, rng = caption_tokenizer(), np.random.default_rng(0)
    sentences = [clip_caption(label(motion), rng) for motion in ("walk", "gallop", "idle", "jump") for _ in range(40)]
    ids = tokenizer(sentences).input_ids
    assert max(map(len, ids)) <= 24
    assert tokenizer.unk_token_id not in {token for sentence in ids for token in sentence}
    assert 0 < sum(sentence == "" for sentence in sentences) < len(sentences) / 4


def test_the_tokenizer_reads_capitals_and_spells_what_it_does_not_know(tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    caption_tokenizer().save_pretrained(tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert tokenizer("A DOG walking.").input_ids == caption_tokenizer()("a dog walking.").input_ids
    assert tokenizer.unk_token_id not in tokenizer("zyzzyva").input_ids


def test_curves_of_a_training_are_written_on_demand(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra 'tensorboard' is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(small_network(), loss, replace(CONFIG, tensorboard=tmp_path / "curves"), tmp_path / "run")
    found = EventAccumulator(str(tmp_path / "curves")).Reload()
    logged = [json.loads(line)["loss"] for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    drawn = found.Scalars("loss")
    assert [event.step for event in drawn] == list(range(CONFIG.steps))
    assert np.allclose([event.value for event in drawn], logged, rtol=1e-4)
    train(small_network(), loss, CONFIG, tmp_path / "without")
    assert sorted(path.name for path in (tmp_path / "without").iterdir()) == ["log.jsonl", "state.safetensors"]
