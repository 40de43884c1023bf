"""Which of the embedded models a sentence is for, and the recipe that belongs to a model, where the user names neither.

One of them has learned gaits from films of skin and tells orders of legs apart; the other has seen people and animals do other
things, as figures. Measured on the same sentences, each is better at its own (docs/prior.md).
"""

from pathlib import Path

from akd.creatures.wish import read_wish
from akd.distill.recipe import RECIPES, Recipe
from akd.gait.table import GAITS
from akd.prior.folder import EMBEDDED, EMBEDDED_ACTIONS, EMBEDDED_FOLDERS
from akd.prior.reader import FILE as READER_FILE

DEFAULT_RECIPE = "default"


def embedded_for(prompt: str) -> str:
    """The embedded model for a sentence: by the action it names."""
    action = read_wish(prompt).action
    gait = not action or action in GAITS
    return EMBEDDED if gait or not EMBEDDED_FOLDERS[EMBEDDED_ACTIONS].is_dir() else EMBEDDED_ACTIONS


def recipe_name(name: str, prior: str) -> str:
    """The recipe that a name stands for with the prior of a name: the default one takes few looks where films are read."""
    return _named(name, reads=(EMBEDDED_FOLDERS.get(prior, Path(prior)) / READER_FILE).is_file())


def named_recipe(name: str, *, reads: bool) -> Recipe:
    """The recipe of a name, for a prior whose films are read or not."""
    return RECIPES[_named(name, reads=reads)]


def _named(name: str, *, reads: bool) -> str:
    return "looks" if reads and name == DEFAULT_RECIPE else name
