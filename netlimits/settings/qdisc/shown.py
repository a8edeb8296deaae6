"""Kinds of qdisc whose parameters `tc` shows in objects of their own, as tables of parameters.

A parameter says what an experiment may write, what it is when left out, and where it stands in the
JSON of `tc -r -d -j qdisc show`; a kind says how its values are words of a command. What the
kernel rounds (times to its clock's ticks, shares to 2⁻³²) and `tc` prints with six digits counts as
the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from netlimits.units import tc

ANY = "any"
"""A value left out that is the kernel's own to choose: not written, and held against nothing."""

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`shape` is its JSON Schema, `read` makes a number, text or tuple of what was written.

    `shown` finds the same in tc's options; None where tc does not show it. `near` is how far the
    two may be apart beyond tc's six digits.
    """

    shape: Mapping[str, Any]
    read: Callable[[Any], Any]
    shown: Callable[[Options], Any] | None
    left_out: Any = 0
    near: float = 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A kind of qdisc by its parameters; the same methods as `kinds.Kind`.

    `compose` makes the words of a command, `settle` completes or refuses (ValueError) what was
    given, `lost` says what of a found one `tc` does not show; `known` are tc's options. `exactly`
    makes of a found one's options the values that `tc` writes otherwise than it shows them; its
    second argument is True where tc writes ns. It raises ValueError for what tc cannot write.
    """

    units: Mapping[str, Parameter]
    compose: Callable[[Mapping[str, Any]], Iterator[str]]
    settle: Callable[[dict[str, Any]], None]
    known: tuple[str, ...]
    lost: Callable[[Options], str] = lambda _: ""
    exactly: Callable[[Options, bool], Mapping[str, Any]] = lambda *_: {}

    def wish(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is asked for, in plain units. Raises ValueError."""
        values = {}
        for name, value in given.items():
            try:
                values[name] = self.units[name].read(value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        self.settle(values)
        return {name: values.get(name, part.left_out) for name, part in self.units.items()}

    def words(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The words of a `tc` command, with units."""
        return tuple(self.compose(values))

    def values(self, options: Options) -> dict[str, Any]:
        """What `tc` shows, in the units of `wish`; what it does not show is left out."""
        values = {}
        for name, part in self.units.items():
            if part.shown is not None:
                value = part.shown(options)
                values[name] = part.left_out if value is None and part.left_out != ANY else value
        return values

    def same(self, name: str, now: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Whether a parameter is as wanted, up to what tc and the kernel round."""
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

    def unreturnable(self, options: Options, nanoseconds: bool) -> str:
        """Return why one that was found could not be restored exactly; "" when it can."""
        if strange := sorted(options.keys() - set(self.known)):
            return f"netlimits does not restore its {', '.join(strange)}"
        try:
            self.exactly(options, nanoseconds)
        except ValueError as error:
            return str(error)
        return self.lost(options)

    def found_words(self, options: Options, nanoseconds: bool) -> tuple[str, ...]:
        """Return the words that make one again that was found."""
        values = self.values(options)
        whole = {name: values.get(name, p.left_out) for name, p in self.units.items()}
        with suppress(ValueError):  # what could not be restored is not made
            whole |= self.exactly(options, nanoseconds)
        return self.words(whole)


# -- where tc shows a value -----------------------------------------------------------------


def at(*path: str, scale: float = 1) -> Callable[[Options], Any]:
    """The number at a path of tc's options times `scale`; None where it is not.

    Raises TypeError for what is no number.
    """

    def find(options: Options) -> Any:
        value: Any = options
        for key in path:
            value = value.get(key)
            if value is None:
                return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{value!r} is no number")
        number = value * scale
        return round(number) if scale == 1e6 else number  # microseconds are whole

    return find


def word(key: str) -> Callable[[Options], Any]:
    """The text under a key."""
    return lambda options: None if options.get(key) is None else str(options[key])


def switch(key: str) -> Callable[[Options], str]:
    """ "on" or "off" for true or anything else under a key."""
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
    "anyOf": [{"type": "integer", "minimum": 0, "maximum": 10**9}, tc.TIME["anyOf"][1]],
}
COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}


def about(shape: Mapping[str, Any], description: str) -> dict[str, Any]:
    """A shape that is described."""
    return {**shape, "description": description}


def one_of(*names: str) -> dict[str, Any]:
    """The shape of one word of several."""
    return {"enum": list(names)}


def percent(value: Any) -> float:
    """0 to 100."""
    share = float(str(value).removesuffix("%"))
    if not 0 <= share <= 100:
        raise ValueError(f"{value} is no share: 0 to 100 percent")
    return share


def percents(least: int, most: int) -> Callable[[Any], tuple[float, ...]]:
    """So many shares, with commas between."""

    def read(value: Any) -> tuple[float, ...]:
        shares = tuple(percent(part) for part in str(value).split(","))
        if not least <= len(shares) <= most:
            raise ValueError(f"{value!r} holds {len(shares)} shares, not {least} to {most}")
        return shares

    return read


def count(value: Any) -> int:
    """A whole number that 32 bits hold."""
    number = int(value)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"{value} is out of range")
    return number


def time(value: Any) -> int:
    """Microseconds, up to a quarter of an hour, which netem's clock holds."""
    microseconds = tc.time(value)
    if microseconds > 10**9:
        raise ValueError(f"{value} is longer than 1000 s")
    return microseconds


def written(share: float) -> str:
    """A share as tc takes it."""
    return f"{share:.10g}%"
