"""The arithmetic that `derive` and `exclude` may use: an allow-list over Python's syntax tree.

Nothing is handed to `eval`. Length, depth and the size of every number and text are bounded.
Conditions take true or false only: in YAML 1.2 `off` is a text, which must not count as true.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from netlimits.errors import InputError
from netlimits.model import Scalar

LENGTH_LIMIT = 1000
DEPTH_LIMIT = 50
BIT_LIMIT = 1024
"""Bits of the largest whole number: about the range of a float."""
TEXT_LIMIT = 10_000
ROUND_LIMIT = 30
"""Maximum number of digits that `round` takes, on either side of the decimal point."""

CONSTANTS: Mapping[str, Scalar] = {"true": True, "false": False, "null": None}
"""YAML's names of Python's constants True, False and None. An expression may use both forms."""
FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "min": (2, 100),
    "max": (2, 100),
    "abs": (1, 1),
    "round": (1, 2),
    "ceil": (1, 1),
    "floor": (1, 1),
}
"""Function -> its minimum and maximum number of arguments."""
ALLOWED = (
    "names, numbers, texts, + - * / // % **, == != < <= > >=, in [...], and, or, not, "
    "A if B else C, " + ", ".join(f"{name}()" for name in FUNCTIONS)
)

_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")
_Closure = Callable[[Mapping[str, Any]], Any]
_NUMBERS = frozenset((int, float, bool))


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression with allowed operations only; `names` are the names that it looks up."""

    text: str
    names: frozenset[str]
    _closure: _Closure

    def value(self, values: Mapping[str, Scalar]) -> Scalar:
        """Return the result for these values, which must hold every one of `names`."""
        try:
            result: Scalar = self._closure(values)
            if type(result) is float and not math.isfinite(result):
                raise OverflowError
            if type(result) is int and result.bit_length() > BIT_LIMIT:
                raise OverflowError
            return result
        except _ComputeError as error:
            problem = str(error)
        except ZeroDivisionError:
            problem = "divides by zero"
        except OverflowError:
            problem = "is too large a number"
        except RecursionError:
            problem = "is nested too deeply"
        return self._fail(problem, values)

    def holds(self, values: Mapping[str, Scalar]) -> bool:
        """Return the result as a condition. Raises InputError when it is neither true nor false."""
        result = self.value(values)
        if isinstance(result, bool):
            return result
        return self._fail(f"is {shown(result)}, not true or false; compare it", values)

    def _fail(self, problem: str, values: Mapping[str, Scalar]) -> NoReturn:
        named = ", ".join(f"{name} = {shown(values[name])}" for name in sorted(self.names))
        where = f" for {named}" if named else ""
        raise InputError(f"{quoted(self.text)} {problem}{where}")


class _ComputeError(Exception):
    """An error within a closure; it becomes an InputError with the expression's text."""


