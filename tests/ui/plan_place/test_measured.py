"""A measurement that is dropped on the window: recognised, shown with its profile, asked about, kept, taken back."""

import pytest

from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import OwnMeasurement
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.messages import InputError
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.store.own_measurements import read_own
from gpuplanner.store.settings import LANGUAGE, THEME
from gpuplanner.ui.plan_place.intake import take_file, take_text, takes
from gpuplanner.ui.settings_page.kept_measurements import kept_measurements
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace
from tests.ui.checks import clipped, missing_glyphs, nameless

H100 = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1)


@pytest.fixture
def real(tmp_path):
    workspace = Workspace(tmp_path / "home")
    yield workspace
    workspace.store.close()


@pytest.fixture
def open_page(real, open_page):
    """The pages of the package, which end before the store does."""
    return open_page


@pytest.fixture
def own_dir(data_dir):
    return data_dir / "own"


@pytest.fixture
def chat(open_page, settled, real):
    page = open_page("preset/chat-8b", store=real)
    page.presenter.document.set_machine(H100)
    settled(page)
    return page


@pytest.fixture
def dropped(qtbot):
    """Drops a file, and waits until it is understood or refused."""

    def drop(page, path):
        assert page.dropped([str(path)])
        asking = page.presenter.measured
        qtbot.waitUntil(
            lambda: asking.asked is not None and (asking.asked.understood or asking.asked.problem) is not None,
            timeout=10_000,
        )
        return asking.asked

    return drop


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vllm_bench.json", "serving"),
        ("sglang_bench.txt", "serving"),
        ("vllm_server.log", "serving"),
        ("torchtitan.log", "training"),
        ("megatron.log", "training"),
        ("nccl_all_reduce.txt", "collectives"),
    ],
)
def test_every_kind_of_file_is_recognised_by_its_content(own_dir, name, kind, workspace):
    taken = take_file(own_dir / name)
    assert ([run.kind for run in taken.runs], taken.name) == ([kind], name)
    assert takes(str(own_dir / name))
    pasted = take_text((own_dir / name).read_text(encoding="utf-8"), workspace)
    assert pasted.runs == taken.runs


@pytest.fixture
def recorded(tmp_path, project_root):
    """The recording of a probe that measured two GPUs and what joins them."""
    output = (project_root / "tests/data/probe/gpuplanner-measure/two.txt").read_bytes()
    path = tmp_path / "node7.gpurun"
    result = CommandResult("measure", ("python3", "-"), 0, "ended", output, b"", 9.0, 1.8e9)
    path.write_text(written(Run("node7", 1.8e9, (result,))), encoding="utf-8")
    return path


def test_a_probe_that_is_dropped_is_asked_about_as_links_and_as_parts(qtbot, chat, dropped, recorded, real, settled):
    asked = dropped(chat, recorded)
    assert isinstance(asked.understood.measurement, OwnLink)
    chat.measured.keep.click()
    qtbot.waitUntil(lambda: chat.presenter.measured.asked.understood is not None, timeout=10_000)
    assert "2 × H100 SXM5 80GB" in chat.measured.of.text()
    assert [row.name.id for row in chat.measured.rows()] == [
        "own.parts.memory_bytes_per_s", "own.parts.product_flop_per_s", "own.parts.host_link_bytes_per_s",
    ]  # fmt: skip
    chat.measured.keep.click()
    assert chat.measured.isHidden()
    assert {type(one) for one in read_own(real.home)[0]} == {OwnLink, OwnParts}
    assert chat.presenter.outcome.worked.estimate.own is None
    chat.presenter.document.set_machine(H100.model_copy(update={"gpus": 2, "per_node": 2}))
    settled(chat)
    qtbot.waitUntil(lambda: chat.presenter.outcome.worked.estimate.own is not None, timeout=10_000)
    said = {remark.id for remark in chat.presenter.outcome.worked.estimate.remarks}
    assert "own.parts.applied" in said
    for one in kept_measurements(real.home, real.catalog, chat.measured._appearance):
        assert one.name == "node7.gpurun"
        assert one.measured


