"""netperf's text output in any form: `-k`, `-o`, `-O` and the classic tables.

A banner or header applies until the next one. If no figures follow it, it is a failed run. A line
that looks like a row but does not fit its header is an error: files must not be read in part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netlimits.importers.base import LINE_LIMIT, Given, ImportedRun, SourceText, clean
from netlimits.importers.netperf import classic, columns, keys, runs
from netlimits.importers.netperf.headers import HEADERS
from netlimits.importers.netperf.runs import RATE, UNIT, Interim, Test

_KEY = re.compile(r"([A-Z][A-Z0-9_]*(?:\[\d{1,9}\])?)=(.*)")
_INTERIM_KEY = re.compile(r"NETPERF_(INTERIM_RESULT|UNITS|INTERVAL|ENDING)\[\d+\]")
_INTERIM = (
    re.compile(rf"Interim result: +{RATE} {UNIT} over {RATE} seconds ending at {RATE}"),
    re.compile(rf"{RATE},{UNIT},(\d{{1,9}}\.\d{{3}}),(\d{{9,12}}\.\d{{3}})"),
)
_FAILURE = re.compile(
    r"[a-z][a-z0-9_]*( control)?: .*|establish_control could not .*|double free or corruption.*"
    r"|The test you requested .*|Please verify that you have the correct test name,"
    r"|and that test family has been compiled .*|.*\b(Aborted|Segmentation fault|Terminated)\b.*"
)
_OWN_FAILURE = re.compile(
    r"net(perf|server): .*|establish[ _]control.*"
    r"|(send|recv|scan)_(tcp|udp|sctp|dccp|omni|unix)\w*: .*"
    r"|(get|set)_(remote|local|transport|tcp|sock)\w*: .*|create_data_socket: .*|catcher: .*"
    r"|shutdown_control: .*|calibrate_\w+: .*|remote error \d+.*|The test you requested .*"
)
"""Errors that only netperf prints. Any other `word: text` line is an error only if netperf's
banner, header or error precedes it."""
_WARNING = "catcher: timer popped with times_up != 0"
"""netperf's timer fired late; the figures are valid."""
_FAILED = re.compile(r"establish_control could not .*|and that test family has been compiled .*")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ANOTHER = re.compile(r"establish control: |The test you requested ")
"""First line of an error of several lines, which is a failed run even if no banner precedes it.
`_FAILED` matches the error's last line."""
_HISTOGRAM = re.compile(
    r"Histogram of .*|(UNIT|TEN|HUNDRED)_(N|U|M)?SECS? *:.*|>100_SECS *:.*|HIST_TOTAL *:.*"
)
_TRANSCRIPT = re.compile(
    r"(\([\w.-]{1,40}\) ?)?"
    r"([\w.-]{1,80}@[\w.-]{1,80}:?[^$#%>]{0,120}|\[[^\]]{1,120}\]|[\w.~/-]{0,80})[$#%>]( .*)?"
    r"|\+ .*|(\S*/)?netperf .*|(real|user|sys)\s+\d+m[\d.]+s|[-=*#]{3,}.*"
)
"""Lines of a terminal: a prompt with its command, output of `set -x` or `time`, a command that a
script printed, or a separator."""
_NUMBERS = 0.5
"""Minimum share of numbers among the words of a line that may be a row."""

TORN = "the last line is cut off"


@dataclass(slots=True)
class _Table:
    """A run whose row was read. Another table may still belong to the same run (`-O a,b;c`)."""

    keys: dict[str, str]
    line: int
    headers: list[columns.Columns]
    announced: bool
    test: Test
    interim: list[Interim]
    wide: bool
    repaired: bool


def claims(source: SourceText) -> bool:
    lines = source.lines
    return any(
        _is_netperfs(line.strip(), lines[at : at + 4])
        for at, line in enumerate(lines)
        if line.strip() and len(line) <= LINE_LIMIT
    )


def _is_netperfs(line: str, block: Sequence[str]) -> bool:
    if (pair := _KEY.fullmatch(line)) and (pair[1] in HEADERS or _INTERIM_KEY.fullmatch(pair[1])):
        return True
    if runs.test(line) or _OWN_FAILURE.fullmatch(line) or classic.form(block, ""):
        return True
    if any(pattern.fullmatch(line) for pattern in _INTERIM):
        return True
    try:
        return _header(line, block) is not None
    except columns.Unfit:
        return True


def _header(
    line: str, block: Sequence[str]
) -> tuple[columns.Columns, Sequence[int] | None, int] | None:
    """Return a header's selectors, their offsets (`-O` only), and its number of lines."""
    if line.startswith(",") or line.split(",")[0].split()[0] not in columns.FIRST_WORDS:
        return None
    wide = len(block) >= 4 and max(map(len, block)) <= LINE_LIMIT // 8
    if wide and (header := columns.column_header(tuple(block[:4]))):
        return *header, 4
    for lines in range(1, len(block) + 1):  # terminals and mails break a long header
        if names := columns.csv_header(" ".join(map(str.strip, block[:lines]))):
            return names, None, lines
    return None


def read(source: SourceText, given: Given) -> list[ImportedRun]:
    return _Reading(source, given).runs()


