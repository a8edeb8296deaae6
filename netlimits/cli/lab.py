"""`netlimits lab up | status | down | shell`: test hosts on this machine."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from netlimits import lab as labs
from netlimits.cli import echo
from netlimits.document import did_you_mean
from netlimits.errors import InputError, LabError
from netlimits.lab.layout import ENGINEER
from netlimits.lab.programs import need_root, program

NAME = click.option(
    "--name", default=labs.DEFAULT_NAME, show_default=True, help="Which lab; several can stand."
)


@click.group()
def lab() -> None:
    """Build test hosts on this machine: namespaces, links, sshd.

    Needs root. Each host has its own network, sshd and keys, and shares the kernel and the CPUs;
    its data link is separate from the one that it is logged in over.

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
    "--hosts", default=2, show_default=True, help="How many: sender, receiver, host3, host4 …"
)
@click.option(
    "--mtu", default=labs.DEFAULT_MTU, show_default=True, help="The data link's MTU in bytes."
)
def up(name: str, hosts: int, mtu: int) -> None:
    """Build a lab and print the name of its hosts file.

    \b
    Examples:
      netlimits lab up
      netlimits lab up --name wide --hosts 4 --mtu 1500
    """
    with _interruptible(f"lab {name} is taken down again"):
        made = labs.up(name, hosts, mtu)
    echo(made.hosts_file)


@lab.command()
@click.option("--name", help="Which lab; all of them if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def status(name: str | None, as_json: bool) -> None:
    """Show the hosts of every lab: addresses, whether sshd runs, the data link's MTU.

    \b
    Examples:
      netlimits lab status
      netlimits lab status --name wide --json
    """
    need_root("looking into a lab")
    rows = [_rows(one, one == name) for one in ([name] if name else labs.names())]
    if as_json:
        echo(json.dumps([row for some in rows for row in some], indent=2))
    elif not rows:
        echo("no lab is up; build one with: netlimits lab up")
    else:
        echo(_table([row for some in rows for row in some]))


@lab.command()
@click.option("--name", help=f"Which lab.  [default: {labs.DEFAULT_NAME}]")
@click.option("--all", "everything", is_flag=True, help="Every lab on this machine.")
def down(name: str | None, everything: bool) -> None:
    """Take a lab down, whole or in ruins: nothing of it stays.

    \b
    Examples:
      netlimits lab down
      netlimits lab down --all
    """
    if name and everything:
        raise InputError("--name and --all exclude each other; keep one")
    need_root("taking a lab down")
    names = labs.names() if everything else [name or labs.DEFAULT_NAME]
    for one in names:
        with _interruptible(f"lab {one} may stand in part; `netlimits lab down --name {one}`"):
            removed = labs.down(one)
        echo(f"lab {one}: {'removed' if removed else 'nothing there'}")
    if not names:
        echo("no lab is up")


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@NAME
@click.option(
    "--as",
    "user",
    type=click.Choice(["root", ENGINEER]),
    default="root",
    show_default=True,
    help=f"Who logs in; {ENGINEER} has no rights.",
)
@click.argument("host")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def shell(name: str, user: str, host: str, command: Sequence[str]) -> None:
    """Log in to a host of the lab over SSH, or run one COMMAND there.

    A single word is a line for the remote shell; several are a command and its arguments, kept
    as they are. The exit status is the command's.

    \b
    Examples:
      netlimits lab shell sender
      netlimits lab shell receiver ip -s link show data0
      netlimits lab shell --as engineer sender 'id; sudo -n true'
    """
    command = command[1:] if command[:1] == ("--",) else command
    need_root("logging in to a lab")
    found = labs.find(name)
    if found is None:
        raise LabError(f"there is no lab {name}; build it with `netlimits lab up --name {name}`")
    if host not in found.hosts:
        raise InputError(f"lab {name} has no host {host}{did_you_mean(host, found.hosts)}")
    words = command if len(command) == 1 else [shlex.join(command)] if command else []
    ssh = ["ssh", "-F", str(found.ssh_config), found.login(host, user), "--", *words]
    os.execv(program("ssh"), ssh)  # noqa: S606 the words go to the user's own host on purpose


@contextmanager
def _interruptible(consequence: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the work at once, and only the first: the clearing up is done."""
    from netlimits.stop import Interrupted, Stop

    try:
        with Stop() as stop, stop.interruptible():
            yield
    except Interrupted as error:
        raise Interrupted(f"{error}; {consequence}") from None


def _rows(name: str, asked_for: bool) -> list[dict[str, object]]:
    """A lab's hosts as rows; a lab in ruins is an error only to who asked for it."""
    try:
        states = labs.status(name)
    except LabError:
        if asked_for:
            raise
        return [{"lab": name, "host": "(in ruins)", "sshd": False}]
    return [
        {
            "lab": name,
            "host": state.host,
            "namespace": state.namespace,
            "management": state.management,
            "address": state.address,
            "sshd": state.sshd,
            "mtu": state.mtu,
        }
        for state in states
    ]


def _table(rows: list[dict[str, object]]) -> str:
    """The rows as text; nothing is cut off, so that it can be piped."""
    heads = ("lab", "host", "namespace", "management", "address", "sshd", "mtu")
    shown = {True: "up", False: "down", None: "-"}
    lines = [heads, *(tuple(_word(row.get(h), shown) for h in heads) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(heads))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _word(value: object, shown: dict[bool | None, str]) -> str:
    return shown[value] if value is None or isinstance(value, bool) else str(value)
