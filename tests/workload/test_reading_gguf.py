import struct

import gguf
import pytest

from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.messages import InputError
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.reading import FileKind, read_model_file
from tests.workload.model_samples import GGUF_TENSORS, LLAMA_NUMBERS, LLAMA_WEIGHTS, refusal, write_gguf

Q4_K, Q6_K, Q8_0 = (gguf.GGMLQuantizationType[name] for name in ("Q4_K", "Q6_K", "Q8_0"))


def test_a_real_file_is_read(tmp_path):
    read = read_model_file(write_gguf(tmp_path / "sample.gguf"))
    assert (read.kind, read.precision, read.weights) == (FileKind.GGUF, WeightPrecision.FP16, LLAMA_WEIGHTS)
    assert total_parameters(read.architecture) == LLAMA_WEIGHTS
    assert read.architecture.name == "Sample 0.1"
    assert read.architecture.max_positions == 512
    assert not read.architecture.tied_embeddings
    assert read.problems == ()


def test_a_file_without_an_output_projection_is_tied(tmp_path):
    tensors = {name: shape for name, shape in GGUF_TENSORS.items() if name != "output.weight"}
    read = read_model_file(write_gguf(tmp_path / "tied.gguf", tensors=tensors))
    assert read.architecture.tied_embeddings
    assert total_parameters(read.architecture) == read.weights == LLAMA_WEIGHTS - 96 * 64


BIG_NUMBERS = LLAMA_NUMBERS | {"embedding_length": 256, "feed_forward_length": 512, "rope.dimension_count": 64}
BIG_TENSORS = {
    name: tuple({64: 256, 32: 128, 128: 512}.get(size, size) for size in shape) for name, shape in GGUF_TENSORS.items()
} | {"rope_freqs.weight": (32,)}


def test_a_quantised_file_tells_the_bits_of_each_part(tmp_path):
    kinds = {
        name: Q6_K if name in {"output.weight", "blk.0.ffn_down.weight"} else Q4_K
        for name, shape in BIG_TENSORS.items()
        if len(shape) == 2
    }
    read = read_model_file(
        write_gguf(tmp_path / "q4.gguf", numbers=BIG_NUMBERS, tensors=BIG_TENSORS, kinds=kinds, file_type=15)
    )
    assert read.precision is WeightPrecision.Q4_K_M
    bits = {stored.part.value: stored.bits_per_weight for stored in read.architecture.stored_parts}
    assert bits["head"] == pytest.approx(6.5625)
    assert bits["embedding"] == bits["attention"] == pytest.approx(4.5)
    assert bits["mlp"] == pytest.approx((5 * 4.5 + 6.5625) / 6)
    assert bits["unquantised"] == 32
    assert read.problems == ()


def test_a_mixture_that_has_no_name_of_its_own_is_counted_like_the_nearest(tmp_path):
    kinds = {name: Q8_0 for name, shape in GGUF_TENSORS.items() if len(shape) == 2}
    read = read_model_file(write_gguf(tmp_path / "own.gguf", kinds=kinds, file_type=None))
    assert read.precision is WeightPrecision.Q8_0
    assert [p.id for p in read.problems] == ["model.gguf.counted_like"]


def test_weights_that_do_not_go_with_the_sizes_are_pointed_out(tmp_path):
    tensors = {**GGUF_TENSORS, "blk.0.attn_q.weight": (60, 64)}
    read = read_model_file(write_gguf(tmp_path / "odd.gguf", tensors=tensors))
    assert [p.id for p in read.problems] == ["model.doubt.count"]


def moe_tensors() -> dict[str, tuple[int, ...]]:
    tensors = {name: shape for name, shape in GGUF_TENSORS.items() if "ffn_" not in name or "norm" in name}
    for i in range(2):
        tensors |= {
            f"blk.{i}.attn_q_norm.weight": (16,),
            f"blk.{i}.attn_k_norm.weight": (16,),
            f"blk.{i}.ffn_gate_inp.weight": (8, 64),
            f"blk.{i}.ffn_gate_exps.weight": (8, 32, 64),
            f"blk.{i}.ffn_up_exps.weight": (8, 32, 64),
            f"blk.{i}.ffn_down_exps.weight": (8, 64, 32),
        }
    return tensors


