from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.rules import read_rules
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped

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
