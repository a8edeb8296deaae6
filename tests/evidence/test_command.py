"""The command that looks at a run: what it is given, and what Perl and `ss` say of one connection."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from waiting import LONG, wait

from netlimits.evidence import cpu, sample
from netlimits.evidence.sample import snapshots, transfer
from netlimits.hosts.local import local_host
from netlimits.model import Command, Completed

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("ss", "ps", "perl"))), reason="needs ss, ps and Perl"
)


def without_modules(folder: Path) -> None:
    """A Perl in that folder that finds no module's file sound."""
    (folder / "Time").mkdir()
    (folder / "Time" / "HiRes.pm").write_text("die;\n")
    perl = f'#!/bin/sh\nPERL5LIB={folder} exec {shutil.which("perl")} "$@"\n'
    (folder / "perl").write_text(perl)
    (folder / "perl").chmod(0o755)


@pytest.fixture(params=["perl", "ss"])
def path(request, tmp_path) -> str:
    """Where programs are looked for: with Perl, or with one that has none of its modules."""
    if request.param == "ss":
        without_modules(tmp_path)
    return f"{tmp_path}:{os.environ['PATH']}"


def looked(command: Command, path: str) -> Completed:
    ended = subprocess.run(
        command.argv, capture_output=True, text=True, check=True, timeout=LONG,
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    assert ended.stderr == ""
    return Completed("here", command, 0, ended.stdout, "", 0.1)


def test_peers_become_arguments_and_never_parts_of_the_script():
    command = sample.command(
        *("netserver", ("192.0.2.1", "", "2001:db8::1"), 12865),
        seconds=10, connections=1, interface="eth0", deadline=LONG,
    )  # fmt: skip
    script, port, *words = command.argv[2:]
    assert command.argv[:2] == ("sh", "-c")
    assert (port, words[:8]) == (
        "12865",
        ["2.5", "5", "2", "netserver", "eth0", "", "50", "0.2"],
    ), "twice with ss, fifty times with Perl"
    assert words[11:] == ["dst", "192.0.2.1", "or", "dst", "[2001:db8::1]"]
    assert "192.0.2.1" not in script + words[8]
    assert "\n#" not in words[8], "comments are ours to read"
    assert not command.sudo


def test_a_receiver_that_counts_is_looked_at_until_ended():
    command = sample.command("x", (), 1, seconds=10, counting=0.01, interface="e", deadline=9)
    assert command.argv[4:12] == ("0", "0.2", "0", "x", "e", "1", "0", "0.05")


@pytest.mark.parametrize(("connections", "looks"), [(8, "50"), (64, "6"), (1000, "3")])
def test_many_connections_are_looked_at_less_often(connections, looks):
    command = sample.command("x", (), 1, seconds=10, connections=connections, deadline=9)
    assert command.argv[10] == looks


@pytest.fixture
def busy() -> Iterator[tuple[str, str]]:
    """A TCP connection of this process over loopback that has carried a megabyte; its ends."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as out,
        server.accept()[0] as into,
    ):
        sender = threading.Thread(target=out.sendall, args=(b"x" * 1_000_000,))
        sender.start()
        left = 1_000_000
        while left:
            left -= len(into.recv(65536))
        sender.join()
        yield tuple(":".join(map(str, end())) for end in (out.getsockname, out.getpeername))


def test_perl_says_of_a_connection_what_ss_says(busy, tmp_path):
    command = sample.command("x", ("127.0.0.1",), 1, seconds=0.4, interface="lo", deadline=LONG)
    without_modules(tmp_path)
    usual = os.environ["PATH"]
    by_perl, by_ss = (
        next(
            connection
            for connection in snapshots.parse_snapshots(looked(command, path))[-1].connections
            if connection.ends == busy
        )
        for path in (usual, f"{tmp_path}:{usual}")
    )
    same = by_ss.fields.keys() - {"rtt", "minrtt", "delivery_rate", "busy", "advmss", "pmtu"}
    told = {name for name in same if name in by_perl.fields}
    assert {"bytes_sent", "mss", "cwnd", "snd_wnd", "rcv_space", "sndbuf_used_pct"} <= told
    assert {name: by_perl.fields[name] for name in told} == {n: by_ss.fields[n] for n in told}
    again = by_perl.fields.get("bytes_retrans", 0)  # a busy machine's ACKs may come late
    assert by_perl.fields["bytes_sent"] - again == 1_000_000
    assert by_perl.fields["rtt"] == pytest.approx(by_ss.fields["rtt"], abs=0.002)
    assert by_perl.fields["busy"] == pytest.approx(by_ss.fields.get("busy", 0), abs=1)
    assert by_perl.timestamps is by_ss.timestamps is True
    assert by_perl.app_limited == by_ss.app_limited


@contextmanager
def carrying(family: socket.AddressFamily, address: str) -> Iterator[tuple[str, str]]:
    """A connection over loopback that has carried 20,000 bytes; its ends as `ss` shows them."""
    with (
        socket.create_server((address, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as out,
        server.accept()[0] as into,
    ):
        out.sendall(b"x" * 20_000)
        while len(into.recv(65536, socket.MSG_PEEK)) < 20_000:
            time.sleep(0.01)
        names = (end()[:2] for end in (out.getsockname, out.getpeername))
        yield tuple(f"[{a}]:{port}" if ":" in a else f"{a}:{port}" for a, port in names)


def looks_made(process: subprocess.Popen[bytes], count: int) -> None:
    """Wait for so many looks of a Perl, which prints nothing until it ends: it sleeps after each."""
    perl = psutil.Process(process.pid)
    wait(lambda: any(f.path == "/proc/stat" for f in perl.open_files()), "it looks")
    until = perl.num_ctx_switches().voluntary + count
    wait(lambda: perl.num_ctx_switches().voluntary >= until, f"it has looked {count} times")


@pytest.mark.parametrize("closes", [True, False])
def test_connections_that_are_known_are_asked_for_alone_until_they_change(closes, tmp_path):
    """A look in ten is at all sockets; so is the one after a connection went."""
    command = sample.command(
        *("x", ("127.0.0.1", "::1"), 1),
        seconds=1, counting=0.05, carrying=0, interface="lo", deadline=LONG,
    )  # fmt: skip
    printed = tmp_path / "printed"

    def looks() -> list[tuple[float, set[object]]]:
        """When each look was, and the ends of the connections that it shows."""
        told = Completed("here", command, 0, printed.read_text(), "", 3.0)
        return [
            (look.at or 0, {c.ends for c in look.connections})
            for look in snapshots.parse_snapshots(told)
        ]

    with ExitStack() as stays, ExitStack() as goes, printed.open("w") as file:
        old = stays.enter_context(carrying(socket.AF_INET, "127.0.0.1"))
        gone = goes.enter_context(carrying(socket.AF_INET6, "::1"))
        looking = subprocess.Popen(command.argv, stdout=file)
        stays.callback(looking.wait)
        stays.callback(looking.terminate)
        looks_made(looking, 4)
        before = time.time()
        new = stays.enter_context(carrying(socket.AF_INET6, "::1"))
        if closes:
            goes.close()
        after = time.time()
        looks_made(looking, 16)
        looking.terminate()
        looking.wait()
    early = [ends for at, ends in looks() if at < before][:-1]  # the last may have gone on after it
    late = [ends for at, ends in looks() if at > after][11:-1]
    assert early
    assert late
    assert all({old, gone} <= look for look in early)
    assert all({old, new} <= look for look in late)
    assert all((gone in look) is not closes for look in late)


def test_the_looks_show_a_process_of_this_machine_and_the_interfaces_counters(path):
    sleeper = subprocess.Popen(("sleep", "600"))
    try:
        command = sample.command(
            *("sleep", ("192.0.2.2", "2001:db8::1"), 12865),
            seconds=0.8, interface="lo", deadline=LONG,
        )  # fmt: skip
        completed = looked(command, path)
    finally:
        sleeper.kill()
        sleeper.wait()
    seen = snapshots.parse_snapshots(completed)
    assert len(seen) >= 2
    assert all(look.at is not None for look in seen)
    figures = sample.figures([completed])
    assert int(figures["processes"] or 0) >= 1
    assert "connections" not in figures


def test_a_counting_look_is_ended_and_loses_nothing(path, tmp_path):
    command = sample.command(
        "sleep", ("192.0.2.2",), 1, seconds=1, counting=0.2, interface="lo", deadline=LONG
    )
    file = tmp_path / "printed"

    def looks() -> tuple[snapshots.Look, ...]:
        return snapshots.parse_snapshots(Completed("here", command, 0, file.read_text(), "", 0.1))

    with (
        file.open("w") as printed,
        subprocess.Popen(command.argv, stdout=printed, env=os.environ | {"PATH": path}) as process,
    ):
        try:
            if not (tmp_path / "perl").exists():
                looks_made(process, 2)
            else:
                wait(lambda: len(looks()) >= 2, "it has looked twice")
        finally:
            process.terminate()
            process.wait(LONG)
    seen = looks()
    assert len(seen) >= 2
    assert all({"rx_bytes", "rx_packets", "udp_in"} <= look.counters.keys() for look in seen[:-1])
    assert seen[0].read is not None


def test_looks_come_after_all_else_in_the_kernels_choice():
    """In a session of their own, or with autogroups their rank would count for nothing."""
    command = sample.command("nothing-is-called-so", (), 1, seconds=60, deadline=60)
    host = local_host()
    try:
        look = host.background(command)
        (perl,) = wait(stepped_back)
        assert os.getsid(perl.pid) == perl.pid
        own = Path(f"/proc/{perl.pid}/autogroup")
        assert not own.exists() or own.read_text().endswith("nice 19\n")
        shells = psutil.Process().children()
        assert shells
        assert all(shell.nice() < 19 or psutil.Process().nice() == 19 for shell in shells)
        look.stop()
        assert not perl.is_running(), "it is in no group of ours, and ends when told to"
    finally:
        host.close()


def stepped_back() -> list[psutil.Process]:
    """The looks of this process's hosts, which a kept Perl makes, once they have the last rank."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if process.nice() == 19 and process.name() == process.parent().name() == "perl"
    ]


