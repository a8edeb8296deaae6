"""Options and arguments that several commands share, and how they are read and checked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from netlimits.errors import InputError, did_you_mean, one_line
from netlimits.experiment import packaged
from netlimits.hosts.patience import USUAL, patience


class ExperimentFile(click.Path):
    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        written = str(value)
        if path.exists() or Path(written).name != written or path.suffix:
            return path
        if not (named := packaged.named(written)):
            raise InputError(
                f"{written}: there is no such file and no installed experiment of this name"
                f"{did_you_mean(written, packaged.files())}"
            )
        return named

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = [CompletionItem(n) for n in packaged.files() if n.startswith(incomplete)]
        return [*names, *super().shell_complete(ctx, param, incomplete)]


EXPERIMENT = click.argument("experiment_file", metavar="EXPERIMENT", type=ExperimentFile())


def hosts_option(about: str) -> Callable[[Any], Any]:
    return click.option(
        "--hosts", "hosts_file", type=click.Path(path_type=Path), metavar="FILE", help=about
    )


HOSTS = hosts_option("The hosts file that binds roles to machines; default: the hosts of the lab.")
FOREIGN_HOSTS = hosts_option(
    "Hosts file to use for a campaign that you did not start on this machine."
)
LOCAL = click.option(
    "--local", is_flag=True, help="Use this machine for every role, over loopback."
)
YES = click.option(
    "--yes", is_flag=True, help="Restore somebody else's campaign without asking for confirmation."
)
RESULTS = click.argument("results", type=click.Path(path_type=Path))
SEVERAL_RESULTS = click.argument(
    "results", nargs=-1, required=True, type=click.Path(path_type=Path)
)
AT_ONCE = click.option(
    "--at-once",
    type=click.IntRange(1),
    metavar="N",
    help="Maximum number of pairs to measure at once (mesh only); default: as many as hosts allow.",
)
SCHEDULER = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Dask scheduler whose workers measure, for example tcp://10.0.0.1:8786 (mesh only).",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the experiment, for example measure.netperf.seconds=1. Repeatable.",
)
GUARD = click.option(
    "--guard",
    default="5m",
    show_default=True,
    metavar="TIME",
    help="Each host restores itself if it has not heard from this machine for this long after a "
    "run should have ended (90s, 5m, 1h; up to 10 % later); off: never.",
)

WORSE_STATUS = 4
"""Exit status of `compare` and `history` if something got worse."""

LIST = "list"
"""Value of --of that prints the available metrics."""


PATIENCE = click.option(
    "--patience",
    default=f"{USUAL / 60:g}m",
    show_default=True,
    metavar="TIME",
    callback=lambda _, __, text: patience(text),
    help="How long to wait for a login or a lost connection (90s, 5m). A longer time than the "
    "default also extends every other deadline.",
)


def _verbosity(letter: str, word: str, about: str) -> Callable[[Any], Any]:
    """Return an option that sets `verbosity` to `word`; two such options are an InputError."""

    def only_one(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given and ctx.params.get("verbosity"):
            raise InputError("use either --quiet or --verbose")
        ctx.params["verbosity"] = word if given else ctx.params.get("verbosity")

    return click.option(
        letter, f"--{word}", is_flag=True, expose_value=False, help=about, callback=only_one
    )


QUIET = _verbosity("-q", "quiet", "Show no progress, only failed runs.")
VERBOSE = _verbosity("-v", "verbose", "Show every run with all figures.")


def pairs(overrides: Sequence[str], option: str = "--set") -> list[tuple[str, str]]:
    split = [text.partition("=") for text in overrides]
    for key, sign, value in split:
        if not (key and sign):
            raise InputError(
                f"{option} {key}{sign}{value}: write KEY=VALUE, as in repeat.replicates=3"
            )
    return [(key, value) for key, _, value in split]


def separated(_: object, __: object, given: tuple[str, ...]) -> tuple[str, ...]:
    """Split names at commas, so that one option takes several."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def of_option(about: str) -> Callable[[Any], Any]:
    return click.option("--of", multiple=True, metavar="METRIC", callback=separated, help=about)


def format_option(*forms: str) -> Callable[[Any], Any]:
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True
    )


def window_option(what: str) -> Callable[[Any], Any]:
    return click.option(
        "--window",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Time window of {what}, in seconds.",
    )


def pool_option(what: str) -> Callable[[Any], Any]:
    return click.option(
        "--pool",
        multiple=True,
        metavar="FACTOR",
        callback=separated,
        help=f"A factor to pool: one {what} may hold runs that differ in it. Repeatable.",
    )


def options_of(name: str, kind: type[Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that passes the fields of the dataclass `kind` as one argument, `name`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def gathering(**given: Any) -> None:
            own = {field.name: given.pop(field.name) for field in fields(kind)}
            command(**{name: kind(**own)}, **given)

        gathering.__name__, gathering.__doc__ = command.__name__, command.__doc__
        gathering.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        for option in reversed(options):
            gathering = option(gathering)
        return gathering

    return decorate


def share(text: str | float, what: str = "a threshold") -> float:
    """Parse a share: "3%", "3 %" and 0.03 mean 0.03. Raises InputError that names `what`."""
    written = str(text).strip()
    try:
        number = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise InputError(f"{what.replace('_', '-')} is a share such as 3%, not {written}")
    return number


def share_option(name: str, about: str, default: str | None = None) -> Callable[[Any], Any]:
    return click.option(
        name,
        metavar="SHARE",
        default=default,
        show_default=True,
        callback=lambda _, __, text: None if text is None else share(text, name),
        help=about,
    )


class Output(click.Path):
    """A path to write to; if that is impossible, parsing the command line raises InputError."""

    def __init__(self, *, folder: bool, fresh: bool = False) -> None:
        super().__init__()
        self._folder, self._fresh = folder, fresh

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        given: Any = super().convert(value, param, ctx)
        if not str(given):
            raise InputError(f"{param.opts[-1] if param else 'the path'}: is empty; name a path")
        path = Path(given)
        if self._folder:
            refuse_folder(path, fresh=self._fresh)
        elif value != "-":  # "-" is standard output
            refuse_file(path, fresh=self._fresh)
        return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into an InputError that names the path and the reason."""
    try:
        yield
    except OSError as error:
        over = next((f for f in path.parents if os.path.lexists(f) and not f.is_dir()), None)
        why = f"{over} is a file, not a folder" if over else one_line(error)
        raise InputError(f"{path}: cannot be written: {why}; name another place") from None


def refuse_folder(path: Path, *, fresh: bool = False) -> None:
    """Raise InputError if no files can be written there, or, with `fresh`, if it has files."""
    with writing(path), ExitStack() as created:
        if fresh and path.is_dir() and any(path.iterdir()):
            raise InputError(f"{path}: is not empty; name another folder")
        missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700)
            created.callback(_remove, folder)
        if not path.is_dir():
            raise InputError(f"{path}: is a file, not a folder; name another folder")
        with tempfile.TemporaryFile(dir=path):
            pass


def refuse_file(path: Path, *, fresh: bool = False) -> None:
    """Raise InputError for a file that cannot be written, or, with `fresh`, that exists."""
    with writing(path):
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file")
        if fresh and os.path.lexists(path):
            raise InputError(f"{path}: exists already; name another file")
        if path.is_file():
            path.open("ab").close()
        elif not path.exists():  # a device or a pipe exists, and must not be opened twice
            if not path.parent.is_dir():
                raise InputError(f"{path}: there is no folder {path.parent}")
            with tempfile.TemporaryFile(dir=path.parent):
                pass


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
