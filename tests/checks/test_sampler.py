"""What the sampler needs of a host, and what its check says where that is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from checks.test_checks import complaints, printed, site

from netlimits.checks.sampler import MODULES, NEEDED, Sampler


def told(text: str) -> dict[str, str]:
    return complaints(Sampler(), site(), printed(text))


def test_what_a_host_has_is_a_note():
    assert told("end\n") == {"note": "has Perl and its modules; \n"}


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("perl\n", "no Perl: two samples by `ss` during a run"),
        ("perl\nss\n", "no Perl: no samples of connections during a run"),
        ("Time::HiRes\n", "install perl perl-Time-HiRes"),
        ("sock_diag\n", "figures of connections will be missing"),
        ("schedstat\n", "CPU time of threads and of the sampler is unknown"),
    ],
)
def test_what_a_host_lacks_is_a_warning(missing: str, words: str):
    assert words in told(f"{missing}end\n")["warning"]


def test_an_answer_that_is_cut_off_is_a_note():
    assert [*told("perl\n")] == ["note"]


@pytest.mark.skipif(not shutil.which("perl"), reason="needs Perl")
@pytest.mark.parametrize("lacks", ["", "perl", *MODULES])
def test_the_script_names_what_is_not_there(lacks: str, tmp_path: Path):
    for name in ("sh", "perl", "ss"):
        if (program := shutil.which(name)) and name != lacks:
            (tmp_path / name).symlink_to(program)
    library = tmp_path / "library"
    if lacks in MODULES:
        module = library / f"{lacks.replace('::', '/')}.pm"
        module.parent.mkdir(parents=True)
        module.write_text("die;\n")
    environment = os.environ | {"PATH": str(tmp_path), "PERL5LIB": str(library)}
    answer = subprocess.run(
        ["sh", "-c", NEEDED], capture_output=True, text=True, check=True, env=environment
    )
    assert set(answer.stdout.split()) - {"ss"} == {lacks, "end"} - {""}
