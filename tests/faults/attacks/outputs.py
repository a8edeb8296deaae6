"""What netlimits writes, attacked: places that cannot be written to, and texts that are formulas.

A place is refused before anything is read, and nothing changes there. No cell of a CSV file begins a
formula of a spreadsheet, behind whichever separator, and the texts are read back as they were.
"""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
from faults.attacks.base import Family, Held

from netlimits.analysis.sources import run_files, spreadsheets
from netlimits.errors import DataError
from netlimits.experiment.configurations import cell
from netlimits.tables import render

COMMANDS = (
    ("run", "x.yaml", "--local", "--out"),
    ("import", "x.txt", "--out"),
    ("figures", "x", "--out"),
    ("published", "--out"),
    ("report", "x", "--out"),
    ("table", "x", "--out"),
    ("export", "x", "--format", "csv", "--out"),
    ("explain", "x", "--next"),
    ("plan", "x.yaml", "--csv"),
    ("compare", "x", "--report"),
)
_FOLDERS = ("run", "import", "figures", "published")
_PARTS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "'",
    "1",
    "x",
    " ",
    ";",
    ",",
    '"',
    "\n",
    "|",
    "cmd|' /C calc'!A0",
)
_FORMULA = re.compile(r"[=+\-@\t\r]")


def attack(held: Held) -> str | None:
    """A place or some texts, by turns."""
    return _place(held) if held.number % 2 else _texts(held)


def _place(held: Held) -> str | None:
    words = held.chance.choice(COMMANDS)
    (held.folder / "file").write_text("mine")
    (held.folder / "full").mkdir()
    (held.folder / "full" / "mine").write_text("mine")
    (held.folder / "loop").symlink_to("loop")
    over = "file" if words[0] in _FOLDERS else "full"
    names = [over, "file/x", "loop/x", "x" * 256, f"{'x/' * 3000}x"]
    names += ["full"] if words[0] in ("run", "import") else []
    place = held.folder / held.chance.choice(names)
    held.says(f"{' '.join(words)} {str(place)[:90]}")
    before = {path: path.lstat().st_mtime_ns for path in held.folder.rglob("*")}
    problem, fine = held.call(*words, place)
    after = {path: path.lstat().st_mtime_ns for path in held.folder.rglob("*")}
    if fine or str(place) not in problem:
        return f"it is not refused for the place: {problem}"
    return None if before == after else f"something is changed there: {before} {after}"


def _texts(held: Held) -> str | None:
    chance = held.chance
    texts = ["".join(chance.choices(_PARTS, k=chance.randint(1, 4))) for _ in range(5)]
    held.says(texts)
    frame = pd.DataFrame({"run": range(5), "rate": -1.5, "reason": texts})
    for written in (spreadsheets.to_csv(frame), render(frame, "csv")):
        rows = [*csv.reader(io.StringIO(written, newline=""))]
        if begun := [text for text in _split_elsewhere(written) if _FORMULA.match(text)]:
            return f"a formula where cells end otherwise: {begun}"
        if begun := [row[2] for row in rows if _FORMULA.match(row[2])]:
            return f"a formula: {begun}"
        if any(_FORMULA.match(text) for text in texts) and rows[1][1] != "-1.5":
            return f"a number is changed: {rows[1][1]}"
    for text in texts:
        ((plain,),) = csv.reader(io.StringIO(cell(text), newline=""))
        if _FORMULA.match(plain):
            return f"a formula in a plan: {plain}"
    file = held.folder / "runs.csv"
    file.write_bytes(spreadsheets.to_csv(frame).encode())
    try:
        back = [str(text) for text in run_files.load(file)["reason"]]
    except DataError:
        return None
    numbers = all(text.strip(" \t\n").isdigit() for text in texts)
    return None if numbers or back == texts else f"read back as {back}"


def _split_elsewhere(written: str) -> list[str]:
    """The cells as a spreadsheet sees them that knows other separators, and so no quotes of ours."""
    return [
        text
        for separator in (";", "|", "\t", "; ", "| ")
        for line in re.split(r"[\r\n]", written)
        for text in line.split(separator)[1:]
    ]


FAMILY = Family("outputs", attack, weight=0.5)
