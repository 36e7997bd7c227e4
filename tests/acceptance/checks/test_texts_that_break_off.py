"""XML that breaks off accuses nobody and clears nobody, whether it says how many GPUs are attached or not."""

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from tests.acceptance.diagnosed import of_texts
from tests.acceptance.judged import H100, judge, promising

PASS, WARN, FAIL, CANNOT, SKIPPED = Verdict

GPU = (
    "<gpu id='00000000:0{at}:00.0'>\n<product_name>NVIDIA H100 80GB HBM3</product_name>\n<uuid>GPU-{at}</uuid>\n"
    "<processes>\n</processes>\n</gpu>\n"
)


def xml(attached, shown):
    head = "" if attached is None else f"<attached_gpus>{attached}</attached_gpus>\n"
    return f"<nvidia_smi_log>\n{head}" + "".join(GPU.format(at=at) for at in range(shown)) + "</nvidia_smi_log>\n"


def cut_in_last(text):
    return text.rpartition("<processes>")[0]


def cut_after_last(text):
    return text.rpartition("</nvidia_smi_log>")[0]


LIST = "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-{at})\n" for at in range(8))


@pytest.mark.parametrize(
    ("texts", "counted", "state", "processes"),
    [
        ([xml(8, 8)], PASS, PASS, PASS),
        ([cut_in_last(xml(8, 4))], CANNOT, CANNOT, CANNOT),
        ([cut_in_last(xml(8, 8))], CANNOT, CANNOT, CANNOT),
        ([cut_in_last(xml(None, 4))], CANNOT, CANNOT, CANNOT),
        ([cut_after_last(xml(None, 4))], CANNOT, CANNOT, CANNOT),
        ([cut_after_last(xml(8, 8))], PASS, PASS, CANNOT),
        ([xml(None, 4)], FAIL, PASS, PASS),
        ([cut_in_last(xml(8, 4)), LIST], PASS, PASS, CANNOT),
        (["<nvidia_smi_log>\n<attached_gpus>8</attached_gpus>\n&x;"], CANNOT, CANNOT, CANNOT),
    ],
)
def test_xml_that_breaks_off(texts, counted, state, processes):
    evidence = of_texts(*texts)
    sections = {name: getattr(evidence, name) for name in ("gpus", "processes", "looked_for")}
    for check_id, verdict in (("gpu.count", counted), ("gpu.state", state), ("procs", processes)):
        judgement = judge(check_id, promising(H100, gpu_count=8), **sections)
        assert judgement is not None
        assert judgement.verdict is verdict, check_id
