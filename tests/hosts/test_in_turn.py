"""Several commands in one round trip keep outputs, statuses and ends apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.hosts import in_turn
from netlimits.hosts.base import OUTPUT_LIMIT
from netlimits.hosts.local import local_host
from netlimits.model import Command


@pytest.fixture(scope="module")
def host():
    here = local_host("here")
    yield here
    here.close()


def sh(text: str, deadline: float = 10) -> Command:
    return Command(("sh", "-c", text), deadline=deadline)


def test_outputs_statuses_and_order_are_those_of_commands_one_by_one(host):
    commands = [
        sh("echo one"),
        sh("printf 'no newline'; echo loud >&2; exit 3"),
        Command(("no-such-program", "x y")),
        sh("printf '\\n\\n'"),
        sh("kill -s KILL $$"),
        Command(("cat", "/proc/self/stat")),
    ]
    together = host.run_in_turn(commands)
    alone = [host.run(command) for command in commands]
    assert [c.command for c in together] == commands
    assert [c.status for c in together] == [c.status for c in alone] == [0, 3, 127, 0, 137, 0]
    assert [c.stdout for c in together][:5] == [c.stdout for c in alone][:5]
    assert [c.stderr for c in together][:2] == [c.stderr for c in alone][:2]
    assert "no-such-program" in together[2].stderr
    assert not any(c.timed_out or c.truncated for c in together)


@given(st.lists(st.binary(max_size=40), min_size=2, max_size=4))
def test_any_output_comes_back_whole(host, texts):
    octal = ["".join(f"\\{byte:03o}" for byte in text) for text in texts]
    commands = [sh(f"printf '{text}'; printf '{text}' >&2") for text in octal]
    for text, part in zip(texts, host.run_in_turn(commands), strict=True):
        expected = text.decode("utf-8", "backslashreplace")
        assert (part.stdout, part.stderr, part.status) == (expected, expected, 0)


def test_one_that_hangs_has_what_it_printed_and_the_rest_did_not_run(host):
    first, hung, last = host.run_in_turn(
        [sh("echo done", 1), sh("echo begun; sleep 60", 1), sh("echo never", 1)]
    )
    assert (first.stdout, first.status, first.timed_out) == ("done\n", 0, False)
    assert (hung.stdout, hung.timed_out) == ("begun\n", True)
    assert hung.status
    assert (last.stdout, last.timed_out) == ("", True)
    assert last.status


def test_more_than_a_host_keeps_is_truncated_where_it_was_cut(host):
    flood = sh(f"head -c {OUTPUT_LIMIT} /dev/zero | tr '\\0' x")
    before, cut, after = host.run_in_turn([sh("echo small"), flood, sh("echo late")])
    assert (before.stdout, before.truncated) == ("small\n", False)
    assert cut.truncated
    assert cut.status
    assert set(cut.stdout.strip()) == {"x"}
    assert after.truncated
    assert after.status
    assert not after.stdout


@pytest.mark.parametrize("own", [Command(("cat",), stdin="fed"), Command(("id",), sudo=True)])
def test_input_and_root_take_a_round_trip_of_their_own(host, own):
    assert not in_turn.fits([own, own])
    assert in_turn.fits([own])
    assert [c.status for c in host.run_in_turn([own, own])] == [0, 0]
    assert [c.status for c in host.run_in_turn([own])] == [0]


def test_nothing_costs_nothing(host):
    assert not in_turn.fits([])
    assert host.run_in_turn([]) == []


def test_what_has_begun_goes_on_while_others_are_waited_for(host, tmp_path):
    """Two that wait for each other can only end when neither is waited for before both began."""
    waits = [
        host.begin_in_turn(
            [sh(f"touch {tmp_path}/{own}"), sh(f"until [ -e {tmp_path}/{other} ]; do :; done")]
        )
        for own, other in (("a", "b"), ("b", "a"))
    ]
    assert [[c.status for c in wait()] for wait in waits] == [[0, 0], [0, 0]]
    assert host.run(sh("echo on")).stdout == "on\n"


def test_a_change_within_a_claim_and_what_is_read_after_it_share_a_script(host):
    guarded = Command(
        ("echo", "a  b"), within=("sh", "-c", 'echo "$1"; shift; exec "$@"', "x", "I")
    )
    refused = Command(("echo", "never"), within=("sh", "-c", "exit 79", "x"))
    commands = [guarded, refused, sh('set -- "$1"; echo left; exit 4'), Command(("echo", "read"))]
    assert in_turn.fits(commands)
    parts = host.run_in_turn(commands)
    assert [(p.stdout, p.status) for p in parts] == [
        ("I\na  b\n", 0), ("", 79), ("left\n", 4), ("read\n", 0)]  # fmt: skip


def test_a_script_costs_no_shell_of_its_own_unless_it_speaks_of_itself():
    lines = in_turn.batch([sh("echo $1"), sh("echo $$"), sh("echo $0")], "N").argv[2]
    assert lines.count("sh -c") == 2


@pytest.mark.long
def test_root_needs_no_round_trip_of_its_own_where_the_login_is_root():
    both = [Command(("id",), sudo=True), sh("true")]
    assert in_turn.fits(both, root=True)
    assert not in_turn.fits(both)