class _Reading:
    """A parser that goes line by line. It keeps the current header, and values of pending runs."""

    def __init__(self, source: SourceText, given: Given) -> None:
        self._source = source
        self._given = given
        self._runs: list[ImportedRun] = []
        self._number = 0
        self._test = Test()
        self._form: classic.Form | None = None
        self._columns: columns.Columns | None = given.columns or None
        self._spaced: bool | None = None  # True for -O, None without a header
        self._starts: Sequence[int] = ()
        self._announced = 0  # line of a banner or header whose figures are still to come
        self._headed = False  # the header of the announced run was read
        self._table: _Table | None = None
        self._goes_on = False  # the next row belongs to `_table` too
        self._failure: list[str] = []
        self._wide = False
        self._interim: list[Interim] = []
        self._pairs: list[keys.Pair] = []
        self._known: set[str] = set()
        self._rows: list[dict[str, str]] = []

    def runs(self) -> list[ImportedRun]:
        lines = self._source.lines
        at = 0
        while at < len(lines):
            self._number = at + 1
            if len(lines[at]) > LINE_LIMIT:
                self._source.refuse(at + 1, f"is longer than {LINE_LIMIT} characters")
            at += self._line(lines[at].strip(), lines[at : at + 5]) if lines[at].strip() else 1
        self._end_runs()
        if self._announced or self._failure or self._interim or self._rows:
            self._fail()
        return self._runs

    def _line(self, line: str, block: Sequence[str]) -> int:
        """Consume a line, or a header of several lines; return their number."""
        if pair := _KEY.fullmatch(line):
            self._pair(pair[1], pair[2].strip())
        elif banner := runs.test(line):
            self._banner(banner)
        elif self._announced and self._announced == self._number - 1 and runs.is_rest(line):
            pass
        elif line.startswith("!!!"):
            self._wide |= "confidence was not achieved" in line
        elif interim := next((m for p in _INTERIM if (m := p.fullmatch(line))), None):
            self._end_runs()
            rate, unit, seconds, ending = interim.groups()
            self._interim.append(Interim(unit, float(rate), float(seconds), float(ending)))
        elif self._is_failure(line):
            self._end_runs()
            if _ANOTHER.match(line) and (self._announced or self._failure):
                self._fail()
            self._failure.append(line)
            if _FAILED.fullmatch(line):
                self._fail()
        elif self._form and line.split()[0] in classic.EXTRAS:
            return classic.EXTRAS[line.split()[0]]
        elif _HISTOGRAM.fullmatch(line) or line == _WARNING:
            pass
        else:
            return self._take_header(line, block) or self._row(line)
        return 1

    def _is_failure(self, line: str) -> bool:
        if line == _WARNING or not _FAILURE.fullmatch(line):
            return False
        return (
            bool(self._announced or self._failure or self._rows)
            or _OWN_FAILURE.fullmatch(line) is not None
        )

    def _is_noise(self, line: str) -> bool:
        if _TRANSCRIPT.fullmatch(line):
            return True
        if self._headed:
            return False
        fields = len(self._columns or ())
        if fields and (len(line.split()) == fields or line.count(",") >= max(1, fields // 2)):
            return False
        words = line.replace(",", " ").split()
        numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
        return numbers < _NUMBERS * len(words)

    def _banner(self, test: Test) -> None:
        self._end_runs()
        if self._announced or self._rows:
            self._fail()
        self._test, self._form = test, None
        self._columns, self._spaced = self._given.columns or None, None
        self._announced = self._number

    def _take_header(self, line: str, block: Sequence[str]) -> int:
        """Consume a header; return its number of lines, 0 if there is none."""
        if table := classic.form(block, self._test.direction):
            self._end_runs()
            self._announce()
            self._form, taken = table
            return taken
        try:
            header = _header(line, block)
        except columns.Unfit as error:
            self._source.refuse(self._number, str(error))
        if header is None:
            return 0
        names, starts, taken = header
        self._table_header(names, spaced=starts is not None)
        self._starts = starts or self._starts
        return taken

    def _table_header(self, names: columns.Columns, *, spaced: bool) -> None:
        """Begin a run with an `-o` or `-O` header, or add another table to the same run."""
        table = self._table
        if table and not self._pairs and names not in table.headers:
            if not table.announced or not spaced or self._goes_on:
                self._source.refuse(
                    self._number,
                    "a second header without a banner: the same run or another? Add its banner",
                )
            table.headers.append(names)
            self._goes_on = self._headed = True
        else:
            self._end_runs()
            self._announce()
        self._columns, self._spaced, self._form = names, spaced, None

    def _announce(self) -> None:
        if self._headed or self._rows:
            self._fail()
        self._announced, self._headed = self._announced or self._number, True

    def _row(self, line: str) -> int:
        if self._is_noise(line):
            return 1
        if self._form:
            figures = classic.values(self._form.rows[len(self._rows)], line)
            if figures is None:
                self._misfit(f"does not match the table's header: {clean(line)[:60]!r}")
                return 1
            self._rows.append(figures)
            if len(self._rows) == len(self._form.rows):
                keyed = {k: text for row in self._rows for k, text in row.items()}
                self._rows = []
                self._ended({**self._form.units, **keyed}, self._number)
            return 1
        if self._columns is None:
            self._source.refuse(self._number, rows_alone(line))
        spaced = "," not in line if self._spaced is None else self._spaced
        try:
            if spaced:
                starts = self._starts if self._headed and self._spaced else ()
                as_it_stands = self._source.lines[self._number - 1]
                self._ended(columns.spaced_row(self._columns, as_it_stands, starts), self._number)
            else:
                keyed, surplus = columns.csv_row(self._columns, line)
                self._ended(keyed, self._number, repaired=surplus > 0)
        except columns.Unfit as error:
            self._misfit(str(error))
        return 1

    def _misfit(self, problem: str) -> None:
        """Raise DataError, or add an invalid run if the row is the last line and is cut off."""
        if not (self._source.torn and self._number == len(self._source.lines)):
            self._source.refuse(self._number, problem)
        self._end_runs()
        factors = runs.factors({}, self._test, self._test.direction)
        self._runs.append(ImportedRun(self._number, "invalid", TORN, factors))
        self._announced, self._headed, self._rows, self._goes_on = 0, False, [], False

    def _pair(self, key: str, text: str) -> None:
        """Consume a `-k` pair, which begins a run if it follows a table's row.

        An interim result begins a run if it follows final results, or repeats an earlier key.
        """
        interim = _INTERIM_KEY.fullmatch(key) is not None
        if not interim and key not in HEADERS:
            self._source.refuse(
                self._number, f"{clean(key)[:60]} is not an output selector of netperf"
            )
        after_results = self._pairs and self._pairs[-1].key in HEADERS
        if self._table or (interim and (key in self._known or after_results)):
            self._end_runs()
        self._pairs.append(keys.Pair(key, text, self._number))
        self._known.add(key)

    def _end_runs(self) -> None:
        """Finish the complete runs: the run of a table, or the runs of the pairs so far."""
        if table := self._table:
            self._table = None
            if self._goes_on:
                self._source.refuse(self._number, "the header before this line has no row")
            self._keep(table)
        if not self._pairs:
            return
        pairs, self._pairs, self._known = self._pairs, [], set()
        interim = keys.interim({p.key: p.text for p in pairs if p.key not in HEADERS})
        if interim is None:
            self._source.refuse(pairs[-1].line, "an interim result is incomplete")
        self._interim += interim
        results = [pair for pair in pairs if pair.key in HEADERS]
        for keyed, line in keys.split(results) if results else ():
            self._ended(keyed, line)
            self._end_runs()

    def _ended(self, keyed: dict[str, str], line: int, *, repaired: bool = False) -> None:
        """Keep the run of a row or of pairs in `_table` while a further table may belong to it."""
        if self._goes_on and self._table:
            for key, text in keyed.items():
                if self._table.keys.setdefault(key, text) != text:
                    self._source.refuse(line, f"{key} was {self._table.keys[key]!r} just before")
            self._table.line = line
            self._goes_on = self._headed = False
            self._columns = None  # a later row without a header could belong to either table
            return
        self._end_runs()
        if self._failure:
            self._fail(keep_interim=True)
        if self._form:  # the form may state more than the banner
            protocol = self._test.protocol or self._form.protocol
            direction = self._test.direction or self._form.direction
            self._test = replace(self._test, protocol=protocol, direction=direction)
        headers = [self._columns] if self._columns and not self._form else []
        announced = self._announced > 0 and self._test.name != ""
        self._table = _Table(
            keyed, line, headers, announced, self._test, self._interim, self._wide, repaired
        )
        self._announced, self._headed, self._interim, self._wide = 0, False, [], False

    def _keep(self, table: _Table) -> None:
        run = runs.run(self._source, table.line, table.keys, table.test, self._given, table.interim)
        reason = "the requested confidence was not reached" if table.wide else ""
        if reason and run.status == "ok":
            run = ImportedRun(table.line, "invalid", reason, run.values)
        self._runs.append(replace(run, repaired=table.repaired))

    def _fail(self, *, keep_interim: bool = False) -> None:
        """Add a failed run, which has a banner or a message but no figures."""
        reason = clean(" ".join(self._failure)) or "netperf printed no figures"
        test = self._test if self._announced else Test()
        values = runs.factors({}, test, test.direction)
        self._runs.append(ImportedRun(self._announced or self._number, "failed", reason, values))
        self._announced, self._headed, self._wide = 0, False, False
        self._failure, self._rows = [], []
        if not keep_interim:
            self._interim = []


def rows_alone(line: str) -> str:
    return (
        f"a row without its header ({clean(line)[:40]!r}): name its columns as in netperf's "
        "-o or -O, such as --columns throughput,elapsed_time"
    )


def is_row(line: str) -> bool:
    """Return True for a line that may be a row of a netperf table."""
    return re.fullmatch(r"[-+0-9.,\s\"A-Za-z^/|%_]+", line) is not None and (
        re.search(r"\d", line) is not None
        and (line.count(",") > 1 or _NUMBER.match(line) is not None)
    )
