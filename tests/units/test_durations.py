"""One rule for every time on the command line, and the words of both options that take one."""

from __future__ import annotations

import pytest

from netlimits.errors import InputError
from netlimits.hosts.patience import Patience
from netlimits.hosts.patience import patience as of_a_host
from netlimits.restore.guard.guards import patience as of_a_guard
from netlimits.units import durations

TIMES = [("90s", 90), ("5m", 300), ("1h", 3600), ("1.5m", 90), ("1s", 1), ("168h", 604800)]
STRANGE = [
    "", "0", "5", "90", "m", "0s", "0.5s", "169h", "604801s", "-1m", "1e2s", "1e3s", "1_0m", "٣m",
    "1d", "soon", "nan", "inf", "nans", ".5m", "5.", "5M", " 5m", "5m ", "1 m", "5m\n",
]  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_a_time_is_the_same_to_every_option(text: str, seconds: float):
    assert durations.seconds(text) == seconds
    assert of_a_host(text) == Patience(seconds)
    assert of_a_guard(text) == seconds


@pytest.mark.parametrize("text", STRANGE)
def test_what_is_no_time_is_none_to_any_option(text: str):
    """A guard took ten of these that a host's patience refused."""
    says = "write a time from 1s to 168h, as in 90s or 5m"
    with pytest.raises(ValueError, match=says):
        durations.seconds(text)
    with pytest.raises(InputError) as error:
        of_a_host(text)
    assert str(error.value) == f"--patience {text}: {says}"
    with pytest.raises(InputError) as error:
        of_a_guard(text)
    assert str(error.value) == f"--guard {text}: {says}, or off"


@pytest.mark.long
def test_a_guard_may_be_off_and_patience_not():
    assert of_a_guard("off") is None
    with pytest.raises(InputError, match="--patience off: write a time"):
        of_a_host("off")
