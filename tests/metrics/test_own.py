from __future__ import annotations

import pytest

from netlimits.errors import InputError
from netlimits.metrics import METRICS, Metric, known, metric, own


def test_an_own_metric_is_known_by_name_and_column_and_replaced_by_name():
    mine = own.declare(Metric("handshake", unit="ms", better="lower"))
    assert (mine.column, mine.label) == ("handshake_ms", "Handshake (ms)")
    assert metric("handshake") is metric("handshake_ms") is mine
    assert known()[-1] is mine
    other = own.declare(Metric("handshake", unit="us", better="lower"))
    assert metric("handshake") is other


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Metric("throughput"), "has this name already"),
        (Metric("mine", column="throughput_mbps"), "has this name already"),
        (Metric("page load"), "letters, digits and underscores"),
        (Metric("mine", better="more"), "better is 'higher', 'lower' or ''"),  # type: ignore[arg-type]
        (Metric("mine", unit=3), "unit must be a text"),  # type: ignore[arg-type]
    ],
)
def test_a_metric_that_cannot_be_one_is_refused(given: Metric, message: str):
    with pytest.raises(InputError, match=message):
        own.declare(given)


def test_a_metric_of_the_catalogue_may_be_declared_again():
    assert own.declare(METRICS[0]) == METRICS[0]
