"""Shell completion, asked for as a shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG

NETLIMITS = Path(sys.executable).parent / "netlimits"


def completed(words: str) -> list[str]:
    environment = {
        **os.environ,
        "_NETLIMITS_COMPLETE": "bash_complete",
        "COMP_WORDS": f"netlimits {words}",
        "COMP_CWORD": str(len(words.split(" "))),
    }
    ran = subprocess.run(
        [NETLIMITS], env=environment, capture_output=True, text=True, check=True, timeout=LONG
    )
    return [line.removeprefix("plain,") for line in ran.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "completions"),
    [
        ("re", ["resume", "restore", "report"]),
        ("run --qu", ["--quiet"]),
        ("export results --format o", ["openmetrics", "otava", "opensearch"]),
        ("describe qd", ["qdisc"]),
        ("experiments quick", ["quickstart"]),
    ],
)
def test_a_shell_is_told_what_may_follow(words: str, completions: list[str]) -> None:
    assert completed(words) == completions


def test_the_readmes_line_makes_bash_complete() -> None:
    script = (
        'eval "$(_NETLIMITS_COMPLETE=bash_source netlimits)"; complete -p netlimits;'
        "COMP_WORDS=(netlimits descr) COMP_CWORD=1; _netlimits_completion netlimits; echo ${COMPREPLY[@]}"
    )
    environment = {**os.environ, "PATH": f"{NETLIMITS.parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=LONG
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[-1] == "describe"
    assert "-F _netlimits_completion netlimits" in ran.stdout
