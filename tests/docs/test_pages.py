"""docs/: every page is built, every command runs or says what it needs, every file shown is taken."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import docs_pages
import pytest
import yaml
from click.testing import CliRunner
from docs_pages import Command

from netlimits.cli import group
from netlimits.cli.shared import reference
from netlimits.cli.shared.sides import Against, experiment_of
from netlimits.experiment import hosts_file, load, plan, resolution
from netlimits.experiment.around_schema import AROUND
from netlimits.experiment.mesh import pairs
from netlimits.settings import SETTINGS

COMMANDS = [command for name in docs_pages.NAMES for command in docs_pages.commands(name)]
ELSEWHERE = ("netlimits", "published", "--out")
"""tests/cli/test_published.py and tests/reproduce run it, which takes long."""
FREE = [command for command in COMMANDS if not command.needs and command.words[:3] != ELSEWHERE]
FILES = [(name, file) for name in docs_pages.NAMES for file in docs_pages.files(name)]
CAMPAIGNS = ("offloads", "before", "after")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader stands: the experiments, campaigns, and each file that the pages show."""
    place = tmp_path_factory.mktemp("reader")
    for name in ("experiments", "data"):
        (place / name).symlink_to(docs_pages.TOP / name)
    for name in CAMPAIGNS:
        kept = docs_pages.TOP / "experiments" / "gallery" / "stateless-offloads"
        shutil.copytree(kept, place / "results" / name)
    for name in docs_pages.NAMES:
        for file, text in docs_pages.files(name).items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            assert (place / file).exists() is False or (place / file).read_text() == text, file
            (place / file).write_text(text)
    gate = place / "gate"
    gate.mkdir()
    for source, target in (
        ("first", "experiment"),
        ("first", "merge"),
        ("gate", "gate"),
        ("hosts", "hosts"),
    ):
        shutil.copy(place / f"{source}.yaml", gate / f"{target}.yaml")
    return place


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as strictly as mkdocs can."""
    target = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(target)],
        cwd=docs_pages.TOP,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return target


@pytest.mark.long
def test_every_page_is_in_the_site_and_asks_nobody_else_for_anything(site: Path) -> None:
    for name in docs_pages.NAMES:
        assert (site / name).with_suffix(".html").stat().st_size > 3000, name
    foreign = r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//"
    for page in site.rglob("*.html"):
        assert not re.search(foreign, page.read_text("utf-8")), page


def test_every_page_is_in_the_index() -> None:
    index = (docs_pages.DOCS / "index.md").read_text("utf-8")
    linked = {"index.md", *re.findall(r"\]\(([^)#]+\.md)", index)}
    assert linked == set(docs_pages.NAMES)


def test_the_reference_has_all_that_can_be_described(site: Path) -> None:
    html = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    for topic in reference.topics():
        for section in reference.described(topic):
            for row in section.rows:
                assert not row[0] or f"<code>{row[0].replace('<', '&lt;')}</code>" in html, row[0]
    for command in group.list_commands(click.Context(group)):
        assert f'<h2 id="{command}">' in html


def test_what_commands_need_is_to_be_seen(site: Path) -> None:
    html = (site / "tutorial.html").read_text("utf-8")
    assert "<em>Needs two hosts:</em>" in html
    assert "<!-- needs" not in html


@pytest.mark.long
@pytest.mark.parametrize("command", FREE, ids=str)
def test_a_command_runs_as_it_stands(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *words = command.words
    assert program == "netlimits", "else say what it needs"
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(group, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert done.output.strip()


@pytest.mark.long
@pytest.mark.parametrize("script", [file for _, file in FILES if file.endswith(".py")])
def test_a_script_runs_as_it_stands(
    script: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    exec(compile((folder / script).read_text(), script, "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.needs], ids=str)
def test_a_command_that_needs_something_is_one(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its options are there, its experiment can be planned, and what --set changes is taken."""
    program, *words = command.words
    assert program == "netlimits"
    monkeypatch.chdir(folder)
    context, current = click.Context(group, info_name="netlimits"), group
    for each in group.list_commands(context):  # imported before something of theirs is patched
        group.get_command(context, each)
    # the reader begins in a folder without results
    monkeypatch.setattr("netlimits.cli.shared.options.refuse_folder", lambda *_, **__: None)
    while isinstance(current, click.Group):
        name, *words = words
        current = current.get_command(context, name)
        assert current, name
    parsed = current.make_context(name, words, parent=context)
    if "experiment" in parsed.params:
        written = parsed.params
        against = Against(tuple(written.get("against") or ()), names=written.get("sides") or "")
        if not against:  # machines of its own alone; the rest needs hosts to be seen
            against = Against()
        experiment, _ = experiment_of(written["experiment"], written.get("overrides", ()), against)
        assert next(iter(plan.Plan(plan.seeded(experiment)).runs()))


