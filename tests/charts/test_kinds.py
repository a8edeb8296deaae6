"""Every kind of chart, on the published data: what it shows, and that it can be drawn small."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netlimits import charts
from netlimits.errors import DataError
from netlimits.reproduce import published


def interim() -> pd.DataFrame:
    ends = 1e9 + np.arange(1, 21) * 0.5
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "stream": i,
                    "ending_s": ends + 0.1 * i,
                    "interval_s": 0.5,
                    "throughput_mbps": 100.0 + np.arange(20),
                }
            )
            for i in range(3)
        ]
    )


DRAWN: dict[str, Callable[[], charts.Chart]] = {
    "cost": lambda: charts.cost(published.table("udp-send-size")),
    "time per send": lambda: charts.cost(published.table("packets-per-second"), "time_per_send"),
    "packet rate": lambda: charts.packet_rate(published.table("packets-per-second")),
    "pacing": lambda: charts.pacing(published.table("constant-bitrate")),
    "acks": lambda: charts.acks(
        published.table("ack-overhead"), series=["tso", "tcp_tso_win_divisor"]
    ),
    "spread": lambda: charts.spread(
        published.table("udp-send-size"), ["throughput", "local_cpu"], bound_mbps=30_000
    ),
    "highest average": lambda: charts.highest_average(
        parallel_runs(), 4, series=["limit"], link="1G", cap=0.5e9
    ),
    "aggregate": lambda: charts.aggregate(interim(), step=1, window_s=4, bound_mbps=400),
}


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_every_panel_has_units_and_room(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a layout that does not fit only warns
        figure = DRAWN[name]()
        charts.save(figure, tmp_path / "chart.svg")
    for axes in figure.axes:
        assert axes.get_ylabel() or axes.get_subplotspec().colspan.start > 0
        box = axes.get_position()
        assert box.width > 0.25
        assert box.height > 0.2
    assert figure.axes[-1].get_xlabel()


def texts(figure: charts.Chart) -> str:
    return "\n".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_the_cost_chart_says_what_it_found() -> None:
    words = texts(DRAWN["cost"]())
    assert "per packet\n1391 ± 13 ns" in words
    assert "per KiB 188 ± 21 ns" in words


def test_the_cost_chart_keeps_colours_for_the_two_ends() -> None:
    for axes in DRAWN["cost"]().axes:
        packet, byte = axes.collections
        for area in (packet, byte):
            red, green, blue, _ = area.get_facecolor()[0]
            assert red == green == blue, "a grey"
        assert (packet.get_hatch(), bool(byte.get_hatch())) == (None, True)


def test_each_series_has_its_own_row_of_panels() -> None:
    frame = published.table("udp-send-size")
    both = pd.concat([frame.assign(nic="a"), frame.assign(nic="b")])
    figure = charts.cost(both, series="nic")
    assert len(figure.axes) == 4
    assert "b · Receive service demand · 20 runs" in texts(figure)


def test_packet_rates_too_noisy_for_a_fit_are_points_under_the_reason() -> None:
    frame = published.table("packets-per-second")
    rates = frame["local_send_throughput_mbps"].to_numpy()
    frame["local_send_throughput_mbps"] = rates[::-1].copy()
    figure = charts.packet_rate(frame)
    assert [len(axes.lines) for axes in figure.axes] == [1, 1, 1], "points, no line"
    words = texts(figure) + figure.axes[0].get_title(loc="left")
    assert "only one limit shows" in words.replace("\n", " ")


@pytest.mark.parametrize(("share", "unit"), [(1, "millions"), (0.01, "thousands")])
def test_packets_a_second_are_counted_in_a_unit_that_reads_well(share: float, unit: str) -> None:
    frame = published.table("packets-per-second")
    rates = [name for name in frame.columns if name.endswith(("_mbps", "_calls"))]
    frame[rates] *= share
    assert charts.packet_rate(frame).axes[0].get_ylabel() == f"Packets/s ({unit})"


def test_the_packet_rate_chart_marks_both_regimes() -> None:
    words = texts(DRAWN["packet rate"]())
    assert "packets are the limit\nup to 292 bytes" in words
    assert "bytes are the limit\nfrom 5547 bytes" in words


def test_throughput_anomalies_are_hollow_and_off_the_curve() -> None:
    costs = DRAWN["acks"]().axes[0]
    hollow = [line for line in costs.lines if line.get_markerfacecolor() == "white"]
    assert sum(len(line.get_xdata()) for line in hollow) == 14
    joined = [line for line in costs.lines if line.get_markerfacecolor() != "white"]
    assert 16 not in joined[1].get_xdata()
    assert costs.get_ylim()[0] == 0


def test_the_spread_chart_has_a_log_axis_bands_and_the_bound_where_it_belongs() -> None:
    figure = DRAWN["spread"]()
    rates, cpu = figure.axes
    assert rates.get_xscale() == "log"
    assert rates.collections
    assert "goodput bound 30,000 Mbit/s" in texts(figure)
    assert not [t for t in cpu.texts if "bound" in t.get_text()]
    with pytest.raises(DataError, match="values of protocol must be numbers above zero"):
        charts.spread(published.table("udp-send-size"), by="protocol")


def test_the_aggregate_chart_names_the_best_window() -> None:
    words = texts(DRAWN["aggregate"]())
    assert "highest average over 4 s\n" in words
    assert "starts differ by 0.2 s" in words


def test_the_same_series_has_the_same_colour_in_different_charts() -> None:
    pacing = DRAWN["pacing"]().axes[1].patches[0].get_facecolor()
    cost = DRAWN["cost"]().axes[0].lines[-1].get_color()
    assert pacing[:3] == pytest.approx([int(cost[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def test_every_registered_chart_says_what_it_is() -> None:
    for kind in charts.CHARTS:
        assert kind.draw is getattr(charts, kind.name)
        assert (kind.draw.__doc__ or "").splitlines()[0].endswith(".")


def test_a_spread_of_two_tools_shows_each_ones_own_cpu() -> None:
    """A campaign's frame has a CPU column a tool, empty in the other's rows."""
    empty = np.full(4, np.nan)
    frame = pd.DataFrame(
        {
            "tool": ["iperf3"] * 4 + ["nttcp"] * 4,
            "send_size": [1000, 1000, 2000, 2000] * 2,
            "throughput_mbps": [10.0, 11, 20, 21, 30, 31, 40, 41],
            "iperf3_local_process_cpu_pct": [*[50.0, 52, 60, 62], *empty],
            "nttcp_local_process_cpu_pct": [*empty, *[70.0, 72, 80, 82]],
        }
    )
    figure = charts.spread(frame, of=["throughput", "local_process_cpu"], series="tool")
    lines = [line.get_ydata().tolist() for line in figure.axes[1].get_lines()]
    assert [51.0, 61.0] in lines
    assert [71.0, 81.0] in lines


def parallel_runs() -> pd.DataFrame:
    """Two runs at each of two MTUs, alone and capped, as campaign.intervals() has them."""
    parts = []
    for run, (mtu, rate, limit) in enumerate(
        [(1500, 900, "link"), (1500, 940, "link"), (8896, 980, "link"), (1500, 500, "cap")], 1
    ):
        part = interim().assign(throughput_mbps=rate / 3)
        parts.append(part.assign(run=run, attempt=1, status="ok", mtu=mtu, limit=limit, rate=1e9))
    return pd.concat(parts)


def test_the_highest_average_stands_beside_what_could_hold_it_back() -> None:
    figure = charts.highest_average(
        parallel_runs(), 4, series="limit", link="rate", cap="500M", title="T"
    )
    (axes,) = figure.axes
    bars = {bar.get_label(): [b.get_height() for b in bar] for bar in axes.containers}
    assert bars["link"] == pytest.approx([920, 980]), "means over the runs, by MTU"
    assert bars["cap"] == pytest.approx([500])
    (dots,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert sorted(dots.get_ydata()) == pytest.approx([900, 940, 980])
    words = texts(figure)
    assert "goodput bound 941 Mbit/s" in words
    assert "goodput bound 990" in words
    assert words.count("egress cap 500") == 2
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1500", "8896"]
    assert axes.get_title(loc="left") == "T"
    left, low = axes.containers[0][0].get_x(), axes.containers[1][0].get_x()
    assert abs(left - low) > 0.3, "beside one another"
    renamed = parallel_runs().rename(columns={"mtu": "size"})
    with pytest.raises(DataError, match="depends on the MTU, and the runs have no `mtu`"):
        charts.highest_average(renamed, 4, by="size", series="limit", link="1G")


def test_one_run_of_a_campaign_s_can_be_drawn() -> None:
    figure = charts.aggregate(parallel_runs(), run=4, window_s=2)
    assert "500 Mbit/s" in texts(figure)
    with pytest.raises(DataError, match="run 9 does not exist"):
        charts.aggregate(parallel_runs(), run=9)


def test_a_run_without_a_highest_average_is_told_in_the_chart() -> None:
    frame = parallel_runs()
    whole = frame[(frame["run"] != 2) | (frame["stream"] != frame["stream"].iloc[0])]
    broken = pd.concat([whole, frame[frame["run"] == 2].iloc[[0, 2]]])  # a second is missing
    chart = charts.highest_average(broken, 4, series="limit")
    assert "of a run share; 1 run left out" in " ".join(texts(chart).split())
    notes = (
        charts.KINDS["highest_average"]
        .alternative(broken, {"series": "limit", "window_s": 4})
        .attrs["notes"]
    )
    assert notes[-1].startswith("run 2 is left out: stream ")
