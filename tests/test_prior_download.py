"""Downloads say their size and licence first; what cannot be had is said in one sentence with its cure, before any long work."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from akd.errors import AkdError
from akd.prior import download as downloads
from akd.prior import folder as hub
from akd.prior import load
from akd.prior.download import HubFile, check_room, download, folder_licence, licence_of, needed_files
from akd.prior.families import FAMILIES
from akd.prior.family import FilmGrid
from akd.prior.hardware import Hardware
from akd.prior.info import known_model, prior_info
from akd.prior.known_models import KNOWN_MODELS, recognised
from akd.prior.load import clamped_film
from akd.prior.plan import plan_prior
from akd.render.film import FilmSettings
from in_process import command_line
from test_prior_hardware import NEEDS
from tiny_priors import tiny

INDEX = {
    "_class_name": "LTX2Pipeline", "transformer": ["diffusers", "T"], "vae": ["diffusers", "V"],
    "tokenizer": ["transformers", "K"], "vocoder": ["diffusers", "W"], "transformer_2": [None, None],
}  # fmt: skip
FILES = [
    HubFile("model_index.json", 500), HubFile("README.md", 9000), HubFile("clip.mp4", 10**9),
    HubFile("transformer/config.json", 300), HubFile("transformer/model-00001-of-00002.safetensors", 4 * 10**9),
    HubFile("transformer/model.fp16.safetensors", 2 * 10**9), HubFile("transformer/model.bin", 4 * 10**9),
    HubFile("vae/diffusion_pytorch_model.safetensors", 10**9),
    HubFile("tokenizer/spiece.model", 800), HubFile("vocoder/model.safetensors", 10**8), HubFile("single.safetensors", 10**10),
]  # fmt: skip


def test_only_what_is_needed_is_downloaded() -> None:
    names = [file.name for file in needed_files(FILES, INDEX, ("vocoder",))]
    assert names == [
        "model_index.json", "transformer/config.json", "transformer/model-00001-of-00002.safetensors",
        "vae/diffusion_pytorch_model.safetensors", "tokenizer/spiece.model",
    ]  # fmt: skip


def test_pickled_weights_are_not_downloaded() -> None:
    pickled = [file for file in FILES if not file.name.startswith("vae")] + [HubFile("vae/model.bin", 5)]
    with pytest.raises(AkdError, match="vae only as pickled files"):
        needed_files(pickled, INDEX)


def test_licences_are_those_of_the_longest_name() -> None:
    assert licence_of("THUDM/CogVideoX-2b") == licence_of("zai-org/CogVideoX-2b") == "Apache-2.0"
    assert "CogVideoX licence" in str(licence_of("THUDM/CogVideoX1.5-5B"))
    assert licence_of("Wan-AI/Wan2.2-TI2V-5B-Diffusers") == "Apache-2.0"
    assert licence_of("some/model", "mit") == "mit"
    assert licence_of("some/model") is None


def test_folders_of_known_models_say_their_licence(tmp_path: Path) -> None:
    index = {"_class_name": "CogVideoXPipeline"}
    assert folder_licence(tmp_path, index) is None
    (tmp_path / "transformer").mkdir()
    for layers, heads, name in ((30, 30, "THUDM/CogVideoX-2b"), (42, 48, "THUDM/CogVideoX-5b")):
        config = {"num_layers": layers, "num_attention_heads": heads, "in_channels": 16, "patch_size_t": None}
        (tmp_path / "transformer/config.json").write_text(json.dumps(config))
        assert folder_licence(tmp_path, index) == f"{tmp_path} is built like {name}, whose licence is {licence_of(name)}."
    (tmp_path / "transformer/config.json").write_text(json.dumps({"num_layers": 1, "num_attention_heads": 2}))
    assert folder_licence(tmp_path, index) is None
    (tmp_path / "README.md").write_text("---\nlicense: other\nlicense_name: ours\n---\n\nlicense: of something else\n")
    assert folder_licence(tmp_path, index) == f"The licence of {tmp_path}, as its README.md says: ours."


@pytest.mark.parametrize("name", [name for name in KNOWN_MODELS if not name.startswith("ali-vilab")])
def test_known_models_are_recognised_by_their_networks(name: str) -> None:
    known = KNOWN_MODELS[name]
    found = recognised(known.pipeline, known.network[1], two_networks=known.two_networks)
    assert found is not None
    assert (licence_of(found), KNOWN_MODELS[found].network) == (licence_of(name), known.network)


def test_a_folder_is_planned_with_the_sentences_of_its_family(tmp_path: Path) -> None:
    known = KNOWN_MODELS["Wan-AI/Wan2.2-TI2V-5B-Diffusers"]
    parts = {"transformer": known.network, "vae": known.vae, "text_encoder": known.text_encoders[0]}
    index = {"_class_name": known.pipeline, "expand_timesteps": True, "boundary_ratio": None, "transformer_2": [None, None]}
    for part, (kind, config) in parts.items():
        index[part] = ["library", kind]
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_text(json.dumps(config))
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    found = known_model(str(tmp_path))
    assert (found.text, dict(found.options), found.network[0]) == (known.text, dict(known.options), known.network[0])


FOLDERS = ("wan-2.2", "ltx", "ltx-2", "hunyuan", "hunyuan-i2v", "hunyuan-1.5", "cogvideox-5b", "modelscope")


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_all_families_are_planned(name: str, tmp_path: Path) -> None:
    pipe = tiny(name)
    pipe.save_pretrained(tmp_path)
    frames, height, width = FAMILIES[type(pipe).__name__](pipe).grid.nearest(5, 64, 64)
    plan = plan_prior(str(tmp_path), Hardware(device="cpu", film=f"{frames}x{height}x{width}"))
    assert plan.known
    assert prior_info(str(tmp_path), frames=frames, size=(width, height)).predict_teraflop > 0


def test_a_model_that_is_not_known_is_planned_when_its_configuration_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("akd.prior.plan.free_gigabytes", lambda device: 24.0)
    before = plan_prior("some/model", Hardware(device="cpu"), way_back=False)
    assert not before.known
    assert (before.hardware.offload, before.way_back) == ("auto", False)  # not yet chosen
    assert before.sentence.endswith("what memory it needs is not known.")


def _hub(monkeypatch: pytest.MonkeyPatch, folder: Path, cached: bool) -> None:
    info = SimpleNamespace(
        siblings=[SimpleNamespace(rfilename=file.name, size=file.size) for file in FILES], card_data={"license": "apache-2.0"}
    )
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda self, name, **options: info)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **options: str(folder))
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: "there" if cached else None)


def test_size_and_licence_are_said_before_a_download_and_only_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars

    said: list[str] = []
    disable_progress_bars()
    _hub(monkeypatch, tmp_path, cached=False)
    monkeypatch.setattr(downloads, "check_room", lambda *args: None)
    assert download("Wan-AI/some", INDEX, ("vocoder",), said.append) == tmp_path
    assert len(said) == 1
    assert said[0].startswith("Wan-AI/some: 5.0 GB will be downloaded to ")
    assert said[0].endswith("Its licence: Apache-2.0.")
    assert not are_progress_bars_disabled()
    _hub(monkeypatch, tmp_path, cached=True)
    download("Wan-AI/some", INDEX, ("vocoder",), said.append)
    assert len(said) == 1


def test_a_disk_without_room_is_said(tmp_path: Path) -> None:
    check_room("some/model", 0.0, tmp_path / "cache")
    with pytest.raises(AkdError, match=r"needs 1000000\.0 GB on the disk.*HF_HOME"):
        check_room("some/model", 1e6, tmp_path / "cache")


def test_renamed_owners_share_their_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cached(name: str, file: str) -> str | None:
        return str(tmp_path / file) if name == "THUDM/CogVideoX-5b" else None

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", cached)
    monkeypatch.setattr(hub, "can_connect", lambda address: False)
    assert hub.locate("zai-org/CogVideoX-5b") == (tmp_path, False)
    assert hub.locate("THUDM/CogVideoX-5b") == (tmp_path, False)


def test_absurd_films_are_clamped_and_said() -> None:
    said: list[str] = []
    grid = FilmGrid(16, 5, 8)
    absurd = FilmSettings(width=2400, height=2400, frames=85, fps=16.0)
    film = clamped_film(absurd, grid, said.append)
    assert (film.frames, film.height, film.width) == (85, 768, 1360)
    assert said == [
        "Its configuration says films of 85 frames of 2400 × 2400; 85 frames of 1360 × 768 are used, --film says others."
    ]
    usual = FilmSettings(width=1360, height=768, frames=85, fps=16.0)
    assert clamped_film(usual, grid, said.append) is usual
    assert len(said) == 1


def _refused(error: type[Exception]) -> Callable[..., Any]:
    def fail(*args: object, **options: object) -> None:
        raise error.__new__(error, "no")  # without the answer of a server, which its constructor wants

    return fail


def _index_file(folder: Path) -> Callable[..., str]:
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "CogVideoXPipeline"}))
    return lambda *args, **options: str(folder / "model_index.json")


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("missing", "no model 'some/model' on the hub: check the name"),
        ("gated", "is gated: accept its terms on its page, then run `hf auth login`"),
        ("offline", "cannot be reached: go online, or give a folder"),
        ("no accelerate", "run `pip install accelerate`"),
        ("little memory", "where 4.0 GB are free: give a smaller --film"),
        ("no cuda", "was built without CUDA; install one with it"),
    ],
)
def test_what_cannot_be_had_is_one_sentence_before_any_work(
    case: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr(hub, "can_connect", lambda address: case != "offline")
    downloaded = {"missing": _refused(RepositoryNotFoundError), "gated": _refused(GatedRepoError)}
    monkeypatch.setattr("huggingface_hub.hf_hub_download", downloaded.get(case) or _index_file(tmp_path))
    monkeypatch.setattr(load, "_installed", lambda module: case != "no accelerate" or module != "accelerate")
    monkeypatch.setattr("akd.prior.plan.memory_needs", lambda *args, **options: NEEDS)
    monkeypatch.setattr("akd.prior.plan.free_gigabytes", lambda device: 4.0)
    monkeypatch.setattr("torch.version.cuda", None)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("akd.pipeline.runs.read_character", lambda job: pytest.fail("work was begun"))
    device = ("--device", "cuda") if case == "no cuda" else ("--film", "49x480x720")
    command = command_line(monkeypatch, capsys)
    code, _, said = command("animate", "a dog walking", "--prior", "some/model", *device, "--out", tmp_path / "run")
    assert code != 0
    assert expected in " ".join(said.split())
    assert "Traceback" not in said
    assert said.strip().count("\n") == 0
