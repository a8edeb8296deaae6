"""`netlimits lab up | status | down | shell | link`: test hosts on this machine."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TypeVar

import click

from netlimits.campaign.interrupt import Interrupted, Stop
from netlimits.cli.shared.lines import aligned
from netlimits.cli.shared.options import JSON
from netlimits.cli.shared.output import echo, echo_json
from netlimits.errors import InputError, LabError, did_you_mean
from netlimits.lab import labs
from netlimits.lab.guests import ACCELERATORS, NICS
from netlimits.lab.layout import ENGINEER
from netlimits.lab.programs import need_root, program
from netlimits.units import sizes, tc

NAME = click.option(
    "--name",
    default=labs.DEFAULT_NAME,
    show_default=True,
    help="Name of the lab; there may be several.",
)


@click.group()
def lab() -> None:
    """Build test hosts on this machine: network namespaces or QEMU guests, with sshd and a link.

    Needs root. Each host has its own network, sshd and keys; its data link is separate from the
    link of its logins. Network namespaces share the kernel and the CPUs of this machine. Machines
    (--machines) are QEMU guests with kernels, NICs and CPUs of their own. Their images are built
    once, in /var/lib/netlimits/images, and may be deleted at any time.

    \b
    Examples:
      netlimits lab up
      netlimits run experiments/stateless-offloads.yaml      (uses the lab)
      netlimits lab shell sender ethtool -k data0
      netlimits lab down
    """


@lab.command()
@NAME
@click.option(
    "--hosts",
    default=2,
    show_default=True,
    help="Number of hosts: sender, receiver, host3, host4 …",
)
@click.option(
    "--mtu", default=labs.DEFAULT_MTU, show_default=True, help="The data link's MTU in bytes."
)
@click.option(
    "--machines",
    is_flag=True,
    help="Build QEMU guests with kernels, CPUs and NICs of their own.",
)
@click.option(
    "--cpus",
    type=int,
    help="CPUs of each machine; default: 1. A machine with two CPUs has a NIC with two queues.",
)
@click.option(
    "--nodes", type=int, help="NUMA nodes of each machine, at most its number of CPUs; default: 1."
)
@click.option("--nic", type=click.Choice(NICS), help="Data NIC of each machine; default: virtio.")
@click.option(
    "--memory",
    type=click.IntRange(1),
    help="Memory of each machine in MiB; default: 240, with e1000e 200.",
)
@click.option(
    "--accel",
    "accelerator",
    type=click.Choice(ACCELERATORS),
    help="kvm uses hardware support, tcg emulates the CPU; auto tries kvm first.",
)
def up(name: str, hosts: int, mtu: int, machines: bool, **guest: int | str | None) -> None:
    """Build a lab and print the name of its hosts file.

    Namespaces are up at once. Machines boot in seconds, and have NICs with offloads, queues and
    interrupts. The first machines take longer, because apt downloads a kernel for them.

    \b
    Examples:
      netlimits lab up
      netlimits lab up --name wide --hosts 4 --mtu 1500
      netlimits lab up --machines --cpus 2
    """
    chosen = {key: value for key, value in guest.items() if value is not None}
    if chosen and not machines:
        words = " ".join(f"--{'accel' if key == 'accelerator' else key}" for key in chosen)
        raise InputError(f"{words}: only machines have that; add --machines")
    chosen_guest = labs.Guest(**chosen) if machines else None  # type: ignore[arg-type]
    with _interruptible(f"lab {name} was removed again"):
        lab = labs.up(name, hosts, mtu, chosen_guest, lambda line: echo(line, err=True))
    echo(lab.hosts_file)


@lab.command()
@click.option("--name", help="Name of the lab; default: all labs.")
@JSON
def status(name: str | None, as_json: bool) -> None:
    """Print the hosts of every lab: kind, addresses, state of sshd, MTU of the data link.

    \b
    Examples:
      netlimits lab status
      netlimits lab status --name wide --json
    """
    need_root("looking into a lab")
    names = [name] if name else labs.names()
    rows = [row for lab_name in names for row in _rows(lab_name, lab_name == name)]
    if as_json:
        echo_json(rows)
    elif not rows:
        echo("there is no lab; build one with: netlimits lab up")
    else:
        echo(_table(rows))


@lab.command()
@click.option("--name", help=f"Name of the lab.  [default: {labs.DEFAULT_NAME}]")
@click.option("--all", "everything", is_flag=True, help="Remove every lab on this machine.")
def down(name: str | None, everything: bool) -> None:
    """Remove a lab completely, even if building it failed halfway.

    \b
    Examples:
      netlimits lab down
      netlimits lab down --all
    """
    if name and everything:
        raise InputError("use either --name or --all")
    need_root("taking a lab down")
    names = labs.names() if everything else [name or labs.DEFAULT_NAME]
    for lab_name in names:
        with _interruptible(
            f"lab {lab_name} may exist in part; remove it: `netlimits lab down --name {lab_name}`"
        ):
            removed = labs.down(lab_name)
        echo(f"lab {lab_name}: {'removed' if removed else 'nothing there'}")
    if not names:
        echo("there is no lab")


@lab.command()
@click.argument("name", default=labs.DEFAULT_NAME)
@click.option(
    "--host",
    default="",
    help="The host whose link is shaped; needed in a lab with more than two hosts.",
)
@click.option("--rate", help="Bit rate: 100M or, in tc's units, 100mbit.")
@click.option("--delay", help="Delay of each frame: 5ms, 200us.")
@click.option("--loss", help="Share of frames to lose at random: 0.1%.")
@click.option("--mtu", type=int, help="Bytes; longer packets are dropped silently.")
@click.option("--packets", type=int, help="Maximum number of frames per second: 2000.")
@click.option("--off", is_flag=True, help="Remove all shaping.")
@JSON
def link(
    name: str,
    host: str,
    rate: str | None,
    delay: str | None,
    loss: str | None,
    mtu: int | None,
    packets: int | None,
    off: bool,
    as_json: bool,
) -> None:
    """Shape the data link of the lab NAME, outside of its hosts, which cannot see it.

    The lab must have machines, or three hosts or more. Rate, delay and loss apply to each
    direction, so a round trip takes twice the delay. Options that you leave out are switched off;
    without options the links are printed. A queue before the link holds 50 ms of its rate. Segments
    are split into frames before the link, as on a wire. With more than two machines, --host names
    the host whose link is shaped. A program on this machine forwards the frames: beside emulated
    machines (tcg) it may have too little CPU for hundreds of Mbit/s.

    \b
    Examples:
      netlimits lab link lab --rate 100mbit --delay 5ms --loss 0.1% --mtu 1500
      netlimits lab link lab --packets 2000
      netlimits lab link lab
      netlimits lab link lab --off
    """
    given = [value for value in (rate, delay, loss, mtu, packets) if value is not None]
    if off and given:
        raise InputError("use either --off or a shape")
    need_root("shaping a link")
    _choose(name, host)
    if off or given:
        shape = None if off else _shape(rate, delay, loss, mtu, packets)
        with _interruptible(f"the link may be shaped in part; `netlimits lab link {name} --off`"):
            labs.shape_link(name, host, shape)
    states = [state for state in labs.links(name) if not host or state.host == host]
    if as_json:
        echo_json([asdict(state) for state in states])
    else:
        echo("\n".join(f"{name}: {state.host}: {_shown(state)}" for state in states))


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@NAME
@click.option(
    "--as",
    "user",
    type=click.Choice(["root", ENGINEER]),
    default="root",
    show_default=True,
    help=f"The login; {ENGINEER} is not root and may not use sudo.",
)
@click.argument("host")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(name: str, user: str, host: str, command: Sequence[str]) -> None:
    """Log in to a host of the lab over SSH, or run one COMMAND there.

    A single argument is a line for the remote shell. Several arguments are a command and its
    arguments, which no shell interprets. The exit status is that of the command.

    \b
    Examples:
      netlimits lab shell sender
      netlimits lab shell receiver ip -s link show data0
      netlimits lab shell --as engineer sender 'id; sudo -n true'
    """
    if command[:1] == ("--",):
        command = command[1:]
    elif command and command[0].startswith("-"):
        raise InputError(f"{command[0]}: options of `lab shell` stand before the host {host}")
    need_root("logging in to a lab")
    chosen_lab = _choose(name, host)
    words = command if len(command) == 1 else [shlex.join(command)] if command else []
    ssh = ["ssh", "-F", str(chosen_lab.ssh_config), chosen_lab.login(host, user), "--", *words]
    os.execv(program("ssh"), ssh)  # noqa: S606 the words go to the user's own host on purpose


def _choose(name: str, host: str) -> labs.Lab:
    chosen_lab = labs.find(name)
    if chosen_lab is None:
        raise InputError(
            f"there is no lab called {name}; build it with `netlimits lab up --name {name}`"
        )
    if host and host not in chosen_lab.hosts:
        raise InputError(f"lab {name} has no host {host}{did_you_mean(host, chosen_lab.hosts)}")
    return chosen_lab


@contextmanager
def _interruptible(consequence: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the work, but not its cleanup; add `consequence` to the error."""
    try:
        with Stop() as stop, stop.interruptible():
            yield
    except Interrupted as error:
        raise Interrupted(f"{error}; {consequence}") from None


