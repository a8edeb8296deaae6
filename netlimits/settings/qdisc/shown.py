"""Tables of parameters for the kinds of qdisc whose options `tc` shows as nested objects.

Values are compared up to the kernel's rounding (times to ticks, shares to 2⁻³²) and tc's six
digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from netlimits.settings._schema import integer
from netlimits.units import tc

ANY = "any"
"""The default of a parameter that the kernel chooses: neither written nor compared."""

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kind of qdisc.

    `shape` is its JSON Schema. `read` parses the option into a number, text or tuple. `shown` finds
    the parameter in tc's options; it is None if tc does not show it. `left_out` is the default.
    `near` is the allowed difference beyond tc's six digits.
    """

    shape: Mapping[str, Any]
    read: Callable[[Any], Any]
    shown: Callable[[Options], Any] | None
    left_out: Any = 0
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A kind of qdisc as a table of parameters; it has the methods of `kinds.Kind`.

    Attributes:
        units: The parameters by name.
        words: Function that returns the words of a `tc` command for all values.
        known: The options of tc's JSON that can be restored.
        settle: Function that completes the given options. Raises ValueError for options that tc
            refuses.
        lost: Function that returns why tc's options of a qdisc are incomplete, or "".
        exactly: Function that returns the values to restore a qdisc with, where they differ from
            the values that tc shows. With them tc shows the original values, in spite of rounding.
            The second argument is True if tc accepts ns. Raises ValueError if there are no such
            values.
    """

    units: Mapping[str, Parameter]
    words: Callable[[Mapping[str, Any]], Iterable[str]]
    known: tuple[str, ...]
    settle: Callable[[dict[str, Any]], None] = lambda _: None
    lost: Callable[[Options], str] = lambda _: ""
    exactly: Callable[[Options, bool], Mapping[str, Any]] = lambda *_: {}

    def wish(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the wanted parameters in plain units. Raises ValueError."""
        values = {}
        for name, value in given.items():
            try:
                values[name] = self.units[name].read(value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        self.settle(values)
        return {name: values.get(name, part.left_out) for name, part in self.units.items()}

    def values(self, options: Options) -> dict[str, Any]:
        """Return the parameters that `tc` shows, in the units of `wish`."""
        values = {}
        for name, part in self.units.items():
            if part.shown is not None:
                value = part.shown(options)
                values[name] = part.left_out if value is None and part.left_out != ANY else value
        return values

    def same(self, name: str, now: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Return True if a parameter is as wanted, up to the rounding of tc and the kernel."""
        part, should = self.units[name], wanted[name]
        if part.shown is None or should == ANY:
            return True
        pairs = (now.get(name), should)
        if any(value is None or isinstance(value, str) for value in pairs):
            return bool(pairs[0] == pairs[1])
        is_, wish = (value if isinstance(value, tuple) else (value,) for value in pairs)
        return len(is_) == len(wish) and all(
            math.isclose(a, b, rel_tol=2e-5, abs_tol=part.near)
            for a, b in zip(is_, wish, strict=True)
        )

    def unrestorable(self, options: Options, nanoseconds: bool) -> str:
        """Return why an original could not be restored exactly, or ""."""
        if strange := sorted(options.keys() - set(self.known)):
            return f"netlimits does not restore its {', '.join(strange)}"
        try:
            self.exactly(options, nanoseconds)
        except ValueError as error:
            return str(error)
        return self.lost(options)

    def found_words(self, options: Options, nanoseconds: bool) -> Iterable[str]:
        """Return the words of a `tc` command that create an original again."""
        values = self.values(options)
        complete = {name: values.get(name, p.left_out) for name, p in self.units.items()}
        with suppress(ValueError):  # `unrestorable` reports this before any change
            complete |= self.exactly(options, nanoseconds)
        return self.words(complete)


# -- where tc shows a value -----------------------------------------------------------------


def at(*path: str, scale: float = 1) -> Callable[[Options], Any]:
    """Return a function that finds the number at a path, times `scale`; None if missing."""

    def find(options: Options) -> Any:
        value: Any = options
        for key in path:
            value = value.get(key)
            if value is None:
                return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{value!r} is no number")
        number = value * scale
        return round(number) if scale == 1e6 else number  # s in whole µs

    return find


def word(key: str) -> Callable[[Options], Any]:
    return lambda options: None if options.get(key) is None else str(options[key])


def switch(key: str) -> Callable[[Options], str]:
    """Return a function that returns "on" if the value of a key is true, else "off"."""
    return lambda options: "on" if options.get(key) is True else "off"


# -- what an experiment may write -----------------------------------------------------------

_PERCENT = r"[0-9]{1,3}(\.[0-9]{1,9})?%?"
PERCENT: Mapping[str, Any] = {
    "description": "Percent: 0.1 or 0.1%.",
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 100},
        {"type": "string", "pattern": rf"^{_PERCENT}$(?!\n)"},
    ],
}
PERCENTS: Mapping[str, Any] = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 100},
        {"type": "string", "pattern": rf"^{_PERCENT}(,{_PERCENT}){{0,4}}$(?!\n)"},
    ],
}
TIME: Mapping[str, Any] = {
    **tc.TIME,
    "anyOf": [integer(0, 10**9), tc.TIME["anyOf"][1]],
}
COUNT: Mapping[str, Any] = integer(0, 2**31 - 1)


def about(shape: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {**shape, "description": description}


def one_of(*names: str) -> dict[str, Any]:
    return {"enum": list(names)}


def percent(value: Any) -> float:
    share = float(str(value).removesuffix("%"))
    if not 0 <= share <= 100:
        raise ValueError(f"{value} is no share: 0 to 100 percent")
    return share


def percents(least: int, most: int) -> Callable[[Any], tuple[float, ...]]:
    """Return a parser for `least` to `most` comma-separated shares."""

    def read(value: Any) -> tuple[float, ...]:
        shares = tuple(percent(part) for part in str(value).split(","))
        if not least <= len(shares) <= most:
            raise ValueError(f"{value!r} holds {len(shares)} shares, not {least} to {most}")
        return shares

    return read


def count(value: Any) -> int:
    """Parse a signed 32-bit integer."""
    number = int(value)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{value} is out of range")
    return number


def time(value: Any) -> int:
    """Parse a time into microseconds. Raises ValueError above 1000 s, netem's limit."""
    microseconds = tc.time(value)
    if microseconds > 10**9:
        raise ValueError(f"{value} is longer than 1000 s")
    return microseconds


def written(share: float) -> str:
    return f"{share:.10g}%"
