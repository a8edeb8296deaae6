"""Network sysctls, on what `sysctl` showed (captures/settings/sysctl)."""

from __future__ import annotations

import re

import jsonschema
import pairs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from undoing import ListLog

from netlimits.archive.records import unfinished
from netlimits.errors import SettingError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed
from netlimits.restore.changes import Changes
from netlimits.restore.originals import quoted_lines
from netlimits.settings.sysctl import Sysctl

sysctl = Sysctl()


@pytest.fixture
def state():
    return pairs.state(sysctl, "tcp")


@pytest.mark.parametrize("name", pairs.names("settings/sysctl"))
def test_each_capture_gives_what_its_pair_expects(name):
    pairs.check("settings/sysctl", name)


def test_only_what_differs_is_written_in_the_files_order(state):
    wanted = {
        "net.ipv4.tcp_sack": 0,
        "net.ipv4.tcp_congestion_control": state["net.ipv4.tcp_congestion_control"],
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
    }
    (command,) = sysctl.change("data0", state, wanted)
    assert command == Command(
        ("sysctl", "-w", "net.ipv4.tcp_sack=0", "net.ipv4.tcp_rmem=4096 131072 6291456"),
        sudo=True,
    )
    assert sysctl.change("data0", state, {"net.ipv4.tcp_rmem": "4096 131072  33554432"}) == ()


def test_undo_writes_what_was_found_last_written_first(state):
    now = {**state, "net.ipv4.tcp_sack": "0", "net.ipv4.tcp_rmem": "1\t2\t3"}
    (command,) = sysctl.undo("data0", state, now)
    assert command.argv[2:] == (
        "net.ipv4.tcp_sack=1",
        "net.ipv4.tcp_rmem=4096\t131072\t33554432",
    )
    assert sysctl.differences(state, now) == (
        "net.ipv4.tcp_rmem is 1 2 3, was 4096 131072 33554432",
        "net.ipv4.tcp_sack is 0, was 1",
    )


@pytest.mark.parametrize(
    "name",
    ["net.ipv6.conf.all.disable_ipv6", "net.ipv4.ip_forward", "net.ipv6.conf.eth0.mtu",
     "net.ipv4.conf.all.forwarding", "net.ipv4.route.flush"],
)  # fmt: skip
def test_a_name_that_moves_more_than_itself(name):
    with pytest.raises(SettingError, match="changes more than itself"):
        sysctl.change("data0", {name: "0"}, {name: 1})


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("net.ipv4.neigh.eth0.unres_qlen", "set net.ipv4.neigh.eth0.unres_qlen_bytes"),
        ("net.ipv6.neigh.eth0.retrans_time", "set net.ipv6.neigh.eth0.retrans_time_ms"),
        ("net.ipv4.conf.default.rp_filter", "set net.ipv4.conf.data0.rp_filter"),
        ("net.ipv6.neigh.default.mcast_solicit", "set net.ipv6.neigh.data0.mcast_solicit"),
        ("net.netfilter.nf_hooks_lwtunnel", "until the next boot"),
        ("net.ipv6.conf.all.force_forwarding", "set net.ipv6.conf.data0.force_forwarding"),
    ],
)
def test_a_name_that_moves_others_is_refused_with_the_one_to_set(name, instead):
    with pytest.raises(SettingError, match=instead):
        sysctl.change("data0", {}, {name: 1})


def test_a_name_that_is_not_known_to_be_alone_is_written_by_a_script_that_watches():
    name = "net.ipv4.neigh.data0.unres_qlen_bytes"
    (command,) = sysctl.change("data0", {name: "1"}, {name: 2})
    assert command.argv[:2] == ("sh", "-c")
    passing, *pairs_written = command.argv[4:]
    assert pairs_written == [f"{name}=2"]
    assert re.fullmatch(passing, "net.ipv4.neigh.data0.unres_qlen"), "a view of the same number"
    assert not re.fullmatch(passing, name)


def test_what_the_kernel_allows_with_a_congestion_control_is_restored_after_it():
    first = "net.ipv4.tcp_allowed_congestion_control = reno cubic\n"
    name, allowed = "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_allowed_congestion_control"
    read = sysctl.read("data0", {name: "bbr"})
    assert read.argv == ("sysctl", allowed, name)
    original = sysctl.state(answer(read, stdout=f"{first}{name} = cubic\n"))
    now = {allowed: "reno cubic bbr", name: "bbr"}
    back, beside = sysctl.undo("data0", original, now)
    assert back.argv[2:] == (f"{name}=cubic",)
    assert beside.argv[-1] == f"{allowed}=reno cubic"
    assert quoted_lines([beside]) == f"`sysctl -w '{allowed}=reno cubic'`"
    assert sysctl.state(answer(read, stdout=f"{name} = cubic\n", status=255)) == {name: "cubic"}


