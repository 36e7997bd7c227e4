"""Names of machines with a count or a MIG slice, as `--gpu` and `--machine` take them; models where none is run."""

import json

import pytest

from gpuplanner.cli.main import main


def machine(capsys, *arguments):
    """What the JSON of an estimate says of its machine."""
    assert main(["--lang", "en", "estimate", "chat-8b", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["machine"]


@pytest.mark.parametrize(
    ("name", "gpus", "planned"),
    [
        ("8x H100 SXM5 80GB", 8, "H100 SXM5 80GB"),
        ("H100 SXM5 80GB x2", 2, "H100 SXM5 80GB"),
        ("A100 PCIe 80GB 3g.40gb", 1, "A100 PCIe 80GB MIG 3g.40gb"),
        ("2x A100 PCIe 80GB 3g.40gb", 2, "A100 PCIe 80GB MIG 3g.40gb"),
    ],
)
def test_a_named_gpu_keeps_its_count_and_its_slice(user_home, capsys, name, gpus, planned):
    found = machine(capsys, "--gpu", name)
    assert (found["gpus"], found["gpu_name"]) == (gpus, planned)


def test_a_count_stands_beside_a_name_without_one_or_with_the_same(user_home, capsys):
    assert machine(capsys, "--gpu", "A100 PCIe 80GB 3g.40gb", "--gpus", "3")["gpus"] == 3
    assert machine(capsys, "--gpu", "4x H100 SXM5 80GB", "--gpus", "4")["gpus"] == 4


def test_a_named_instance_keeps_its_count_of_nodes(user_home, capsys):
    found = machine(capsys, "--machine", "8 x p5.48xlarge")
    assert (found["instance"], found["nodes"]) == ("aws/p5.48xlarge", 8)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chat-8b", "--gpu", "8x H100 SXM5 80GB", "--gpus", "4"], "8x H100 SXM5 80GB"),
        (["chat-8b", "--gpu", "2x H100 SXM5 80GB / 4x H100 SXM5 80GB"], "4x H100 SXM5 80GB"),
        (["chat-8b", "--gpu", "0x A100 80GB PCIe"], "0x A100 80GB PCIe"),
        (["chat-8b", "--machine", "0 x p5.48xlarge"], "0 x p5.48xlarge"),
        (["chat-8b", "--gpu", "GRID A100D-40C"], "GRID A100D-40C"),
        (["chat-8b", "--gpu", "L4", "--set", 'constraints.gpus=["8x H100 SXM5 80GB"]'], "8x H100 SXM5 80GB"),
        (["stencil", "--gpu", "H100 SXM5 80GB", "--model", "Llama 3.1 8B"], "--model"),
    ],
)
def test_what_contradicts_or_stands_for_nothing_is_refused_in_one_sentence(
    user_home, capsys, language, arguments, says
):
    assert main(["--lang", language, "estimate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert "catalog_id" not in captured.err


def test_none_of_a_gpu_resolves_to_nothing_in_the_same_shape(user_home, capsys):
    assert main(["--lang", "en", "catalog", "resolve", "0x A100 80GB PCIe", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["query", "kind", "id", "name", "fraction", "candidates"]
    assert (found["id"], found["candidates"]) == (None, ["nvidia-a100-pcie-80gb"])
