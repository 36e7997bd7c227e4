import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.reading import LARGEST_TEXT_BYTES, FileKind, read_model_file
from tests.workload.model_samples import LLAMA, LLAMA_WEIGHTS, refusal, write_json

NAMES = ["config.json", "model.safetensors", "model.gguf", "something"]


def test_a_configuration_is_read(tmp_path):
    folder = tmp_path / "tiny-llama"
    folder.mkdir()
    read = read_model_file(write_json(folder / "config.json", LLAMA))
    assert (read.kind, read.precision, read.weights, read.problems) == (
        FileKind.CONFIG, WeightPrecision.BF16, None, (),
    )  # fmt: skip
    assert (read.read_from, read.architecture.name) == ("config.json", "tiny-llama")
    assert total_parameters(read.architecture) == LLAMA_WEIGHTS


@pytest.mark.parametrize(
    ("folder", "stated", "name"),
    [
        ("Downloads", None, "LlamaForCausalLM"),
        ("0e9e39f249a16976918f6564b8830bc894c89659", None, "LlamaForCausalLM"),
        ("Downloads", "meta-llama/Tiny-Llama", "Tiny-Llama"),
        ("tiny-llama", "/home/somebody/models/Tiny-Llama-v2/", "Tiny-Llama-v2"),
        ("tiny-llama", "./", "tiny-llama"),
        ("tiny-llama", "", "tiny-llama"),
        ("tiny-llama", 7, "tiny-llama"),
    ],
)
def test_a_model_is_called_as_its_configuration_says(tmp_path, folder, stated, name):
    (tmp_path / folder).mkdir()
    content = {**LLAMA, "architectures": ["LlamaForCausalLM"], **({} if stated is None else {"_name_or_path": stated})}
    assert read_model_file(write_json(tmp_path / folder / "config.json", content)).architecture.name == name


def test_a_folder_is_read_by_its_configuration(tmp_path):
    write_json(tmp_path / "config.json", LLAMA)
    assert read_model_file(tmp_path).kind is FileKind.CONFIG


def test_the_name_of_a_file_does_not_matter(tmp_path):
    for name in NAMES:
        assert total_parameters(read_model_file(write_json(tmp_path / name, LLAMA)).architecture) == LLAMA_WEIGHTS


def test_a_byte_order_mark_is_no_hindrance(tmp_path):
    file = tmp_path / "config.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())
    assert total_parameters(read_model_file(file).architecture) == LLAMA_WEIGHTS


def test_nan_in_a_field_that_nobody_reads_is_no_hindrance(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "time_step_limit": [0.0, float("inf")]}), encoding="utf-8")
    assert "Infinity" in file.read_text(encoding="utf-8")
    assert total_parameters(read_model_file(file).architecture) == LLAMA_WEIGHTS


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("Llama-70B", ["model.doubt.size"]),
        ("Llama-2-70b-hf", ["model.doubt.size"]),
        ("tiny-0.0001B", []),
        ("Mixtral-8x7B", []),
        ("llama-v2", []),
        ("llama-NVFP4", ["model.doubt.quantisation"]),
        ("llama-bf16", []),
    ],
)
def test_what_the_name_says_and_the_sizes_do_not_is_pointed_out(tmp_path, name, ids):
    folder = tmp_path / name
    folder.mkdir()
    read = read_model_file(write_json(folder / "config.json", LLAMA))
    assert [p.id for p in read.problems] == ids
    assert all(Translator(language).text(p) for p in read.problems for language in Language)


def test_quantisation_in_a_file_of_its_own_is_read_with_the_configuration(tmp_path):
    folder = tmp_path / "llama-FP8"
    folder.mkdir()
    write_json(folder / "hf_quant_config.json", {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    })  # fmt: skip
    read = read_model_file(write_json(folder / "config.json", LLAMA))
    assert (read.precision, read.architecture.kv_quantisation, read.problems) == (WeightPrecision.FP8, "fp8", ())
    assert refusal(folder / "hf_quant_config.json") == "model.file.quantisation_alone"


@pytest.mark.parametrize(
    ("content", "message_id"),
    [
        ({"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-2-7b-hf"}, "model.file.adapter"),
        ({"format": "gpuplan/1"}, "model.file.plan"),
        ({"_class_name": "StableDiffusionPipeline"}, "model.file.diffusion"),
        ({"zero_optimization": {"stage": 3}}, "model.file.training"),
        ({"dim": 4096, "n_layers": 32, "n_heads": 32}, "model.file.original_parameters"),
        ({"tokenizer_class": "LlamaTokenizer"}, "model.file.tokenizer"),
        ({"added_tokens": [], "model": {"type": "BPE"}}, "model.file.tokenizer"),
        ({"image_processor_type": "x"}, "model.file.tokenizer"),
        ({"eos_token_id": 2, "transformers_version": "4"}, "model.file.generation"),
        ({"hello": 1}, "model.file.not_a_model"),
        ({}, "model.file.not_a_model"),
        ([LLAMA], "model.file.not_a_model"),
        ("llama", "model.file.not_json"),
        ({"model_type": "perceiver9000"}, "model.family.unknown"),
        ({"model_type": 7}, "model.family.not_text"),
        ({"num_hidden_layers": 7}, "model.family.missing"),
        ({**LLAMA, "num_hidden_layers": 10**9}, "model.field.range"),
        ({**LLAMA, "num_hidden_layers": float("nan")}, "model.field.whole"),
    ],
)
def test_other_files_are_named_for_what_they_are(tmp_path, content, message_id):
    if isinstance(content, str):
        file = tmp_path / "config.json"
        file.write_text(content, encoding="utf-8")
    else:
        file = write_json(tmp_path / "config.json", content)
    assert refusal(file) == message_id


