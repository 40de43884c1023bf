"""What judges said on a page of ``compare``: how often each set wins, with 95 % intervals."""

import base64
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akd.batch.compare import QUESTIONS
from akd.errors import AkdError

POINTS = {"left": (1.0, 0.0), "right": (0.0, 1.0), "same": (0.5, 0.5)}
"""What an answer gives to the left and to the right film."""
Z = 1.959964
"""Standard deviations on either side of a 95 % interval."""


@dataclass(frozen=True)
class WinRate:
    """The answers to one question."""

    question: str
    names: tuple[str, str]
    rate: float
    """Share of the first set: mean over pairs, a tie counts half."""
    low: float
    high: float
    """95 % interval of that for new pairs: several judges of one pair agree, so pairs count and not votes."""
    pairs: int
    votes: int
    ties: int


def win_rates(paths: list[Path]) -> list[WinRate]:
    """Of all questions; votes must be about the same two sets. A judge's later file about a page replaces an earlier one."""
    ballots: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        ballot = _read(path)
        ballots[ballot["page"], ballot.get("judge") or path.name] = ballot
    names = {tuple(ballot["opened"]["names"]) for ballot in ballots.values()}
    if len(names) != 1:
        raise AkdError(f"The votes are about {len(names)} different comparisons: give those of one at a time.")
    ((first, second),) = names
    return [_rate(question, (first, second), list(ballots.values())) for question in QUESTIONS]


def wilson(rate: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of so many."""
    if not count:
        return 0.0, 1.0
    centre = (rate + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(rate * (1 - rate) / count + Z * Z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def _rate(question: str, names: tuple[str, str], ballots: list[dict[str, Any]]) -> WinRate:
    points, ties = defaultdict(list), 0
    for ballot in ballots:
        for number, answers in ballot["votes"].items():
            answer = answers.get(question)
            if answer is None:
                continue
            swapped, pair = ballot["opened"]["swapped"][int(number)], ballot["opened"]["pairs"][int(number)]
            points[pair].append(POINTS[answer][1 if swapped else 0])
            ties += answer == "same"
    shares = [sum(given) / len(given) for given in points.values()]
    rate = sum(shares) / len(shares) if shares else 0.5
    return WinRate(question, names, rate, *wilson(rate, len(shares)), len(shares), sum(map(len, points.values())), ties)


def _read(path: Path) -> dict[str, Any]:
    try:
        ballot = json.loads(path.read_text(encoding="utf-8"))
        opened = json.loads(base64.b64decode(ballot["sealed"]))
        count = len(opened["swapped"])
        for number, answers in ballot["votes"].items():
            if not 0 <= int(number) < count or not set(answers) <= set(QUESTIONS) or not set(answers.values()) <= set(POINTS):
                raise ValueError(f"pair {number}")
        if len(opened["names"]) != 2 or len(opened["pairs"]) != count:
            raise ValueError("sealed")
        return {"page": str(ballot["page"]), "judge": ballot.get("judge"), "votes": ballot["votes"], "opened": opened}
    except OSError as error:
        raise AkdError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AkdError(f"{path} is no file of votes ({error}): save it again from the page.") from error
