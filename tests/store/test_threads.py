"""One store used from several threads: a save in one does not get into another's transaction."""

import threading
from pathlib import Path

from gpuplanner.store.settings import Settings
from gpuplanner.store.store import Store, StoreError, open_store


def test_writes_of_several_threads_do_not_meet(tmp_path):
    store = open_store(tmp_path)
    settings = Settings(store)
    faults: list[Exception] = []

    def keep(name: str) -> None:
        try:
            for value in range(40):
                settings.keep(name, value)
                assert settings.kept(name) == value
        except Exception as fault:  # noqa: BLE001 - told to the test below
            faults.append(fault)

    threads = [threading.Thread(target=keep, args=(f"window.{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert faults == []


def test_a_store_that_closes_waits_for_who_reads_and_refuses_who_comes_later(tmp_path: Path) -> None:
    refused = []

    def read(store: Store) -> None:
        try:
            while True:
                store.read("SELECT count(*) FROM settings")
        except StoreError as fault:
            refused.append(fault.message.id)

    for _ in range(10):
        store = open_store(tmp_path)
        readers = [threading.Thread(target=read, args=(store,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        store.close()
        store.close()
        for reader in readers:
            reader.join(10)
            assert not reader.is_alive()
    assert refused == ["store.closed"] * 30
