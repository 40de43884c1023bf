"""Names are printed as text: what looks like markup is not, and nothing in a name steers the terminal."""

import sys
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from akd.cli import main
from akd.cli.console import console, print_error, printable, watched
from akd.files.gltf.write_rig import write_rig
from sample_rigs import box_rig, stride

HOSTILE = "a[/b]\x1b[31m[bold]:smile:\r\x07\x9b\u202e"
SHOWN = "a[/b]\\x1b[31m[bold]:smile:\\r\\x07\\x9b\\u202e"


def test_characters_that_steer_are_escaped_and_others_stay() -> None:
    assert printable(HOSTILE) == SHOWN
    assert printable("ℓ · 30 °\tné\n") == "ℓ · 30 °\tné\n"
    assert printable("\udc80") == "\\udc80"
    assert printable(printable(HOSTILE)) == SHOWN


def test_sentences_tables_and_styled_texts_show_names_as_they_are(capsys) -> None:
    table = Table("name", HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE, "1")
    screen = console()
    screen.file, screen.width = StringIO(), 200
    screen.print(HOSTILE, table, Text.assemble(("joint\x1b[2J", "red")), sep="\n")
    text = screen.file.getvalue()
    assert text.count(SHOWN) == 4
    assert "joint\\x1b[2J" in text
    assert "\x1b" not in text


def test_errors_and_progress_bars_take_any_name(capsys) -> None:
    print_error(HOSTILE)
    assert capsys.readouterr().err == f"akd: {SHOWN}\n"
    assert list(watched([1, 2], 2, HOSTILE)) == [1, 2]
    assert "\x1b[31m" not in capsys.readouterr().out


@pytest.fixture
def hostile_file(tmp_path: Path) -> Path:
    rig = box_rig(1)
    names = tuple(f"{name}[/b]\x1b]0;joint\x07" for name in rig.skeleton.names)
    rig = replace(rig, skeleton=replace(rig.skeleton, names=names))
    path = tmp_path / "[red]file[bold]\x1b[5m.glb"
    motion = stride(rig, (0.0, 0.5), duty=0.6)
    write_rig(rig, {"walk[/b]\x1b[31m": motion, "again [link=x]\x1b[0m": motion}, path)
    return path


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("inspect", ()), ("evaluate", ()), ("evaluate", ("#walk[/b]\x1b[31m",)), ("evaluate", ("#no[/b]such\x1b[1m",)),
        ("convert", ("#walk[/b]\x1b[31m", "--out", "OUT.bvh", "--name", "new[red]\x1b[1m")), ("inspect", ("-missing[b]\x1b[2J",)),
        ("track", ()),
    ],
)  # fmt: skip
def test_commands_print_names_of_files_clips_and_joints_as_text(
    command: str, options: tuple[str, ...], hostile_file: Path, monkeypatch, capsys
) -> None:
    clip, *others = options or ("",)
    chosen = [str(hostile_file.with_name("out[red]\x1b[3m.bvh")) if option == "OUT.bvh" else option for option in others]
    monkeypatch.setattr(sys, "argv", ["akd", command, f"{hostile_file}{clip}", *chosen])
    monkeypatch.setenv("COLUMNS", "300")
    with suppress(SystemExit):  # clips that do not exist, and files
        main()
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert "\\x1b" in text
    assert "\x1b" not in text
    assert "\x07" not in text
