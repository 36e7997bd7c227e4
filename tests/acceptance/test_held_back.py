"""Which GPU was held back while something was measured: no other is blamed with it."""

from tests.acceptance.diagnosed import diagnosed, said

_HEAD = '{"gpuplanner-measure": 1}\n'
_PAIR = (
    '{"frame": "result", "kind": "bandwidth", "path": "device_to_device", "source": 4, "target": 5, '
    '"bytes": 268435456, "gb_per_s": 20.5, "during": {"looks": 8, "throttle_reasons": 68%s}}\n'
)


def test_of_a_copy_the_gpu_is_named_that_heat_held_back_and_not_its_source():
    found = diagnosed(_HEAD + _PAIR % ', "throttle_reasons_by_gpu": {"4": 4, "5": 64}')
    assert "GPU 5" in said(found["heat"])
    assert "4" not in said(found["heat"]).replace("64", "")
    assert "throttle_reasons_by_gpu" in found["heat"].lines[0].text


def test_where_nobody_can_say_which_of_two_it_was_none_is_blamed():
    assert "heat" not in diagnosed(_HEAD + _PAIR % "")
