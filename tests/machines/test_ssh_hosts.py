"""Names of hosts out of a person's OpenSSH configuration."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.machines.ssh_hosts import MOST_HOSTS, ssh_hosts


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def configure(home: Path, content: str, name: str = "config") -> None:
    path = home / ".ssh" / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content, encoding="utf-8")


def test_hosts_in_their_order_each_once(home: Path) -> None:
    configure(
        home,
        "Host gpu-a gpu-b # the old ones\n  HostName 10.0.0.1\n# Host commented\n"
        'HOST=gpu-c\n\thost\t"gpu d"\nHost gpu-a\nHostKeyAlias no\n',
    )
    assert ssh_hosts(home) == ("gpu-a", "gpu-b", "gpu-c", "gpu d")


def test_patterns_are_no_hosts(home: Path) -> None:
    configure(home, "Host *.lab gpu? !bastion one\nHost *\nMatch host two\n")
    assert ssh_hosts(home) == ("one",)


def test_included_files_stand_where_they_are_included(home: Path) -> None:
    configure(home, "Host first\nInclude more/*.conf ~/.ssh/own absent\nHost last\n")
    configure(home, "Host b\n", "more/b.conf")
    configure(home, "Host a\nInclude deeper\n", "more/a.conf")
    configure(home, "Host deeper\n", "deeper")
    configure(home, "Host own\n", "own")
    assert ssh_hosts(home) == ("first", "a", "deeper", "b", "own", "last")


def test_a_whole_path_is_included(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("Host elsewhere\n", encoding="utf-8")
    configure(home, f"Include {tmp_path / 'elsewhere'}\n")
    assert ssh_hosts(home) == ("elsewhere",)


def test_files_that_include_each_other_end(home: Path) -> None:
    configure(home, "Include other\nHost one\n")
    configure(home, "Include config other\nHost two\n", "other")
    assert ssh_hosts(home) == ("two", "one")


def test_without_a_configuration_there_are_none(tmp_path: Path) -> None:
    assert ssh_hosts(tmp_path) == ()
    (tmp_path / ".ssh" / "config").mkdir(parents=True)
    assert ssh_hosts(tmp_path) == ()


def test_many_hosts_are_bounded(home: Path) -> None:
    configure(home, "".join(f"Host h{at}\n" for at in range(MOST_HOSTS + 10)))
    assert len(ssh_hosts(home)) == MOST_HOSTS


@given(lines=st.lists(st.tuples(st.sampled_from(["Host", "Include", "host=", "", "Include ~"]), st.text(max_size=20))))
def test_no_text_is_too_odd(tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, str]]) -> None:
    home = tmp_path_factory.mktemp("home")
    content = "".join(f"{word} {rest}\n" for word, rest in lines)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_bytes(content.encode("utf-8", "surrogatepass"))
    for name in ssh_hosts(home):
        assert name.isprintable()
        assert not set(name) & set("*?!")
