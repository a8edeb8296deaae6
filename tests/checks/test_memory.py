"""Socket buffers that the plan sets, held against a host's memory."""

from __future__ import annotations

import pytest
from checks.test_checks import complaints, printed, site

from netlimits.checks.memory import Memory

PLAN = """\
experiment: small
settings:
  - roles: [receiver]
    sysctl: {net.core.rmem_default: VALUE}
measure:
  netperf: {seconds: 1}
"""
ACCEPTED = "{want: 2147483647, if_fixed: accept}"


def meminfo(kib: int):
    return printed(f"MemTotal:       {kib:8} kB\nMemFree:          100000 kB\n")


def test_it_looks_only_where_the_plan_sets_a_buffer():
    assert not Memory().commands(site(), "receiver")
    plan = site(PLAN.replace("VALUE", ACCEPTED))
    assert not Memory().commands(plan, "sender")
    assert len(Memory().commands(plan, "receiver")) == 1


@pytest.mark.parametrize("value", [ACCEPTED, "2147483647"])
def test_a_buffer_larger_than_a_machine_is_a_warning(value):
    plan = site(PLAN.replace("VALUE", value))
    (warning,) = complaints(Memory(), plan, meminfo(393216), role="receiver").values()
    assert "net.core.rmem_default lets one socket hold 2,048 MiB of the host's 384 MiB" in warning
    assert warning.endswith("set 50331648 or less\n")
    assert complaints(Memory(), plan, meminfo(2**24), role="receiver") == {"note": "16,384 MiB; \n"}


def test_what_does_not_tell_is_a_note():
    plan = site(PLAN.replace("VALUE", ACCEPTED))
    assert list(complaints(Memory(), plan, printed(""), role="receiver")) == ["note"]
