"""The command line; only this package prints or exits.

Each command has its own module; `shared` has the code that several commands use.

A command's module is imported when the command is called, so that `netlimits --help` starts
quickly. For this reason the one-line help of each command is in this file.
"""

from __future__ import annotations

import errno
import importlib
import keyword
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from netlimits import __version__
from netlimits.cli.shared.output import echo
from netlimits.errors import (
    CheckError,
    DocumentErrors,
    NetlimitsError,
    did_you_mean,
    one_line,
)

COMMANDS: dict[str, str] = {
    "diagnose": "Find what limits the traffic between two hosts, and prove it.",
    "experiments": "List the installed experiments, print or copy one.",
    "plan": "Print what an experiment would run, in which order, for how long.",
    "check": "Find what would make an experiment fail or mislead on these hosts, before it runs.",
    "run": "Run an experiment on hosts, or in the lab.",
    "resume": "Continue a campaign that was interrupted.",
    "extend": "Add runs to a finished campaign.",
    "status": "Report a campaign's progress and what it changed on hosts.",
    "restore": "Restore the hosts' original settings.",
    "parse": "Parse the raw output of a campaign again.",
    "import": "Make a results folder from output that you already have.",
    "table": "Print a campaign's tables.",
    "figures": "Draw a campaign's charts.",
    "explain": "Report what limited each configuration, with the evidence.",
    "compare": "Compare campaigns, or the sides of a duet; a gate for CI.",
    "history": "Find where a metric changed from campaign to campaign; a gate for CI.",
    "report": "Write a campaign's report as one HTML page.",
    "export": "Print a campaign's figures for other programs.",
    "goodput": "Compute how much of a link's bit rate can carry data.",
    "published": "List the published tables and charts, or make them again and compare.",
    "describe": "Explain every key, option, default, unit and column.",
    "schema": "Print the JSON Schema of experiment files, for editors.",
    "lab": "Build test hosts on this machine: namespaces or machines.",
}
"""Command (also its module's name) -> its line in `netlimits --help`, in the help's order."""

TRACEBACK = "NETLIMITS_TRACEBACK"
"""Environment variable: if set, a bug in netlimits prints a traceback."""

OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""Errors of writing to standard output. Any other OSError without a file name is a bug of ours."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(importlib.import_module(f"netlimits.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 a run failed, 2 wrong input, 3 a host could not be restored; "
    "4 and 5: see `netlimits compare --help`.",
)
@click.version_option(__version__, prog_name="netlimits")
def group() -> None:
    """Measure what limits the data rate between Linux machines, and what each Mbit/s costs in CPU.

    \b
    Examples:
      netlimits lab up
      netlimits plan stateless-offloads
      netlimits run stateless-offloads --hosts hosts.yaml
      netlimits table results/stateless-offloads-20260101-120000
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; errors become messages on stderr and exit statuses."""
    try:
        status = group.main(args=argv, prog_name="netlimits", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except NetlimitsError as error:
        # these errors list restoring commands, findings, or a file's errors, one on each line
        several = error.exit_status == 3 or isinstance(error, CheckError | DocumentErrors)
        echo(f"netlimits: {str(error) if several else one_line(str(error))}", err=True)
        sys.exit(error.exit_status)
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "netlimits"
        _end(f"{one_line(error.format_message())} (see {command} --help)", error.exit_code)
    except click.ClickException as error:
        _end(one_line(error.format_message()), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # such as an unreadable folder, or a full disk
        if not error.filename and error.errno not in OUTPUT_ERRORS:
            _bug(error)
        _drop_output()
        _end(f"{error.filename or 'the output'}: {one_line(error)}", 2)
    except Exception as error:
        _bug(error)


def _bug(error: Exception) -> NoReturn:
    if os.environ.get(TRACEBACK):
        raise error
    what = one_line(f"{type(error).__name__}: {error}")[:300]
    _end(f"a bug in netlimits: {what}; please report it with the output of {TRACEBACK}=1", 1)


def _drop_output() -> None:
    """Redirect stdout to /dev/null if it cannot be flushed: the interpreter flushes it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(message: str, status: int) -> NoReturn:
    echo(f"netlimits: {message}", err=True)
    sys.exit(status)
