"""Amounts and rates as iperf, iperf3 and uperf print them: K is 1024 bytes or 1000 bits."""

from __future__ import annotations

from collections.abc import Sequence

AMOUNT = r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGT]?)Bytes?"
"""Pattern of an amount, with groups for its number and its letter."""
RATE = r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGT]?)(bits|Bytes)/sec"
"""Pattern of a rate, with groups for its number, its letter, and "bits" or "Bytes"."""

DIGITS = 3
"""Digits of a rate as iperf prints it; with -f m, g or t there may be fewer."""

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def amount(number: str, letter: str) -> float:
    return float(number) * 1024.0 ** _POWERS[letter]


def bytes_in(amounts: Sequence[str], rates: Sequence[str], seconds: float) -> float:
    """Return the bytes of a line as rate × seconds, so that its rate stays the printed rate.

    A rate with fewer than `DIGITS` digits, and fewer than the amount, is too coarse: return the
    amount.
    """
    if _digits(rates[0]) >= min(DIGITS, _digits(amounts[0])):
        return rate_mbps(*rates) * 1e6 / 8 * seconds
    return amount(*amounts)


def _digits(number: str) -> int:
    return len(number.replace(".", "").lstrip("0"))


def rate_mbps(number: str, letter: str, of: str) -> float:
    if of == "bits":
        return float(number) * 1000.0 ** _POWERS[letter] / 1e6
    return float(number) * 1024.0 ** _POWERS[letter] * 8 / 1e6
