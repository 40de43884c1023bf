"""A few hundred damaged files of every format; ``python tests/fuzzing.py --cases 30000`` runs many."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from akd.assets import READERS
from fuzzing import FUZZED

CASES = 1400
TESTS = Path(__file__).resolve().parent


def test_every_reader_of_the_program_is_fuzzed() -> None:
    """A new format needs whole files to damage: an entry in ``fuzzing.FUZZED``."""
    fuzzed = {READERS[reader.suffix] for reader in FUZZED.values() if reader.suffix in READERS}
    assert fuzzed == set(READERS.values())


@pytest.mark.long
def test_every_damaged_file_is_a_value_or_one_sentence() -> None:
    fuzz(CASES, seed=0, seconds=900)


@pytest.mark.slow
def test_thirty_thousand_damaged_files() -> None:
    fuzz(30_000, seed=1, seconds=7200)


def fuzz(cases: int, *, seed: int, seconds: float) -> None:
    """Every outcome is a value or one sentence, and enough damage is fine enough to leave a value."""
    if not hasattr(os, "fork"):
        pytest.skip("workers are forked, and this system cannot")
    command = [sys.executable, str(TESTS / "fuzzing.py"), "--cases", str(cases), "--seed", str(seed)]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert len(counts) >= 10
    assert sum(sum(ends.values()) for ends in counts.values()) >= cases
    values = sum(ends.get("value", 0) for ends in counts.values())
    assert values > cases / 20, "the damage is so coarse that only the first check is ever tried"