def test_a_mixture_of_experts_is_read(tmp_path):
    numbers = LLAMA_NUMBERS | {"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 32}
    file = write_gguf(tmp_path / "moe.gguf", architecture="qwen3moe", numbers=numbers, tensors=moe_tensors())
    read = read_model_file(file)
    assert read.architecture.family == "qwen3_moe"
    assert read.weights == total_parameters(read.architecture)
    assert read.architecture.groups[0].mlp.experts_per_token == 2
    assert read.problems == ()


def test_latent_attention_is_read(tmp_path):
    numbers = {
        "block_count": 2, "context_length": 512, "embedding_length": 64, "feed_forward_length": 128,
        "attention.head_count": 4, "attention.head_count_kv": 1, "attention.key_length": 40,
        "attention.value_length": 32, "attention.key_length_mla": 24, "attention.value_length_mla": 16,
        "attention.kv_lora_rank": 32, "attention.q_lora_rank": 48, "rope.dimension_count": 8,
        "expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 32, "expert_shared_count": 1,
        "leading_dense_block_count": 1,
    }  # fmt: skip
    tensors: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (96, 64), "output.weight": (96, 64), "output_norm.weight": (64,),
    }  # fmt: skip
    for i in range(2):
        tensors |= {
            f"blk.{i}.{name}.weight": shape
            for name, shape in {
                "attn_norm": (64,), "ffn_norm": (64,), "attn_q_a": (48, 64), "attn_q_a_norm": (48,),
                "attn_q_b": (4 * 24, 48), "attn_kv_a_mqa": (40, 64), "attn_kv_a_norm": (32,),
                "attn_k_b": (4, 32, 16), "attn_v_b": (4, 16, 32), "attn_output": (64, 64),
            }.items()
        }  # fmt: skip
    tensors |= {
        "blk.0.ffn_gate.weight": (128, 64),
        "blk.0.ffn_up.weight": (128, 64),
        "blk.0.ffn_down.weight": (64, 128),
    }
    tensors |= {
        "blk.1.ffn_gate_inp.weight": (8, 64), "blk.1.exp_probs_b.bias": (8,),
        "blk.1.ffn_gate_exps.weight": (8, 32, 64), "blk.1.ffn_up_exps.weight": (8, 32, 64),
        "blk.1.ffn_down_exps.weight": (8, 64, 32), "blk.1.ffn_gate_shexp.weight": (32, 64),
        "blk.1.ffn_up_shexp.weight": (32, 64), "blk.1.ffn_down_shexp.weight": (64, 32),
    }  # fmt: skip
    read = read_model_file(
        write_gguf(tmp_path / "mla.gguf", architecture="deepseek2", numbers=numbers, tensors=tensors)
    )
    assert read.weights == total_parameters(read.architecture)
    assert {g.attention.cache_elements_per_token for g in read.architecture.groups} == {40}
    assert {g.attention.cache_shards for g in read.architecture.groups} == {1}
    assert read.problems == ()


