"""What a stranger's folder or file holds, and every command that reads it: data, whatever it says.

Texts with markup, control codes and lies of direction under every name that a person is shown; JSON and
YAML without a bottom, numbers that are none, files that are huge, pipes and loops of links; and files
of runs that were changed. No traceback, no wait, no code in a terminal or a page, nothing written
beside the folder.
"""

from __future__ import annotations

import json
import os
import re
import signal
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from faults.attacks.archives import CHANGES
from faults.attacks.base import Family, Held
from faults.attacks.figures import VALUES, places
from recorded import begun, edited, rewritten
from waiting import LONG

from netlimits.errors import escaped

TEXTS = (
    "\x1b[2J\x1b]0;title\x07", "\x9b31m", "\r\nok: nothing to see", "a\x00b", "\u202egnp.exe", "\ud800",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "]]><svg onload=alert(1)>", "javascript:alert(1)",
    '"><a href="javascript:alert(1)">x</a>', "{{ 7 * 7 }}", "${jndi:x}", "$\\frac{", "%s%n", "../../../etc/passwd", "-oProxyCommand=x",
    "$(touch x)", "x" * 70_000, "=cmd|' /C calc'!A0", "\\input{/etc/passwd}", "",
)  # fmt: skip
"""What a person is shown, or a page, a chart, a spreadsheet or a shell might take for its own."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",), ("status", "--json"), ("status", "--guards"), ("restore",), ("restore", "--yes"),
    ("resume", "--yes"), ("parse",), ("table",), ("table", "--of", "throughput", "--rows", "mtu", "--intervals"),
    ("table", "--format", "html"), ("table", "--format", "csv"), ("table", "--format", "markdown"), ("table", "--format", "json"),
    ("figures", "--format", "svg"), ("figures", "--chart", "bursts", "--format", "svg"),
    ("explain",), ("explain", "--json"), ("report",),
    ("export", "--format", "openmetrics"), ("export", "--format", "influx"), ("export", "--format", "json"),
)  # fmt: skip
OF_FILES = ("table", "figures", "explain", "export", "import")
DEEP = 100_000


def attack(held: Held) -> str | None:
    return held.chance.choice((texts, texts, files, files, runs, named))(held)


# -- texts ---------------------------------------------------------------------------------------


def texts(held: Held) -> str | None:
    """Texts in a folder whose checksums are all right."""
    out = held.campaign()
    where = held.chance.choice(("journal", "journal", "campaign", "experiment", "facts", "raw"))
    for _ in range(held.chance.randint(1, 3)):
        held.says(where)
        _TEXTS[where](held, out)
    return _read(held, out)


def _planted(held: Held, value: Any) -> Any:
    """A JSON value with a text in place of one of its texts, or as a name."""
    ways = places(value)
    held.chance.shuffle(ways)
    text = held.chance.choice(TEXTS)
    for way in ways:
        holder = value
        for key in way[:-1]:
            holder = holder[key]
        if isinstance(holder[way[-1]], str) and way[-1] not in ("event", "version"):
            held.says(f"{way}: {text[:30]!r}")
            if isinstance(holder, dict) and held.chance.random() < 0.2:
                holder[text] = holder.pop(way[-1])
            else:
                holder[way[-1]] = text
            return value
    return value


def _journal(held: Held, out: Path) -> None:
    """Most at a place that is shown: why a run failed, or a figure and its name."""
    kind, text = held.chance.choice(("reason", "figure", "anything")), held.chance.choice(TEXTS)
    chosen, numbers = held.chance.randrange(4), iter(range(10**9))
    held.says(f"{kind}: {text[:30]!r}")

    def change(body: bytes) -> bytes:
        event = json.loads(body)
        if event["event"] != "end" or next(numbers) != chosen:
            return body
        if kind == "reason":
            event |= {"status": "failed", "reason": text, "figures": {}, "interim": []}
        elif kind == "figure":
            event["figures"] |= {text: text, f"{text}_mbps": 1}
        else:
            event = _planted(held, event)
        return json.dumps(event).encode()

    rewritten(out, change)


def _campaign(held: Held, out: Path) -> None:
    """In what is shown of it, or as a login."""
    meta, text = json.loads((out / "campaign.json").read_text()), held.chance.choice(TEXTS)
    key = held.chance.choice(("created", "netlimits", "experiment", "skipped", "overrides", "ssh"))
    held.says(f"{key}: {text[:30]!r}")
    if key == "ssh":
        meta["machines"]["source"]["ssh"] = "".join(text.split()).lstrip("-") or "x"
    else:
        texts = {"skipped": {text: text}, "overrides": [[text, text]]}
        meta[key] = texts.get(key, text)
    edited(out, "campaign.json", json.dumps(meta))


def _experiment(held: Held, out: Path) -> None:
    text = (out / "experiment.yaml").read_text()
    planted = held.chance.choice(TEXTS)
    key = held.chance.choice(("experiment", "question", "source"))
    held.says(f"{key}: {planted[:30]!r}")
    rest = "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith(f"{key}:")
    )
    with_it = f"{key}: {json.dumps(planted)}\n{rest}"
    if held.chance.random() < 0.4:
        with_it += f"report:\n  - {{chart: percentiles, of: throughput, title: {json.dumps(held.chance.choice(TEXTS))}}}\n"
    edited(out, "experiment.yaml", with_it)


def _facts(held: Held, out: Path) -> None:
    text = held.chance.choice(TEXTS)
    held.says(repr(text[:30]))
    facts = {
        name: {"value": text if name != "link" else {"driver": text, "address": text}, "raw": text}
        for name in ("kernel", "cpu", "link", "tools", text)
    }
    (out / "hosts/source.json").write_text(json.dumps(facts))


def _raw(held: Held, out: Path) -> None:
    path = out / f"raw/{held.chance.randint(1, 4):06d}-1.jsonl"
    lines = path.read_text().splitlines()
    at = held.chance.randrange(len(lines))
    lines[at] = json.dumps(_planted(held, json.loads(lines[at])))
    path.write_text("\n".join(lines) + "\n")


_TEXTS: dict[str, Callable[[Held, Path], None]] = {
    "journal": _journal,
    "campaign": _campaign,
    "experiment": _experiment,
    "facts": _facts,
    "raw": _raw,
}


# -- files ---------------------------------------------------------------------------------------


NAMES = (
    "campaign.json", "experiment.yaml", "plan.csv", "journal.jsonl", "raw/000001-1.jsonl", "raw/000009-9.jsonl",
    "hosts/source.json", "results.json", "results.csv", "results.parquet", "report.html",
    "figures/percentiles-throughput.svg", "raw/imported/file", "figures",
)  # fmt: skip


def deep(path: Path, held: Held) -> None:
    opening = held.chance.choice(('{"a":', "[", "- ", "{a: ", '[{"event": "end", "run": '))
    path.write_text(opening * DEEP)


def huge(path: Path, held: Held) -> None:
    with path.open("ab") as file:
        file.truncate(held.chance.choice((3 << 30, 1 << 40)))


def long_line(path: Path, held: Held) -> None:
    path.write_bytes(b'{"event": "' + b"x" * (40 << 20))


def no_numbers(path: Path, held: Held) -> None:
    text = path.read_text("utf-8", "replace") if path.exists() else "1\n"
    word = held.chance.choice(
        ("NaN", "-Infinity", "1e999", "9" * 5000, "0x10", "-0", "1_0", "null")
    )
    path.write_text(re.sub(r"(?<![\w\"])\d+(\.\d+)?(?!\w)", word, text))


def pipe(path: Path, held: Held) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def loop(path: Path, held: Held) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def up(path: Path, held: Held) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("..")


def away(path: Path, held: Held) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(held.folder / "victim" / "file")


def zeros(path: Path, held: Held) -> None:
    path.write_bytes(bytes(100_000))


def aliases(path: Path, held: Held) -> None:
    """YAML that grows a thousandfold with each line."""
    lines = ["a0: &a0 [x]"] + [
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)
    ]
    path.write_text("\n".join(lines) + "\n")


FILES = (deep, huge, long_line, no_numbers, pipe, loop, up, away, zeros, aliases)


def files(held: Held) -> str | None:
    """Files that are none, in a folder of whoever looks at it, or of a stranger."""
    out = held.campaign()
    if held.chance.random() < 0.5:
        begun(out)
        held.says("one's own")
    (held.folder / "victim").mkdir()
    (held.folder / "victim" / "file").write_text("somebody's\n")
    name, strange = held.chance.choice(NAMES), held.chance.choice(FILES)
    held.says(f"{name}: {strange.__name__}")
    path = out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    strange(path, held)
    return _read(held, out)


# -- files of runs, and files that are named -----------------------------------------------------


def runs(held: Held) -> str | None:
    """A CSV or Parquet file of runs that was changed."""
    out = held.campaign()
    path = held.folder / held.chance.choice(("runs.csv", "runs.parquet"))
    data = (out / f"results{path.suffix}").read_bytes()
    if path.suffix == ".csv" and held.chance.random() < 0.5:
        lines = data.decode().splitlines()
        cells = lines[held.chance.randrange(len(lines))].split(",")
        at = held.chance.randrange(len(lines))
        cells[held.chance.randrange(len(cells))] = json.dumps(
            held.chance.choice((*TEXTS, *map(str, VALUES)))
        )
        lines[at] = ",".join(cells)
        data = "\n".join(lines).encode("utf-8", "backslashreplace")
        held.says(f"line {at + 1} of the table")
    else:
        for _ in range(held.chance.randint(1, 3)):
            change = held.chance.choice(CHANGES)
            data = change(data, held.chance) if data.strip() else data
            held.says(f"{change.__name__} in {path.name}")
    path.write_bytes(data)
    return _read(held, path, OF_FILES)


def named(held: Held) -> str | None:
    """What is named on the command line: a pipe, a device, a folder, a file of anything."""
    path = held.folder / held.chance.choice(("runs.csv", "runs.parquet", "campaign"))
    target = held.chance.choice(
        ("/dev/zero", "/dev/full", "/proc/kmsg", "/proc/self/mem", "/proc/self/environ", "")
    )
    held.says(f"{path.name} is {target or 'something'}")
    if target:
        path.symlink_to(target)
    else:
        strange = held.chance.choice(FILES)
        held.says(strange.__name__)
        (held.folder / "victim").mkdir()
        (held.folder / "victim" / "file").write_text("somebody's\n")
        strange(path, held)
    every = {command[0] for command in COMMANDS} | {"import"}
    if through := _read(held, path, tuple(sorted(every))):
        return through
    for argv in (("status", "--hosts", path), ("restore", "--hosts", path), ("plan", path)):
        if through := _complaint(held, *argv):
            return through
    return None


# -- what must hold ------------------------------------------------------------------------------


def _read(held: Held, path: Path, only: tuple[str, ...] = ()) -> str | None:
    """What got through in four of the commands that read it."""
    commands = [command for command in COMMANDS if not only or command[0] in only]
    if "import" in only:
        commands.append(("import", "--out", str(held.folder / "imported")))
    before = _beside(held, path)
    for command in held.chance.sample(commands, min(4, len(commands))):
        held.says(" ".join(command).replace(str(held.folder), ""))
        if through := _complaint(held, command[0], path, *command[1:]):
            return f"{command}: {through}"
    after = _beside(held, path)
    if not only and after != before:
        return f"something beside the folder is another: {before} {after}"
    page = path / "report.html"
    if not page.is_file() or page.is_symlink() or page.stat().st_size > 64 << 20:
        return None
    code = _code(page.read_text("utf-8", "replace"))
    return f"the page runs or loads something: {code}" if code else None


def _complaint(held: Held, *argv: object) -> str | None:
    with _in_time():
        told, through = held.call(*argv)
    told = told if through else escaped(told)  # as the command line ends
    if code := CONTROL.search(told):
        return f"{code[0]!r} reached the terminal: {told[max(0, code.start() - 60) : code.end() + 20]!r}"
    if not through and len(told) > 20_000:
        return f"a refusal of {len(told)} characters: {told[:200]!r}"
    return None


class _Late(Exception):
    """A command that does not end."""


@contextmanager
def _in_time() -> Iterator[None]:
    def late(number: int, frame: types.FrameType | None) -> None:
        raise _Late(f"not within {LONG:g} s")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(LONG))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def _beside(held: Held, path: Path) -> list[tuple[str, int, bytes]]:
    """Every file beside what is read, with its bytes."""
    rows = []
    for file in sorted(held.folder.rglob("*")):
        if not file.is_relative_to(path) and file.is_file() and not file.is_symlink():
            rows.append((str(file), file.stat().st_mode, file.read_bytes()[:1000]))
    return rows


class _Page(HTMLParser):
    """What in a page would run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.code: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object", "embed", "form", "base"):
            self.code.append(f"<{tag}>")
        for name, value in attrs:
            plain = (value or "").strip().lower()
            if name.startswith("on") or plain.startswith(("javascript:", "data:text")):
                self.code.append(f"{tag} {name}={value}")


def _code(text: str) -> str:
    page = _Page()
    page.feed(text)
    return ", ".join(page.code)


FAMILY = Family("strangers", attack, weight=5)
