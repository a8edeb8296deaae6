"""The constant-bitrate chart of a campaign's own runs."""

from netlimits import charts
from netlimits.reproduce import published


def test_the_rate_asked_for_and_the_way_are_the_runs_own():
    frame = published.table("constant-bitrate").assign(pace_mbps=1000.0, paced_by="fq maxrate")
    assert "within 0.023 % of 1,000 Mbit/s, paced by fq maxrate" in texts(charts.pacing(frame))
    frame["local_send_throughput_mbps"] /= 20
    slower = charts.pacing(frame.assign(pace_mbps=50.0))
    assert "within 0.023 % of 50 Mbit/s, paced by fq maxrate" in texts(slower)


def test_the_report_s_table_is_of_1_gbit_and_says_nothing_of_a_way():
    words = texts(charts.pacing(published.table("constant-bitrate")))
    assert "within 0.023 % of 1,000 Mbit/s" in words
    assert "paced by" not in words


def test_the_legend_stands_above_the_bars():
    level = {"local_sd_us_per_kib": 5.0, "remote_sd_us_per_kib": 5.0}
    figure = charts.pacing(published.table("constant-bitrate").assign(**level))
    figure.canvas.draw()
    costs = figure.axes[1]
    legend = costs.get_legend().get_window_extent()
    assert legend.x0 >= costs.get_window_extent().x0
    assert not any(legend.overlaps(bar.get_window_extent()) for bar in costs.patches)


def test_of_fewer_than_six_runs_the_runs_are_drawn_in_place_of_intervals():
    frame = published.table("constant-bitrate")
    few = frame.groupby("send_size", group_keys=False).head(3)
    for runs, drawn in ((frame, "95 % intervals"), (few, "dots: runs")):
        figure = charts.pacing(runs)
        rates, costs = figure.axes
        assert drawn in texts(figure)
        dots = [line for line in costs.lines if line.get_marker() == "o"]
        assert sum(len(line.get_xdata()) for line in dots) == (2 * len(few) if runs is few else 0)
        assert bool(rates.containers) == (runs is frame)


def texts(figure: charts.Chart) -> str:
    return " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
