"""A model read from its weight files weighs what the files weigh, to the byte; a published mixture what it says."""

from dataclasses import fields

import gguf
import pytest

from gpuplanner.catalog.architecture import Part, StoredPart
from gpuplanner.engine.serving_model import bits_by_part, model_numbers
from gpuplanner.workload.reading import read_model_file
from tests.workload.model_samples import GGUF_TENSORS, write_gguf

Q4_K, Q6_K = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K
NUMBERS = {
    "block_count": 2,
    "context_length": 512,
    "embedding_length": 256,
    "feed_forward_length": 512,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "rope.dimension_count": 64,
}
TENSORS = {name: tuple(4 * n if n in {64, 32, 128} else n for n in shape) for name, shape in GGUF_TENSORS.items()}


def test_a_gguf_file_weighs_what_its_tensors_do(tmp_path, shipped_efficiencies):
    kinds = {
        name: Q6_K if "down" in name or name == "output.weight" else Q4_K
        for name, shape in TENSORS.items()
        if len(shape) == 2
    }
    file = write_gguf(tmp_path / "m.gguf", numbers=NUMBERS, tensors=TENSORS, kinds=kinds, file_type=15)
    reader = gguf.GGUFReader(file)
    expected = sum(int(tensor.n_bytes) for tensor in reader.tensors if "rope" not in tensor.name)
    numbers = model_numbers(read_model_file(file).architecture, None, None, shipped_efficiencies)
    named = {field.name: getattr(numbers, field.name) for field in fields(numbers)}
    parts = ("attention_bytes", "mlp_bytes", "expert_bytes", "copied_bytes", "head_bytes", "embedding_bytes")
    assert sum(named[part] for part in parts) == pytest.approx(expected, rel=1e-9)


def test_a_part_that_is_said_to_be_narrow_is(shipped_catalog, shipped_efficiencies):
    shape = shipped_catalog.models["Qwen/Qwen2.5-7B"].architecture
    narrow = shape.model_copy(
        update={"weight_quantisation": "nvfp4", "stored_parts": (StoredPart(part=Part.HEAD, precision="nvfp4"),)}
    )
    bits = bits_by_part(narrow, None, shipped_efficiencies)
    assert (bits["head"], bits["mlp"], bits["embedding"]) == (4.5, 4.5, 16)
