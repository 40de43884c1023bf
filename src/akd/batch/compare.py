"""Two sets of films side by side without names: one page that asks which is better, and keeps the answers in the browser.

Everything is inside the page, so it can be sent to judges. Which side is which is only in a sealed entry, which the page copies
into the file of votes and ``votes.win_rates`` opens.
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Hashable
from pathlib import Path

import numpy as np

from akd.batch.films import Film, films_in
from akd.batch.pages import page
from akd.errors import AkdError
from akd.files.writing import write_file

QUESTIONS = {
    "motion": "Which one moves more?", "plausible": "Which one moves more plausibly?",
    "text": "Which one fits the sentence better?",
}  # fmt: skip
"""The three questions of the paper's study: amount of motion, plausibility, fit to the text."""
KEYS: tuple[Callable[[Film], Hashable], ...] = (
    lambda film: (film.prompt, film.character, film.seed), lambda film: (film.prompt, film.character), lambda film: film.prompt
)  # fmt: skip
"""What two films of a pair have in common, the strictest first."""


def film_pairs(first: list[Film], second: list[Film]) -> list[tuple[Film, Film]]:
    """Films of the same sentence, of the same character and seed where there are such; each film is used once."""
    pairs: list[tuple[Film, Film]] = []
    ours, theirs = list(first), list(second)
    for key in KEYS:
        waiting = defaultdict(list)
        for film in theirs:
            waiting[key(film)].append(film)
        taken = [(film, waiting[key(film)].pop(0)) for film in ours if waiting[key(film)]]
        pairs += taken
        used = {id(film) for pair in taken for film in pair}
        ours, theirs = ([film for film in films if id(film) not in used] for films in (ours, theirs))
    if not pairs:
        raise AkdError("No sentence was filmed in both sets: compare runs of the same sentences.")
    return pairs


def write_comparison(first: str, second: str, out: Path, *, most: int, seed: int) -> int:
    """Write the page of at most so many pairs, in random order with random sides; returns how many there are."""
    randomness = np.random.default_rng(seed)
    pairs = film_pairs(films_in(first), films_in(second))
    chosen = [pairs[number] for number in randomness.permutation(len(pairs))[:most]]
    swapped = [bool(side) for side in randomness.integers(0, 2, len(chosen))]
    shown = [
        {"prompt": pair[0].prompt, "films": [_data(film) for film in (reversed(pair) if swap else pair)]}
        for pair, swap in zip(chosen, swapped, strict=True)
    ]
    keys = [f"{pair[0].prompt}|{pair[0].character}|{pair[0].seed}" for pair in chosen]
    sealed = seal({"names": [first, second], "swapped": swapped, "pairs": keys})
    number = hashlib.sha256(sealed.encode()).hexdigest()[:12]
    rows = {"id": number, "pairs": shown, "questions": QUESTIONS, "sealed": sealed}
    write_file(out, page("compare", title="Which is better?", rows=rows))
    return len(chosen)


def seal(value: object) -> str:
    """Not to be read by chance; this hides nothing from somebody who wants to know."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def _data(film: Film) -> str:
    return base64.b64encode(film.content()).decode()
