"""Parse and validate JSON that hosts, other users' folders or failing disks may have corrupted.

msgspec validates exact types: `true` is no number and `1.0` no integer. `parsed` falls back to the
standard library for what it rejects but json.dumps writes: NaN, Infinity and single surrogates.
Data is parsed before it is validated: msgspec's typed decoder does not check the content of keys
that the type does not name.
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
"""The name of a role, which is also part of file names."""

Scalars = dict[str, str | int | float | bool | None]


class InterfaceName(str):
    """A network interface name that the kernel accepts and that no program takes for an option."""


class LoginName(str):
    """A host name for ssh: one word, and no option."""


class IpAddress(str):
    """An IPv4 or IPv6 address."""


class FilePath(str):
    """A path: not empty, without NUL."""


class Place(TypedDict):
    """A setting on an interface of a role's host."""

    role: Name
    interface: InterfaceName
    setting: str


def has(value: Any, kind: Any) -> bool:
    """Return True if a parsed JSON value is of a type. Integers of any size count as float."""
    try:
        _converted(value, kind)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return False
    return True


def typed(data: bytes | str, kind: type[Kind]) -> Kind:
    """Parse JSON and validate it against a type. Raises ValueError."""
    try:
        return cast(Kind, _converted(parsed(data), kind))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def parsed(data: bytes | str) -> Any:
    """Parse JSON without validation. Raises ValueError."""
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
"""Types that msgspec has converted to."""
_FIRST_USE = Lock()
"""Serializes the first conversion to each type. If two threads convert to a type for the first time
at once, the process sometimes dies by a signal (msgspec 0.22)."""


def _converted(value: Any, kind: Any) -> Any:
    """Convert a value to a type. Raises ValueError, ValidationError, RecursionError."""
    if kind in _KNOWN:
        return msgspec.convert(value, kind, dec_hook=_by_rule)
    with _FIRST_USE:
        try:
            return msgspec.convert(value, kind, dec_hook=_by_rule)
        finally:
            _KNOWN.add(kind)


def is_interface_name(value: str) -> bool:
    """Return True if a text is a valid InterfaceName."""
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
