"""Training on real motion: what is filmed, what is said of it, and a network that starts from another one's weights."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.contact.traces import yaw
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.follow.first_frame import pose_at_ease
from akd.motion import Motion, mirror
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.prior.folder import EMBEDDED_FOLDER
from akd.prior.load import load_prior
from akd.rig import Rig
from akd.rotations import quaternion_to_matrix
from akd.training.data_card import SHIPPED_CARD, DataCard, with_real_motion
from akd.training.loop import TrainingConfig
from akd.training.prior.cache import read_cache
from akd.training.prior.clips import ClipLabel, caption_tokenizer
from akd.training.prior.files import label_files
from akd.training.prior.real_films import RealLabel, real_caption
from akd.training.prior.real_motion import EASE_FRAMES, Body, Performed, begun_at_ease, leading_side, real_clips, window
from akd.training.prior.run import PriorRun, begin_run, export_run, tokenizer_config, train_video_run
from akd.training.prior.video_model import Rivals, TextToVideoModel

MOTIONS = Path(__file__).resolve().parents[2] / "shared" / "motions"
needs_motions = pytest.mark.skipif(not MOTIONS.is_dir(), reason="needs ../shared/motions")
ACTIONS = ("cartwheel", "kick", "walk", "wave_hand")


@pytest.fixture(scope="module")
def human() -> Rig:
    return creature("human", 3)


@pytest.fixture(scope="module")
def card() -> DataCard:
    return with_real_motion(SHIPPED_CARD, ACTIONS, ["banana"])


def performed(rig: Rig, motion: Motion, *, loops: bool) -> Performed:
    return Performed(rig, motion, loops, rig.leg_metres, 0.0)


def test_a_window_begins_at_the_origin_and_faces_forward(human: Rig) -> None:
    turning = gait_motion(human, "walk", turn=0.8, fps=30.0, frames=150)
    for seed in range(3):
        cut = window(performed(human, turning, loops=False), 25, 12.0, 15.0, np.random.default_rng(seed))
        assert cut.frame_count == 25
        assert cut.fps == 15.0
        assert cut.pose.root_position[0, [0, 2]].abs().max() < 1e-5
        assert abs(yaw(quaternion_to_matrix(cut.pose.root_rotation).numpy())[0]) < 1e-3


def test_films_begin_at_ease_where_a_body_can_be(human: Rig) -> None:
    ease = pose_at_ease(human).to(torch.float32)
    kick = window(performed(human, gait_motion(human, "kick", fps=30.0), loops=False), 25, 12.0, 12.0, np.random.default_rng(0))
    begun = begun_at_ease(ease, kick)
    assert torch.allclose(begun.pose.angles[0], ease.angles, atol=1e-5)
    assert torch.equal(begun.pose.angles[EASE_FRAMES:], kick.pose.angles[EASE_FRAMES:])
    seated = replace(kick, pose=replace(kick.pose, root_position=kick.pose.root_position - torch.tensor((0.0, 0.4, 0.0))))
    assert begun_at_ease(ease, seated) is seated


def test_loops_go_on_and_short_clips_wait(human: Rig) -> None:
    cycle = gait_motion(human, "walk", fps=30.0)
    on = window(performed(human, cycle, loops=True), 60, 12.0, 12.0, np.random.default_rng(0))
    steps = on.pose.root_position[:, 0].diff()
    assert steps.min() > 0.5 * steps.mean() > 0
    short = window(performed(human, gait_motion(human, "kick", fps=30.0), loops=False), 60, 12.0, 12.0, np.random.default_rng(0))
    still = short.pose.angles.diff(dim=0).abs().amax((1, 2)) == 0
    assert still.any()
    assert not still.all()


def test_the_side_that_leads_changes_in_the_mirror(human: Rig) -> None:
    kick = gait_motion(human, "kick", seed=0, fps=12.0)
    side = leading_side(human, kick, "leg")
    assert side in ("left", "right")
    assert leading_side(human, mirror(human.skeleton, kick), "leg") == {"left": "right", "right": "left"}[side]
    assert leading_side(human, gait_motion(human, "idle", fps=12.0), "wing") == ""


def test_captions_hold_no_unknown_word_and_name_the_side(card: DataCard) -> None:
    tokenizer, rng = UnigramTokenizer.read(tokenizer_config(card)), np.random.default_rng(0)
    said = []
    for action in ACTIONS:
        label = RealLabel("a", action, "b", "banana", "left" if action == "kick" else "", 60.0, 20.0, 1.0, True)
        said += [(action, real_caption(label, rng, card)) for _ in range(60)]
    spelled = {piece for _, text in said for piece in tokenizer.tokens(text)}
    single = {number for piece, (number, _) in tokenizer.pieces.items() if len(piece) == 1 and piece.isalpha()}
    assert not spelled & single  # no word was spelled letter by letter
    assert max(len(tokenizer.tokens(text)) for _, text in said) < 24
    assert any("with the left foot" in text for action, text in said if action == "kick")
    assert any("banana" in text for _, text in said)
    assert 0 < sum(text == "" for _, text in said) < len(said) / 4


def test_a_longer_network_with_more_words_begins_as_the_one_it_came_from(card: DataCard) -> None:
    """Old words, no first frame: the same prediction as before; and new words of an old meaning are near it."""
    prior = load_prior()
    if prior.takes_first_frame:
        pytest.skip("the shipped prior is of the second kind already")
    model = TextToVideoModel.start_from(EMBEDDED_FOLDER, card, 25, tokenizer_config(card)).eval()
    z = torch.randn(1, 24, 9, 8, 8, generator=torch.Generator().manual_seed(0))
    t = torch.tensor([0.7])
    with torch.no_grad():
        mine = model(z, torch.zeros_like(z), prior.schedule.network_time(t), ["a dog walking"])
    assert torch.allclose(mine, prior.predict(z, t, prior.embed("a dog walking")), atol=1e-5)
    assert set(SHIPPED_CARD.words) < set(card.words)
    assert {"cartwheel", "banana", "left"} <= set(card.words)


@pytest.fixture
def films(tmp_path: Path, card: DataCard) -> PriorRun:
    """A run with three films of noise."""
    run = PriorRun(tmp_path / "run")
    run.folder.mkdir()
    card.save(run.folder / "training.json")
    begin_run(run, None)
    run["real"].mkdir()
    videos = np.random.default_rng(0).integers(0, 255, (3, 25, 48, 96, 3), dtype=np.uint8)
    np.save(run["real"] / "a-00.npy", videos)
    labels = [dict(source=f"cmu/{action}.npz#0", action=action, body="x", noun="human", side="left", azimuth=60.0, elevation=20.0,
                   distance=1.0, ground=True) for action in ("kick", "wave_hand", "hop")]  # fmt: skip
    (run["real"] / "a-00.json").write_text(json.dumps(labels))
    return run


def test_a_run_trains_exports_and_loads_here_and_in_diffusers(films: PriorRun, monkeypatch: pytest.MonkeyPatch) -> None:
    train_video_run(films, TrainingConfig(steps=2, learning_rate=1e-3, save_every=1))
    folder = export_run(films)
    prior = load_prior(str(folder))
    assert prior.takes_first_frame
    assert prior.film.frames == 25
    first = torch.rand(1, 48, 96, 3)
    given, none = (prior.sample_latents("a human kicking", steps=2, condition=c) for c in (prior.condition(first), None))
    assert given.shape == none.shape == (1, 24, 13, 6, 12)
    assert not torch.equal(given, none)
    from diffusers import DiffusionPipeline

    pipe = DiffusionPipeline.from_pretrained(folder)
    assert type(pipe).__name__ == "CogVideoXImageToVideoPipeline"
    assert pipe.transformer.config.in_channels == 48


def test_a_wrong_caption_names_another_action_of_such_a_body(card: DataCard) -> None:
    def label(action: str, noun: str, source: str = "glb/a.glb#0") -> RealLabel:
        return RealLabel(source, action, "x", noun, "", 60.0, 20.0, 1.0, True)

    rivals = Rivals([label("kick", "human"), label("bite", "dog"), label("hop", "man"), label("happy_walk", "woman")])
    for seed in range(20):
        wrong = rivals.wrong_caption(label("jump", "human"), (seed,), card)
        assert "bit" not in wrong, "no dog's action"
        assert not wrong or "kick" in wrong or "walk" in wrong, "a hop is a jump"
        true = real_caption(label("jump", "human"), np.random.default_rng((seed,)), card)
        assert wrong != true or not true
    assert not Rivals([label("hop", "man"), label("bite", "dog")]).wrong_caption(label("jump", "human"), (0,), card)


def test_gaits_of_our_formulas_are_told_apart_too(card: DataCard) -> None:
    def label(motion: str, plan: str = "dog") -> ClipLabel:
        return ClipLabel(plan, 0, motion, 0, 0.0, 60.0, 20.0, 1.0, True)

    rivals = Rivals([label("walk"), label("trot"), label("gallop"), label("run"), label("walk", "ant")])
    said = [rivals.wrong_caption(label("gallop"), (seed,), card) for seed in range(40)]
    assert any("trot" in text for text in said)
    assert any("walk" in text for text in said)
    assert not any("run" in text or "gallop" in text for text in said), "a gallop may be called a run"
    assert not rivals.wrong_caption(label("walk", "ant"), (0,), card), "it does nothing else"


def test_films_that_are_being_written_are_not_read(films: PriorRun) -> None:
    (films["real"] / "b-01.0a1b2c3d.part.json").write_text("[")
    assert [path.name for path in label_files(films["real"])] == ["a-00.json"]
    assert len(read_cache(*films.films)) == 3


def test_a_run_without_films_says_so(tmp_path: Path) -> None:
    with pytest.raises(AkdError, match="akd prior clips"):
        train_video_run(PriorRun(tmp_path))


@needs_motions
def test_no_clip_of_the_test_part_is_trained_on() -> None:
    train, test = real_clips(MOTIONS, "train"), real_clips(MOTIONS, "test")
    assert not {clip.source for clip in train} & {clip.source for clip in test}
    held = {e["file"] for e in json.loads((MOTIONS / "glb/index.json").read_text()) if e["part"] == "test"}
    assert not {clip.file for clip in train} & held
    assert Body(file="glb/q_cute_panda.glb").noun == "panda"


def test_the_words_of_every_action_are_known_to_a_card_that_has_it() -> None:
    whole = caption_tokenizer(with_real_motion(SHIPPED_CARD, ACTIONS, []).words)
    assert whole.unk_token_id not in whole("A human turning a cartwheel with the left hand").input_ids
