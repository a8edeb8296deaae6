"""netlimits lab: what its options accept, without a lab."""

from __future__ import annotations

import pytest

from netlimits.cli import lab
from netlimits.errors import InputError


@pytest.mark.parametrize("text", ["100M", "100m", "0.1G", "100000000", "100mbit", "100Mbit"])
def test_a_links_rate_is_written_as_in_experiments_or_as_for_tc(text: str) -> None:
    assert lab._shape(text, None, None, None, None).rate == 100_000_000


@pytest.mark.parametrize("text", ["fast", "100 M", "100Mb", "-1M", ""])
def test_an_unreadable_rate_of_a_link_is_an_error_that_shows_both_notations(text: str) -> None:
    with pytest.raises(InputError, match="is no rate; write 100M or 100mbit"):
        lab._shape(text, None, None, None, None)
