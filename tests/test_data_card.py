"""What is added to plans and words disturbs neither the shipped networks nor a training that was begun before."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from akd.creatures import words
from akd.creatures.plans import PLANS
from akd.errors import AkdError
from akd.prior.folder import EMBEDDED_FOLDER
from akd.training import data_card
from akd.training.data_card import CARD_NAME, SHIPPED_CARD, DataCard, current_card, run_card
from akd.training.posespace.dataset import write_pose_shards
from akd.training.prior.clips import CLIP_FILM, ClipLabel, caption_tokenizer, clip_caption, individuals
from akd.training.prior.export import model_card
from akd.training.prior.network_init import init_text_encoder
from akd.training.prior.networks import build_text_encoder
from akd.training.prior.run import PriorRun


@pytest.fixture
def additions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan in front of all others, a noun for it, one for a known plan, and one for no plan."""
    old = dict(PLANS)
    for name in old:
        monkeypatch.delitem(PLANS, name)
    monkeypatch.setitem(PLANS, "gryphon", old["dog"])
    for name, plan in old.items():
        monkeypatch.setitem(PLANS, name, plan)
    for table, noun, plan in (("SYNONYMS", "gryphon", "gryphon"), ("SYNONYMS", "aardwolf", "dog"), ("NEAREST", "aye-aye", "cat")):
        assert getattr(data_card, table) is getattr(words, table)
        monkeypatch.setitem(getattr(words, table), noun, plan)


def drawn_captions() -> list[str]:
    rng = np.random.default_rng(3)
    shown = [(plan, motion) for plan in ("dog", "cat", "ant") for motion in ("walk", "idle")]
    labels = [ClipLabel(plan, 0, motion, 0, 0.0, 60.0, 20.0, 1.0, True) for plan, motion in shown]
    return [clip_caption(label, rng) for label in labels for _ in range(30)]


def build_text_rows() -> torch.Tensor:
    """Word vectors that a new training begins with."""
    tokenizer = caption_tokenizer()
    encoder = build_text_encoder(len(tokenizer))
    init_text_encoder(encoder, tokenizer)
    return encoder.shared.weight


def test_the_shipped_tokenizer_is_that_of_the_shipped_words() -> None:
    stored = Tokenizer.from_file(str(EMBEDDED_FOLDER / "tokenizer" / "tokenizer.json"))
    built = caption_tokenizer().backend_tokenizer
    assert json.loads(built.to_str())["model"] == json.loads(stored.to_str())["model"]
    assert stored.get_vocab_size() == 771
    weights = json.loads((EMBEDDED_FOLDER / "text_encoder" / "config.json").read_text())
    assert weights["vocab_size"] == len(caption_tokenizer())


def test_the_shipped_plans_exist_and_none_is_held_out() -> None:
    assert set(SHIPPED_CARD.plans) | set(SHIPPED_CARD.held_out_plans) <= set(PLANS)
    assert not set(SHIPPED_CARD.plans) & set(SHIPPED_CARD.held_out_plans)
    assert len(set(SHIPPED_CARD.plans)) == 19
    assert SHIPPED_CARD.first_held_out_seed == 10_000


def test_additions_change_neither_tokenizer_nor_captions_nor_numbering(additions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    during = caption_tokenizer().backend_tokenizer.to_str(), drawn_captions(), list(individuals(60))
    rows = build_text_rows()
    monkeypatch.undo()
    assert during == (caption_tokenizer().backend_tokenizer.to_str(), drawn_captions(), list(individuals(60)))
    assert rows.equal(build_text_rows())


def test_additions_change_no_pose_shard(tmp_path: Path, additions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pose_shards(tmp_path / "during", range(7, 8))
    monkeypatch.undo()
    write_pose_shards(tmp_path / "before", range(7, 8))
    with np.load(tmp_path / "during" / "000007.npz") as one, np.load(tmp_path / "before" / "000007.npz") as other:
        assert one.files == other.files
        assert all(np.array_equal(one[name], other[name]) for name in one.files)


def test_a_run_keeps_the_card_it_began_with(tmp_path: Path, additions: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = run_card(tmp_path / "new", current=True)
    assert "gryphon" in fresh.plans
    assert {"gryphon", "aardwolf", "aye-aye"} <= set(fresh.words)
    assert fresh == current_card()
    assert len(caption_tokenizer(fresh.words)) == 771 + len(set(fresh.words) - set(SHIPPED_CARD.words))
    assert run_card(tmp_path / "old") == SHIPPED_CARD
    monkeypatch.undo()
    assert run_card(tmp_path / "new") == PriorRun(tmp_path / "new").card == fresh
    with pytest.raises(AkdError, match="leave out --current-plans"):
        run_card(tmp_path / "new", current=True)
    assert run_card(tmp_path / "old") == SHIPPED_CARD


def test_cards_are_written_and_read_and_broken_ones_refused(tmp_path: Path) -> None:
    SHIPPED_CARD.save(tmp_path / CARD_NAME)
    assert (tmp_path / CARD_NAME).read_bytes() == (EMBEDDED_FOLDER / CARD_NAME).read_bytes()
    assert DataCard.load(tmp_path / CARD_NAME) == SHIPPED_CARD
    for junk in ("", "[]", "{}", '{"plans": 3}', '{"plans": [], "words": [], "held_out_plans": [], "synonyms": 1}'):
        (tmp_path / CARD_NAME).write_text(junk)
        with pytest.raises(AkdError, match="not the card of a training"):
            run_card(tmp_path)


def test_the_model_card_names_what_is_held_out() -> None:
    text = model_card(replace(SHIPPED_CARD, held_out_plans=("cat", "ant"), first_held_out_seed=2_000), "", CLIP_FILM)
    assert "except cat and ant" in text
    assert "2,000" in text
