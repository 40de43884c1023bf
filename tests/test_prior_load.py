"""Priors that cannot be loaded are refused quickly, in one sentence that gives the real reason."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from akd.errors import AkdError
from akd.prior import folder as hub
from akd.prior import load
from akd.prior.folder import EMBEDDED_FOLDER, check_weights, read_index
from akd.prior.load import load_prior
from tiny_priors import tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the embedded prior."""
    return shutil.copytree(EMBEDDED_FOLDER, tmp_path / "prior")


def refusal(name: str) -> str:
    with pytest.raises(AkdError) as caught:
        load_prior(name)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ("\udcff", "is not JSON"),
        ("[]", "holds a list"),
        ("3", "holds a int"),
        ("{}", "names no pipeline"),
        ('{"_class_name": 7}', "_class_name is 7"),
        ('{"_class_name": "CogVideoXPipeline", "vae": "no"}', "'no' for vae"),
        ('{"_class_name": "CogVideoXPipeline", "transformer": ["diffusers"]}', "for transformer"),
        ('{"_class_name": "CogVideoXPipeline", "scheduler": [1, 2]}', "for scheduler"),
    ],
)
def test_a_broken_index_is_named(folder: Path, content: str, reason: str) -> None:
    (folder / "model_index.json").write_bytes(content.encode(errors="surrogateescape"))
    sentence = refusal(str(folder))
    assert "model_index.json" in sentence
    assert reason in sentence


def _remove(file: Path) -> None:
    file.unlink()


def _pickle(file: Path) -> None:
    file.rename(file.with_suffix(".bin"))


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _cut_header(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:50])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _garble(file: Path) -> None:
    file.write_bytes((20).to_bytes(8, "little") + b"x" * 100)


@pytest.mark.parametrize("part", ["transformer", "vae", "text_encoder"])
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_remove, "has no weights"), (_pickle, "are pickled"), (_truncate, "bytes instead of"), (_cut_header, "are cut off"),
        (_empty, "are cut off"), (_garble, "header is broken"),
    ],
)  # fmt: skip
def test_missing_pickled_and_cut_weights_are_named(folder: Path, part: str, damage: Callable[[Path], None], reason: str) -> None:
    (weights,) = (folder / part).glob("*.safetensors")
    damage(weights)
    sentence = refusal(str(folder))
    assert part in sentence
    assert reason in sentence


@pytest.mark.parametrize("content", ["nothing", "[1, 2]", None])
def test_a_broken_configuration_of_a_part_is_named(folder: Path, content: str | None) -> None:
    config = folder / "vae" / "config.json"
    config.unlink() if content is None else config.write_text(content)
    assert str(config) in refusal(str(folder))


def test_a_missing_shard_is_named(folder: Path) -> None:
    listing = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (folder / "text_encoder" / "model.safetensors.index.json").write_text(json.dumps(listing))
    assert "lacks model-00001-of-00002.safetensors" in refusal(str(folder))


def test_the_shipped_folder_and_tiny_ones_are_complete(tmp_path: Path) -> None:
    check_weights(EMBEDDED_FOLDER, read_index(EMBEDDED_FOLDER))
    tiny("wan").save_pretrained(tmp_path)
    check_weights(tmp_path, read_index(tmp_path))


