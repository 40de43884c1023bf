"""Files appear whole or not at all, and why not is one sentence."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from akd.errors import AkdError
from akd.files.writing import write_file, written_beside

SOURCE = Path(__file__).resolve().parents[1] / "src"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_content_arrives_under_the_final_name_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "clip.mp4"
    with written_beside(path) as part:
        assert part.suffix == ".mp4"
        assert part.parent == path.parent
        part.write_bytes(b"half")
        assert not path.exists()
        part.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"
    assert names(path.parent) == ["clip.mp4"]


def test_text_is_utf8_with_its_own_line_ends(tmp_path: Path) -> None:
    write_file(tmp_path / "a.txt", "größe\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\n".encode()


@pytest.mark.parametrize("error", [ValueError("no"), AkdError("no"), KeyboardInterrupt(), OSError(errno.ENOSPC, "full")])
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    wanted = AkdError if isinstance(error, OSError) else type(error)

    def write() -> None:
        with written_beside(path) as part:
            part.write_bytes(b"new")
            raise error

    with pytest.raises(wanted, match="the disk is full" if isinstance(error, OSError) else None):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "share of the disk"), (errno.EROFS, "read-only"),
     (errno.EACCES, "permission"), (errno.EIO, "Input/output error")],
)  # fmt: skip
@pytest.mark.parametrize("when", ["write", "fsync", "rename"])
def test_why_not_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str, when: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    owner, name = {"write": (Path, "write_bytes"), "fsync": (os, "fsync"), "rename": (Path, "replace")}[when]
    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(AkdError, match=rf"^[^\n]*a\.bin cannot be written: [^\n]*{words}[^\n]*\.$"):
        write_file(tmp_path / "a.bin", b"content")
    assert names(tmp_path) == []


def test_a_real_file_that_grows_too_large(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="this system limits no file sizes")
    code = (
        "import resource, sys\nfrom akd.errors import AkdError\nfrom akd.files.writing import write_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_file(sys.argv[1], bytes(5000))\nexcept AkdError as error: print(error)\n"
    )
    done = run_python(code, tmp_path / "big.bin")
    assert done.returncode == 0, done.stderr
    assert "larger than files may be" in done.stdout
    assert names(tmp_path) == []


def test_a_real_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be made here")
    try:
        write_file(disk / "small.bin", b"fits")
        with pytest.raises(AkdError, match="the disk is full"):
            write_file(disk / "small.bin", bytes(200_000))
        assert (disk / "small.bin").read_bytes() == b"fits"
        assert names(disk) == ["small.bin"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    os.mkfifo(tmp_path / "pipe")
    cases = {tmp_path: "folder", tmp_path / "file" / "below": "not a folder", tmp_path / ("n" * 300): "too long",
             tmp_path / "pipe": "pipe", tmp_path / "ring": "written", tmp_path / "a\0b": "null"}  # fmt: skip
    for path, words in cases.items():
        with pytest.raises(AkdError, match=rf"^[^\n]*cannot be written: [^\n]*{words if words != 'written' else ''}"):
            write_file(path, b"x")
    assert names(tmp_path) == ["file", "pipe", "ring"]


def test_a_link_stays_a_link_and_long_names_fit(tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    write_file(tmp_path / "link.txt", b"x")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_bytes() == b"x"
    write_file(tmp_path / ("ü" * 120 + ".txt"), b"x")