def compile(text: str) -> Expression:  # noqa: A001  like re.compile: it is what this module does
    """Return the expression in a text. Raises InputError with the column of what is not allowed."""
    text = " ".join(text.split("\n")).strip()
    if not text:
        raise InputError("the expression is empty")
    if len(text) > LENGTH_LIMIT:
        raise InputError(f"the expression is longer than {LENGTH_LIMIT} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        at = f" at column {error.offset}" if error.offset else ""
        hint = "; write == to compare" if _ASSIGNS.search(text) else ""
        raise InputError(f"{quoted(text)} cannot be read{at}: {error.msg}{hint}") from None
    except (ValueError, RecursionError, MemoryError):
        raise InputError(f"{quoted(text)} cannot be read") from None
    compiler = _Compiler(text)
    closure = compiler.closure(tree.body, 1)
    return Expression(text, frozenset(compiler.names), closure)


def quoted(text: str) -> str:
    """Return a text from the file as an error quotes it: on one line, printable and short."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return f"`{text if len(text) <= 120 else text[:119] + '…'}`"


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, texts in quotes."""
    if isinstance(value, str):
        text = f'"{value}"' if value.isprintable() else ascii(value)
        return text if len(text) <= 60 else text[:57] + "…"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a very large number"
    return str(value)


class _Compiler:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()

    def refuse(self, node: ast.AST, what: str, hint: str = "") -> NoReturn:
        column = getattr(node, "col_offset", 0) + 1
        hint = hint or f"allowed: {ALLOWED}"
        raise InputError(f"{quoted(self.text)} at column {column}: {what}; {hint}")

    def closure(self, node: ast.AST, depth: int) -> _Closure:
        if depth > DEPTH_LIMIT:
            raise InputError(f"{quoted(self.text)} is nested more than {DEPTH_LIMIT} deep")
        rule = _RULES.get(type(node))
        if rule is None:
            self.refuse(node, f"{_NAMED.get(type(node), type(node).__name__)} is not allowed")
        return rule(self, node, depth + 1)

    def constant(self, node: Any, depth: int) -> _Closure:
        value = node.value
        plain = type(value) in (int, float, str, bool) or value is None
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            self.refuse(node, f"{shown(value)} is not allowed")
        return lambda values: value

    def name(self, node: Any, depth: int) -> _Closure:
        if node.id in CONSTANTS:
            fixed = CONSTANTS[node.id]
            return lambda values: fixed
        if node.id in FUNCTIONS:
            self.refuse(node, f"{node.id} is a function", f"write {node.id}(…)")
        self.names.add(node.id)
        return operator.itemgetter(node.id)

    def binary(self, node: Any, depth: int) -> _Closure:
        if type(node.op) not in _ARITHMETIC:
            self.refuse(node, f"the operator {type(node.op).__name__} is not allowed")
        symbol, operation = _ARITHMETIC[type(node.op)]
        left, right = self.closure(node.left, depth), self.closure(node.right, depth)

        def compute(values: Mapping[str, Any]) -> Any:
            a, b = left(values), right(values)
            if type(a) in _NUMBERS and type(b) in _NUMBERS:
                result = operation(a, b)
                if type(result) is float and not math.isfinite(result):
                    raise OverflowError
                return result
            if symbol == "+" and type(a) is str and type(b) is str:
                if len(a) + len(b) > TEXT_LIMIT:
                    raise _ComputeError(f"makes a text longer than {TEXT_LIMIT:,} characters")
                return a + b
            raise _ComputeError(f"cannot compute {shown(a)} {symbol} {shown(b)}")

        return compute

    def unary(self, node: Any, depth: int) -> _Closure:
        inner = self.closure(node.operand, depth)
        if isinstance(node.op, ast.Not):
            source = ast.unparse(node.operand)
            return lambda values: not _condition(inner(values), source)
        if isinstance(node.op, ast.Invert):
            self.refuse(node, "the operator ~ is not allowed")
        sign = operator.neg if isinstance(node.op, ast.USub) else operator.pos

        def compute(values: Mapping[str, Any]) -> Any:
            a = inner(values)
            if type(a) not in _NUMBERS:
                raise _ComputeError(f"cannot take the sign of {shown(a)}")
            return sign(a)

        return compute

    def boolean(self, node: Any, depth: int) -> _Closure:
        parts = [(self.closure(part, depth), ast.unparse(part)) for part in node.values]
        ends_with = isinstance(node.op, ast.Or)

        def compute(values: Mapping[str, Any]) -> Any:
            for part, source in parts:
                value = part(values)
                if value is not True and value is not False:
                    _condition(value, source)
                if value is ends_with:
                    return ends_with
            return not ends_with

        return compute

    def choice(self, node: Any, depth: int) -> _Closure:
        test, source = self.closure(node.test, depth), ast.unparse(node.test)
        then, other = self.closure(node.body, depth), self.closure(node.orelse, depth)
        return lambda values: then(values) if _condition(test(values), source) else other(values)

    def compare(self, node: Any, depth: int) -> _Closure:
        left = self.closure(node.left, depth)
        steps = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.In, ast.NotIn)):
                steps.append((_membership(op), self.several(right, depth)))
            elif type(op) in _ORDERS:
                steps.append((_ORDERS[type(op)], self.closure(right, depth)))
            else:
                self.refuse(node, "`is` is not allowed", "write ==")
        if len(steps) == 1:
            ((relation, only),) = steps
            return lambda values: relation(left(values), only(values))

        def compute(values: Mapping[str, Any]) -> bool:
            a = left(values)
            for relation, right in steps:
                b = right(values)
                if not relation(a, b):
                    return False
                a = b
            return True

        return compute

    def several(self, node: ast.AST, depth: int) -> _Closure:
        if not isinstance(node, (ast.List, ast.Tuple)):
            self.refuse(node, "`in` needs a list", "write in [1, 2]")
        items = [self.closure(item, depth) for item in node.elts]
        return lambda values: [item(values) for item in items]

    def call(self, node: Any, depth: int) -> _Closure:
        called = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if called not in FUNCTIONS:
            self.refuse(node, f"{called[:40]}() cannot be called")
        fewest, most = FUNCTIONS[called]
        if node.keywords or not fewest <= len(node.args) <= most:
            wants = str(fewest) if fewest == most else f"{fewest} to {most}"
            self.refuse(node, f"{called}() is called wrongly", f"it takes {wants} plain values")
        arguments = [self.closure(argument, depth) for argument in node.args]
        function = _CALLS[called]

        def compute(values: Mapping[str, Any]) -> Any:
            operands = [argument(values) for argument in arguments]
            for operand in operands:
                if type(operand) not in _NUMBERS:
                    raise _ComputeError(f"cannot compute {called}() of {shown(operand)}")
            return function(*operands)

        return compute


