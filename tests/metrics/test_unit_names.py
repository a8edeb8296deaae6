from __future__ import annotations

import pytest

from netlimits.errors import InputError
from netlimits.metrics import unit_names


@pytest.mark.parametrize(
    ("unit", "into", "factor"),
    [
        ("Gbit/s", "Mbit/s", 1000),
        ("Gbits/sec", "Mbit/s", 1000),
        ("gbps", "Mbit/s", 1000),
        ("kbps", "Mbit/s", 0.001),
        ("bits_per_second", "Mbit/s", 1e-6),
        ("MB/s", "Mbit/s", 8),
        ("MBytes/sec", "Mbit/s", 8),
        ("MiB/s", "Mbit/s", 8.388608),
        ("ms", "µs", 1000),
        ("usec", "ms", 0.001),
        ("s", "s", 1),
        ("fraction", "%", 100),
        ("Mpps", "packets/s", 1e6),
        ("KiB", "bytes", 1024),
        ("GHz", "MHz", 1000),
    ],
)
def test_units_convert(unit: str, into: str, factor: float):
    assert unit_names.factor(unit, into) == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("unit", ["mb/s", "MB", "ms", "x", "", "p"])
def test_what_is_no_rate_is_not_converted_to_one(unit: str):
    with pytest.raises(InputError):
        unit_names.factor(unit, "Mbit/s")


@pytest.mark.parametrize(
    ("name", "into", "unit"),
    [
        ("Mbit/s down", "Mbit/s", "Mbit/s"),
        ("Download [Gbit/s]", "Mbit/s", "Gbit/s"),
        ("sum_bits_per_second", "Mbit/s", "bits_per_second"),
        ("throughput_gbps", "Mbit/s", "gbps"),
        ("rtt (ms)", "µs", "ms"),
        ("cpu", "%", ""),
        ("size of bytes", "Mbit/s", ""),
        ("anything", "", ""),
    ],
)
def test_the_unit_in_a_name(name: str, into: str, unit: str):
    assert unit_names.in_name(name, into) == unit


def test_two_units_in_a_name_are_refused():
    with pytest.raises(InputError, match="several units: Mbit/s, Gbit/s"):
        unit_names.in_name("Mbit/s or Gbit/s", "Mbit/s")
