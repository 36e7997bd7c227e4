"""A session that was kept is shown as it was; bytes that are none are refused in one sentence."""

import io
import zipfile
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.messages import InputError
from gpuplanner.probe.live_session import LiveSession, of_bytes, to_bytes
from gpuplanner.probe.telemetry import Mark, Process, Telemetry


@pytest.fixture(scope="module")
def session():
    telemetry = Telemetry()
    for turn in range(400):
        gpus: list[dict[str, Any]] = [
            {"gpu": gpu, "power_w": 100 + turn % 7, "throttle_reasons": 0x40 if turn == 50 else 0} for gpu in (0, 1)
        ]
        gpus[1]["processes"] = [{"pid": 7, "used_bytes": 1 << 30, "name": "python3"}]
        telemetry.take({"at_s": turn / 10, "gpus": gpus, "host": {"cpu_percent": 50.0}})
    telemetry.take({"at_s": 40.0, "gpus": [{"gpu": 0, "xids": [79], "lost": True}]})
    return LiveSession("node-07", "2026-11-30T10:42:00Z", telemetry, {0: "Stub 0", 1: "Stub 1"})


def test_a_session_comes_back_as_it_was(session):
    again = of_bytes(to_bytes(session))
    assert (again.target, again.began, again.gpus) == (session.target, session.began, session.gpus)
    before, after = session.telemetry, again.telemetry
    assert after.series.keys() == before.series.keys()
    for key, series in before.series.items():
        for was, now in zip(series.bins(), after.series[key].bins(), strict=True):
            np.testing.assert_allclose(now, was, rtol=1e-5)
        assert len(after.series[key].recent(120)[0]) > 100
    assert list(after.marks) == [*before.marks]
    assert Mark(40.0, 0, 0, 79) in after.marks
    assert (after.lost, after.ended_s, after.tells_throttling) == ({0}, 40.0, True)
    assert after.processes == {1: (Process(7, 1 << 30, "python3"),)}


def test_an_hour_of_eight_gpus_is_kept_in_a_few_megabytes():
    telemetry = Telemetry()
    rows = np.random.default_rng(1).uniform(0, 100, (3_600, 8))
    for at_s, values in enumerate(rows.tolist()):
        telemetry.take(
            {"at_s": at_s, "gpus": [{"gpu": g, "power_w": v, "clock_sm_mhz": v} for g, v in enumerate(values)]}
        )
    assert len(to_bytes(LiveSession("x", "", telemetry))) < 1_000_000


def test_bytes_that_are_no_session_are_refused(session):
    packed = to_bytes(session)
    for given_bytes in (b"", b"PK", packed[:-30], packed[40:]):
        with pytest.raises(InputError):
            of_bytes(given_bytes)


@pytest.mark.parametrize("began", ["=cmd|'/C calc'!A1", "yesterday", "\x1b[2J"])
def test_a_time_that_is_none_is_refused(session, began):
    with pytest.raises(InputError):
        of_bytes(to_bytes(replace(session, began=began)))


def test_a_bomb_is_not_unpacked():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", b" " * 210_000_000)
    with pytest.raises(InputError) as raised:
        of_bytes(packed.getvalue())
    assert raised.value.message.id == "live.session.too_large"


@given(place=st.integers(0, 3_000), value=st.integers(0, 255))
def test_a_damaged_session_is_refused_or_read(session, place, value):
    packed = bytearray(to_bytes(session))
    packed[place % len(packed)] = value
    with suppress(InputError):
        assert len(of_bytes(bytes(packed)).telemetry.series) <= 3