def _condition(value: Any, source: str) -> bool:
    if value is True or value is False:
        return bool(value)
    raise _ComputeError(f"needs true or false where `{source}` is {shown(value)}; compare it")


def _power(a: float, b: float) -> Any:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * abs(b) > BIT_LIMIT:
        if abs(a) > 1:
            raise OverflowError
        # a is -1, 0 or 1: only the sign and parity of the exponent affect the result
        b = b % 2 + 2 if b > 0 else b % 2 - 2
    result = a**b
    if isinstance(result, complex):
        raise _ComputeError(f"takes a root of the negative number {shown(a)}")
    return result


def _round(number: float, *digits: float) -> float:
    for places in digits:
        if not isinstance(places, int) or abs(places) > ROUND_LIMIT:
            raise _ComputeError(f"rounds to {shown(places)} digits; use at most {ROUND_LIMIT}")
        return round(number, places)
    return round(number)


def _ordered(symbol: str, relation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return the relation for two numbers or two texts; it raises _ComputeError for other pairs."""

    def compare(a: Any, b: Any) -> bool:
        if (type(a) in _NUMBERS and type(b) in _NUMBERS) or (type(a) is str and type(b) is str):
            return relation(a, b)
        raise _ComputeError(f"cannot compare {shown(a)} {symbol} {shown(b)}")

    return compare


def _membership(op: ast.cmpop) -> Callable[[Any, Any], bool]:
    if isinstance(op, ast.In):
        return lambda a, b: a in b
    return lambda a, b: a not in b


_ARITHMETIC: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", _power),
}
_ORDERS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: _ordered("<", operator.lt),
    ast.LtE: _ordered("<=", operator.le),
    ast.Gt: _ordered(">", operator.gt),
    ast.GtE: _ordered(">=", operator.ge),
}
_CALLS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": _round,
    "ceil": math.ceil,
    "floor": math.floor,
}
_RULES: dict[type, Callable[[_Compiler, Any, int], _Closure]] = {
    ast.Constant: _Compiler.constant,
    ast.Name: _Compiler.name,
    ast.BinOp: _Compiler.binary,
    ast.UnaryOp: _Compiler.unary,
    ast.BoolOp: _Compiler.boolean,
    ast.IfExp: _Compiler.choice,
    ast.Compare: _Compiler.compare,
    ast.Call: _Compiler.call,
}
_NAMED = {
    ast.Attribute: "a dot after a name",
    ast.Subscript: "an index in brackets",
    ast.Lambda: "lambda",
    ast.JoinedStr: "an f-string",
    ast.List: "a list outside of `in`",
    ast.Tuple: "a list outside of `in`",
    ast.Dict: "a mapping",
    ast.Set: "a set",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.NamedExpr: ":=",
    ast.Starred: "*",
}
