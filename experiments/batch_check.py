"""Time and memory of checking a table of 100,000 jobs before the first one starts: figures of docs/batch.md."""

import resource
import sys
import tempfile
import time
from pathlib import Path

from akd.batch.plan import TableError, check_table

ROWS, CHARACTERS, PROMPTS, WRONG = 100_000, 300, 20, 50


def write_table(folder: Path, *, wrong: int = 0) -> Path:
    """So many rows over 300 characters and 20 sentences; every so many-th row has a wrong seed."""
    path = folder / f"jobs-{wrong}.csv"
    for number in range(CHARACTERS):
        (folder / f"rig-{number}.glb").write_bytes(b"%d" % number)
    step = ROWS // wrong if wrong else ROWS + 1
    with path.open("w") as file:
        file.write("character,prompt,seed,loop,iterations\n")
        for row in range(ROWS):
            seed = "seven" if row % step == step - 1 else row // (CHARACTERS * PROMPTS)
            file.write(f"rig-{row % CHARACTERS}.glb,a fox walking way {row // CHARACTERS % PROMPTS},{seed},yes,90\n")
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile() as file:
        table = write_table(Path(name))
        begun, used = time.perf_counter(), time.process_time()
        plan = check_table(table, file)
        spent = f"{time.process_time() - used:.1f} s of one core, {time.perf_counter() - begun:.1f} s by the clock"
        print(f"{len(plan):,} rows: {spent}")
        first = next(plan.works("shortest"))
        print(f"first of them: {first.name}")
        try:
            check_table(write_table(Path(name), wrong=WRONG), file)
        except TableError as error:
            print(f"{len(error.mistakes)} wrong rows named, such as: row {error.mistakes[0][0]}: {error.mistakes[0][1]}")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB at most", file=sys.stdout)


if __name__ == "__main__":
    main()
