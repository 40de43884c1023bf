"""What Ray costs: the same real jobs in a plain loop and on two workers of one core each: figures of docs/batch.md.

Two free cores are needed for the times by the clock; those of the processor hold on a busy machine, too.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from akd.batch.place import Place
from akd.batch.results import read_results


def measure(table: Path, out: Path, workers: int) -> tuple[float, list[dict]]:
    """Seconds by the clock, and the rows."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "akd", "batch", table, "--out", out, "--workers", str(workers)], check=True)
    return time.perf_counter() - begun, list(read_results(Place(str(out))))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=20)
    options.add_argument("--iterations", type=int, default=90)
    options.add_argument("--seconds", type=float, default=3.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = (f"a brown dog walking,{seed},{given.iterations},{given.seconds}" for seed in range(given.jobs))
        (folder / "jobs.csv").write_text("prompt,seed,iterations,seconds\n" + "\n".join(rows) + "\n")
        found = {workers: measure(folder / "jobs.csv", folder / f"out-{workers}", workers) for workers in (1, 2)}
    for workers, (clock, jobs) in found.items():
        at_work, used = sum(row["seconds"] for row in jobs), sum(row["processor_seconds"] for row in jobs)
        idle = 1 - at_work / (workers * clock)
        print(f"{workers} workers: {clock:.0f} s by the clock, {used:.1f} s of cores in jobs, {idle:.1%} of the time not in jobs")
    (one, jobs_one), (two, jobs_two) = found[1], found[2]
    used = [sum(row["processor_seconds"] for row in jobs) for jobs in (jobs_one, jobs_two)]
    print(f"work of the same jobs on Ray: {used[1] / used[0] - 1:+.1%}; by the clock two workers are {one / two:.2f} × one")


if __name__ == "__main__":
    main()
