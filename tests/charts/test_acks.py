"""The chart of service demand against segments per ACK, as the mail set it and as measured."""

import pandas as pd

from netlimits import charts
from netlimits.reproduce import published


def campaign(ratios: dict[str, tuple[float, float]], rate: float = 957.0) -> pd.DataFrame:
    """Two runs of each configuration, their ratios measured; the first one costs 1 more."""
    rows = [
        {
            "config": config,
            "tso": "off",
            "segments_per_ack": ratio,
            "throughput_mbps": rate,
            "local_sd_us_per_kib": 10 - i + 1 / (1 + n),
        }
        for i, (config, pair) in enumerate(ratios.items())
        for n, ratio in enumerate(pair)
    ]
    return pd.DataFrame(rows)


def subtitle(figure: charts.Chart) -> str:
    return " ".join(text.get_text() for text in figure.axes[0].texts).replace("\n", " ")


def test_ratios_over_decades_have_a_log_axis_with_plain_numbers():
    figure = charts.acks(campaign({"a": (1.0, 1.1), "b": (2.0, 2.2), "c": (60, 70)}), series="tso")
    across = figure.axes[1]
    assert across.get_xscale() == "log"
    figure.canvas.draw()
    low, high = across.get_xlim()
    labels = [t.get_text() for t in across.get_xticklabels() if low <= t.get_position()[0] <= high]
    assert labels == ["1", "2", "5", "10", "20", "50"]
    assert across.get_xlabel() == "Segments per ACK, measured"


def test_the_mail_s_ratios_were_set_and_have_a_linear_axis():
    across = charts.acks(
        published.table("ack-overhead"), series="tso", pool="tcp_tso_win_divisor"
    ).axes[1]
    assert across.get_xscale() == "linear"
    assert across.get_xlabel() == "Segments per ACK"


def test_the_curve_joins_the_means_of_repeated_configurations():
    figure = charts.acks(campaign({"b": (2.0, 2.2), "a": (1.0, 1.1), "c": (60, 70)}), series="tso")
    (curve,) = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
    assert list(curve.get_xdata()) == [1.05, 2.1, 65]
    assert list(curve.get_ydata()) == [9.75, 10.75, 8.75]
    (runs,) = [line for line in figure.axes[0].lines if line.get_alpha()]
    assert sorted(runs.get_xdata()) == [1, 1.1, 2, 2.2, 60, 70]
    assert "faint: runs" in subtitle(figure)


def test_where_no_link_limited_the_runs_the_chart_says_so_and_marks_none():
    frame = campaign({"a": (1.0, 1.1), "b": (2.0, 2.2), "c": (60, 70)})
    frame["throughput_mbps"] = [500, 600, 700, 800, 900, 1000]
    figure = charts.acks(frame, series="tso")
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert not any(len(line.get_xdata()) for line in hollow)
    assert "no anomalies marked: most runs were below 99 %" in subtitle(figure)
    assert "hollow" not in subtitle(figure)