def test_a_recording_of_which_nothing_counts_says_so_without_flags(qtbot, chat, tmp_path, recorded, said):
    path = tmp_path / "empty.gpurun"
    path.write_text(recorded.read_text(encoding="utf-8").replace("gb_per_s", "gb").replace("tflop_per_s", "t"), "utf-8")
    assert chat.dropped([str(path)])
    qtbot.waitUntil(lambda: "own.link.not_probed" in said(chat), timeout=10_000)
    assert chat.presenter.measured.asked is None


def test_other_files_are_what_they_were(tmp_path, workspace):
    config = tmp_path / "model.json"
    config.write_text('{"model_type": "llama", "hidden_size": 64}', encoding="utf-8")
    assert not takes(str(config))
    with pytest.raises(InputError) as fault:
        take_file(config)
    assert fault.value.message.id.startswith("model.")
    log = tmp_path / "syslog.log"
    log.write_text("nothing was measured here", encoding="utf-8")
    with pytest.raises(InputError) as nothing:
        take_file(log)
    assert nothing.value.message.id == "own.file.unknown"


@pytest.mark.parametrize(
    ("lost", "instead", "why"),
    [
        (" sum ", " max ", "own.link.no_row"),
        ("# nThread", "$ ./build/all_gather_perf -b 8M\n# nThread", "own.link.other_collective"),
        ("  Rank ", "  R ", "own.link.no_ranks"),
    ],
)
@pytest.mark.parametrize("name", ["nccl.txt", "nccl.log"])
def test_a_measurement_that_cannot_be_used_says_why(own_dir, tmp_path, workspace, lost, instead, why, name):
    text = (own_dir / "nccl_all_reduce.txt").read_text(encoding="utf-8")
    path = tmp_path / name
    path.write_text(text.replace(lost, instead), encoding="utf-8")
    assert takes(str(path))
    for take in (lambda: take_file(path), lambda: take_text(path.read_text(encoding="utf-8"), workspace)):
        with pytest.raises(InputError) as refused:
            take()
        assert refused.value.message.id == why


def test_the_buttons_stand_together_at_the_left_whatever_stands_beside_them(open_page, dropped, own_dir, real, qtbot):
    page = open_page("preset/chat-8b", store=real)
    assert dropped(page, own_dir / "vllm_bench.json").understood is None
    card = page.measured
    qtbot.waitUntil(lambda: card.keep.width() > 0 and card.keep.x() < 40)
    assert card.dismiss.x() - card.keep.geometry().right() < 20


def test_a_list_of_own_gpus_is_left_to_the_catalog(page, tmp_path):
    own, training = tmp_path / "own.yaml", tmp_path / "train.yaml"
    own.write_text("gpus:\n  - id: mine\n    name: [unclosed\n", encoding="utf-8")
    training.write_text("model_name_or_path: x\n", encoding="utf-8")
    assert not page.dropped([str(own)])
    assert page.dropped([str(training)])


def test_it_is_asked_about_before_it_is_kept(chat, dropped, own_dir, real, settled, said):
    assert chat.measured.isHidden()
    before = chat.presenter.outcome.worked.estimate.metrics["tpot_s"].value
    asked = dropped(chat, own_dir / "vllm_bench.json")
    assert chat.measured.isVisible()
    assert "1 × H100 SXM5 80GB" in chat.measured.of.text()
    assert "vLLM" in chat.measured.of.text()
    assert len(chat.measured.rows()) == len(asked.understood.factors) == 3
    assert read_own(real.home) == ((), ())
    assert chat.presenter.outcome.worked.estimate.own is None

    chat.measured.keep.click()
    settled(chat)
    assert chat.measured.isHidden()
    kept = read_own(real.home)[0]
    assert [one.name for one in kept] == ["vllm_bench.json"]
    worked = chat.presenter.outcome.worked.estimate
    assert worked.own is not None
    assert isinstance(kept[0], OwnMeasurement)
    assert worked.metrics["tpot_s"].value == pytest.approx(kept[0].measured["tpot_s"])
    assert worked.metrics["tpot_s"].value != before

    undo = chat.property("notices").kept[-1]
    assert undo.message.id == "own.window.kept"
    undo.action.run()
    settled(chat)
    assert read_own(real.home) == ((), ())
    assert chat.presenter.outcome.worked.estimate.own is None


