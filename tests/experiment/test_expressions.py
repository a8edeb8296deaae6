from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netlimits.errors import InputError
from netlimits.experiment import expressions

VALUES: dict[str, Any] = {
    "size": 1024,
    "zero": 0,
    "protocol": "udp",
    "offloads": "off",
    "yes": True,
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("size + 12", 1036),
        ("size * 2 - 1", 2047),
        ("size / 1000", 1.024),
        ("size // 1000 * 1000 + size % 1000", 1024),
        ("2 ** 10", 1024),
        ("-size", -1024),
        ('protocol == "udp" and offloads == "off"', True),
        ("0 < zero + 1 <= size", True),
        ("size in [1024, 8192]", True),
        ('protocol not in ("tcp", "sctp")', True),
        ('"UDP" if protocol == "udp" else "TCP"', "UDP"),
        ("not yes or size > 1", True),
        ("min(size, 10, 2.5)", 2.5),
        ("max(size, 10)", 1024),
        ("abs(zero - 3)", 3),
        ("round(2.5)", 2),
        ("round(2.567, 1)", 2.6),
        ("ceil(size / 1000)", 2),
        ("floor(size / 1000)", 1),
        ('protocol + " " + offloads', "udp off"),
        ("true", True),
        ("null", None),
        ("None == null and True == true", True),
        ("zero == 0 or 1 / zero > 1", True),
        ("1\n + 1", 2),
        ("0 ** 99999 + (-1) ** 99999", -1),
    ],
)
def test_values(text: str, result: Any):
    value = expressions.compile(text).value(VALUES)
    assert value == result
    assert type(value) is type(result)


def test_the_names_that_are_looked_up():
    assert expressions.compile("size + min(zero, true)").names == {"size", "zero"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("size +", "cannot be read"),
        ("size size", "at column 6"),
        ("size.real", "a dot after a name is not allowed"),
        ("__import__('os').system('touch x')", "cannot be called"),
        ("open('/etc/passwd')", "open() cannot be called"),
        ("size()", "size() cannot be called"),
        ("(lambda: 1)()", "cannot be called"),
        ("lambda: 1", "lambda is not allowed"),
        ("[x for x in [1]]", "a comprehension is not allowed"),
        ("size[0]", "an index in brackets"),
        ("f'{size}'", "an f-string"),
        ("(x := 1)", ":= is not allowed"),
        ("[1, 2]", "a list outside of `in`"),
        ("1 in size", "`in` needs a list"),
        ("size is 1", "write =="),
        ("1j", "1j is not allowed"),
        ("b'x'", "is not allowed"),
        ("...", "is not allowed"),
        ("1e999", "is not allowed"),
        ("~size", "the operator ~"),
        ("size << 9", "LShift"),
        ("size @ size", "MatMult"),
        ("min(size)", "it takes 2 to 100 plain values"),
        ("round(size, ndigits=2)", "plain values"),
        ("min(*size, 1)", "* is not allowed"),
        ("min", "write min(…)"),
        ("x" * 1001, "longer than 1000 characters"),
        ("-" * 900 + "1", "nested more than 50 deep"),
        ("(" * 400 + "1" + ")" * 400, "cannot be read"),
        ("await size", "Await is not allowed"),
        ("\ud800", "cannot be read"),
    ],
)
def test_what_is_not_allowed_is_named(text: str, says: str):
    with pytest.raises(InputError) as caught:
        expressions.compile(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("size / zero", "divides by zero for size = 1024, zero = 0"),
        ("size % zero", "divides by zero"),
        ("zero ** -1", "divides by zero"),
        ("protocol < size", 'cannot compare "udp" < 1024'),
        ("protocol * 9", 'cannot compute "udp" * 9'),
        ("protocol % size", "cannot compute"),
        ("-protocol", "cannot take the sign"),
        ("min(protocol, 1)", 'cannot compute min() of "udp"'),
        ("9 ** 9 ** 9", "is too large a number"),
        ("2 ** -99999", "is too large a number"),
        ("2 ** 1023 * 4", "is too large a number"),
        ("1e300 * 1e300", "is too large a number"),
        ("min(1e300 * 1e300, 1)", "is too large a number"),
        ("10.0 ** 999", "is too large a number"),
        ("(0 - 8) ** 0.5", "a root of the negative number"),
        ("round(size, -99999999)", "rounds to -99999999 digits"),
        ("round(size, 0.5)", "rounds to 0.5 digits"),
        ("not offloads", 'true or false where `offloads` is "off"'),
        ("offloads and yes", "true or false where `offloads`"),
        ("1 if size else 2", "true or false where `size` is 1024"),
    ],
)
def test_what_cannot_be_computed_names_expression_and_values(text: str, says: str):
    expression = expressions.compile(text)
    with pytest.raises(InputError) as caught:
        expression.value(VALUES)
    assert says in str(caught.value)
    assert text in str(caught.value)


