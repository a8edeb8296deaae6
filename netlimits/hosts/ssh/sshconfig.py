"""Read OpenSSH's configuration of a host name with paramiko's parser.

Before paramiko parses the text, this module inserts included files and removes comments after
values. A Match criterion that paramiko would take as met (`tagged`) is an error. `ssh -G` is not
used: it prints paths ambiguously and ignores $HOME. It also rejects a whole file for one option
that is newer than itself. A file in another user's directory is not read, since `Match exec` runs
commands (SECURITY.md). A name with blanks or special characters of a shell is an error, since
`Match exec` and ProxyCommand insert the name into a command line.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import paramiko

from netlimits.errors import ConnectError
from netlimits.model.named_file import read_all

_INCLUDE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_BLOCK = re.compile(r"\s*(?:host|match)(?:\s*=\s*|\s+)", re.IGNORECASE)
_INCLUDE_DEPTH = 16
_OTHER_FILE = "; correct it, or name another file as `ssh_config:` in the hosts file"
SIZE_LIMIT = 2**20
"""Maximum size of a configuration or a key in bytes."""

_COMMENT = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'])*?)\s#.*""")
_WHOLE = re.compile(r"\s*(?:proxy|local|remote|knownhosts)command\b", re.IGNORECASE)
"""Options whose value is the rest of the line, including comment characters."""

