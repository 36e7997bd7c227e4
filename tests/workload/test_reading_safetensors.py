import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from gpuplanner.catalog.architecture import Part
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.messages import InputError
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.reading import FileKind, read_model_file
from gpuplanner.workload.weight_tensors import module_part
from tests.workload.model_samples import (
    LLAMA,
    LLAMA_WEIGHTS,
    llama_tensors,
    refusal,
    write_json,
    write_safetensors,
)


def test_a_real_file_is_counted_and_agrees_with_the_configuration_beside_it(tmp_path):
    write_json(tmp_path / "config.json", LLAMA)
    read = read_model_file(write_safetensors(tmp_path / "model.safetensors"))
    assert (read.kind, read.weights, read.problems) == (FileKind.SAFETENSORS, LLAMA_WEIGHTS, ())
    assert total_parameters(read.architecture) == LLAMA_WEIGHTS
    assert read.precision is WeightPrecision.FP16  # what the weights are, not what the configuration says


def test_weights_that_do_not_agree_are_pointed_out(tmp_path):
    write_json(tmp_path / "config.json", {**LLAMA, "num_hidden_layers": 3})
    read = read_model_file(write_safetensors(tmp_path / "model.safetensors"))
    assert [p.id for p in read.problems] == ["model.doubt.count"]


def test_a_copy_of_the_tied_embedding_is_not_a_disagreement(tmp_path):
    write_json(tmp_path / "config.json", {**LLAMA, "tie_word_embeddings": True})
    assert read_model_file(write_safetensors(tmp_path / "model.safetensors")).problems == ()


def test_one_of_several_files_is_not_counted_against_the_whole(tmp_path):
    write_json(tmp_path / "config.json", LLAMA)
    part = {name: shape for name, shape in llama_tensors().items() if "layers.0" in name}
    read = read_model_file(write_safetensors(tmp_path / "model-00001-of-00002.safetensors", part))
    assert read.problems == ()
    assert read.weights is not None
    assert read.weights < LLAMA_WEIGHTS


def test_a_file_alone_tells_what_it_can_and_what_is_missing(tmp_path):
    file = write_safetensors(tmp_path / "model.safetensors")
    assert refusal(file) == "model.safetensors.no_config"
    with pytest.raises(InputError) as caught:
        read_model_file(file)
    told = caught.value.message.values
    assert (told["layers"], told["hidden"], told["vocabulary"], told["weights"]) == (
        "2",
        "64",
        "96",
        f"{LLAMA_WEIGHTS:,}",
    )


def test_scales_are_bytes_but_not_weights(tmp_path):
    tensors: dict[str, np.ndarray] = {}
    for name, shape in llama_tensors().items():
        if "_proj" in name:
            tensors[name] = np.zeros(shape, np.int8)
            tensors[name + "_scale"] = np.zeros((1,), np.float32)
        else:
            tensors[name] = np.zeros(shape, np.float16)
    write_json(tmp_path / "config.json", LLAMA)
    save_file(tensors, tmp_path / "model.safetensors")
    read = read_model_file(tmp_path / "model.safetensors")
    assert (read.weights, read.precision, read.problems) == (LLAMA_WEIGHTS, WeightPrecision.INT8, ())
    bits = {stored.part: stored.bits_per_weight for stored in read.architecture.stored_parts}
    assert bits[Part.MLP] == pytest.approx(8 + 32 * 3 / (3 * 64 * 128))
    assert bits[Part.HEAD] == bits[Part.EMBEDDING] == 16


