"""The command that lets people judge two sets of films, and counts what they said."""

from pathlib import Path
from typing import Annotated

import tyro

from akd.cli.console import PLAIN, AsJson, console, print_json
from akd.errors import AkdError
from akd.files.writing import check_output


def compare(
    sets: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="A B")] = (),
    /,
    *,
    out: Path = Path("compare.html"),
    pairs: int = 100,
    seed: int = 0,
    votes: tuple[Path, ...] = (),
    force: bool = False,
    as_json: AsJson = False,
) -> None:
    """Let people judge two sets of films blindly, or count their votes.

    Makes one page of pairs: two films of the same sentence, sides shuffled, three questions (amount of motion, plausibility, fit
    to the sentence). The page needs no network; votes stay in the browser and are saved as a file.

    Examples:
        akd compare runs/default runs/paper --out judge.html
        akd compare --votes votes-*.json

    Args:
        sets: Two batches, or two folders of runs.
        out: The page to write.
        pairs: How many pairs at most, drawn at random.
        seed: Another seed, other pairs, order and sides.
        votes: Files of votes to count instead.
        force: Overwrite a page that exists.
    """
    if votes and not sets:
        _count(list(votes), as_json)
        return
    if len(sets) != 2 or votes:
        raise AkdError("Give two sets of runs, as in: akd compare runs/a runs/b; or --votes and files of votes.")
    if pairs < 1:
        raise AkdError(f"A page has at least one pair, not {pairs}: choose --pairs.")
    from akd.batch.compare import write_comparison

    check_output(out, force=force, endings=(".html",))
    count = write_comparison(*sets, out, most=pairs, seed=seed)
    console().print(f"Wrote {out}: {count} pairs. Judge them, save the votes, and count them with --votes.", **PLAIN)


def _count(files: list[Path], as_json: bool) -> None:
    from akd.batch.votes import win_rates

    rates = win_rates(files)
    if as_json:
        print_json([vars(rate) for rate in rates])
        return
    from rich.table import Table

    first, second = rates[0].names
    table = Table("question", f"{first} wins", "95 % interval", "pairs", "votes", "ties", title=f"{first} against {second}")
    for rate in rates:
        interval = f"{rate.low:.0%} – {rate.high:.0%}"
        table.add_row(rate.question, f"{rate.rate:.0%}", interval, str(rate.pairs), str(rate.votes), str(rate.ties))
    console().print(table)
