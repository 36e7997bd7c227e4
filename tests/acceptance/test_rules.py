from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.rules import read_rules
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence.events import KernelEvent
from tests.acceptance.judged import ENGLISH, judge

RULES = read_rules(shipped("catalogs") / "checks")


def test_every_check_has_its_rule_and_is_there_once():
    ids = [check.id for check in checks()]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= set(RULES)


def test_every_rule_says_where_its_threshold_comes_from():
    assert [rule.id for rule in RULES.values() if len(rule.source) < 3 or rule.version < 1] == []


def test_every_check_has_a_name_in_both_languages():
    for language in Language:
        translator = Translator(language)
        assert [check.id for check in checks() if not translator.has(f"check.name.{check.id}")] == []


def test_each_xid_stands_in_one_group_and_its_meaning_in_both_languages():
    groups = RULES["xid"].codes
    codes = [code for group in groups.values() for code in group]
    assert len(codes) == len(set(codes)) > 70
    for language in Language:
        translator = Translator(language)
        assert [code for code in range(1, 1000) if translator.has(f"xid.{code}")] == sorted(codes)


def test_the_reason_says_what_an_xid_means():
    events = tuple(KernelEvent(kind="xid", code=code) for code in (119, 145, 13, 64, 79, 48))
    judgement = judge("xid", events=events)
    assert judgement is not None
    assert ENGLISH.text(judgement.reason) == (
        "A fault of the GPU, of a link or of the firmware: 48 – memory error that could not be corrected; 64 – a bad "
        "memory row could not be remapped; 79 – the GPU no longer answers on the PCIe bus; 119 – the GPU's own "
        "processor, GSP, did not answer in time (and 1 more)."
    )
    unknown = judge("xid", events=(KernelEvent(kind="xid", code=99999),))
    assert unknown is not None
    assert "99999 – in no list known here" in ENGLISH.text(unknown.reason)