def test_code_in_a_folder_is_never_run(folder: Path) -> None:
    index = read_index(folder)
    (folder / "vae" / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nclass Evil: pass\n")
    (folder / "model_index.json").write_text(json.dumps(index | {"vae": ["evil", "Evil"]}))
    refusal(str(folder))
    assert not (folder / "ran").exists()


def test_out_of_reach_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    begun = time.perf_counter()
    sentence = refusal("some/name")
    assert time.perf_counter() - begun < 3
    assert "cannot be reached" in sentence
    assert "cache" in sentence


def test_the_command_says_so_before_it_imports_anything(tmp_path: Path) -> None:
    """Offline, it took 23 s and then gave a wrong reason. Nothing listens at this address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    source = Path(load.__file__).parents[2]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(tmp_path), "PYTHONPATH": str(source)}
    command = [sys.executable, "-m", "akd", "animate", "a dog walking", "--prior", "some/name", "--out", "dog"]
    before = os.times()
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60, check=False)
    after = os.times()
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "127.0.0.1 cannot be reached: go online, or give a folder" in ended.stderr
    assert after.children_user + after.children_system - before.children_user - before.children_system < 3
    assert not (tmp_path / "dog").exists()


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*args: object, **options: object) -> None:
        time.sleep(5)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", hang)
    begun = time.perf_counter()
    assert not hub.can_connect("https://nowhere.invalid", 0.2)
    assert time.perf_counter() - begun < 1


def test_what_listens_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "getproxies", dict)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert hub.can_connect(f"http://127.0.0.1:{port}")
    assert not hub.can_connect(f"http://127.0.0.1:{port}")


def test_offline_mode_is_named_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub, "can_connect", lambda address: pytest.fail("asked"))
    assert "HF_HUB_OFFLINE is set" in refusal("some/name")


def test_a_cached_model_is_used_offline(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: str(folder / file))
    monkeypatch.setattr(hub, "can_connect", lambda address: False)
    assert hub.locate("some/name") == (folder, False)
    assert load_prior("some/name").film == load_prior().film


@pytest.mark.parametrize("name", ["no/such/folder", "nowhere", "./some/name", "a b/c"])
def test_what_is_no_name_on_the_hub_is_said_to_be_no_folder(name: str) -> None:
    assert "There is no folder" in refusal(name)


@pytest.mark.parametrize(
    ("error", "package"),
    [
        (ImportError("T5Tokenizer requires the SentencePiece library but it was not found"), "sentencepiece"),
        (ValueError("converting from Tiktoken failed: requires the protobuf library"), "protobuf"),
        (ImportError("please install ftfy to use this tokenizer"), "ftfy"),
    ],
)
def test_missing_tokenizer_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path, error: Exception, package: str
) -> None:
    import diffusers

    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(load, "_installed", lambda module: package not in module)
    monkeypatch.setattr(diffusers.DiffusionPipeline, "from_pretrained", fail)
    tiny("cogvideox-5b").save_pretrained(folder)
    sentence = refusal(str(folder))
    assert f"needs the package {package}" in sentence
    assert "online" not in sentence


def test_missing_libraries_are_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tiny("cogvideox-5b").save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "diffusers", None)
    assert "pip install 'akd[prior]'" in refusal(str(tmp_path))


def test_a_text_encoder_that_sees_pictures_reads_again_for_every_first_frame(tmp_path: Path) -> None:
    tiny("hunyuan-i2v").save_pretrained(tmp_path)
    prior = load_prior(str(tmp_path), film="5x32x32")
    prior.read(("a dog", ""))
    one, other = (prior.condition(torch.full((1, 32, 32, 3), shade)) for shade in (0.2, 0.9))
    z_t, t = torch.randn(2, *prior.film_latents, generator=torch.Generator().manual_seed(0)), torch.tensor([0.5, 0.5])
    seen = prior.predict(z_t, t, prior.embed("a dog"), one)
    assert (prior.predict(z_t, t, prior.embed("a dog"), other) - seen)[:, :, 1:].abs().max() > 1e-5
    torch.testing.assert_close(prior.predict(z_t, t, prior.embed("a dog"), one), seen)


def test_few_step_models_of_another_library_are_read_as_what_they_consist_of(tmp_path: Path) -> None:
    tiny("wan").save_pretrained(tmp_path)
    index = json.loads((tmp_path / "model_index.json").read_text())
    (tmp_path / "model_index.json").write_text(json.dumps(index | {"_class_name": "WanDMDPipeline"}))
    assert load_prior(str(tmp_path), film="5x32x32").family.pipeline_class == "WanPipeline"
