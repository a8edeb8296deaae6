from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from netlimits.experiment import document, schema, templates, violations

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> Any:
    whole = schema.document_schema()
    jsonschema.Draft202012Validator.check_schema(whole)
    return jsonschema.Draft202012Validator(whole)


def test_there_are_experiments():
    assert EXPERIMENTS


@pytest.mark.long
@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_fits_the_schema_that_editors_get(path: Path, validator: Any):
    validator.validate(document.load(path).data)


def test_every_key_has_help():
    whole = schema.document_schema()
    assert whole["$schema"] == schema.DRAFT
    for name, part in whole["properties"].items():
        assert part.get("title"), name
        assert part.get("description") or name == "repeat", name
    for name, part in whole["properties"]["measure"]["properties"]["netperf"]["properties"].items():
        assert part.get("title") or part.get("description"), name


GOOD: dict[str, Any] = {
    "experiment": "a",
    "factors": {"x": [1]},
    "settings": [{"roles": ["sender"], "offload": {"tso": "${x}", "lro": {"want": "${x}"}}}],
    "measure": {"netperf": {"seconds": "${x}", "select": ["throughput", "${x}"]}},
    "report": [{"table": "summary", "of": "throughput", "rows": "x"}],
}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    here: Any = data
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = to
    return data


def test_a_lookup_may_stand_for_any_scalar(validator: Any):
    validator.validate(GOOD)


@pytest.mark.parametrize(
    "data",
    [
        changed("experimnt", to="a"),
        changed("measure", "netperf", "secnds", to=1),
        changed("measure", "netperf", "seconds", to="ten"),
        changed("measure", "netperf", "select", to=[]),
        changed("settings", 0, "offload", "tso", to="onn"),
        changed("settings", 0, "offload", "lro", "if_fixed", to="x"),
        changed("settings", 0, to={"roles": ["sender"]}),
        changed("factors", "x", to=[]),
        changed("factors", "a-b", to=[1]),
        changed("report", 0, "table", to="sumary"),
        changed("repeat", to={"order": "random"}),
    ],
)
def test_what_the_loader_refuses_the_schema_refuses(data: dict[str, Any], validator: Any):
    assert not validator.is_valid(data)


@pytest.mark.parametrize(
    ("part", "instance", "key", "problem"),
    [
        ({"type": "integer"}, 5.0, (), "must be a whole number, not 5.0; write 5"),
        ({"type": "integer"}, True, (), "must be a whole number, not true"),
        ({"type": ["integer", "string"]}, None, (), "must be a whole number or text, not null"),
        ({"exclusiveMaximum": 3}, 3, (), "must be less than 3, not 3"),
        ({"not": {"const": 0}}, 0, (), "must not be 0"),
        ({"items": {"minLength": 1}}, ["a", ""], (1,), "is empty"),
        (
            {"anyOf": [{"type": "string"}, {"type": "array"}]},
            3,
            (),
            "must be text or a list, not 3",
        ),
        ({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 2}]}, [3], (), "at least 2"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, (), "'b' is a dependency of 'a'"),
    ],
)
def test_violations_are_sentences(part: dict[str, Any], instance: Any, key: Any, problem: str):
    (fault,) = violations.faults(instance, part, skip_templates=False)
    assert fault.key == key
    assert problem in fault.problem


def test_the_editors_schema_changes_nothing_of_that_which_files_are_held_to():
    before = copy.deepcopy(schema.structure())
    schema.document_schema()
    assert schema.structure() == before


def patterns(part: Any) -> Iterator[str]:
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        if key == "pattern" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from patterns(value)


def test_no_pattern_takes_a_newline_at_the_end() -> None:
    """Python's `$` matches before one too."""
    ending = {p for p in patterns(schema.document_schema()) if p.endswith("$")}
    assert ending == {templates.PATTERN}