_MATCH = re.compile(r"\s*match(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_CRITERIA = {"all", "canonical", "final", "host", "originalhost", "user", "localuser", "exec"}
_NO_NAME = re.compile(r"^-|[\s'\"`$\\;&<>|(){}]|[^ -~\u00a1-\U0010ffff]")
"""Forbidden in a host's or user's name: a leading dash, blanks, control and shell characters."""

_TIME = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host and how to log in to it; at most one of `jump` and `proxy` is set."""

    name: str
    hostname: str
    port: int
    user: str
    identities: tuple[Path, ...]
    identities_only: bool
    agent: bool
    jump: str
    proxy: str
    known_hosts: tuple[Path, ...]
    key_alias: str
    timeout: float | None
    login: str
    add_key: str

    @property
    def key_name(self) -> str:
        if self.key_alias:
            return self.key_alias
        return self.hostname if self.port == 22 else f"[{self.hostname}]:{self.port}"

    @property
    def where(self) -> str:
        via = f" (through {self.jump})" if self.jump else ""
        return f"{self.hostname} port {self.port}{via}"


class SshConfig:
    """The configuration in `file`, or in the user's and the system's file if it is None."""

    def __init__(self, file: Path | None = None) -> None:
        """Read the files; `read` lists them, including included files. Raises ConnectError."""
        self.file = file
        self.read: list[Path] = []
        files = [file] if file else [Path("~/.ssh/config"), Path("/etc/ssh/ssh_config")]
        lines: list[str] = []
        try:
            for path in (path.expanduser() for path in files):
                if path == file or path.is_file():
                    lines += ["Host *", *self._lines(path, "Host *", 0)]
            self._config = paramiko.SSHConfig.from_text("\n".join(lines) + "\n")
        except OSError as error:
            raise ConnectError(f"{error.filename}: {error.strerror}{_OTHER_FILE}") from None
        except (paramiko.SSHException, ValueError) as error:
            raise ConnectError(f"{self.source}: {error}{_OTHER_FILE}") from None

    @property
    def source(self) -> str:
        return str(self.file or "~/.ssh/config")

    def endpoint(self, name: str) -> Endpoint:
        """Return the configuration of `[user@]name[:port]`. Raises ConnectError."""
        user, name, port = split(name)
        for word in (re.sub(r"\\(?=.)", "", user), name):  # allow the Windows form DOMAIN\user
            if strange := _NO_NAME.search(word):
                raise ConnectError(
                    f"{word[:80]!r} is not a host or user name: it contains {strange[0]!r}"
                )
        try:
            options = self._config.lookup(name)
            jump, proxy = _way(options)
            port_, user_ = port or int(options.get("port", 22)), user or options.get("user")
            login = user_ or getpass.getuser()
            tokens = {"d": str(Path.home()), "h": options["hostname"], "n": name, "p": str(port_)}
            return Endpoint(
                name=name,
                hostname=options["hostname"],
                port=port_,
                user=login,
                identities=tuple(_identities(options)),
                identities_only=options.get("identitiesonly", "no").lower() == "yes",
                agent=options.get("identityagent", "").lower() != "none",
                jump=jump,
                proxy=proxy,
                known_hosts=tuple(_known_hosts(options, {**tokens, "r": login, "%": "%"})),
                key_alias=options.get("hostkeyalias", ""),
                timeout=_seconds(options.get("connecttimeout", "")),
                login=self._command(user, name, port),
                add_key=self._command(user, name, port, "-o", "StrictHostKeyChecking=ask"),
            )
        except (ValueError, KeyError, ImportError, paramiko.SSHException) as error:
            raise ConnectError(
                f"{self.source}: the options for {name} cannot be read: {error}; correct them"
            ) from None

    def _command(self, user: str, name: str, port: int, *options: str) -> str:
        words = ["ssh", *(["-F", str(self.file)] if self.file else []), *options]
        words += ["-p", str(port)] if port else []
        return shlex.join([*words, f"{user}@{name}" if user else name, "true"])

    def _lines(self, path: Path, block: str, depth: int) -> Iterator[str]:
        """Yield the file's lines with included files inserted.

        `block` is the Host or Match line that applies where the file begins.
        """
        if depth > _INCLUDE_DEPTH:
            raise ConnectError(f"{path}: files include each other more than {_INCLUDE_DEPTH} deep")
        self.read.append(path)
        text = read_all(path, SIZE_LIMIT).decode("utf-8", "replace")
        base = path.parent if path.is_relative_to("/etc/ssh") else Path("~/.ssh").expanduser()
        for number, line in enumerate(text.splitlines(), 1):
            line = _plain(line, f"{path}: line {number}")
            if match := _INCLUDE.fullmatch(line):
                for pattern in shlex.split(match[1]):
                    relative = (base / Path(pattern).expanduser()).relative_to("/")
                    for included in sorted(Path("/").glob(str(relative))):
                        yield from self._lines(included, block, depth + 1)
                yield block  # the lines after an Include belong to the block before it
            else:
                if _BLOCK.match(line):
                    block = line
                yield line


def split(name: str) -> tuple[str, str, int]:
    """Split `[user@]host[:port]`, as in ProxyJump; a missing user is "", a missing port 0."""
    name = name.removeprefix("ssh://").rstrip("/")
    user, _, rest = name.rpartition("@")
    if match := re.fullmatch(r"\[(.+)\](?::(\d+))?|([^:]+):(\d+)", rest):
        return user, match[1] or match[3], int(match[2] or match[4] or 0)
    return user, rest, 0


def _plain(line: str, where: str) -> str:
    """Return the line in a form that paramiko parses correctly: no comment, and `[` escaped."""
    if (match := _COMMENT.fullmatch(line)) and not _WHOLE.match(line):
        line = match[1]
    if match := _MATCH.fullmatch(line):
        return "Match " + shlex.join(_criteria(shlex.split(match[1]), where))
    return line.replace("[", "[[]") if _BLOCK.match(line) else line


def _criteria(words: list[str], where: str) -> Iterator[str]:
    """Yield the words of a Match line. Raises ConnectError for a criterion paramiko ignores."""
    rest = iter(words)
    for word in map(str.lower, rest):
        criterion = word.removeprefix("!")
        if criterion not in _CRITERIA:
            raise ConnectError(
                f"{where}: `Match {criterion}` is not understood; use another file with "
                "`ssh_config:` in the hosts file"
            )
        yield word
        if criterion not in ("all", "canonical", "final"):
            for value in islice(rest, 1):
                yield value if criterion == "exec" else value.replace("[", "[[]")


def _way(options: paramiko.SSHConfigDict) -> tuple[str, str]:
    """Return (ProxyJump, ProxyCommand); only the option that comes first is not ""."""
    for key in options:
        value = options[key] or "none"
        if key == "proxyjump":
            return ("" if value.lower() == "none" else value.replace(" ", "")), ""
        if key == "proxycommand":
            return "", ("" if value.lower() == "none" else value)
    return "", ""


def _identities(options: paramiko.SSHConfigDict) -> Iterator[Path]:
    named: list[str] = list(options.get("identityfile", []))
    for name in named or [f"~/.ssh/{key}" for key in _DEFAULT_KEYS]:
        if name.lower() != "none":
            yield Path(_environment(name)).expanduser()


def _environment(text: str) -> str:
    """Replace each `${NAME}` by the value of the environment variable. Raises KeyError."""
    return re.sub(r"\$\{(\w+)\}", lambda match: os.environ[match[1]], text)


def _known_hosts(options: paramiko.SSHConfigDict, tokens: Mapping[str, str]) -> Iterator[Path]:
    own = options.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")
    every = options.get(
        "globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
    )
    for name in shlex.split(own) + shlex.split(every):
        if name.lower() != "none":
            path = re.sub(r"%(.)", lambda match: tokens.get(match[1], match[0]), name)
            yield Path(_environment(path)).expanduser()


def _seconds(text: str) -> float | None:
    """Parse a time of ssh_config(5), such as `1m30s`; return None if it sets no limit."""
    if re.fullmatch(f"(?:{_TIME.pattern})+", text, re.IGNORECASE):
        seconds = float(sum(int(n) * _SECONDS[unit.lower()] for n, unit in _TIME.findall(text)))
    else:
        seconds = float(text) if text and text.lower() != "none" else 0.0
    return seconds if seconds > 0 else None