def test_packed_weights_are_unpacked_before_they_are_counted(tmp_path):
    tensors: dict[str, np.ndarray] = {}
    for name, shape in llama_tensors().items():
        if "_proj" in name:
            stem = name.removesuffix(".weight")
            tensors[stem + ".weight_packed"] = np.zeros((shape[0], shape[1] // 8), np.int32)
            tensors[stem + ".weight_scale"] = np.zeros((shape[0], shape[1] // 32), np.float16)
            tensors[stem + ".weight_shape"] = np.zeros((2,), np.int64)
        else:
            tensors[name] = np.zeros(shape, np.float16)
    write_json(tmp_path / "config.json", LLAMA)
    save_file(tensors, tmp_path / "model.safetensors")
    read = read_model_file(tmp_path / "model.safetensors")
    assert (read.weights, read.problems) == (LLAMA_WEIGHTS, ())
    assert read.precision is WeightPrecision.INT4


def test_the_index_is_read_with_its_configuration(tmp_path):
    index = {
        "metadata": {"total_size": 1},
        "weight_map": dict.fromkeys(llama_tensors(), "model-00001-of-00001.safetensors"),
    }
    file = write_json(tmp_path / "model.safetensors.index.json", index)
    assert refusal(file) == "model.index.no_config"
    write_json(tmp_path / "config.json", LLAMA)
    read = read_model_file(file)
    assert (read.kind, total_parameters(read.architecture)) == (FileKind.INDEX, LLAMA_WEIGHTS)


@pytest.mark.parametrize("holder", ["../../secret.safetensors", "a/b.safetensors", "c\\d", "", 5, None, ".."])
def test_an_index_that_leads_out_of_its_folder_is_refused(tmp_path, holder):
    write_json(tmp_path / "config.json", LLAMA)
    file = write_json(tmp_path / "model.safetensors.index.json", {"weight_map": {"model.norm.weight": holder}})
    assert refusal(file) == "model.index.bad_file_name"


def safetensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


ENTRY = {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("content", "message_id"),
    [
        (safetensors({}), "model.safetensors.empty"),
        (safetensors({"__metadata__": {}}), "model.safetensors.empty"),
        (safetensors({"t": ENTRY}, b"abc"), "model.file.cut_off"),
        (safetensors({"t": ENTRY}, b"abcd", length=200 * 2**20), "model.safetensors.header_too_long"),
        (safetensors({"t": ENTRY}, b"abcd", length=2**31), "model.safetensors.header_too_long"),
        (safetensors({"t": ENTRY}, b"abcd", length=500), "model.file.cut_off"),
        (safetensors({"t": {**ENTRY, "dtype": "Q9"}}, b"abcd"), "model.safetensors.unknown_type"),
        (safetensors({"t": {**ENTRY, "dtype": 5}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "shape": [3]}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "shape": [-2]}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "shape": [True, 2]}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "shape": [10**12, 10**12]}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "shape": [1] * 99}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": {**ENTRY, "data_offsets": [4]}}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t" * 5000: ENTRY}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors({"t": []}, b"abcd"), "model.safetensors.broken_entry"),
        (safetensors(b'{"t": 1, "t": 2}'), "model.file.key_twice"),
        (safetensors(b'{"t": \xff}'), "model.file.not_utf8"),
        (safetensors(b'{"t": '), "model.file.not_json"),
        (safetensors(b"{" + b'"a":{' * 100_000), "model.file.too_deep"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, content, message_id):
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    assert refusal(file) == message_id


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    write_json(tmp_path / "config.json", LLAMA)
    whole = write_safetensors(tmp_path / "whole.safetensors").read_bytes()
    cut = tmp_path / "model.safetensors"
    for size in [*range(12), *range(12, 2000, 97), *range(2000, len(whole), len(whole) // 50), len(whole) - 1]:
        cut.write_bytes(whole[:size])
        assert refusal(cut).startswith("model.file."), size


def test_only_the_header_of_a_huge_file_is_read(tmp_path):
    write_json(tmp_path / "config.json", LLAMA)
    file = write_safetensors(tmp_path / "model.safetensors")
    with file.open("r+b") as stream:
        stream.truncate(5 * 2**30)  # sparse: takes no space
    assert read_model_file(file).weights == LLAMA_WEIGHTS


def test_names_that_differ_by_their_layer_are_looked_at_once(tmp_path, monkeypatch):
    """A file may name 200,000 tensors; what kind of part each is was asked for every one of them."""
    write_json(tmp_path / "config.json", LLAMA)
    asked: list[str] = []

    def part(name: str) -> Part:
        asked.append(name)
        return module_part(name)

    monkeypatch.setattr("gpuplanner.workload.weight_tensors.module_part", part)
    names = [f"model.layers.{layer}.mlp.down_proj.weight" for layer in range(50)]
    file = write_safetensors(tmp_path / "model.safetensors", dict.fromkeys((*names, "x.1", "x.2"), (4, 4)))
    assert read_model_file(file).weights == 52 * 16
    assert sorted(asked) == ["model.layers.0.mlp.down_proj.weight", "x.1", "x.2"]
