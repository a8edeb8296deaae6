"""The shape of a lab's link: from options, and in words."""

from __future__ import annotations

from netlimits.errors import InputError
from netlimits.lab import labs
from netlimits.units import tc


def shape(
    rate: str | None, delay: str | None, loss: str | None, mtu: int | None, packets: int | None
) -> labs.Shape:
    try:
        wanted = labs.Shape(
            tc.rate(rate) if rate is not None else 0,
            _seconds(delay) if delay is not None else 0.0,
            _fraction(loss) if loss is not None else 0.0,
            mtu or 0,
            packets or 0,
        )
    except ValueError as error:
        raise InputError(f"the link's shape: {error}") from None
    given = {"rate": rate, "mtu": mtu, "packets": packets}
    for name, value in given.items():
        if value is not None and not getattr(wanted, name):
            raise InputError(f"--{name} {value}: a link must carry something; leave it out")
    if wanted == labs.Shape():
        raise InputError("no shape is given; --off makes it a plain link again")
    return wanted


def _seconds(text: str) -> float:
    """Return a delay. Its unit belongs to it: 5 would be 5 µs to tc, and is 5 ms to most."""
    try:
        without = float(text) != 0
    except ValueError:
        without = False
    if without:
        raise ValueError(f"{text!r} is no delay; add a unit, as in 5ms")
    return tc.time(text) / 1e6


def _fraction(text: str) -> float:
    number, sign, rest = text.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        raise ValueError(f"{text!r} is no loss, such as 0.1%") from None
    if rest or (share and not sign):  # 0.1 would be 10 % to some, 0.1 % to others
        raise ValueError(f"{text!r} is no loss; add %, as in 0.1%")
    return share


def shown(state: labs.LinkState) -> str:
    shape = state.shape
    if shape is None:
        return "plain"
    words = [
        f"rate {shape.rate / 1e6:g} Mbit/s" if shape.rate else "",
        f"{shape.packets:,} packets/s" if shape.packets else "",
        f"delay {shape.delay * 1e3:g} ms" if shape.delay else "",
        f"loss {shape.loss:.6%}".rstrip("0%").rstrip(".") + "%" if shape.loss else "",
        f"MTU {shape.mtu}" if shape.mtu else "",
    ]
    text = ", ".join(filter(None, words)) + " each way"
    if not state.works or state.traffic is None:
        return f"{text}; its process is gone; shape it again, or use --off"
    out, back = (f"{way.carried} of {way.sent}" for way in state.traffic)
    return f"{text}; carried {out} frames from the host, {back} to it"