def test_texts_cannot_grow_without_end():
    expression = expressions.compile("+".join(["word"] * 40))
    with pytest.raises(InputError, match="longer than 10,000 characters"):
        expression.value({"word": "x" * 900})


def test_large_factors_cannot_be_multiplied_without_end():
    expression = expressions.compile("*".join(["n"] * 40))
    with pytest.raises(InputError, match="too large"):
        expression.value({"n": 10**4000})


def test_a_condition_is_true_or_false():
    assert expressions.compile("size == 1024").holds(VALUES) is True
    with pytest.raises(InputError, match='is "off", not true or false; compare it'):
        expressions.compile("offloads").holds(VALUES)


_NUMBER = st.integers(-50, 50).map(str) | st.sampled_from(["a", "b", "0.5", "1e3"])
_SUM = st.recursive(
    _NUMBER,
    lambda inner: (
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner
        )
        | st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
        | st.builds("{}({})".format, st.sampled_from(["abs", "round", "ceil", "floor", "-"]), inner)
    ),
    max_leaves=8,
)
_CONDITION = st.recursive(
    st.builds("{} {} {}".format, _SUM, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), _SUM)
    | st.builds("{} < {} <= {}".format, _SUM, _SUM, _SUM)
    | st.builds("{} in [{}, {}]".format, _SUM, _SUM, _SUM),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("(not {})".format, inner)
        | st.builds("({} if {} else {})".format, inner, inner, inner)
    ),
    max_leaves=4,
)


@pytest.mark.long
@given(_SUM | _CONDITION, st.integers(-9, 9), st.floats(-9, 9))
def test_safe_expressions_mean_what_they_mean_in_python(text: str, a: int, b: float):
    names = {"a": a, "b": b, "ceil": math.ceil, "floor": math.floor}
    try:
        meant = eval(text, names)  # the expression is made of numbers and a and b alone
    except (ZeroDivisionError, OverflowError):
        meant = None
    if len(text) > expressions.LENGTH_LIMIT:
        return
    try:
        value = expressions.compile(text).value({"a": a, "b": b})
    except InputError as error:
        assert meant is None or "large" in str(error) or "deep" in str(error)  # noqa: PT017
    else:
        assert value == meant
        assert type(value) is type(meant)


@given(st.text())
@example("\\\n")
@example("1if 1else 1")
@example("'\\N{x}'")
@example("a\x00b")
@example("0_1")
@example("'a' 'b'")
@example("1 .real")
def test_any_text_is_an_expression_or_our_error(text: str):
    try:
        expression = expressions.compile(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017  either outcome is right
        return
    values = dict.fromkeys(expression.names, 3)
    try:
        expression.value(values)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


@given(st.text(alphabet="a1 +-*/%()<>=!&|^~.,[]{}:'\"notandrifelse_", max_size=40))
def test_any_near_expression_is_one_or_our_error(text: str):
    test_any_text_is_an_expression_or_our_error.hypothesis.inner_test(text)
