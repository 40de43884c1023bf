"""Videos: read at the size, rate and span that is asked for; written whole or not at all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from akd.errors import AkdError
from akd.files import video as module
from akd.files.video import read_video, write_picture, write_video

SOURCE = Path(__file__).resolve().parents[1] / "src"


def brightening(frames: int = 20, height: int = 32, width: int = 48) -> torch.Tensor:
    """Each frame is a little lighter than the one before, so that it tells its own number."""
    return torch.linspace(0.1, 0.9, frames)[:, None, None, None].expand(frames, height, width, 3)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", brightening(), 10.0)


def numbers(frames: torch.Tensor) -> np.ndarray:
    """Which frames of ``brightening`` these are."""
    return ((frames.mean((1, 2, 3)).numpy() - 0.1) / 0.8 * 19).round(1)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_everything_comes_as_it_is(clip: Path) -> None:
    frames, fps = read_video(clip)
    assert frames.shape == (20, 32, 48, 3)
    assert fps == 10.0
    assert np.abs(numbers(frames) - np.arange(20)).max() < 0.5


def test_size_rate_and_span(clip: Path) -> None:
    frames, fps = read_video(clip, size=(8, 20))
    assert frames.shape == (20, 8, 20, 3)
    frames, fps = read_video(clip, start=0.5, end=1.0)
    assert fps == 10.0
    assert np.abs(numbers(frames) - np.arange(5, 10)).max() < 0.5
    frames, fps = read_video(clip, fps=5.0)
    assert fps == 5.0
    assert len(frames) == 10
    assert np.abs(np.diff(numbers(frames)) - 2).max() < 1
    frames, _ = read_video(clip, size=(16, 16), fps=20.0, start=1.0, end=1.5)
    assert frames.shape == (10, 16, 16, 3)


def test_gif_is_read_like_others(tmp_path: Path) -> None:
    frames, fps = read_video(write_video(tmp_path / "clip.gif", brightening(), 10.0), size=(4, 4))
    assert frames.shape == (20, 4, 4, 3)
    assert fps == 10.0


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"size": (0, 5)}, "size"), ({"size": (5, 99999)}, "size"),
        ({"fps": 0.0}, "positive"), ({"fps": float("inf")}, "positive"),
        ({"start": -1.0}, "span"), ({"start": 1.0, "end": 1.0}, "span"), ({"start": float("nan")}, "span"),
        ({"start": 50.0, "end": 51.0}, "no frame between"),
    ],
)  # fmt: skip
def test_wishes_that_cannot_be(clip: Path, wish: dict, words: str) -> None:
    with pytest.raises(AkdError, match=rf"^[^\n]*{words}[^\n]*\.$"):
        read_video(clip, **wish)


def test_a_large_video_costs_what_is_asked_of_it(tmp_path: Path) -> None:
    """Ten seconds of 1080p are 7.5 GB of pixels; at 64 × 64 they are 15 MB."""
    pytest.importorskip("resource", reason="this system counts no memory")
    import imageio_ffmpeg

    make = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi", "-i", "testsrc=s=1920x1080:r=30:d=10"]
    subprocess.run([*make, "-c:v", "libx264", "-preset", "ultrafast", str(tmp_path / "large.mp4")], check=True)
    code = (
        "import resource, sys\nfrom akd.files.video import read_video\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "frames, fps = read_video(sys.argv[1], size=(64, 64))\n"
        "print(len(frames), fps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "large.mp4")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False)
    count, fps, kilobytes = map(float, done.stdout.split())
    assert (count, fps) == (300, 30)
    assert kilobytes < 100_000


def test_too_much_at_once_is_refused(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 100_000)
    with pytest.raises(AkdError, match="ask for a smaller size"):
        read_video(clip)
    assert len(read_video(clip, size=(4, 4))[0]) == 20


def test_a_video_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    content = write_video(tmp_path / "clip.gif", brightening(), 10.0).read_bytes()
    (tmp_path / "cut.gif").write_bytes(content[: len(content) * 2 // 3])
    assert 5 < len(read_video(tmp_path / "cut.gif")[0]) < 20


@pytest.mark.parametrize("text", ["ffconcat version 1.0\nfile 'clip.mp4'\n", "#EXTM3U\n#EXTINF:2,\nclip.mp4\n#EXT-X-ENDLIST\n"])
def test_lists_of_other_files_are_no_video(tmp_path: Path, clip: Path, text: str) -> None:
    (tmp_path / "clip.mp4").write_bytes(clip.read_bytes())
    (tmp_path / "list.mp4").write_text(text)
    with pytest.raises(AkdError, match=r"^'list\.mp4' is not a video[^\n]*\.$"):
        read_video(tmp_path / "list.mp4")


def test_odd_names_are_files(tmp_path: Path, clip: Path) -> None:
    for name in ("-y.mp4", "concat:a|b.mp4", "%03d.mp4"):
        (tmp_path / name).write_bytes(clip.read_bytes())
        assert len(read_video(tmp_path / name)[0]) == 20


# Writing


def test_failures_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("clip.mp4", "clip.gif"):
        with pytest.raises(AkdError, match="not finite"):
            write_video(tmp_path / name, torch.cat((brightening(), brightening() * torch.nan)), 10.0)
        with pytest.raises(AkdError, match="Frame 1 is 9 × 8"):
            write_video(tmp_path / name, iter((torch.zeros(8, 8, 3), torch.zeros(9, 8, 3))), 10.0)
    monkeypatch.setattr(module, "_ffmpeg", lambda: "false")
    with pytest.raises(AkdError, match=r"^[^\n]*clip\.mp4 cannot be written: [^\n]*\.$"):
        write_video(tmp_path / "clip.mp4", brightening(), 10.0)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["clip.mp4", "clip.gif", "one.png"])
def test_a_failure_keeps_the_old_file(tmp_path: Path, name: str) -> None:
    """A real limit on the size of files, in a process of its own; ffmpeg meets it in a third."""
    pytest.importorskip("resource", reason="this system limits no file sizes")
    (tmp_path / name).write_bytes(b"old")
    code = (
        "import resource, sys, torch\nfrom akd.errors import AkdError\nfrom akd.files.video import write_picture, write_video\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "frames = torch.rand(40, 64, 64, 3)\n"
        "try:\n    write_video(sys.argv[1], frames, 10.0) if 'clip' in sys.argv[1] else write_picture(sys.argv[1], frames[0])\n"
        "except AkdError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False)
    assert re.fullmatch(rf"[^\n]*{name} cannot be written: [^\n]*\.\n", done.stdout), done.stdout + done.stderr
    assert (tmp_path / name).read_bytes() == b"old"
    assert names(tmp_path) == [name]


def test_a_real_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be made here")
    try:
        noise = torch.rand(40, 64, 64, 3, generator=torch.Generator().manual_seed(0))
        for name in ("clip.mp4", "clip.gif"):
            with pytest.raises(AkdError, match=rf"{name} cannot be written: the disk is full"):
                write_video(disk / name, noise, 10.0)
        with pytest.raises(AkdError, match="the disk is full"):
            write_picture(disk / "one.png", torch.rand(400, 400, 3))
        assert names(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_pictures_by_their_ending(tmp_path: Path) -> None:
    with Image.open(write_picture(tmp_path / "a" / "one.PNG", torch.ones(3, 5, 3))) as picture:
        assert picture.format == "PNG"
        assert picture.size == (5, 3)
    with pytest.raises(AkdError, match="rename"):
        write_picture(tmp_path / "one.txt", torch.ones(3, 5, 3))
