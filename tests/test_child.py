"""Whatever happens to a reader in a process of its own, here it is arrays or one sentence."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files import child as child_module
from akd.files.child import arrays_of

HEAD = "import json, sys, os, signal, time\nimport numpy as np\nsource, target = sys.argv[1:]\n"
STORY = "np.frombuffer(json.dumps({'name': 'x'}).encode(), np.uint8)"


def child(folder: Path, code: str) -> tuple[Path, Path]:
    """A child's script, and a file for it to read."""
    (folder / "child.py").write_text(HEAD + code)
    (folder / "file.x").write_text("content")
    return folder / "child.py", folder / "file.x"


def test_arrays_and_story_arrive(tmp_path: Path) -> None:
    story, arrays = arrays_of(*child(tmp_path, f"np.savez(target, a=np.arange(3), story={STORY})"), "X")
    assert story == {"name": "x"}
    assert arrays["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed with SIGSEGV"),
        ("import ctypes; ctypes.string_at(0)", "crashed with SIGSEGV"),
        ("os.abort()", "crashed with SIGABRT"),
        ("time.sleep(60)", "not read within 2 seconds"),
        ("sys.exit('ValueError: it is odd')", r"\(ValueError: it is odd\)"),
        ("sys.exit(3)", "ended with code 3"),
        ("pass", "ended with code 0"),
        ("raise ValueError('a\\nb')", "cannot be read as X"),
        ("print('x' * 10**6); sys.exit(1)", "cannot be read as X"),
        (f"np.savez(target, a=np.array([np.nan]), story={STORY})", "not finite"),
    ],
)
def test_every_end_is_one_sentence(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(AkdError, match=words) as caught:
        arrays_of(*child(tmp_path, code), "X", patience=2.0 if "sleep" in code else 300.0)  # machines may be busy
    assert re.fullmatch(r"file\.x [^\n]{1,500}\.", str(caught.value))


def test_memory_is_limited(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system limits no memory")
    code = "try: bytearray(2**31)\nexcept MemoryError as error: sys.exit(f'MemoryError: {error}')\n"
    with pytest.raises(AkdError, match="more memory"):
        arrays_of(*child(tmp_path, code), "X", memory=2**30)


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is not limited there")
def test_processor_time_is_limited(tmp_path: Path) -> None:
    """A damaged .usdz can keep Pixar's library busy for ever; the limit does not depend on how busy the machine is."""
    with pytest.raises(AkdError, match="more than 2 seconds of processor time"):
        arrays_of(*child(tmp_path, "while True: pass"), "X", seconds=2.0)


def test_large_files_and_those_they_are_composed_of_may_take_longer(tmp_path: Path) -> None:
    (tmp_path / "a.usda").write_bytes(b"0")
    assert child_module._seconds_for(tmp_path / "a.usda", "USD") == pytest.approx(child_module.START_SECONDS, abs=0.01)
    (tmp_path / "b.usdc").write_bytes(bytes(2_000_000))
    (tmp_path / "c.png").write_bytes(bytes(2_000_000))
    more = child_module._seconds_for(tmp_path / "a.usda", "USD") - child_module.START_SECONDS
    assert more == pytest.approx(2 * child_module.SECONDS_PER_MEGABYTE, abs=0.01)


def test_modules_beside_the_script_do_not_stand_in_for_others(tmp_path: Path) -> None:
    (tmp_path / "bisect.py").write_text("raise SystemExit('shadowed')")
    _, arrays = arrays_of(*child(tmp_path, f"import bisect\nnp.savez(target, a=np.zeros(1), story={STORY})"), "X")
    assert np.array_equal(arrays["a"], [0])
