"""Each cause of low utilisation from samples that show it, none from samples that show nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuplanner.engine.estimate import Limit
from gpuplanner.machines.low_utilization import THRESHOLDS, Cause, expected_utilization, explain
from gpuplanner.messages import Language, Translator
from gpuplanner.probe.telemetry import Telemetry

CALM = {"cpu_percent": 20, "cpu_wait_percent": 0, "cpus": 96, "busiest_cpu_percent": 60, "busiest_disk_percent": 5,
        "network_received_mb_per_s": 10, "network_link_mb_per_s": 12_500}  # fmt: skip
BUSY = {"utilization_percent": 97, "memory_percent": 60, "power_w": 600, "power_limit_w": 700, "clock_sm_mhz": 1900,
        "clock_sm_max_mhz": 1980, "pcie_received_mb_per_s": 8_000, "throttle_reasons": 4}  # fmt: skip


def watched(gpu_of: Callable[[int, float], dict[str, Any]], host: dict[str, Any], seconds=40, gpus=2) -> Telemetry:
    telemetry = Telemetry()
    for turn in range(seconds * 10):
        at_s = turn / 10
        frame: dict[str, Any] = {"at_s": at_s, "gpus": [{"gpu": gpu, **gpu_of(gpu, at_s)} for gpu in range(gpus)]}
        if turn % 10 == 0:
            frame["host"] = host
        telemetry.take(frame)
    return telemetry


def dipping(_gpu: int, at_s: float) -> dict[str, Any]:
    """Two seconds of every eight nothing comes and nothing runs."""
    return {**BUSY, "utilization_percent": 0, "pcie_received_mb_per_s": 0} if at_s % 8 < 2 else BUSY


def steady(**others: Any) -> Callable[[int, float], dict[str, Any]]:
    return lambda _gpu, _at_s: {**BUSY, **others}


def signs(explanation: Any) -> list[str]:
    return [sign.id.removeprefix("live.sign.") for sign in explanation.signs]


CASES = [
    (Cause.DATA_LOADING, dipping, {"cpu_percent": 97, "busiest_cpu_percent": 100}, ["dips", "quiet_pcie", "cpus_busy"]),
    (Cause.STORAGE, dipping, {"cpu_wait_percent": 25, "disk_read_mb_per_s": 480},
     ["dips", "quiet_pcie", "cpu_wait", "disk_read"]),
    (Cause.STORAGE, dipping, {"busiest_disk_percent": 99}, ["dips", "quiet_pcie", "disk_busy"]),
    (Cause.CPU_LIMIT, dipping, {"cpu_percent": 5, "cpu_limit": 4, "cpu_limit_used_percent": 99}, ["dips", "cpu_limit"]),
    (Cause.NETWORK, dipping, {"network_received_mb_per_s": 11_900}, ["dips", "network"]),
    (Cause.ONE_THREAD, steady(utilization_percent=45), {"busiest_cpu_percent": 100}, ["one_cpu"]),
    (Cause.SMALL_BATCHES, steady(utilization_percent=60, power_w=200, memory_percent=10), {},
     ["low_power", "low_memory"]),
    (Cause.SMALL_BATCHES, steady(power_w=200, memory_percent=10), {}, ["low_power", "low_memory"]),
    (Cause.THROTTLING, steady(throttle_reasons=0x40, clock_sm_mhz=1200), {}, ["throttled", "clock"]),
    (Cause.SYNCHRONIZATION, lambda gpu, _at_s: {**BUSY, "utilization_percent": 40 + 50 * gpu}, {}, ["uneven"]),
    (Cause.SYNCHRONIZATION, lambda gpu, _at_s: {**BUSY, "power_w": 650 if gpu else 300}, {}, ["one_works"]),
    (Cause.IDLE, steady(utilization_percent=0, power_w=70, processes=[]), {}, ["idle", "processes"]),
    (Cause.NONE, steady(), {}, []),
    (Cause.UNKNOWN, steady(utilization_percent=60), {}, []),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "gpu", "host", "seen"), CASES)
def test_the_likeliest_cause_with_the_signs_seen(cause, gpu, host, seen):
    explanation = explain(watched(gpu, {**CALM, **host}))
    assert (explanation.cause, signs(explanation)) == (cause, seen)
    assert explanation.unseen == ()


def test_dips_are_told_by_how_often_and_how_long():
    explanation = explain(watched(dipping, {**CALM, "cpu_percent": 97}))
    assert explanation.utilization_percent == pytest.approx(73, abs=1)
    assert explanation.signs[0].values == {"every": "8.0", "length": "2.0"}
    assert explanation.signs[1].values == {"rate": "0.0", "otherwise": "8.0"}
    assert explanation.signs[2].values == {"count": "96", "percent": "97%"}


def test_what_was_not_sampled_is_said_and_never_a_cause():
    bare = watched(lambda _gpu, _at_s: {"utilization_percent": 50}, {})
    explanation = explain(bare)
    assert explanation.cause is Cause.UNKNOWN
    unseen = {message.id.removeprefix("live.unseen.") for message in explanation.unseen}
    assert unseen == {"cpu", "disk", "power", "pcie", "throttling", "network"}
    assert explain(watched(lambda _gpu, _at_s: {"power_w": 50}, {})).utilization_percent is None
    assert explain(Telemetry()).cause is Cause.NO_GPU
    assert explain(watched(dipping, CALM, seconds=5)).cause is Cause.TOO_SHORT


def test_the_plan_says_what_is_low():
    telemetry = watched(steady(utilization_percent=80), {**CALM, "cpu_percent": 97})
    assert explain(telemetry, (86.0, 93.0)).cause is Cause.DATA_LOADING
    assert explain(telemetry, (70.0, 90.0)).cause is Cause.NONE


def test_several_causes_that_show_are_all_named_the_likeliest_first():
    explanation = explain(watched(dipping, {**CALM, "cpu_percent": 97, "cpu_wait_percent": 30}))
    assert (explanation.cause, explanation.others) == (Cause.DATA_LOADING, (Cause.STORAGE,))


def test_only_the_window_counts():
    def then_well(_gpu, at_s):
        return {**BUSY, "utilization_percent": 0} if at_s < 60 else BUSY

    telemetry = watched(then_well, CALM, seconds=100)
    assert explain(telemetry, window_s=30).cause is Cause.NONE
    assert explain(telemetry, window_s=120).utilization_percent == pytest.approx(39, abs=2)


class Planned:
    def __init__(self, **limits: float) -> None:
        self.limits = tuple((Limit(name), share) for name, share in limits.items())


def test_a_plan_expects_work_in_all_that_waits_for_neither_processors_nor_storage():
    planned: Any = Planned(compute=0.8, cpu=0.05, storage=0.02, latency=0.07, link=0.06)
    low, high = expected_utilization(planned) or (0, 0)
    assert low == pytest.approx(86)
    assert high == pytest.approx(93)
    nothing: Any = Planned()
    assert expected_utilization(nothing) is None


@pytest.mark.parametrize("language", Language)
def test_every_cause_and_sign_has_its_words(language):
    translator = Translator(language)
    for _, gpu, host, _ in CASES:
        explanation = explain(watched(gpu, {**CALM, **host}))
        for message in explanation.signs:
            assert "{" not in translator.text(message)
    for cause in Cause:
        assert translator.text(f"live.cause.{cause}") != f"live.cause.{cause}"


def test_each_threshold_says_who_says_so():
    assert all(threshold.source for threshold in THRESHOLDS.values())
