"""Violations of a JSON Schema as sentences in netlimits' words, each with its key."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from netlimits.errors import did_you_mean, one_line
from netlimits.experiment import templates
from netlimits.experiment.document import KeyPath
from netlimits.experiment.expressions import shown

UNKNOWN = "is an unknown key"
MISSPELT = f"{UNKNOWN}; did you mean"
LACKS = "lacks "


class Fault(NamedTuple):
    """A violation of the schema: its key, and a sentence."""

    key: KeyPath
    problem: str


def faults(instance: Any, schema: Mapping[str, Any], *, skip_templates: bool) -> list[Fault]:
    """Return every violation of the schema; `skip_templates` allows `${…}` for any value."""
    validator = _validator(skip_templates)(schema)
    errors = list(validator.iter_errors(instance))
    # if a value has the wrong type, report only that and not its other violations
    odd = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    return [
        fault
        for error in errors
        if error.validator == "type" or tuple(error.absolute_path) not in odd
        for fault in _sentences(error)
    ]


@functools.cache
def _validator(skip_templates: bool) -> Any:
    """Return a jsonschema validator for which 512.0 is not an integer (commands would show .0)."""
    import jsonschema

    base = jsonschema.Draft202012Validator
    checker = base.TYPE_CHECKER.redefine(
        "integer", lambda _, instance: isinstance(instance, int) and not isinstance(instance, bool)
    )

    def but_templates(keyword: Any) -> Any:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            if templates.is_template(instance):
                return None
            return keyword(validator, value, instance, schema)

        return check

    keywords = {
        name: but_templates(keyword) if skip_templates else keyword
        for name, keyword in base.VALIDATORS.items()
    }
    extend: Any = jsonschema.validators.extend
    return extend(base, validators=keywords, type_checker=checker)


def _sentences(error: Any) -> Iterator[Fault]:
    """Yield a jsonschema error in our words, at the key that it concerns."""
    key: KeyPath = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        for name in error.instance:
            if name not in known:
                yield Fault((*key, name), f"{UNKNOWN}{did_you_mean(name, known)}")
    elif error.validator == "anyOf" and error.context:
        yield from _best_branch(error, key)
    elif "propertyNames" in list(error.relative_schema_path)[-2:]:
        allowed = error.schema.get(
            "description", "a name has letters, digits and _, no digit first"
        )
        yield Fault((*key, error.instance), f"is not a valid name here: {allowed}")
    else:
        yield Fault(key, _problem(error))


def _best_branch(error: Any, key: KeyPath) -> Iterator[Fault]:
    """Yield the violations of the alternative that fits the kind of the written value."""
    branches: dict[int, list[Any]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = [
        inner
        for inner in branches.values()
        if not any(_other_kind(violation) for violation in inner)
    ]
    if meant:
        about = error.schema.get("description", "")
        for violation in meant[0]:
            if violation.validator == "pattern" and not violation.relative_path:
                yield Fault(key, _mismatch(violation.instance, _about(violation) or about))
            else:
                yield from _sentences(violation)
    else:
        kinds = [_KINDS.get(_kind(branch), "") for branch in error.schema[error.validator]]
        what = " or ".join(dict.fromkeys(kind for kind in kinds if kind))
        yield Fault(key, f"must be {what or 'another kind of value'}, not {_shown(error.instance)}")


def _other_kind(error: Any) -> bool:
    """Return True if the alternative expects another kind of value than the written value."""
    if error.relative_path:
        return False
    collection = isinstance(error.instance, dict | list)
    return error.validator == "type" or (error.validator == "enum" and collection)


def _kind(schema: Any) -> str:
    kind = schema.get("type", "string")
    return kind if isinstance(kind, str) else str(kind[0])


_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}


def _problem(error: Any) -> str:
    """Return the violation of a keyword as a sentence without its subject."""
    keyword, argument, value = error.validator, error.validator_value, error.instance
    match keyword:
        case "type":
            kinds = [argument] if isinstance(argument, str) else argument
            what = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
            if {"string", "number", "boolean"} <= set(kinds):
                what = "one text, number, true or false"
            hint = ""
            if kinds == ["string"] and isinstance(value, int | float):
                hint = f'; quote it: "{templates.written(value)}"'
            if examples := error.schema.get("examples"):
                hint = f"; for example {examples[0]}"
            if "integer" in kinds and isinstance(value, float) and value.is_integer():
                hint = f"; write {int(value)}, or divide with //"
            return f"must be {what}, not {_shown(value)}{hint}"
        case "enum":
            choices = [templates.written(choice) for choice in argument]
            near = did_you_mean(str(value), choices) if isinstance(value, str) else ""
            hint = near if near.startswith("; did") else ""
            return f"must be one of {', '.join(choices)}, not {_shown(value)}{hint}"
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return f"must be {_BOUNDS[keyword]} {argument}, not {_shown(value)}"
        case "required":
            missing = [key for key in argument if key not in value]
            return f"{LACKS}{' and '.join(f'`{key}`' for key in missing)}"
        case "pattern":
            return _mismatch(value, _about(error))
        case "minItems" if not value:
            return "has no values"
        case "minProperties" | "minLength" if not value:
            return "is empty"
        case "minItems" | "minProperties" | "minLength":
            return f"needs at least {argument}, and has {len(value)}"
        case "uniqueItems":
            return "lists something twice"
        case "not":
            return f"must not be {_shown(value)}"
    return one_line(str(error.message))[:200]


def _about(error: Any) -> str:
    return str(error.schema.get("description", "")) if isinstance(error.schema, Mapping) else ""


def _mismatch(value: Any, about: str) -> str:
    """Return the error of a text that does not match its pattern, with what the key means."""
    return f"{_shown(value)} is not valid here{': ' + about.rstrip('.') if about else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else shown(value)