@pytest.mark.parametrize(
    ("content", "message_id"),
    [
        (b"", "model.file.empty"),
        (b" \n", "model.file.empty"),
        (b"{", "model.file.not_json"),
        (b'{"model_type": "llama"', "model.file.not_json"),
        (b'{"a": 1, "a": 2}', "model.file.key_twice"),
        (b"[" * 200_000, "model.file.too_deep"),
        (b'{"a":' * 200_000, "model.file.too_deep"),
        (json.dumps(LLAMA).encode("utf-16"), "model.file.encoding"),
        (b'{"a": "\0"}', "model.file.encoding"),
        (b'{"a": "\xff"}', "model.file.not_utf8"),
        (b'{"model_type": "llama", "hidden_size": ' + b"9" * 9000 + b"}", "model.file.number_too_long"),
        (b"PK\x03\x04" + b"\0" * 100, "model.file.pickle"),
        (b"\x80\x04\x95" + b"\0" * 100, "model.file.pickle"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "model.file.not_a_model"),
        (b"model_name_or_path: meta-llama/Llama-2-7b-hf\nstage: sft\n", "model.file.training"),
        (b"base_model: NousResearch/Llama-2-7b-hf\nadapter: qlora\n", "model.file.training"),
        (b"services:\n  web:\n    image: x\n", "model.file.yaml"),
        (b"\n" * 60_000 + b"x", "model.file.not_json"),
        (b"a" * 60_000, "model.file.not_json"),
    ],
)
def test_broken_text_is_refused(tmp_path, content, message_id):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert refusal(file) == message_id


def test_the_base_of_an_adapter_and_of_a_training_run_is_named(tmp_path):
    adapter = write_json(tmp_path / "a.json", {"peft_type": "LORA", "base_model_name_or_path": "org/base-7b"})
    training = tmp_path / "t.yaml"
    training.write_text("base_model: 'org/base-7b'\n", encoding="utf-8")
    for file in (adapter, training):
        with pytest.raises(InputError) as caught:
            read_model_file(file)
        assert "org/base-7b" in Translator(Language.ENGLISH).text(caught.value.message)


def test_what_is_not_a_readable_file_is_refused(tmp_path):
    assert refusal(tmp_path / "absent.json") == "model.file.missing"
    assert refusal(tmp_path) == "model.file.folder"
    large = tmp_path / "large.json"
    with large.open("wb") as stream:
        stream.truncate(5 * 2**30)
    assert refusal(large) == "model.file.too_large"
    assert large.stat().st_size > LARGEST_TEXT_BYTES


def test_a_name_that_no_file_can_have_is_refused():
    for path in (Path("a\0b"), Path("x" * 5000)):
        with pytest.raises(InputError) as caught:
            read_model_file(path)
        assert len(Translator(Language.CHINESE).text(caught.value.message)) < 300


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_pipes_and_devices_are_never_opened(tmp_path):
    pipe = tmp_path / "config.json"
    os.mkfifo(pipe)
    assert refusal(pipe) == "model.file.not_regular"
    with pytest.raises(InputError):
        read_model_file(tmp_path)  # by the pipe in it
    assert refusal(Path(os.devnull)) == "model.file.not_regular"


@pytest.mark.parametrize(
    ("error", "message_id"),
    [(PermissionError(13, "no"), "model.file.permission"), (OSError(5, "disk error"), "model.file.unreadable")],
)
def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch, error, message_id):
    file = write_json(tmp_path / "config.json", LLAMA)

    def refused(*_: object) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refused)
    assert refusal(file) == message_id


def test_a_configuration_cut_off_anywhere_is_refused(tmp_path):
    text = json.dumps(LLAMA).encode()
    file = tmp_path / "config.json"
    for size in range(len(text)):
        file.write_bytes(text[:size])
        assert refusal(file).startswith("model.file."), size


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changed=st.dictionaries(st.sampled_from([*LLAMA, "head_dim", "quantization_config", "text_config"]), VALUES))
def test_any_change_of_a_configuration_is_read_or_refused(tmp_path, changed):
    file = write_json(tmp_path / "config.json", {**LLAMA, **changed})
    _read_or_refused(file)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400), start=st.sampled_from([b"", b"GGUF\x03\0\0\0", b"\x40\0\0\0\0\0\0\0{", b"{"]))
def test_any_bytes_are_refused_in_a_sentence(tmp_path, content, start):
    file = tmp_path / "something"
    file.write_bytes(start + content)
    _read_or_refused(file)


def _read_or_refused(file: Path) -> None:
    try:
        read = read_model_file(file)
    except InputError as error:
        sentence = Translator(Language.ENGLISH).text(error.message)
    else:
        sentence = str(total_parameters(read.architecture))
    assert sentence not in {"", "0"}


def test_the_99_real_configurations_are_read(shared_dir):
    shrunk = []
    files = sorted((shared_dir / "facts" / "hf_configs").glob("*.json"))
    assert len(files) == 99
    for file in files:
        read = read_model_file(file)
        assert read.kind is FileKind.CONFIG
        shrunk += [file.stem for p in read.problems if p.id == "model.doubt.size"]
    # One of them is a copy with 8 of its 80 layers, which its name gives away.
    assert shrunk == ["meta-llama__Llama-2-70b-hf"]


def test_a_file_that_stops_being_readable_is_refused(tmp_path, monkeypatch):
    """A bad sector or a share that went away shows when it is read, not when it is opened."""
    file = write_json(tmp_path / "config.json", LLAMA)

    def fails(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("gpuplanner.workload.model_files.ModelFile.start", fails)
    assert refusal(file) == "model.file.unreadable"
