"""The gallery and the blind comparison, clicked through in a real browser; win rates; films for VideoPhy."""

import csv
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import akd
from akd.batch.compare import film_pairs, seal, write_comparison
from akd.batch.engine import Failed, Needs
from akd.batch.films import export_videophy, films_in
from akd.batch.gallery import write_gallery
from akd.batch.place import Place
from akd.batch.results import Results, measure_names, result_row
from akd.batch.run import ABOUT
from akd.batch.votes import wilson, win_rates
from akd.batch.work import Work
from akd.files.video import write_video

SENTENCES = [f"a fox walking way {number}" for number in range(10)]


def runs(folder: Path, shade: float) -> Path:
    """Ten finished runs with small films of one shade of grey."""
    for seed, sentence in enumerate(SENTENCES):
        run = folder / f"run-{seed}"
        run.mkdir(parents=True)
        (run / "config.json").write_text(json.dumps({"job": {"prompt": sentence, "seed": 0}}))
        (run / "result.json").write_text("{}")
        write_video(run / "preview.mp4", (torch.full((48, 64, 3), shade) for _ in range(6)), 12.0)
    return folder


def batch(folder: Path) -> Place:
    """A batch of twelve rows: as asked but for one that slides, one that failed and one that is not as asked; amounts of motion
    fall with the row."""
    place = Place(str(folder))
    place.write(ABOUT, json.dumps({"jobs": 13, "table": "jobs.csv", "akd": akd.__version__}).encode())
    results = Results(place)
    for row in range(1, 13):
        values = {"prompt": f'a <b>"fox"</b> {row}', "seed": row}
        work = Work(f"{row:016x}", row, "animate", f"run-{row}", values, [], Needs("embedded"))
        measured: dict[str, Any] = dict.fromkeys(measure_names(), 0.5) | {"motion_amount": 1 / row, "verdict": "good"}
        if row == 3:
            measured |= {"verdict": "sliding", "motion_amount": None}
        spent = {"seconds": 1.0, "processor_seconds": 1.0, "node": "a", "process": 1, "versions": {}}
        judged = {"verdict": "not_as_asked" if row == 7 else "as_asked", "looks_like": {"action": "walk", "probability": 0.9}}
        answer: Any = {"result": {"sentence": "Good.", "measured": measured, **judged}, **spent}
        results.add(result_row(work, Failed("It broke.") if row == 5 else answer))
        (folder / "runs" / f"run-{row}").mkdir(parents=True)
        (folder / "runs" / f"run-{row}" / "report.html").write_text(f"<title>report {row}</title>")
        Image.new("RGB", (160, 20), (20 * row, 0, 0)).save(folder / "runs" / f"run-{row}" / "strip.png")
    results.write()
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver")
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        pytest.skip("Chromium is not here")
    options = selenium.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    downloads = tmp_path_factory.mktemp("downloads")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(shutil.which("chromedriver")))
    driver.downloads = downloads
    yield driver
    driver.quit()


