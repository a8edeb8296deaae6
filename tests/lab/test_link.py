"""Links shaped from outside: what crosses them, what their hosts see of it, and off again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm
from hypothesis import given
from hypothesis import strategies as st
from waiting import LONG, wait

from netlimits.errors import InputError, LabError
from netlimits.lab import labs, link
from netlimits.lab.forwarder import QUEUE, Direction

FRAME = bytes(1514)


def netlimits(*argv: object, status: int = 0) -> str:
    ran = warm.run(
        [sys.executable, "-m", "netlimits", *map(str, argv)],
        capture_output=True, text=True, timeout=LONG, check=False,
    )  # fmt: skip
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert len(ran.stderr.splitlines()) == (1 if status else 0), ran.stderr
    return ran.stderr if status else ran.stdout


# -- one direction, by a clock of the test's own ---------------------------------------------


def arrivals(direction: Direction, frames: list[tuple[float, bytes]]) -> list[float]:
    """When what was taken is due, in the order in which it leaves."""
    for now, frame in frames:
        direction.take(frame, now)
    return [due for due, _ in direction.flight]


def test_a_plain_direction_hands_on_at_once():
    assert arrivals(Direction(0, 1), [(1.0, FRAME), (1.0, FRAME)]) == [1.0, 1.0]


def test_a_rate_sends_one_frame_after_another():
    second = Direction(0, 1, rate=1514.0, mtu=1500)
    assert arrivals(second, [(0.0, FRAME), (0.5, FRAME), (9.0, FRAME)]) == [1.0, 2.0, 10.0]


def test_a_number_of_packets_a_second_holds_for_any_size():
    for frame in (FRAME, FRAME[:60]):
        few = Direction(0, 1, packets=10)
        assert arrivals(few, [(0.0, frame)] * 3) == pytest.approx([0.1, 0.2, 0.3])
    both = Direction(0, 1, rate=15140.0, packets=100, mtu=1500)
    assert arrivals(both, [(0.0, FRAME)] * 2) == pytest.approx([0.1, 0.2]), "the slower one"
    held = arrivals(Direction(0, 1, packets=8), [(0.0, FRAME)] * 120)
    assert held[-1] == 12.5, "100 frames, however long that takes"


def test_a_delay_comes_after_the_rate():
    assert arrivals(Direction(0, 1, rate=15140.0, delay=2.0), [(0.0, FRAME)] * 2) == [2.1, 2.2]


def test_what_the_queue_does_not_hold_is_dropped():
    rate = 12.5e6
    taken = arrivals(Direction(0, 1, rate=rate), [(0.0, FRAME)] * 10_000)
    assert taken[-1] <= QUEUE + 1e-9
    assert len(taken) == int(QUEUE * rate / len(FRAME))


def test_a_slow_link_holds_some_frames_however_long_that_takes():
    taken = arrivals(Direction(0, 1, rate=1000.0, mtu=1500), [(0.0, FRAME)] * 100)
    assert len(taken) == 16


@pytest.mark.parametrize(
    ("header", "longest"),
    [(bytes(14), 1514), (bytes(12) + b"\x81\x00" + bytes(4), 1518)],
)
def test_the_mtu_is_the_packets_not_the_frames(header, longest):
    fits, too_long = (header.ljust(length, b"x") for length in (longest, longest + 1))
    assert arrivals(Direction(0, 1, mtu=1500), [(0.0, fits), (0.0, too_long)]) == [0.0]


def test_losses_are_as_frequent_as_was_said():
    direction = Direction(0, 1, loss=0.1)
    taken = len(arrivals(direction, [(0.0, b"x" * 60)] * 20_000))
    assert 17_700 <= taken <= 18_300  # seven standard deviations of 42


@given(
    st.lists(st.tuples(st.floats(0, 0.01), st.integers(60, 1514)), max_size=60),
    st.floats(1e4, 1e8),
    st.floats(0, 0.1),
)
def test_no_frame_overtakes_and_no_rate_is_exceeded(gaps, rate, delay):
    now, frames = 0.0, []
    for gap, length in gaps:
        now += gap
        frames.append((now, bytes(length)))
    direction = Direction(0, 1, rate=rate, delay=delay, mtu=1500)
    due = arrivals(direction, frames)
    assert due == sorted(due)
    sizes = [len(frame) for _, frame in direction.flight]
    for first in range(len(due)):
        carried = sum(sizes[first + 1 :])
        assert carried / rate <= due[-1] - due[first] + 1e-9


def test_due_frames_leave_in_order_and_once():
    direction = Direction(0, 1, delay=1.0)
    arrivals(direction, [(0.0, b"a"), (0.5, b"b")])
    assert direction.due(0.9) == []
    assert direction.due(1.0) == [b"a"]
    assert direction.due(9.0) == [b"b"]
    assert direction.due(9.0) == []


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        (link.Shape(rate=7_000), "8kbit"),
        (link.Shape(delay=11.0), "0 to 10 s"),
        (link.Shape(loss=1.0), "less than all"),
        (link.Shape(packets=9), "9 packets a second: a link has 10 to "),
        (link.Shape(loss=float("nan")), "less than all"),
        (link.Shape(mtu=60), "68 to 65521"),
    ],
)
def test_a_shape_that_no_link_has_is_refused(shape, complaint):
    with pytest.raises(InputError, match=complaint):
        shape.check()


# -- between machines ------------------------------------------------------------------------


@pytest.fixture
def shaped(machines: labs.Lab) -> Iterator[labs.Lab]:
    """The machines, with a plain link before and after."""
    yield machines
    labs.shape_link(machines.name, "", None)


def milliseconds(guests, size: int = 56, seconds: int = 20) -> list[float]:
    """Round trips from the sender to the receiver."""
    ran = guests.run(
        *("sender", "busybox", "ping", "-c", "5", "-i", "0.2", "-s", str(size)),
        *("-W", "5", "-w", str(seconds), "receiver"),
    )
    return [float(time) for time in re.findall(r"time=([0-9.]+) ms", ran.stdout)]


def sent(guests, host: str) -> dict[str, int]:
    (link,) = json.loads(guests(host, "ip", "-s", "-j", "link", "show", "data0"))
    return link["stats64"]["tx"]


def transfer(guests, seconds: int = 3) -> float:
    """Bit/s that arrived of one TCP stream."""
    if guests.run("receiver", "pidof", "netserver").status:
        guests.leave("receiver", "exec netserver -D -4")
        guests.sh("receiver", "until ss -ltn | grep -q :12865; do sleep 0.05; done")
    printed = guests(
        *("sender", "netperf", "-P0", "-4", "-H", guests.lab.data("receiver"), "-l", str(seconds)),
        *("-t", "omni", "--", "-T", "tcp", "-d", "send", "-m", "16384", "-k", "THROUGHPUT"),
    )
    return float(printed.partition("=")[2]) * 1e6


@pytest.mark.lab
def test_a_link_has_a_delay_a_rate_and_an_mtu_that_its_hosts_cannot_see(shaped, guests):
    assert netlimits("lab", "link", shaped.name) == (
        f"{shaped.name}: sender: plain\n{shaped.name}: receiver: plain\n"
    )
    before = guests("sender", "ip", "-d", "link", "show", "data0")
    options = ("--rate", "20mbit", "--delay", "40ms", "--mtu", "1500")
    printed = netlimits("lab", "link", shaped.name, *options)
    assert "sender: rate 20 Mbit/s, delay 40 ms, MTU 1500 each way; carried " in printed

    assert min(milliseconds(guests)) >= 80
    assert milliseconds(guests, 1472)
    assert milliseconds(guests, 1473, 4) == [], (
        "longer than the link's MTU, shorter than the hosts'"
    )
    assert guests("sender", "ip", "-d", "link", "show", "data0") == before

    for host in ("sender", "receiver"):
        guests(host, "ip", "link", "set", "data0", "mtu", "1500")
    out, _ = labs.links(shaped.name)[0].traffic
    counted = sent(guests, "sender")
    rate = transfer(guests)
    after, now = labs.links(shaped.name)[0].traffic[0], sent(guests, "sender")
    assert 0 < rate <= 20e6 * 1448 / 1514
    frames, packets = after.sent - out.sent, now["packets"] - counted["packets"]
    assert packets < frames, "the host's NIC took segments; the link took the frames they make"
    assert now["dropped"] == counted["dropped"] == 0

    assert "plain" in netlimits("lab", "link", shaped.name, "--off")
    for mtu in (9000, shaped.mtu):
        for host in ("sender", "receiver"):
            guests(host, "ip", "link", "set", "data0", "mtu", str(mtu))
        assert milliseconds(guests, mtu - 28)
    assert transfer(guests, 1) > 0


@pytest.mark.lab
def test_a_link_carries_so_many_packets_and_no_more(shaped, guests):
    printed = netlimits("lab", "link", shaped.name, "--packets", "500")
    assert "sender: 500 packets/s each way; carried " in printed
    for host in ("sender", "receiver"):
        guests(host, "ip", "link", "set", "data0", "mtu", "1500")
    began, out = time.monotonic(), labs.links(shaped.name)[0].traffic[0]
    rate = transfer(guests, 2)
    carried, seconds = labs.links(shaped.name)[0].traffic[0].carried, time.monotonic() - began
    assert rate <= 500 * 1448 * 8, "by netperf"
    assert carried - out.carried <= 500 * (seconds + QUEUE), "by the switch's own counters"
    labs.shape_link(shaped.name, "", None)


@pytest.mark.lab
def test_a_link_loses_frames_that_its_hosts_believe_sent(shaped, guests):
    labs.shape_link(shaped.name, "", labs.Shape(loss=0.2))
    counted = sent(guests, "sender")["packets"]
    out = labs.links(shaped.name)[0].traffic[0]
    guests.run("sender", "busybox", "ping", "-q", "-i", "0.01", "-c", "400", "-w", "60", "receiver")
    after = labs.links(shaped.name)[0].traffic[0]
    sent_on, carried = after.sent - out.sent, after.carried - out.carried
    # The bridge before the link says a word of its own now and then.
    assert sent(guests, "sender")["packets"] - counted <= sent_on <= 420
    assert 0.02 < 1 - carried / sent_on < 0.5  # of 400: nine standard deviations of 0.02
    assert sent(guests, "sender")["dropped"] == 0


@pytest.mark.lab
def test_a_shape_replaces_another_and_off_twice_is_no_error(shaped, guests):
    assert labs.links(shaped.name)[0].shape is None
    labs.shape_link(shaped.name, "sender", labs.Shape(delay=2))
    labs.shape_link(shaped.name, "sender", labs.Shape(delay=0.01))
    assert labs.links(shaped.name)[0].shape == labs.Shape(delay=0.01)
    assert 20 <= min(milliseconds(guests)) < 4000, "the first one's delay is gone"
    labs.shape_link(shaped.name, "receiver", labs.Shape(delay=0.1))
    assert min(milliseconds(guests)) >= 220
    for _ in range(2):
        for host in ("sender", "receiver"):
            labs.shape_link(shaped.name, host, None)
    assert processes(shaped) == 0
    links = subprocess.run(
        ["ip", "-n", shaped.switch, "-br", "link"], capture_output=True, text=True, check=True
    )
    assert not re.search(r"^(near|far|link)\d", links.stdout, re.MULTILINE)


@pytest.mark.lab
def test_a_link_whose_process_is_gone_is_told_and_mended(shaped, guests):
    labs.shape_link(shaped.name, "", labs.Shape(delay=0.01))
    pid = int((shaped.host_folder("sender") / "link.pid").read_text())
    subprocess.run(["kill", "-KILL", str(pid)], check=True)
    wait(lambda: not labs.links(shaped.name)[0].works, "the link is seen to be gone")
    assert "its process is gone" in netlimits("lab", "link", shaped.name)
    labs.shape_link(shaped.name, "", labs.Shape(delay=0.01))
    assert milliseconds(guests)


@pytest.mark.lab
def test_a_command_killed_amid_shaping_leaves_what_off_clears(shaped, guests):
    code = (
        "import os, signal\n"
        "from netlimits.lab import labs, link\n"
        "link._start = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"labs.shape_link({shaped.name!r}, '', link.Shape(delay=0.01))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    labs.shape_link(shaped.name, "", None)
    assert processes(shaped) == 0
    assert milliseconds(guests)


@pytest.mark.lab
def test_a_link_of_namespaces_is_shaped_where_there_is_one(lab, tmp_path):
    assert "pair of interfaces" in netlimits("lab", "link", lab.name, "--delay", "5ms", status=2)
    with pytest.raises(InputError, match="--machines, or with --hosts 3"):
        labs.shape_link(lab.name, "sender", None)


@pytest.mark.lab
def test_a_link_of_one_of_three_namespaces_is_shaped(lab):
    name = f"w{lab.name[1:]}"
    try:
        three = labs.up(name, 3)
        assert "name one's link with --host" in netlimits(
            "lab", "link", name, "--delay", "5ms", status=2
        )
        netlimits("lab", "link", name, "--host", "host3", "--delay", "50ms")
        netperf = [
            "ip", "netns", "exec", three.namespace("sender"), "netperf", "-P0", "-4", "-l", "1",
            "-t", "omni", "--", "-T", "tcp", "-d", "rr", "-k", "THROUGHPUT",
        ]  # fmt: skip
        for host, most in (("host3", 10.0), ("receiver", float("inf"))):
            server = subprocess.Popen(
                ["ip", "netns", "exec", three.namespace(host), "netserver", "-D", "-4"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            wait(lambda pid=server.pid: listening(pid), "netserver listens")
            at = netperf.index("-4")
            printed = subprocess.run(
                [*netperf[:at], "-H", three.data(host), *netperf[at:]],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            server.kill()
            server.wait()
            assert 0 < float(printed.partition("=")[2]) <= most, host
    finally:
        labs.down(name)
    assert not Path("/run/netns", f"nl-{name}-switch").exists()


@pytest.mark.lab
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--rate", "fast"), "--rate: 'fast' is no rate; write 100M or 100mbit"),
        (("--loss", "much"), "is no loss, such as 0.1%"),
        (("--loss", "0.1"), "'0.1' is no loss; add %, as in 0.1%"),
        (("--loss", "100%"), "less than all"),
        (("--rate", "0"), "--rate 0: a link must carry something"),
        (("--rate", "1gbit", "--packets", "0"), "--packets 0: a link must carry something"),
        (("--delay", "5"), "'5' is no delay; add a unit, as in 5ms"),
        (("--delay", "0", "--loss", "0%"), "no shape is given; --off makes it a plain link again"),
        (("--off", "--mtu", "1500"), "use either --off"),
        (("--host", "reciever", "--off"), "did you mean receiver?"),
    ],
)
def test_what_is_no_link_is_refused_in_one_line(machines, options, complaint):
    assert complaint in netlimits("lab", "link", machines.name, *options, status=2)
    assert labs.links(machines.name)[0].shape is None


def processes(lab: labs.Lab) -> int:
    """How many forwarders run in the lab."""
    pids = subprocess.run(
        ["ip", "netns", "pids", lab.switch], capture_output=True, text=True, check=True
    )
    lines = (Path("/proc", pid, "cmdline").read_bytes() for pid in pids.stdout.split())
    return sum(b"forwarder" in line for line in lines)


def listening(pid: int) -> bool:
    return ":3241 " in Path("/proc", str(pid), "net/tcp").read_text()  # 12865


@pytest.mark.parametrize("text", ['{"rate": "x"}', '{"rate": 8000', "[]", ""])
def test_a_record_that_is_torn_is_told(tmp_path, monkeypatch, text):
    lab = labs.Lab("torn", 1, 2, 9000, None)
    path = tmp_path / "link.json"
    monkeypatch.setattr(link, "_record", lambda *_: path)
    assert link.shape(lab, "sender") is None
    path.write_text(text)
    with pytest.raises(LabError, match=r"link\.json: is damaged"):
        link.shape(lab, "sender")
    path.write_text('{"rate": 8000, "delay": 0.1, "loss": 0, "mtu": 1500}')
    assert link.shape(lab, "sender") == link.Shape(8000, 0.1, 0.0, 1500)