def test_only_the_head_of_a_huge_file_is_read(tmp_path):
    file = write_gguf(tmp_path / "huge.gguf")
    with file.open("r+b") as stream:
        stream.truncate(5 * 2**30)  # sparse: takes no space
    assert read_model_file(file).weights == LLAMA_WEIGHTS


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path):
    whole = write_gguf(tmp_path / "whole.gguf", tokens=4).read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in [*range(1, 1200, 7), *range(1200, len(whole), len(whole) // 60), len(whole) - 32]:
        cut.write_bytes(whole[:size])
        assert refusal(cut).startswith(("model.file.", "model.gguf.")), size


def head(*, version: int = 3, tensors: int = 0, entries: int = 0, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries) + rest


def key(name: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


@pytest.mark.parametrize(
    ("content", "message_id"),
    [
        (b"GGUF", "model.file.cut_off"),
        (head(version=1), "model.gguf.version"),
        (head(version=3 << 24), "model.gguf.version"),
        (head(tensors=2**63), "model.gguf.broken"),
        (head(entries=2**63), "model.gguf.broken"),
        (head(entries=1, rest=struct.pack("<Q", 2**62)), "model.gguf.broken"),
        (head(entries=1, rest=key("a", 77, b"")), "model.gguf.broken"),
        (head(entries=1, rest=key("a", 8, struct.pack("<Q", 2**40))), "model.gguf.broken"),
        (head(entries=1, rest=key("a", 9, struct.pack("<IQ", 9, 1))), "model.gguf.broken"),
        (head(entries=1, rest=key("a", 9, struct.pack("<IQ", 8, 2**50))), "model.gguf.broken"),
        (head(entries=1, rest=key("a", 9, struct.pack("<IQ", 4, 2**61))), "model.file.cut_off"),
        (head(entries=2, rest=2 * key("a", 0, b"\1")), "model.file.key_twice"),
        (head(entries=1, rest=key("general.alignment", 4, b"\0\0\0\0")), "model.gguf.broken"),
        (head(), "model.gguf.missing_key"),
        (
            head(entries=1, rest=key("general.architecture", 8, struct.pack("<Q", 4) + b"clip")),
            "model.gguf.projector",
        ),
        (
            head(entries=1, rest=key("general.architecture", 8, struct.pack("<Q", 4) + b"rwkv")),
            "model.family.unknown",
        ),
        (
            head(entries=1, rest=key("general.architecture", 8, struct.pack("<Q", 5) + b"llama")),
            "model.gguf.missing_key",
        ),
        (head(tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<I", 99)), "model.gguf.broken"),
        (
            head(tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 33, 2, 0)),
            "model.gguf.broken_tensor",
        ),
        (
            head(tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 32, 999, 0)),
            "model.gguf.tensor_type",
        ),
        (
            head(tensors=1, rest=struct.pack("<Q", 1) + b"t" + struct.pack("<IQQIQ", 2, 2**62, 2**62, 0, 0)),
            "model.gguf.broken_tensor",
        ),
    ],
)
def test_a_broken_file_is_refused(tmp_path, content, message_id):
    file = tmp_path / "broken.gguf"
    file.write_bytes(content)
    assert refusal(file) == message_id


@pytest.mark.parametrize(
    ("key_name", "value", "message_id"),
    [
        ("block_count", 10**9, "model.field.range"),
        ("attention.head_count", 0, "model.field.range"),
        ("attention.head_count_kv", 3, "model.field.divisible"),
        ("attention.head_count_kv", 8, "model.field.kv_heads"),
    ],
)
def test_impossible_sizes_are_refused(tmp_path, key_name, value, message_id):
    assert refusal(write_gguf(tmp_path / "bad.gguf", numbers=LLAMA_NUMBERS | {key_name: value})) == message_id


def test_a_missing_size_is_named_as_the_file_would_name_it(tmp_path):
    numbers = {name: value for name, value in LLAMA_NUMBERS.items() if name != "embedding_length"}
    with pytest.raises(InputError) as caught:
        read_model_file(write_gguf(tmp_path / "less.gguf", numbers=numbers))
    assert caught.value.message.values["key"] == "llama.embedding_length"


def test_a_huge_file_of_texts_is_not_read_through(tmp_path):
    file = tmp_path / "texts.gguf"
    texts = struct.pack("<IQ", 8, 2_000_000)
    file.write_bytes(head(entries=1, rest=key("a", 9, texts) + struct.pack("<Q", 2**30)))
    with file.open("r+b") as stream:
        stream.truncate(5 * 2**30)  # sparse: takes no space
    assert refusal(file) == "model.gguf.broken"


def test_a_large_vocabulary_is_skipped_quickly(tmp_path):
    read = read_model_file(write_gguf(tmp_path / "words.gguf", tokens=200_000))
    assert read.weights == LLAMA_WEIGHTS