def test_not_now_keeps_nothing(chat, dropped, own_dir, real):
    dropped(chat, own_dir / "vllm_bench.json")
    chat.measured.dismiss.click()
    assert chat.measured.isHidden()
    assert read_own(real.home) == ((), ())


def test_it_follows_the_plan_until_it_is_right(qtbot, chat, dropped, own_dir):
    chat.presenter.document.set_machine(None)
    asked = dropped(chat, own_dir / "vllm_bench.json")
    assert asked.problem.id == "own.on_which_machine"
    assert not chat.measured.keep.isEnabled()
    assert "--gpu" not in chat.measured.problem.accessibleName()
    chat.presenter.document.set_machine(H100)
    qtbot.waitUntil(lambda: chat.presenter.measured.asked.understood is not None, timeout=10_000)
    assert chat.measured.keep.isEnabled()
    assert chat.measured.problem.isHidden()


def test_a_log_of_another_model_is_doubted_and_can_be_kept_all_the_same(chat, dropped, own_dir):
    asked = dropped(chat, own_dir / "vllm_server.log")  # of Qwen3 32B
    assert asked.understood.doubt.id == "own.another_model"
    assert chat.measured.problem.isVisible()
    assert (
        "Qwen3 32B" in chat.measured.problem.accessibleName() or "Qwen3-32B" in chat.measured.problem.accessibleName()
    )
    assert chat.measured.keep.isEnabled()
    chat.measured.dismiss.click()
    assert dropped(chat, own_dir / "vllm_bench.json").understood.doubt is None
    assert chat.measured.problem.isHidden()


def test_links_and_runs_wait_for_each_other(qtbot, chat, dropped, own_dir, real):
    dropped(chat, own_dir / "vllm_bench.json")
    assert chat.dropped([str(own_dir / "nccl_all_reduce.txt")])
    qtbot.waitUntil(lambda: chat.presenter.measured.waiting == 1, timeout=10_000)
    assert "1 more" in chat.measured.note.text()
    chat.measured.keep.click()
    qtbot.waitUntil(lambda: chat.presenter.measured.asked.understood is not None, timeout=10_000)
    assert "All-reduce" in chat.measured.of.text()
    chat.measured.keep.click()
    assert len(read_own(real.home)[0]) == 2


def test_without_a_plan_it_says_what_to_do(qtbot, open_page, own_dir, said):
    page = open_page()
    page.presenter.show_start()
    page.dropped([str(own_dir / "vllm_bench.json")])
    qtbot.waitUntil(lambda: "own.of_which_plan" in said(page), timeout=10_000)
    assert page.presenter.measured.asked is None


def test_what_is_switched_off_elsewhere_counts_no_more_when_the_page_is_shown(
    qtbot, chat, dropped, own_dir, real, settled
):
    from gpuplanner.store.own_measurements import switch_own

    dropped(chat, own_dir / "vllm_bench.json")
    chat.measured.keep.click()
    settled(chat)
    assert chat.presenter.outcome.worked.estimate.own is not None
    qtbot.waitUntil(lambda: chat.presenter.own._counted is not None)
    switch_own(real.home, read_own(real.home)[0][0].id, used=False)
    real.measurements_changed()
    chat.hide()
    chat.show()
    qtbot.waitUntil(lambda: chat.presenter.outcome.worked.estimate.own is None, timeout=10_000)


@pytest.mark.parametrize("what", ["run", "parts"])
def test_the_card_is_whole_in_both_languages_and_themes(qtbot, chat, dropped, own_dir, appearance, recorded, what):
    if what == "run":
        dropped(chat, own_dir / "vllm_bench.json")
    else:
        dropped(chat, recorded)
        chat.measured.dismiss.click()
        qtbot.waitUntil(lambda: chat.presenter.measured.asked.understood is not None, timeout=10_000)
    for language in ("en", "zh_CN"):
        for theme in ("light", "dark"):
            appearance.choose(LANGUAGE, language)
            appearance.choose(THEME, theme)
            qtbot.waitUntil(lambda: clipped(chat.measured) == [], timeout=3000)
            assert missing_glyphs(chat.measured) == []
            assert nameless(chat.measured) == []
