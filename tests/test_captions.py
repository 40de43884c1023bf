"""Captions say what is done, and the words for a motion lead back to it."""

import numpy as np
import pytest

from akd.creatures.actions import ACTIONS
from akd.creatures.captions import VERBS, action_from_prompt, captions, describe, gerund, negative
from akd.creatures.free_gaits import FREE_GAITS
from akd.gait.table import GAITS

SHARED = {"tripod": "walk", "tetrapod": "walk", "wave": "walk"}
"""Motions whose plain words mean the plain motion; the body decides which gait that is."""


def test_every_motion_has_words():
    assert set(VERBS) >= set(GAITS) | set(ACTIONS) | set(FREE_GAITS)


@pytest.mark.parametrize("action", VERBS)
def test_a_description_is_understood_as_the_motion_it_describes(action):
    meant = action_from_prompt(describe("fox", action))
    assert meant == SHARED.get(action, action)


@pytest.mark.parametrize("action", VERBS)
def test_most_captions_are_understood_as_the_motion_they_describe(action):
    found = [action_from_prompt(text) for text in captions("horse", action, np.random.default_rng(0), 50)]
    assert np.mean([SHARED.get(action, action) == name or action == name for name in found]) > 0.9


@pytest.mark.parametrize(
    ("prompt", "action"),
    [
        ("a dog walking", "walk"), ("a fox leaping over a log", "jump"), ("A HORSE SPRINTING!", "run"),
        ("a spider crawls", "walk"), ("a girl dancing", "dance"), ("a knight boxes", "punch"),
        ("the robot is waving", "wave_hand"),
        ("a cat standing still", "idle"),
        ("a person not moving", "idle"), ("a bear looking around", "look"), ("a cat sits down", "sit"), ("cow grazing", "eat"),
        ("a bird flying", "fly"), ("a fly walking", "walk"), ("a fly", None), ("a small duck walking", "walk"),
        ("a man ducks", "crouch"),
        ("two dolphins swam", "swim"), ("a snake slithers", "slither"), ("the eagle flies", "fly"),
        ("an elephant", None), ("a running dog", "run"), ("a trotting horse", "trot"),
    ],
)  # fmt: skip
def test_prompts_name_their_motion(prompt, action):
    assert action_from_prompt(prompt) == action


def test_captions_vary_and_repeat_with_the_seed():
    one, two = (captions("a dog", "walk", np.random.default_rng(3), 40, color="brown") for _ in range(2))
    assert one == two
    assert len(set(one)) > 25
    assert 5 < sum("brown" in text for text in one) < 35
    assert all("dog" in text and "a a " not in text and "a the" not in text for text in one)


def test_grammar():
    assert gerund("run along") == "running along"
    assert gerund("dance") == "dancing"
    assert describe("elephant", "walk").startswith("An elephant walking")
    assert "standing still" in negative("the fox")
