"""Parse and validate JSON that hosts, other users' folders or failing disks may have corrupted.

msgspec validates exact types: `true` is no number, and `1.0` is no integer. json.dumps writes NaN,
Infinity and lone surrogates, which msgspec cannot read. So `parsed` reads such data with the
standard library. `typed` parses data first and validates it afterwards. msgspec can do both in one
step, but then it does not check the values of unknown keys.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Annotated, Any, TypedDict, TypeVar, cast

import msgspec

Kind = TypeVar("Kind")

Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")]
"""The name of a role. It is safe as part of a file name."""

Scalars = dict[str, str | int | float | bool | None]


class InterfaceName(str):
    """A valid network interface name that programs cannot mistake for an option."""


class LoginName(str):
    """A host name for ssh: one word that does not start with a hyphen."""


class IpAddress(str):
    """An IPv4 or IPv6 address."""


class FilePath(str):
    """A path that is not empty and contains no NUL."""


class Place(TypedDict):
    """A setting, and the role and interface that it belongs to."""

    role: Name
    interface: InterfaceName
    setting: str


def has(value: Any, kind: Any) -> bool:
    """Return True if a parsed JSON value has the type `kind`. Any integer is valid as a float."""
    try:
        _converted(value, kind)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return False
    return True


def typed(data: bytes | str, kind: type[Kind]) -> Kind:
    """Parse JSON and convert it to the type `kind`. Raises ValueError if either fails."""
    try:
        return cast(Kind, _converted(parsed(data), kind))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def parsed(data: bytes | str) -> Any:
    """Parse JSON without validation of types. Raises ValueError for invalid JSON."""
    try:
        return _QUICK.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


_QUICK = msgspec.json.Decoder()

_KNOWN: set[Any] = set()
"""Types to which msgspec has converted a value before."""
_FIRST_USE = Lock()
"""Lock for the first conversion to each type.

msgspec 0.22 sometimes crashes the process if two threads convert to a new type at the same time.
"""


def _converted(value: Any, kind: Any) -> Any:
    """Convert a value to the type `kind`. Raises ValueError, ValidationError or RecursionError."""
    if kind in _KNOWN:
        return msgspec.convert(value, kind, dec_hook=_by_rule)
    with _FIRST_USE:
        try:
            return msgspec.convert(value, kind, dec_hook=_by_rule)
        finally:
            _KNOWN.add(kind)


def is_interface_name(value: str) -> bool:
    """Return True if a text fulfils the rules of InterfaceName."""
    return (
        0 < len(value.encode("utf-8", "replace")) < 16
        and not value.startswith("-")
        and value not in (".", "..")
        and value.isprintable()
        and not set(value) & set(" /")
    )


def _login(value: str) -> bool:
    return bool(value) and value[0] != "-" and value.split() == [value]


def _address(value: str) -> bool:
    return bool(ipaddress.ip_address(value))


def _file_path(value: str) -> bool:
    return bool(value) and "\0" not in value


_RULES: Mapping[type[str], Callable[[str], bool]] = {
    InterfaceName: is_interface_name,
    LoginName: _login,
    IpAddress: _address,
    FilePath: _file_path,
}


def _by_rule(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, str) or not _RULES[kind](value):
        raise ValueError(f"is not a valid {kind.__name__}")
    return kind(value)