def test_a_perl_that_is_kept_looks_as_one_that_is_started(busy):
    command = sample.command("x", ("127.0.0.1",), 1, seconds=0.4, interface="lo", deadline=LONG)
    host = local_host()
    try:
        look = host.background(command)
        wait(lambda: not look.alive())
        kept = look.stop()
    finally:
        host.close()
    assert (kept.status, kept.stderr) == (0, "")
    started = looked(command, os.environ["PATH"])
    first, second = (
        [line for line in printed.splitlines() if busy[0] in line] for printed in
        (kept.stdout, started.stdout)
    )  # fmt: skip
    assert first
    assert {*first} == {*second}


def test_the_script_is_what_the_package_ships():
    file = Path(sample.__file__).with_name("sampler.pl")
    assert subprocess.run(("perl", "-c", file), capture_output=True, check=False).returncode == 0


def looked_on(looking: subprocess.Popen[str], times: int = 5) -> None:
    """Wait until it has slept so often, as it does between looks."""
    process = psutil.Process(looking.pid)
    wait(lambda: "perl" in process.name())
    before = process.num_ctx_switches().voluntary
    wait(lambda: process.num_ctx_switches().voluntary >= before + times)


@pytest.mark.parametrize(("counting", "rank"), [(0.2, os.nice(0)), (0.0, 19)])
def test_looks_that_are_the_measure_keep_their_rank(counting: float, rank: int) -> None:
    command = sample.command("x", (), 1, seconds=10, counting=counting, interface="lo", deadline=9)
    with subprocess.Popen(command.argv, stdout=subprocess.PIPE, text=True) as looking:
        looked_on(looking)
        assert psutil.Process(looking.pid).nice() == rank
        looking.terminate()


