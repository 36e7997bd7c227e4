"""Pages of a pool for attention and recurrent layers, against sums worked out by hand."""

import pytest

from gpuplanner.engine.formulas.hybrid_pool import (
    longest_in_pages,
    page_bytes,
    page_tokens,
    request_page_bytes,
    request_pages,
)


def test_a_page_is_as_long_as_a_state_in_whole_blocks():
    assert page_tokens(1_000_000, 2048, 16) == 496  # 488.3 tokens, in blocks of 16
    assert page_bytes(496, 2048, 8) == 8_126_464


def test_a_request_takes_whole_pages():
    assert request_pages(1000, 496, 2, 3, 1) == 9
    assert request_pages(992, 496, 2, 3, 1) == 7
    assert request_page_bytes(7, 8_126_464) == 56_885_248


@pytest.mark.parametrize(
    ("pool", "groups", "tokens"),
    [
        (10.9, 2, 3 * 496),  # ten whole pages, three of them for states; seven for two groups are three each
        (10.9, 3, 2 * 496),
        (2.0, 2, 0),  # no room beside the states
    ],
)
def test_the_longest_request_takes_what_whole_pages_are_left(pool, groups, tokens):
    assert longest_in_pages(pool * 1e6, 1e6, 496, groups, 3, 1) == tokens
