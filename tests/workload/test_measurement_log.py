"""What is read out of the files that benchmarks, servers and trainers write."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.messages import InputError
from gpuplanner.workload.measurement_log import UnusableMeasurementError, parse_measurement, read_measurement


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
    with pytest.raises(UnusableMeasurementError) as refused:
        parse_measurement(f"$ ./build/reduce_scatter_perf -b 8M\n{text}", "x")
    assert refused.value.message.id == "own.link.other_collective"
    assert refused.value.message.values["collective"] == "reduce_scatter"


def test_a_table_that_does_not_say_of_which_gpus_it_is_asks_for_these_lines(own_dir):
    lines = (own_dir / "nccl_all_reduce.txt").read_text(encoding="utf-8").splitlines()
    with pytest.raises(UnusableMeasurementError) as refused:
        parse_measurement("\n".join(line for line in lines if "Rank" not in line), "x")
    assert refused.value.message.id == "own.link.no_ranks"


def work_of(text):
    """Seconds of the processor for a text without a measurement, the least of three tries."""
    took = []
    for _ in range(3):
        begun = time.process_time()
        with pytest.raises(InputError):
            parse_measurement(text, "x")
        took.append(time.process_time() - begun)
    return min(took)


@pytest.mark.parametrize("length", [10_000, 200_000])
@pytest.mark.parametrize(
    "run",
    ["1", "12,", "7.", "1e1", "1 ", "tokens/s ", "\t", "# Rank 1", "a on device 1 [", "]"],
)
def test_a_long_run_takes_no_more_work_than_words_do(run, length):
    """Ten times is far above what a pass over a text varies by, and far below what a pass for each letter takes."""
    harmless = ("no number here " * length)[:length]
    for begin in ("", "# Rank ", "# Rank 0 on a device 1 ["):
        assert work_of(begin + (run * length)[:length]) < 10 * work_of(harmless) + 0.05


def test_sixty_thousand_numbers_with_commas_take_no_more_work_than_words_do():
    numbers = ",".join(str(number % 2048) for number in range(60_000))
    assert work_of(numbers) < 10 * work_of(("no number here " * len(numbers))[: len(numbers)]) + 0.05


def table(size="8589934592", busbw="447.5"):
    ranks = [f"#  Rank  {rank} Group  0 Pid 1 on host device  {rank} [0x18] NVIDIA H100 80GB HBM3" for rank in (0, 1)]
    return "\n".join(
        [*ranks, f"  {size}  2147483648  float  sum  -1  36000.0  238.6  {busbw}  0  36100  238  447.4 0\n"]
    )


@pytest.mark.parametrize(
    ("size", "busbw"), [("0", "447.5"), ("8", "0"), ("8", "44.7.5"), ("8", "...."), ("8", "9" * 99)]
)
def test_a_table_without_a_usable_row_is_named_as_one(size, busbw):
    assert parse_measurement(table(), "x").metrics == {"bus_bytes_per_s": 447.5e9}
    with pytest.raises(InputError) as refused:
        parse_measurement(table(size, busbw), "x")
    assert refused.value.message.id == "own.link.no_row"


@pytest.mark.parametrize(
    "text",
    [
        '{"output_throughput": 5e-324}',
        '{"mean_tpot_ms": 5e-324}',
        '{"output_throughput": NaN, "mean_tpot_ms": Infinity}',
        "elapsed time per iteration (ms): 1e-320",
        "step 1 tps: 1e-99",
    ],
)
def test_what_no_run_comes_near_was_not_measured(text):
    with pytest.raises(InputError) as refused:
        parse_measurement(text, "x")
    assert refused.value.message.id == "own.file.unknown"


def test_a_count_that_no_run_comes_near_is_no_load():
    said = '{"output_throughput": 2500, "completed": 1e-300, "total_input_tokens": 1e14}'
    assert parse_measurement(said, "x").load == {}