def test_looks_that_a_busy_host_delayed_are_not_made_up_for() -> None:
    """Stopped for half a second, it goes on in its rhythm."""
    command = sample.command("x", (), 1, seconds=10, counting=0.05, interface="lo", deadline=9)
    with subprocess.Popen(command.argv, stdout=subprocess.PIPE, text=True) as looking:
        looked_on(looking)
        looking.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        looking.send_signal(signal.SIGCONT)
        looked_on(looking)
        looking.terminate()
        printed, _ = looking.communicate(timeout=LONG)
    at = [
        look.at for look in snapshots.parse_snapshots(Completed("x", command, 0, printed, "", 3.0))
    ]
    gaps = [late - early for early, late in itertools.pairwise(filter(None, at))]
    longest = gaps.index(max(gaps))
    assert gaps[longest] >= 0.5
    burst = [gap for gap in gaps[longest + 1 :] if gap < 0.01]
    assert len(burst) <= 3, "not the ten that were due"


def test_each_look_reads_the_cpus_as_proc_stat_has_them(busy, path):
    command = sample.command("x", ("127.0.0.1",), 1, seconds=0.6, interface="lo", deadline=LONG)
    here = local_host("here")
    before = cpu.times(here.run(cpu.READ))
    read = list(filter(None, transfer.readings(looked(command, path))))
    after = cpu.times(here.run(cpu.READ))
    here.close()
    assert len(read) >= 2
    assert read[0].times.cpus == before.cpus
    for first, second in itertools.pairwise([before, *(r.times for r in read), after]):
        user = [(then[0], now[0]) for then, now in zip(first.ticks, second.ticks, strict=True)]
        assert all(then <= now for then, now in user), "user time never goes back"
    assert read[0].bytes <= read[-1].bytes


def test_a_program_that_begins_the_tool_counts_with_it(busy, tmp_path):
    """A script of the tool's name, whose child of another name does the work."""
    script = tmp_path / "wrapped"
    script.write_text(
        "#!/bin/sh\ntimeout --foreground 60 sh -c 'echo; while :; do :; done' & wait\n"
    )
    script.chmod(0o755)
    command = sample.command("wrapped", ("127.0.0.1",), 1, seconds=1, interface="lo", deadline=LONG)
    with subprocess.Popen([script], stdout=subprocess.PIPE, start_new_session=True) as wrapper:
        wrapper.stdout.readline()
        try:
            figures = sample.figures([looked(command, os.environ["PATH"])])
        finally:
            os.killpg(wrapper.pid, signal.SIGKILL)
    assert figures["processes"] >= 3, figures
    assert figures["process_cpu_pct"] > 0
