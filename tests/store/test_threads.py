"""One store used from several threads: a save in one does not get into another's transaction."""

import threading

from gpuplanner.store.settings import Settings
from gpuplanner.store.store import open_store


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
