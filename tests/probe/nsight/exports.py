"""Small exports of Nsight Systems, with the tables and columns that its documentation names, made by the tests."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

PROCESS = (281_474_976_710_656 // 2**24 + 4242) << 24
"""A process's number as exports have it: the process's own above 24 bits that are the thread's."""
LAUNCHING, OTHER = PROCESS + 4242, PROCESS + 4300

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
"""
NAMES = {
    1: "cudaLaunchKernel_v7000",
    2: "cudaStreamSynchronize_v3020",
    3: "cudaMalloc_v3020",
    4: "read",
    5: "load data",
}


def export(path: Path, tables: dict[str, Iterable[Sequence[object]]], schema: str = SCHEMA) -> Path:
    """A database with these rows by table; names and one GPU are there."""
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    rows = {"StringIds": NAMES.items(), "TARGET_INFO_GPU": [(0, 0, "NVIDIA H100 80GB HBM3")], **tables}
    for table, held in rows.items():
        for row in held:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", tuple(row))
    connection.commit()
    connection.close()
    return path


def typical(path: Path) -> Path:
    """One GPU: 1 ms of kernel, 6 ms idle, 2 ms of kernel beside a copy, 1 ms idle, 1 ms of kernel.

    In the first gap the launching thread reads a file for 3 ms and works for 2.9, and launches in 0.1; in the second it
    allocates for all of it.
    """
    ms = 1_000_000
    return export(
        path,
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": [
                (10 * ms, 11 * ms, 0, 7, 101, PROCESS, 1),
                (17 * ms, 19 * ms, 0, 7, 102, PROCESS, 1),
                (20 * ms, 21 * ms, 0, 7, 103, PROCESS, 1),
            ],
            "CUPTI_ACTIVITY_KIND_MEMCPY": [(18 * ms, 19 * ms, 0, 4096)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [
                (9 * ms, 10 * ms, LAUNCHING, 101, 1),
                (16_900_000, 17 * ms, LAUNCHING, 102, 1),
                (19 * ms, 20 * ms, LAUNCHING, 900, 3),
                (19_500_000, 19_600_000, LAUNCHING, 103, 1),
                (11 * ms, 17 * ms, OTHER, 901, 2),
            ],
            "OSRT_API": [(11 * ms, 14 * ms, LAUNCHING, 4), (12 * ms, 13 * ms, LAUNCHING, 4), (0, 40 * ms, OTHER, 4)],
            "NVTX_EVENTS": [
                (10 * ms, 21 * ms, 59, "step", None, LAUNCHING),
                (11 * ms, 15 * ms, 59, None, 5, LAUNCHING),
                (11 * ms, 15 * ms, 60, "ignored", None, LAUNCHING),
            ],
        },
    )