@pytest.mark.parametrize(("page", "file"), FILES)
def test_a_file_that_is_shown_is_taken(page: str, file: str, tmp_path: Path) -> None:
    text = docs_pages.files(page)[file]
    path = tmp_path / Path(file).name
    path.write_text(text)
    if not file.endswith(".yaml"):
        return
    contents = yaml.safe_load(text)
    if "experiment" in contents:
        assert sum(1 for _ in plan.Plan(plan.seeded(load.load(path))).runs()) > 1
    elif "hosts" in contents:
        count = len(contents["hosts"])
        assert list(hosts_file.machines(path, pairs.names(count))) == list(pairs.names(count))
    elif "sender" in contents:
        (tmp_path / "ssh_config").touch()
        assert list(hosts_file.machines(path)) == ["sender", "receiver"]
    else:
        assert contents.keys() <= {"gate", "jobs"}


def _texts() -> list[str]:
    """Every text in the package, each `{…}` of it as `…`."""
    texts = []
    for path in (docs_pages.TOP / "netlimits").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "…" for p in node.values)
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


@pytest.mark.long
def test_each_message_under_troubleshooting_is_one_that_is_printed() -> None:
    page = (docs_pages.DOCS / "troubleshooting.md").read_text("utf-8")
    headings = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    assert len(headings) > 15
    texts = "\n".join(_texts())
    for heading in headings:
        pieces = [re.escape(piece.strip()) for piece in heading.split("…") if piece.strip(" ,;:")]
        assert re.search(r"[^\n]*".join(pieces), texts), heading


SETTINGS_PAGE = (docs_pages.DOCS / "how-to" / "settings.md").read_text("utf-8")
EXPERIMENT_PAGE = (docs_pages.DOCS / "how-to" / "experiment.md").read_text("utf-8")
EXAMPLES = re.compile(r"^\| `(\w+)` \| .* \| `(\1: .+)` \|$", re.MULTILINE)
HEAD = """\
experiment: documented
roles: [sender, receiver]
measure: {netperf: {test: UDP_STREAM, interim_seconds: 1, send_size: 1024}}
"""


def test_the_tables_have_every_setting_in_its_order_and_every_key_around_the_tool() -> None:
    names = [setting.name for setting in SETTINGS]
    assert [name for name, _ in EXAMPLES.findall(SETTINGS_PAGE)] == names
    assert [name for name, _ in EXAMPLES.findall(EXPERIMENT_PAGE)] == [*AROUND]


@pytest.mark.parametrize(("name", "example"), EXAMPLES.findall(SETTINGS_PAGE))
def test_the_example_of_a_setting_is_accepted(name: str, example: str, tmp_path: Path) -> None:
    path = tmp_path / "documented.yaml"
    path.write_text(f"{HEAD}settings:\n- roles: [sender]\n  {example}\n")
    assert [use.name for use in load.load(path).settings] == [name]


@pytest.mark.parametrize(("name", "example"), EXAMPLES.findall(EXPERIMENT_PAGE))
def test_the_example_of_a_key_around_the_tool_is_accepted(
    name: str, example: str, tmp_path: Path
) -> None:
    path = tmp_path / "documented.yaml"
    head = HEAD.replace("1024", '"${rate}"') if name == "search" else HEAD
    path.write_text(f"{head}{example}\n")
    assert getattr(resolution.setup(load.load(path), {"rate": 1024}).around, name)
