"""What a person types in from a quote, as a promise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuplanner.machines.expecting import expected
from gpuplanner.machines.quoted import parts_of
from gpuplanner.messages import InputError
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def test_a_quote_promises_gpus_and_the_host(workspace: Workspace) -> None:
    promised = expected("8x H100 SXM 80GB, 192 vCPU, 2 TB RAM, 30 TB NVMe, 400 Gb/s, bare metal", workspace)
    assert promised.gpu is not None
    assert promised.gpu == expected("8x H100 SXM 80GB", workspace).gpu
    assert (promised.gpu_count, promised.cpus, promised.ram_bytes) == (8, 192, 2e12)
    assert (promised.disk_bytes, promised.network_bit_per_s) == (30e12, 400e9)
    assert promised.virtualization == "bare metal"


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("H100 SXM,192 vCPU", "cpus", 192),
        ("96 cores", "cpus", 96),
        ("H100 SXM；96核", "cpus", 96),
        ("2,048 GB RAM", "ram_bytes", 2048e9),
        ("1.5TiB memory", "ram_bytes", 1.5 * 2**40),
        ("512 GiB 内存", "ram_bytes", 512 * 2**30),
        ("3.84 TB SSD", "disk_bytes", 3.84e12),
        ("8x 400 Gb/s InfiniBand", "adapters_bit_per_s", 3200e9),
        ("8x 400 Gb/s InfiniBand", "adapter_bit_per_s", 400e9),
        ("8x 400 Gb/s Ethernet", "network_bit_per_s", 3200e9),
        ("8x 400Gbps IB", "adapters", 8),
        ("1 Tbit/s network", "network_bit_per_s", 1e12),
    ],
)
def test_values_as_quotes_have_them(workspace: Workspace, text: str, field: str, value: float) -> None:
    assert getattr(expected(text, workspace), field) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "kind", "count", "each", "together"),
    [
        ("3.2 Tb/s IB", "InfiniBand", None, None, 3200e9),
        ("8x NDR 400", "InfiniBand", 8, 400e9, 3200e9),
        ("8x NDR400 IB", "InfiniBand", 8, 400e9, 3200e9),
        ("8x HDR", "InfiniBand", 8, 200e9, 1600e9),
        ("InfiniBand NDR 8x400", "InfiniBand", 8, 400e9, 3200e9),
        ("NDR InfiniBand", "InfiniBand", None, 400e9, None),
        ("8x 400G RoCE v2", "RoCE", 8, 400e9, 3200e9),
        ("8x IB", "InfiniBand", 8, None, None),
    ],
)
def test_adapters_are_promised_by_number_by_rate_and_together(
    workspace: Workspace, text: str, kind: str, count: int | None, each: float | None, together: float | None
) -> None:
    promised = expected(f"8x H100 SXM, {text}", workspace)
    assert (promised.adapter_kind, promised.adapters) == (kind, count)
    assert (promised.adapter_bit_per_s, promised.adapters_bit_per_s) == (each, together)
    assert promised.network_bit_per_s is None
    assert promised.between_nodes_bit_per_s == together


@pytest.mark.parametrize("text", ["1x 100GbE", "100 GigE", "1x 100G Ethernet", "100 Gb/s", "100 Gb/s network"])
def test_ethernet_as_quotes_have_it(workspace: Workspace, text: str) -> None:
    promised = expected(text, workspace)
    assert (promised.network_bit_per_s, promised.adapters, promised.adapter_kind) == (100e9, None, "")
    assert promised.network_is_ethernet is ("E" in text)


def test_both_networks_of_a_machine_are_promised_side_by_side(workspace: Workspace) -> None:
    promised = expected("8x H100 SXM + 2 TB RAM + 8x NDR 400 & 2x 100GbE", workspace)
    assert (promised.gpu_count, promised.ram_bytes, promised.adapters) == (8, 2e12, 8)
    assert (promised.network_bit_per_s, promised.interfaces, promised.interface_bit_per_s) == (200e9, 2, 100e9)


def test_a_name_with_a_joint_in_it_stays_one_name() -> None:
    assert parts_of("n1-* + 1x nvidia-tesla-t4 + 8 vCPU") == ("n1-* + 1x nvidia-tesla-t4", "8 vCPU")


def test_a_value_beside_an_instance_is_what_counts(workspace: Workspace) -> None:
    assert expected("p5.48xlarge, 96 vCPU", workspace).cpus == 96
    assert expected("p5.48xlarge, 96 vCPU", workspace).ram_bytes == expected("p5.48xlarge", workspace).ram_bytes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8x H100 SXM, 192 vCPU, 400 GB/s", "machine.quote_part"),
        ("H100 SXM, 5 pears, 192 vCPU", "machine.quote_part"),
        ("192 vCPU, 96 vCPU", "machine.quote_twice"),
        ("100 Gb/s, 1x 100GbE", "machine.quote_twice"),
        ("H100 SXM, 2 IB, 192 vCPU", "machine.quote_part"),
        ("H100 SXM, 400 network, 192 vCPU", "machine.quote_part"),
    ],
)
def test_what_is_not_understood_is_said(workspace: Workspace, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        expected(text, workspace)
    assert error.value.message.id == message


def test_a_very_long_text_is_refused_at_once(workspace: Workspace) -> None:
    with pytest.raises(InputError):
        expected("1,234" * 20_000 + ", 4 vCPU", workspace)


_WORDS = ("8x", "H100", "SXM", "192", "vCPU", "2", "TB", "RAM", ",", "；", "Gb/s", "×", "400", "NVMe", "0", "-1", "1e9")


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=5)), min_size=1, max_size=9))
def test_any_text_is_a_promise_or_one_sentence(workspace: Workspace, words: list[str]) -> None:
    text = " ".join(words) + ", 4 vCPU"
    try:
        promised = expected(text, workspace)
    except InputError:
        return
    assert promised.said_by is not None
    assert promised.cpus == 4
