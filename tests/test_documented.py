"""Every command of README and tutorial works as it is written; see documented.py."""

import re
from pathlib import Path

import pytest

import akd
import documented


@pytest.mark.slow
@pytest.mark.parametrize("page", documented.PAGES)
def test_every_command_of_a_page_works(assets: Path, page: str) -> None:
    assert documented.run_pages((page,)) == []


def test_commands_are_found_and_those_left_out_are_shown_somewhere() -> None:
    found = {page: [command.text for command in documented.commands(page)] for page in documented.PAGES}
    assert 'akd animate fox.glb "a fox walking" --loop' in found["README.md"]
    assert "akd inspect fox.glb" in found["docs/tutorial.md"]
    assert sum(command.python for command in documented.commands("README.md")) == 1
    assert documented.unknown_entries() == []
    assert all(len(reason) > 5 for reason in documented.NOT_RUN.values())
    assert not [text for text in documented.NOT_RUN if text.startswith("akd ")]  # our own commands all run


@pytest.mark.parametrize("page", documented.PAGES)
def test_files_in_commands_are_known(page: str) -> None:
    """A page may speak only of files that are provided, or that its commands make."""
    made = {"clip.mp4", "jobs.toml", "fox.akd.json"}
    for command in documented.commands(page):
        written = set(re.findall(r"--(?:out|sheet) (\S+)", command.text))
        named = set(re.findall(r"[\w.-]+\.(?:glb|obj|bvh|mp4|toml|fbx|usdz)\b", command.text)) if not command.python else set()
        assert named - written <= set(documented.FILES) | made, command.text


def test_a_command_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("```\nakd inspect nowhere.glb  # a comment\n```\n", encoding="utf-8")
    monkeypatch.setattr(documented, "ROOT", tmp_path)
    monkeypatch.setattr(documented, "PAGES", ("page.md",))
    monkeypatch.setattr(documented, "NOT_RUN", {"akd old": "gone"})
    monkeypatch.setattr(documented, "FILES", {})
    wrong = documented.run_pages(("page.md",))
    assert wrong[0] == "NOT_RUN: no page shows 'akd old'"
    assert wrong[1].startswith("page.md:2: akd inspect nowhere.glb: CODE ")


def test_the_version_is_the_same_everywhere() -> None:
    version = akd.__version__
    assert re.search(rf"^version: {re.escape(version)}$", (documented.ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    headings = re.findall(r"^## (\S+)", (documented.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == version or headings[:2] == ["Unreleased", version]


@pytest.mark.parametrize("room", ["prior", "posespace", "measure"])
def test_shipped_weights_have_a_card(room: str) -> None:
    card = (documented.ROOT / "src/akd" / room / "weights" / "README.md").read_text(encoding="utf-8")
    for part in ("**Data.**", "**Training.**", "**Measured", "Licence: Apache-2.0"):
        assert part in card
    assert ("CMU" not in card and "mocap" not in card) or "NSF EIA-0196217" in card
    assert f"src/akd/{room}/weights/README.md" in (documented.ROOT / "docs/models.md").read_text(encoding="utf-8")
