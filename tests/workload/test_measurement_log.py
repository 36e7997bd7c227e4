"""What is read out of the files that benchmarks, servers and trainers write."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.messages import InputError
from gpuplanner.workload.measurement_log import parse_measurement, read_measurement


@pytest.fixture
def own_dir(project_root):
    return project_root / "tests" / "data" / "own"


def test_a_benchmark_as_json_says_its_means_and_its_load(own_dir):
    run = read_measurement(own_dir / "vllm_bench.json")
    assert run.kind == "serving"
    assert run.metrics == pytest.approx({"output_tokens_per_s": 2637.4, "ttft_s": 0.1315, "tpot_s": 0.0119})
    assert run.load == pytest.approx({"concurrency": 32, "input_tokens": 1000, "output_tokens": 300})
    assert run.model.endswith("8B-Instruct")


def test_a_benchmark_as_it_is_printed_says_the_same(own_dir):
    run = read_measurement(own_dir / "sglang_bench.txt")
    assert run.metrics == pytest.approx({"output_tokens_per_s": 2735.04, "ttft_s": 0.12531, "tpot_s": 0.0114})
    assert run.load == pytest.approx({"concurrency": 32, "input_tokens": 1000, "output_tokens": 300})


def test_a_servers_log_is_read_where_it_runs_its_usual_load(own_dir):
    run = read_measurement(own_dir / "vllm_server.log")
    assert run.metrics == pytest.approx({"output_tokens_per_s": 1201.5})
    assert run.load == {"concurrency": 47.5}
    assert run.model == "Qwen/Qwen3-32B"


def test_a_servers_start_says_what_its_cache_holds(own_dir):
    run = read_measurement(own_dir / "vllm_start.log")
    assert (run.kind, run.load) == ("serving", {})
    assert run.metrics["kv_pool_tokens"] == 342_528
    assert run.metrics["kv_bytes_per_token"] == pytest.approx(33_793, rel=1e-3)
    both = (own_dir / "vllm_start.log").read_text() + (own_dir / "vllm_server.log").read_text()
    found = parse_measurement(both, "both.log")
    assert found.metrics["kv_pool_tokens"] == 342_528
    assert found.metrics["output_tokens_per_s"] == pytest.approx(1201.5)


def test_of_several_gpus_the_room_of_one_is_not_that_of_the_cache(own_dir):
    text = (own_dir / "vllm_start.log").read_text()
    line = next(line for line in text.splitlines() if "Available" in line)
    assert parse_measurement(f"{line}\n{text}", "two.log").metrics == {"kv_pool_tokens": 342_528.0}


def test_the_first_steps_of_a_training_log_do_not_count(own_dir):
    assert read_measurement(own_dir / "torchtitan.log").metrics == {"tokens_per_s_per_gpu": 5737.0}
    assert read_measurement(own_dir / "megatron.log").metrics == pytest.approx({"step_s": 6.0217})


@pytest.mark.parametrize(
    ("line", "metric", "value"),
    [
        ("{'train_runtime': 100.0, 'train_tokens_per_second': 4567.8}", "tokens_per_s", 4567.8),
        ("throughput: 3100 tokens/s/gpu: 3100.5", "tokens_per_s_per_gpu", 3100.5),
        ("tokens_per_second: 81234", "tokens_per_s", 81234),
        ("step 5 | 12,345.6 tok/s", "tokens_per_s", 12345.6),
    ],
)
def test_lines_that_say_tokens_a_second(line, metric, value):
    assert parse_measurement(line, "log").metrics == {metric: value}


def test_the_last_of_several_json_lines_counts():
    lines = '{"output_throughput": 1.0}\n{"output_throughput": 2.0, "max_concurrency": 4}\n'
    assert parse_measurement(lines, "x.jsonl").metrics == {"output_tokens_per_s": 2.0}


@pytest.mark.parametrize("text", ["", "{}", "[1]", "hello", '{"loss": 3}', "tps: 0", "\x00\xff", '{"a":' * 5000])
def test_a_file_without_a_measurement_is_refused_by_name(text):
    with pytest.raises(InputError) as refused:
        parse_measurement(text, "some.log")
    assert refused.value.message.values["file"] == "some.log"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    for path in (tmp_path / "none.log", tmp_path):
        with pytest.raises(InputError):
            read_measurement(path)


@given(st.text())
def test_no_text_makes_it_fall_over(text):
    try:
        run = parse_measurement(text, "x")
    except InputError:
        return
    assert run.metrics
    assert all(0 < value < 1e15 for value in run.metrics.values())


def test_the_largest_message_of_an_all_reduce_counts(own_dir):
    run = read_measurement(own_dir / "nccl_all_reduce.txt")
    assert run.kind == "collectives"
    assert run.metrics == {"bus_bytes_per_s": 330.22e9}
    assert run.load == {"bytes": 8589934592, "ranks": 8, "nodes": 1}
    assert run.model == "NVIDIA H100 80GB HBM3"


def test_a_table_of_another_collective_is_not_taken_for_one(own_dir):
    text = (own_dir / "nccl_all_reduce.txt").read_text(encoding="utf-8")
    with pytest.raises(InputError):
        parse_measurement(f"$ ./build/reduce_scatter_perf -b 8M\n{text}", "x")