@pytest.mark.parametrize(
    "wanted",
    [
        {"kernel.panic": 1},
        {"-w": 1},
        {"net.ipv4.tcp_sack=1 kernel.panic": 0},
        {"net.ipv4/../../kernel/panic": 1},
        {"net.ipv4.tcp_sack": "1\n"},
        {"net.ipv4.tcp_sack": "$(reboot)"},
        {"net.ipv4.tcp_sack": ""},
        {"net.ipv4.tcp_sack": None},
        {},
    ],
)
def test_the_schema_lets_only_plain_names_under_net_through(wanted):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wanted, sysctl.schema)


VALUES = st.dictionaries(
    st.sampled_from([f"net.ipv4.tcp_{n}" for n in "abcdef"]), st.integers(-1, 99), min_size=1
)


class Kernel:
    """Sysctls that can be read and written, as a scripted host's script."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    def __call__(self, command: Command) -> Completed:
        if command.argv[1] == "-w":
            self.values.update(pair.split("=", 1) for pair in command.argv[2:])
            return answer(command, host="sender")
        lines = [f"{name} = {self.values[name]}" for name in command.argv[1:]]
        return answer(command, stdout="\n".join(lines), host="sender")


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_every_name_of_every_run_is_put_back(wishes):
    before = {f"net.ipv4.tcp_{n}": f"a{i}\t{i}" for i, n in enumerate("abcdef")}
    kernel = Kernel(dict(before))
    host = ScriptedHost(kernel, "sender")
    changes = Changes(lambda _: host, ListLog(lambda _: host))
    for wanted in wishes:
        changes.reach("sender", "data0", "sysctl", wanted)
        assert {n: kernel.values[n] for n in wanted} == {n: str(v) for n, v in wanted.items()}
    (original,) = changes.changed
    assert original.state.keys() == set().union(*wishes)
    changes.restore()
    assert kernel.values == before


class Events:
    """An archive that holds these events."""

    def __init__(self, *events: dict) -> None:
        self._events = events

    def own_part(self):
        return None

    def numbered(self, _begin):
        return enumerate(self._events, 1)


def test_a_journal_keeps_each_part_as_it_was_found_first():
    place = {"event": "found", "role": "sender", "interface": "data0", "setting": "sysctl"}
    events = [
        {**place, "state": {"net.a": "1"}},
        {**place, "state": {"net.a": "changed by us", "net.b": "2"}},
    ]
    (event,) = unfinished(Events(*events))  # type: ignore[arg-type]
    assert event["state"] == {"net.a": "1", "net.b": "2"}
    assert unfinished(Events(*events, {**place, "event": "put_back"})) == ()  # type: ignore[arg-type]


ACCEPTED = {"net.core.rmem_default": {"want": 2147483647, "if_fixed": "accept"}}


def test_one_that_may_miss_is_left_out_where_it_does():
    command = sysctl.read("data0", {**ACCEPTED, "net.ipv4.tcp_sack": 0})
    assert command.argv == ("sysctl", "-e", "net.core.rmem_default", "net.ipv4.tcp_sack")
    state = pairs.state(sysctl, "may-miss")
    assert sysctl.change("data0", state, ACCEPTED) == ()
    assert sysctl.unmet(state, ACCEPTED) == ()
    (undo,) = sysctl.undo("data0", state, {})  # what a guard would run
    assert undo.argv[2:] == ("net.ipv4.tcp_sack=1",)
    assert sysctl.read("data0", state).argv[1] == "-e"  # and it is read back as it was found
    with pytest.raises(SettingError, match=r"there is no net\.core\.rmem_default"):
        sysctl.change("data0", state, {"net.core.rmem_default": 1})


def test_one_that_cannot_be_written_stays_where_that_is_accepted():
    state = {"net.core.rmem_default": "212992"}
    (command,) = sysctl.change("data0", state, ACCEPTED)
    assert command.argv == ("sysctl", "-w", "net.core.rmem_default=2147483647")
    assert sysctl.unmet(state, ACCEPTED) == ()
    assert sysctl.unmet(state, {"net.core.rmem_default": {"want": 2147483647}}) == (
        "net.core.rmem_default is 212992, not 2147483647",
    )


def test_a_vector_is_written_whole():
    state = {"net.ipv4.tcp_rmem": "4096\t131072\t6291456"}
    with pytest.raises(SettingError, match=r'3 values .*such as "1000 131072 6291456"'):
        sysctl.change("data0", state, {"net.ipv4.tcp_rmem": 1000})
    assert sysctl.change("data0", state, {"net.ipv4.tcp_rmem": "1000 131072 6291456"})