@pytest.mark.slow
def test_ten_pairs_are_judged_in_a_browser(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert write_comparison(str(runs(tmp_path / "dark", 0.1)), str(runs(tmp_path / "bright", 0.9)), page, most=10, seed=1) == 10
    assert str(tmp_path / "dark") not in page.read_text()  # blind
    browser.get(page.as_uri())
    brightness = """
        const film = document.getElementById(arguments[0]), canvas = document.createElement('canvas');
        canvas.width = canvas.height = 4;
        canvas.getContext('2d').drawImage(film, 0, 0, 4, 4);
        return film.readyState < 2 ? -1 : canvas.getContext('2d').getImageData(1, 1, 1, 1).data[0];"""
    for pair in range(10):
        assert f"pair {pair + 1} of 10, {pair} answered" in browser.find_element("id", "position").text
        until = time.monotonic() + 20
        while min(shades := [browser.execute_script(brightness, side) for side in ("left", "right")]) < 0:
            assert time.monotonic() < until, "the films do not play"
            time.sleep(0.05)
        bright, dark = ("left", "right") if shades[0] > shades[1] else ("right", "left")
        for question, answer in (("motion", bright), ("plausible", dark if pair == 0 else bright), ("text", "same")):
            browser.find_element("css selector", f"[data-question={question}][data-answer={answer}]").click()
        if pair == 4:
            browser.refresh()  # the votes stay in the browser
            assert "5 answered" in browser.find_element("id", "position").text
            for _ in range(4):
                browser.find_element("id", "next").click()
        if pair < 9:
            browser.find_element("id", "next").click()
    assert not browser.find_element("id", "next").is_enabled()
    browser.save_screenshot(str(tmp_path / "compare.png"))
    browser.find_element("id", "judge").send_keys("Ada L")
    browser.find_element("id", "save").click()
    until = time.monotonic() + 20
    while not (saved := list(browser.downloads.glob("votes-*-Ada-L.json"))):
        assert time.monotonic() < until, "nothing was saved"
        time.sleep(0.1)
    motion, plausible, text = win_rates(saved)
    assert motion.names == (str(tmp_path / "dark"), str(tmp_path / "bright"))
    assert (motion.rate, motion.pairs, motion.votes) == (0.0, 10, 10)
    assert (plausible.rate, text.rate, text.ties) == (0.1, 0.5, 10)


@pytest.mark.slow
def test_the_gallery_sorts_filters_and_leads_to_reports(browser: Any, tmp_path: Path) -> None:
    write_gallery(batch(tmp_path))
    browser.get((tmp_path / "index.html").as_uri())

    def titles() -> list[str]:
        return [title.text for title in browser.find_elements("css selector", ".card h2")]

    assert titles() == [f'a <b>"fox"</b> {row}' for row in range(1, 13)]
    browser.find_element("css selector", "#measure option[value=motion_amount]").click()
    assert [int(title.split()[-1]) for title in titles()] == [12, 11, 10, 9, 8, 7, 6, 4, 2, 1, 3, 5]
    browser.find_element("id", "direction").click()
    assert [int(title.split()[-1]) for title in titles()] == [1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 3, 5]
    browser.find_element("css selector", "[data-verdict=failed]").click()
    assert titles() == ['a <b>"fox"</b> 5']
    assert "It broke." in browser.find_element("id", "cards").text
    browser.find_element("css selector", "[data-verdict='not as asked']").click()
    assert titles() == ['a <b>"fox"</b> 7']
    browser.find_element("css selector", "[data-verdict=all]").click()
    browser.find_element("id", "search").send_keys("fox\"</b> 12")
    assert len(titles()) == 1
    loaded = "return [...document.querySelectorAll('.card img')].every((picture) => picture.complete && picture.naturalWidth > 0)"
    until = time.monotonic() + 10
    while not browser.execute_script(loaded):
        assert time.monotonic() < until, "strips do not load"
        time.sleep(0.05)
    browser.find_element("css selector", "a.card").click()
    assert browser.title == "report 12"


def ballot(path: Path, votes: dict[str, dict[str, str]], swapped: list[bool], judge: str = "") -> Path:
    sealed = seal({"names": ["A", "B"], "swapped": swapped, "pairs": [f"pair {n}" for n in range(len(swapped))]})
    path.write_text(json.dumps({"page": "x", "judge": judge, "sealed": sealed, "votes": votes}))
    return path


def test_win_rates_open_the_seal_and_count_pairs(tmp_path: Path) -> None:
    one = ballot(tmp_path / "1.json", {"0": {"motion": "left"}, "1": {"motion": "left"}}, [False, True], "one")
    two = ballot(tmp_path / "2.json", {"0": {"motion": "left"}, "1": {"motion": "same"}}, [False, True], "two")
    motion, plausible, _ = win_rates([one, two])
    assert motion.rate == pytest.approx((1.0 + 0.25) / 2)  # pair 0 went to A twice, pair 1 to B once, with one tie
    assert (motion.pairs, motion.votes, motion.ties) == (2, 4, 1)
    assert (plausible.pairs, plausible.low, plausible.high) == (0, 0.0, 1.0)
    (tmp_path / "3.json").write_text('{"page": "x"}')
    with pytest.raises(akd.AkdError, match="no file of votes"):
        win_rates([tmp_path / "3.json"])


def test_wilson_intervals_are_those_of_the_books() -> None:
    assert wilson(0.8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_pairs_share_the_sentence_and_each_film_is_used_once(tmp_path: Path) -> None:
    first, second = films_in(str(runs(tmp_path / "a", 0.1))), films_in(str(runs(tmp_path / "b", 0.9)))
    pairs = film_pairs(first[:7], second[3:])
    assert [one.prompt for one, _ in pairs] == [other.prompt for _, other in pairs] == SENTENCES[3:7]
    with pytest.raises(akd.AkdError, match="No sentence"):
        film_pairs(first[:2], second[3:])
    (tmp_path / "empty").mkdir()
    with pytest.raises(akd.AkdError, match="no films"):
        films_in(str(tmp_path / "empty"))


def test_videophy_takes_a_table_of_films_and_sentences(tmp_path: Path) -> None:
    assert export_videophy(str(runs(tmp_path / "a", 0.5)), tmp_path / "out") == 10
    with (tmp_path / "out" / "videophy.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [row["caption"] for row in rows] == SENTENCES
    assert all(Path(row["videopath"]).read_bytes()[4:8] == b"ftyp" for row in rows)
