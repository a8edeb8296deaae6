"""`netlimits goodput`: compute how much data a link can carry in addition to headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from netlimits.analysis.goodput import (
    MTU_RANGE,
    Bound,
    Limit,
    bits_per_second,
    bound,
    curve,
    limit,
)
from netlimits.charts import check_format
from netlimits.cli.shared.options import JSON
from netlimits.cli.shared.output import echo, echo_json
from netlimits.errors import DataError, InputError


def _checked_rate(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    try:
        if text is not None:
            bits_per_second(text)
    except DataError as error:
        raise InputError(f"{option.opts[0]}: {error}") from None
    return text


@click.command()
@click.option(
    "--link",
    default="1G",
    show_default=True,
    callback=_checked_rate,
    help="Bit rate of the link, such as 2.5G, or a number of bit/s.",
)
@click.option(
    "--mtu",
    "mtus",
    type=click.IntRange(*MTU_RANGE),
    multiple=True,
    default=(1500,),
    show_default=True,
    help="Maximum bytes of an IP packet; repeatable.",
)
@click.option(
    "--mtu-of",
    type=click.Choice(["link", "guest"]),
    default="link",
    show_default=True,
    help="link: --mtu is that of the physical link, and tunnel headers must fit into it; guest: "
    "it is the sender's, and tunnel headers are added to it.",
)
@click.option("--transport", type=click.Choice(["tcp", "udp"]), default="tcp", show_default=True)
@click.option("--timestamps", is_flag=True, help="Count TCP timestamps (12 bytes of each segment).")
@click.option("--ipv6", is_flag=True, help="The sender's packets are IPv6.")
@click.option("--outer-ipv6", is_flag=True, help="Tunnels run over IPv6.")
@click.option(
    "--stack",
    multiple=True,
    metavar="NAMES",
    help="Headers around the packet, from the outermost, separated by commas: vlan,vxlan. "
    "geneve+8 adds 8 bytes of options; other+24 is any header of 24 bytes.",
)
@click.option(
    "--data", type=int, metavar="BYTES", help="Data in each packet; default: full packets."
)
@click.option(
    "--egress-cap",
    metavar="RATE",
    callback=_checked_rate,
    help="The machine's egress cap, as a rate of user data.",
)
@JSON
@click.option(
    "--chart",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw Data/(Data+Headers) vs. MTU to this .png, .svg or .pdf.",
)
def goodput(
    link: str,
    mtus: tuple[int, ...],
    stack: tuple[str, ...],
    data: int | None,
    egress_cap: str | None,
    as_json: bool,
    chart: Path | None,
    **options: Any,
) -> None:
    """Compute how much of a link's bit rate can carry data: Data / (Data + Headers) × link.

    Preamble, frame check sequence and inter-packet gap count as headers. With --egress-cap, the
    lower of the cap and the bound limits the rate.

    \b
    Examples:
      netlimits goodput --link 2.5G
      netlimits goodput --link 2.5G --mtu 1500 --mtu 9000 --timestamps
      netlimits goodput --link 2.5G --timestamps --stack vxlan
      netlimits goodput --link 100G --mtu 8896 --timestamps --egress-cap 50G --json
      netlimits goodput --link 100G --timestamps --stack vlan,geneve+8 --chart mtu.svg
    """
    if chart:
        check_format(chart)
    names = [name for entry in stack for name in entry.split(",") if name.strip()]
    if link.strip().isdigit() and int(link) < 1000:
        raise InputError(f"--link {link} is {link} bit/s; for {link} Gbit/s write {link}G")
    bounds = [bound(mtu, link, names, data=data, **options) for mtu in mtus]
    each = [(at, limit(at, egress_cap) if egress_cap else None) for at in bounds]
    if as_json:
        documents = [_json(*pair, names) for pair in each]
        echo_json(documents if len(documents) > 1 else documents[0])
    else:
        heads = [f"MTU {at.mtu} bytes\n" if len(mtus) > 1 else "" for at in bounds]
        texts = [head + _text(*pair) for head, pair in zip(heads, each, strict=True)]
        echo("\n\n".join(texts))
    if chart:
        from netlimits import charts

        over_mtus = curve(_mtus(mtus), [names] if not names else [[], names], link, **options)
        about = f"{options['transport'].upper()}{' with timestamps' * options['timestamps']}"
        about += f" over IPv{6 if options['ipv6'] else 4}; MTU of the {options['mtu_of']}"
        echo(charts.save(charts.goodput(over_mtus, subtitle=about), chart), err=as_json)


def _mtus(mtus: Sequence[int]) -> list[int]:
    low, high = min(576, *mtus), max(9000, *mtus)
    steps = {round(low * (high / low) ** (i / 200)) for i in range(201)}
    return sorted(steps | {1500, 9000, *mtus})


def _text(capacity: Bound, limit: Limit | None) -> str:
    from netlimits import tables

    lines = [tables.render(capacity.frame()).rstrip(), ""]
    if capacity.inner_mtu != capacity.mtu:
        lines.append(f"MTU inside the tunnels   {capacity.inner_mtu} bytes")
    lines += [
        f"Data per packet          {capacity.data_bytes} bytes",
        f"Headers per packet       {capacity.header_bytes} bytes",
        f"Data/(Data+Headers)      {100 * capacity.ratio:.2f} %",
        f"Goodput at most          {_rate(capacity.goodput_bps)}",
        f"Packets at most          {capacity.packets_per_s:,.0f} a second",
    ]
    if limit:
        lines.append(f"Egress cap               {_rate(limit.cap_bps)}")
        lines.append(f"What binds               the {limit.binds}: {_rate(limit.rate_bps)}")
    return "\n".join(lines)


def _rate(bps: float) -> str:
    unit, name = (1e9, "Gbit/s") if bps >= 1e9 else (1e6, "Mbit/s")
    return f"{bps / unit:.4g} {name}"


def _json(capacity: Bound, limit: Limit | None, stack: list[str]) -> dict[str, object]:
    names = ("link_bps", "mtu", "inner_mtu", "data_bytes", "header_bytes", "ratio", "goodput_bps")
    document = {name: getattr(capacity, name) for name in (*names, "packets_per_s")}
    document |= {"stack": stack, "headers": [asdict(header) for header in capacity.headers]}
    if limit:
        document |= {"egress_cap_bps": limit.cap_bps, "binds": limit.binds}
        document["rate_bps"] = limit.rate_bps
    return document