def _rows(name: str, asked_for: bool) -> list[dict[str, object]]:
    """Return a lab's hosts as rows; an incomplete lab is an error only if it was asked for."""
    try:
        states = labs.status(name)
    except LabError:
        if asked_for:
            raise
        state = "(not finished)" if labs.find(name) else "(damaged)"
        return [{"lab": name, "host": state, "sshd": False}]
    return [{"lab": name, **asdict(state)} for state in states]


def _table(rows: list[dict[str, object]]) -> str:
    heads = ("lab", "host", "kind", "namespace", "management", "address", "sshd", "mtu")
    words: dict[object, str] = {True: "up", False: "down", None: "-"}
    cells = [[words.get(row.get(h), str(row.get(h))) for h in heads] for row in rows]
    return "\n".join(aligned([heads, *cells]))


def _shape(
    rate: str | None, delay: str | None, loss: str | None, mtu: int | None, packets: int | None
) -> labs.Shape:
    try:
        wanted = labs.Shape(
            _option("rate", _rate, rate) if rate is not None else 0,
            _option("delay", _delay, delay) if delay is not None else 0.0,
            _option("loss", _loss, loss) if loss is not None else 0.0,
            mtu or 0,
            packets or 0,
        )
    except ValueError as error:
        raise InputError(f"the link's shape: {error}") from None
    given = {"rate": rate, "mtu": mtu, "packets": packets}
    for name, value in given.items():
        if value is not None and not getattr(wanted, name):
            raise InputError(f"--{name} {value}: a link must carry something; leave it out")
    if wanted == labs.Shape():
        raise InputError("no shape is given; --off makes it a plain link again")
    return wanted


