"""On a full disk every command ends in one sentence, the good old files stay, and a run goes on when there is space again."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trimesh

from akd.cli import main
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from quick_runs import at_call, begin, content, leftovers, quickly, resume
from stick_rigs import person
from test_kills import check_whole, person_motion

ROOT = Path(__file__).resolve().parents[1]
WRITES = 13
"""Files that a run hands to the disk at once: settings, log, three checkpoints, and the results but for the film."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch)
        counted = at_call(patch, Path, "write_bytes", 0, print)
        folder = begin(tmp_path_factory.mktemp("runs") / "unbroken")[0].path
        assert counted() == WRITES
        return content(folder)


def full(path: Path, data: bytes = b"", *_: Any) -> None:
    """Half of it fits."""
    with path.open("wb") as file:
        file.write(data[: len(data) // 2])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def check_goes_on(folder: Path, unbroken: dict[str, bytes]) -> None:
    check_whole(folder)
    assert not leftovers(folder)
    resume(folder) if (folder / "config.json").is_file() else begin(folder)
    assert content(folder) == unbroken


@pytest.mark.parametrize("when", range(1, WRITES + 1))
def test_full_at_any_file(when: int, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, Path, "write_bytes", when, full)
        with pytest.raises(AkdError, match=r"^[^\n]*cannot be written: the disk is full[^\n]*\.$"):
            begin(tmp_path / "run")
    check_goes_on(tmp_path / "run", unbroken)


def test_full_while_a_line_is_logged(unbroken: dict[str, bytes], tmp_path: Path) -> None:
    opened = Path.open

    def limited(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        file = opened(path, mode, *args, **options)
        if path.name == "log.jsonl" and mode == "a":
            file.write('{"iter')
            file.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", limited)
        with pytest.raises(AkdError, match=r"log\.jsonl cannot be written: the disk is full"):
            begin(tmp_path / "run")
    check_goes_on(tmp_path / "run", unbroken)


def test_an_older_run_stays_where_no_new_one_can_begin(unbroken: dict[str, bytes], tmp_path: Path) -> None:
    for name, data in unbroken.items():
        (tmp_path / name).write_bytes(data)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(AkdError, match="the disk is full"):
            begin(tmp_path, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


COMMANDS = {
    "rig": ("in.obj", "--out", "out.glb"), "convert": ("in.glb", "--out", "out.glb"), "splat": ("in.obj", "--out", "out.ply"),
    "creature": ("a dog", "--cycles", "1", "--out", "out.glb"),
}  # fmt: skip


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_keep_the_old_file(
    command: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trimesh.creation.box().export("in.obj")
    write_rig(person(), {"walk": person_motion()}, "in.glb")
    out = Path(COMMANDS[command][-1])
    out.write_bytes(b"old")
    monkeypatch.setattr(sys, "argv", ["akd", command, *COMMANDS[command], "--force"])
    monkeypatch.setattr("akd.rigging.rig_file.rig_file", lambda *_, **__: person())

    def refused(path: Path, data: bytes) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refused)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert "Wrote" not in said.out
    assert said.err.startswith(f"akd: {out} cannot be written: the disk is")
    assert said.err.count("\n") == 1
    assert out.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.obj", "in.glb", out.name])


def test_a_film_that_does_not_fit_is_not_announced(tmp_path: Path) -> None:
    """A real limit: the encoder is another process, and no file may be larger than 2 kB."""
    pytest.importorskip("resource", reason="this system limits no file sizes")
    script = (
        "import resource, sys, torch\nfrom akd.cli import main\nfrom akd.pipeline import creature\n"
        "creature.save_animation = lambda *_, **__: None\n"
        "creature.preview_frames = lambda rig, motion: torch.rand(9, 48, 64, 3)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "sys.argv[1:] = ['creature', 'a dog', '--cycles', '1', '--out', 'dog.glb', '--preview', 'dog.mp4']\nmain()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stderr[-2000:]
    assert "dog.mp4 cannot be written" in done.stderr
    assert "Wrote" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_real_small_disk(unbroken: dict[str, bytes], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be made here")
    try:
        with pytest.raises(AkdError, match="the disk is full"):
            begin(disk / "run")
        assert not leftovers(disk)
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        check_goes_on(disk / "run", unbroken)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
