"""What SECURITY.md promises of texts that others wrote: no shell, option, path, markup or terminal.

Host keys: tests/hosts/test_ssh.py. On hosts: tests/test_security_lab.py. sudo:
tests/test_security_sudo.py. Readers: tests/fuzz.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import netlimits
from netlimits import charts, tables
from netlimits.archive.store import Archive
from netlimits.campaign import creation, parallel, under_load
from netlimits.cli import group
from netlimits.errors import ArchiveError, DocumentError, SettingError, escaped
from netlimits.experiment import hosts_file, load
from netlimits.hosts import in_turn
from netlimits.hosts.shell import script
from netlimits.importers.folder import _safe
from netlimits.model import Bulk, Command, decoding
from netlimits.settings import SETTINGS
from netlimits.settings import setting as setting_of
from netlimits.tools import TOOLS

PACKAGE = Path(netlimits.__file__).parent
MODULES = {str(p.relative_to(PACKAGE)): p for p in sorted(PACKAGE.rglob("*.py"))}
HOSTILE = (
    "\x1b[2J\x1b]0;x\x07", "\x1b]52;c;eA==\x07", "\x1b]8;;http://x\x1b\\y", "\x9b31m", "a\rb", "a\bb",
    "\u202egnp.exe", "\x7f", "<script>alert(1)</script>", "[red]x[/red]", "$(touch x)", "`x`", "; x",
    "--help", "-f", "../../x", "/etc/passwd", "a\nb", "$\\frac{1", "a b", "'", '"', "&", "%s", "{0}",
)  # fmt: skip


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def names(path: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of what a module calls."""
    calls = (node for node in nodes(path) if isinstance(node, ast.Call))
    return [(node.lineno, ast.unparse(node.func)) for node in calls]


# -- shells ---------------------------------------------------------------------------------

SCRIPTS = {
    "campaign/under_load.py": "quotes every word: test_bulk_streams_quote_every_word",
    "campaign/parallel.py": "quotes every word: test_parallel_streams_quote_every_word",
    "evidence/drops.py": "two constants of the module, one after the other",
    "hosts/in_turn.py": "quotes every word: test_commands_in_turn_quote_every_word",
    "hosts/local.py": "opens `exec sh` and nothing else",
    "hosts/ssh/reach.py": "the user's own ProxyCommand, which ssh(1) hands to a shell too",
    "settings/queues/_cpu_sets.py": "the scripts of irq, rps and xps, constants of these modules",
    "restore/guard/commands.py": "one function, whose callers pass constants",
}
"""Where a script is no constant, and why that is right."""


@pytest.mark.long
def test_scripts_are_constants():
    """After `sh -c` stands a text or a constant of the module, never something put together."""
    modules = set()
    for name, path in MODULES.items():
        for node in nodes(path):
            if not isinstance(node, ast.Tuple | ast.List):
                continue
            for shell, flag, what in zip(node.elts, node.elts[1:], node.elts[2:], strict=False):
                if [getattr(word, "value", None) for word in (shell, flag)] == ["sh", "-c"]:
                    constant = isinstance(what, ast.Constant) or ast.unparse(what).isupper()
                    modules |= set() if constant else {name}
    assert modules <= SCRIPTS.keys()