T = TypeVar("T")


def _option(name: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise InputError(f"--{name}: {error}") from None


def _rate(text: str) -> int:
    """Return a rate in bit/s, from the notation of experiments (100M) or of tc (100mbit)."""
    if re.match(sizes.RATE["pattern"], text):
        return tc.rate(int(sizes.decimal_bits(text)))
    try:
        return tc.rate(text)
    except ValueError:
        raise ValueError(f"{text!r} is no rate; write 100M or 100mbit") from None


def _delay(text: str) -> float:
    """Return a delay in seconds. It needs a unit: tc would take 5 as 5 µs, most people as 5 ms."""
    try:
        lacks_unit = float(text) != 0
    except ValueError:
        lacks_unit = False
    if lacks_unit:
        raise ValueError(f"{text!r} is no delay; add a unit, as in 5ms")
    return tc.time(text) / 1e6


def _loss(text: str) -> float:
    number, sign, rest = text.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        raise ValueError(f"{text!r} is no loss, such as 0.1%") from None
    if rest or (share and not sign):  # without %, 0.1 could mean 10 % or 0.1 %
        raise ValueError(f"{text!r} is no loss; add %, as in 0.1%")
    return share


def _shown(state: labs.LinkState) -> str:
    shape = state.shape
    if shape is None:
        return "plain"
    words = [
        f"rate {shape.rate / 1e6:g} Mbit/s" if shape.rate else "",
        f"{shape.packets:,} packets/s" if shape.packets else "",
        f"delay {shape.delay * 1e3:g} ms" if shape.delay else "",
        f"loss {shape.loss:.6%}".rstrip("0%").rstrip(".") + "%" if shape.loss else "",
        f"MTU {shape.mtu}" if shape.mtu else "",
    ]
    text = ", ".join(filter(None, words)) + " each way"
    if not state.works or state.traffic is None:
        return f"{text}; its process is gone; shape it again, or use --off"
    out, back = (f"{way.carried} of {way.sent}" for way in state.traffic)
    return f"{text}; carried {out} frames from the host, {back} to it"
