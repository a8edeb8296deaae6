from __future__ import annotations

import base64
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner
from PIL import Image

import netlimits as nl
from netlimits.cli.parse import parse
from netlimits.reproduce import published

pytestmark = pytest.mark.long

TOP = Path(__file__).parent.parent
FOLDER = TOP / "notebooks"
REPORTS = ("limiters", "headers-and-bitrates", "acks", "turin")
NAMES = ("start-here", "foreign-tables", *REPORTS)
CAMPAIGNS = ("example-campaign", "example-campaign-mtu1500")
KIB = 1024
OF_A_MACHINE = re.compile(r"(?<![\w.])/(?:tmp|root|home|work|opt|mnt|srv|Users)/|\b[A-Z]:\\")


def saved(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[tuple[str, str, str]]:
    """Each output: the cell's code, the kind, its text; of a picture its size in pixels."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            kinds = output.get("data", {output.output_type: output.get("text", "")})
            for kind, text in kinds.items():
                if kind == "image/png":
                    text = str(Image.open(io.BytesIO(base64.b64decode(text))).size)
                texts.append((cell.source, kind, text))
    return texts


def run(out: Path, *paths: Path) -> subprocess.CompletedProcess[str]:
    """The notebooks as `scripts/notebooks.py` runs them, with nothing of the user's own IPython."""
    return subprocess.run(
        [sys.executable, TOP / "scripts/notebooks.py", *paths, "--out", out],
        capture_output=True,
        text=True,
        env=os.environ | {"IPYTHONDIR": str(out / "ipython"), "JUPYTER_RUNTIME_DIR": str(out)},
    )


def test_there_is_one_for_each_report_one_to_start_with_and_one_of_tables():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*NAMES}
    headings = "".join(saved(name).cells[0].source for name in NAMES)
    for report in ("Limiters", "Headers and Data", "overhead of ACKs", "Report 3"):
        assert report in headings
    assert len(published.statements()["report"].unique()) == len(REPORTS)


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder to which all of them were run, each in a kernel of its own."""
    out = tmp_path_factory.mktemp("executed")
    ran = run(out, *(FOLDER / f"{name}.ipynb" for name in NAMES))
    assert ran.returncode == 0, ran.stderr
    return out


@pytest.mark.parametrize("name", NAMES)
def test_runs_top_to_bottom_without_a_warning_to_what_it_shows(name, executed):
    fresh = nbformat.read(executed / f"{name}.ipynb", as_version=4)
    assert outputs(fresh) == outputs(saved(name)), "scripts/notebooks.py runs it again"
    assert [cell.source for cell in fresh.cells] == [cell.source for cell in saved(name).cells]


@pytest.mark.parametrize("name", REPORTS)
def test_ends_with_the_same_on_ones_own_machines(name):
    cells = [cell.source for cell in saved(name).cells]
    (start,) = [
        n for n, text in enumerate(cells) if text.startswith("## The same on your machines")
    ]
    files = re.findall(
        r"netlimits run (experiments/[a-z-]+\.yaml) --hosts hosts\.yaml", cells[start]
    )
    assert files
    assert all((TOP / path).is_file() for path in files)
    opened = re.findall(r'nl\.open\("\.\./(experiments/gallery/[a-z-]+)"\)', "".join(cells[start:]))
    assert opened
    for path in opened:
        assert (TOP / path / "journal.jsonl").is_file()
        assert f"experiments/{Path(path).name}.yaml" in files, "the experiment of that archive"
    told = "".join(text for _, _, text in outputs(saved(name)))
    kernel = "one shared kernel" if nl.open(TOP / opened[0]).archive.meta["shared_kernel"] else ""
    assert (kernel or "a kernel each") in told


def test_three_foreign_tables_take_at_most_15_lines_of_code():
    code = [cell.source for cell in saved("foreign-tables").cells if cell.cell_type == "code"]
    lines = [line for text in code for line in text.splitlines() if line.strip()]
    assert len(lines) <= 15
    assert len({*re.findall(r"data/foreign/([a-z-]+\.csv)", "".join(lines))}) == 3


def test_a_cell_that_warns_fails_the_notebook_as_one_that_raises_does(tmp_path):
    code = "import warnings\nwarnings.warn('once', stacklevel=1)"
    broken = tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), broken)
    before = broken.read_bytes()
    ran = run(tmp_path, broken)
    assert ran.returncode == 1
    assert "UserWarning: once" in ran.stderr
    assert broken.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_keeps_its_outputs_and_nothing_of_when_and_where_it_ran(name):
    notebook = saved(name)
    nbformat.validate(notebook)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    for cell in notebook.cells:
        assert not cell.metadata, "an execution's times are no part of it"
    for cell in code:
        assert cell.outputs, f"shows nothing: {cell.source}"
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


@pytest.mark.parametrize("name", NAMES)
def test_is_small_and_holds_no_path_of_a_machine(name):
    path = FOLDER / f"{name}.ipynb"
    assert path.stat().st_size < 250 * KIB
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text("utf-8"))
    assert not OF_A_MACHINE.search(text)
    assert str(TOP) not in text
    assert any(kind == "image/png" for _, kind, _ in outputs(saved(name)))


@pytest.mark.parametrize("name", NAMES)
def test_its_links_lead_somewhere(name):
    prose = "\n".join(c.source for c in saved(name).cells if c.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        assert (FOLDER / target).is_file(), target


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_example_is_a_small_whole_campaign_of_nobodys_machine(name):
    files = [path for path in (FOLDER / name).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 384 * KIB
    for path in files:
        assert not OF_A_MACHINE.search(path.read_text("utf-8")), path
    state = nl.open(FOLDER / name).state()
    assert (state["left"], state["interrupted"], state["not_put_back"]) == (0, 0, [])
    assert nl.open(FOLDER / name).archive.meta["shared_kernel"] is True


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_examples_raw_output_still_says_what_its_records_say(name, tmp_path):
    copy = Path(shutil.copytree(FOLDER / name, tmp_path / name))
    (copy / "results.csv").unlink()
    before = nl.open(copy).frame()
    ran = CliRunner().invoke(parse, [str(copy)])
    assert ran.exit_code == 0, ran.output
    pd.testing.assert_frame_equal(nl.open(copy).frame(), before)
    assert (copy / "results.csv").read_text() == (FOLDER / name / "results.csv").read_text()