def test_guards_scripts_are_constants():
    tree = ast.parse(MODULES["restore/guard/commands.py"].read_text())
    scripts = [
        ast.unparse(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_command"
    ]
    assert len(scripts) > 5
    assert all(re.fullmatch(r"scripts\.[A-Z]+", name) for name in scripts)


@pytest.mark.long
def test_nothing_runs_text():
    """No shell=True, eval, exec, pickle or PyYAML's own constructors anywhere in the package."""
    forbidden = {
        "eval",
        "exec",
        "os.system",
        "os.popen",
        "pickle.load",
        "pickle.loads",
        "yaml.load",
    }
    for name, path in MODULES.items():
        assert "shell=True" not in path.read_text(), name
        for line, called in names(path):
            assert called not in forbidden, f"{name}:{line}"


WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS | st.sampled_from(HOSTILE), min_size=1, max_size=4))
def test_each_word_reaches_the_program_as_it_is(words: list[str]):
    """What a host's shell is told, told to a real one."""
    show = ("python3", "-IS", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    nonce = "n0nce"
    lines = script(Command(show, deadline=20), nonce).decode().replace(">&3 2>&4 3>&- 4>&-", "")
    text = "exec 3>/dev/null 4>/dev/null\n" + lines
    ran = subprocess.run(["sh"], input=text.encode(), capture_output=True)
    assert json.loads(ran.stdout) == words


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS | st.sampled_from(HOSTILE), min_size=1, max_size=3))
def test_parallel_streams_quote_every_word(words: list[str]):
    show = Command(
        ("python3", "-IS", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    )
    both = parallel.together([show, show])
    ran = subprocess.run(both.argv, capture_output=True, text=True)
    printed = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    assert [json.loads(line) for line in printed] == [words, words]


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(st.lists(WORDS | st.sampled_from(HOSTILE), min_size=1, max_size=3))
def test_commands_in_turn_quote_every_word(words: list[str]):
    show = Command(
        ("python3", "-IS", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    )
    ran = subprocess.run(in_turn.batch([show, show], "0" * 32).argv, capture_output=True)
    printed = [line for line in ran.stdout.decode().splitlines() if line.startswith("[")]
    assert [json.loads(line) for line in printed] == [words, words]


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(st.lists(WORDS | st.sampled_from(HOSTILE), min_size=1, max_size=3))
def test_bulk_streams_quote_every_word(words: list[str]):
    show = Command(
        ("python3", "-IS", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    )
    whole = under_load.with_transactions([show], show, Bulk(1, lead=0, tail=0))
    ran = subprocess.run(whole.argv, capture_output=True, text=True)
    printed = [line for line in ran.stdout.splitlines() if line.startswith("[")]
    assert [json.loads(line) for line in printed] == [words, words]


# -- options --------------------------------------------------------------------------------


def texts(schema: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every text that a schema allows, with where it stands."""
    if not isinstance(schema, Mapping):
        return
    kinds = schema.get("type", ())
    if "string" in ([kinds] if isinstance(kinds, str) else kinds) and "enum" not in schema:
        yield at, schema
    for key in ("properties", "patternProperties"):
        for name, part in schema.get(key, {}).items():
            yield from texts(part, f"{at}.{name}")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(key, ()):
            yield from texts(part, at)
    for key in ("items", "additionalProperties", "propertyNames"):
        part = schema.get(key)
        if key == "propertyNames" and isinstance(part, Mapping):
            part = {"type": "string", **part}
        yield from texts(part, f"{at}.*")


TEXTS = dict(pair for part in (*SETTINGS, *TOOLS) for pair in texts(part.schema, part.name))
BEHIND_A_NAME = {"sysctl.*", "sysctl.*.want"}
"""Texts that follow `NAME=` in their word."""


def test_the_schemas_are_walked():
    assert {"sysctl.*", "route.to", "offload.*", "qdisc.rate", "netperf.select.*"} <= TEXTS.keys()


def test_every_text_has_a_pattern():
    assert not [at for at, schema in TEXTS.items() if "pattern" not in schema], "takes any text"


PATTERNS = {
    (schema["pattern"], at in BEHIND_A_NAME): at
    for at, schema in TEXTS.items()
    if at.split(".")[0] != "switch"  # words of a command of one's own; positions go into none
}
"""Each pattern, whether a name stands before it, and one of the options that have it."""


@pytest.mark.long
@pytest.mark.parametrize(("text_of", "named"), PATTERNS, ids=PATTERNS.values())
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_text_can_be_an_option_or_several_words(text_of: str, named: bool, data: st.DataObject):
    pattern = re.compile(text_of)
    text = data.draw(st.from_regex(pattern) | st.sampled_from(HOSTILE) | st.text(max_size=5))
    if not pattern.search(text):
        return
    assert text.removesuffix("\n").isprintable() or "\t" in text
    if not named:
        assert not text.startswith("-")
        assert not set(text) & set(" ;|&$`<>'\"\\*?()")


@given(st.sampled_from(("ssh", "interface", "address")), st.sampled_from(HOSTILE) | st.text())
def test_no_name_in_a_hosts_file_is_an_option_or_a_path(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "hosts.yaml"
    path.write_text(json.dumps({"sender": {"ssh": "vm1", key: value}}))
    try:
        machine = hosts_file.machines(path)["sender"]
    except DocumentError:
        return
    word = getattr(machine, key)
    assert not word.startswith("-")
    assert not any(c.isspace() for c in word)
    assert key != "interface" or ("/" not in word and word not in (".", ".."))


# -- paths ----------------------------------------------------------------------------------


@given(st.sampled_from(HOSTILE) | st.text(max_size=70))
def test_a_campaigns_folder_is_under_results(name: str):
    text = json.dumps({"experiment": name, "measure": {"netperf": {"seconds": 1}}})
    try:
        loaded = load.parse(text, "x.yaml")
    except DocumentError:
        return
    path = creation.default_path(loaded)
    assert path.parts[0] == "results"
    assert len(path.parts) == 2
    assert ".." not in path.parts


@given(st.sampled_from(HOSTILE) | st.text())
def test_an_imported_file_is_kept_under_a_name_of_ours(name: str):
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,79}", _safe(name))


@given(st.sampled_from(HOSTILE) | st.text())
def test_a_journal_names_interfaces_and_roles_only(name: str):
    for kind in (decoding.InterfaceName, decoding.Name):
        assert not decoding.has(name, kind) or (
            "/" not in name and name[0] != "-" and name not in (".", "..")
        )


@pytest.mark.parametrize(
    "line",
    [
        {
            "event": "found",
            "role": "sender",
            "interface": "../../etc",
            "setting": "napi",
            "state": {},
        },
        {"event": "found", "role": "../x", "interface": "data0", "setting": "napi", "state": {}},
        {"event": "found", "role": "sender", "interface": "-f", "setting": "offload", "state": {}},
    ],
)
def test_a_results_folder_from_elsewhere_cannot_choose_what_restore_writes(tmp_path, line):
    archive = Archive.create(tmp_path / "out", {})
    archive.lock()
    archive.append(**line)
    archive.close()
    with pytest.raises(ArchiveError, match="damaged"):
        list(archive.events())


@pytest.mark.parametrize("name", ["net/../kernel/core_pattern", "kernel.core_pattern", "-p", "net"])
def test_only_sysctls_of_the_network_are_put_back(name):
    with pytest.raises(SettingError, match=r"under net\."):
        setting_of("sysctl").undo("data0", {name: "|x"}, {})


# -- HTML and SVG ---------------------------------------------------------------------------

MARKUP = "<script>alert('x')</script>&<img src=x onerror=y>"


def test_html_is_escaped_wherever_a_text_stands():
    frame = pd.DataFrame({MARKUP: [MARKUP, "a"], "b": [1.0, 2.0]})
    frame.attrs["notes"] = (MARKUP,)
    html = tables.render(frame, "html", title=MARKUP)
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("&lt;script") >= 4


@pytest.mark.parametrize("text", [MARKUP, "$\\frac{1", "$x$ \\input{/etc/passwd}", "]]>"])
def test_svg_shows_texts_and_runs_none(tmp_path, text):
    rows = [{"status": "ok", "factor": text, "throughput_mbps": float(n)} for n in range(5)]
    figure = charts.percentiles(pd.DataFrame(rows), "throughput", ["factor"], title=text)
    path = charts.save(figure, tmp_path / "chart.svg")
    tags = {node.tag.rpartition("}")[2] for node in ET.parse(path).iter()}  # well-formed
    assert not tags & {"script", "foreignObject", "a", "image", "img"}


# -- the terminal ---------------------------------------------------------------------------


@given(st.text())
def test_no_control_code_is_printed(text: str):
    shown = escaped(text)
    for character in shown:
        assert character in "\n\t" or ord(character) >= 0x20
        assert not 0x7F <= ord(character) <= 0x9F
        assert character not in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text or "\n" in shown


def test_commands_print_through_one_function():
    """`echo` alone: click's own, print and the streams are not called by any command."""
    for name, path in MODULES.items():
        called = [name for _, name in names(path)]
        if name != "cli/shared/output.py":
            assert not {"click.echo", "click.secho", "sys.stdout.write"} & set(called), name
        assert "print" not in called, name


def test_what_a_results_folder_holds_cannot_drive_the_terminal(tmp_path):
    values = {"file": "".join(HOSTILE)}
    row = {
        "run": 1, "attempt": 1, "line": 1, "config": "x", "values": values, "status": "failed",
        "reason": "".join(HOSTILE), "started": None, "duration_s": None, "figures": {},
    }  # fmt: skip
    about = {"files": [], "factors": ["file"], "columns": [], "selectors": {}, "factors_given": {}}
    about["files"] = [{"file": "a", "kept": "a", "format": "netperf", "sha256": "", "bytes": 1, "runs": 1,
                       "repaired": 0}]  # fmt: skip
    meta = {"experiment": "".join(HOSTILE), "overrides": [], "seed": None, "machines": {}, "created": "",
            "shared_kernel": None, "imported": about}  # fmt: skip
    archive = Archive.create(tmp_path / "out", meta)
    archive.lock()
    archive.append("imported", rows=[row])
    archive.close()
    for argv in (["status"], ["status", "--json"]):
        done = CliRunner().invoke(group, [argv[0], str(tmp_path / "out"), *argv[1:]])
        assert done.exit_code == 0, done.output
        assert "\\u001b" in done.output
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.output)
