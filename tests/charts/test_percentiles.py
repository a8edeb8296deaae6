import numpy as np
import pandas as pd
import pytest

from netlimits import charts
from netlimits.errors import DataError
from netlimits.reproduce import published


def test_each_series_is_a_curve_through_its_runs_from_zero_up() -> None:
    frame = published.table("udp-send-size")
    figure = charts.percentiles(frame, of="remote_sd", series="send_size")
    (axes,) = figure.axes
    assert len(axes.lines) == 2
    expected = np.sort(frame.loc[frame["send_size"] == 8192, "remote_sd_us_per_kib"])
    assert list(axes.lines[1].get_ydata()) == list(expected)
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlim() == (0, 100)
    assert axes.get_ylabel() == "Receive service demand (µs CPU/KiB)"
    assert axes.get_title("left") == "Receive service demand by send size"
    texts = [text.get_text() for text in axes.texts]
    about, *legend = texts
    assert legend == ["1024 bytes", "8192 bytes"]
    assert " ".join(about.split()) == (
        "Lower is better · 10 runs a curve · the receiver's service demand is per KiB sent, "
        "as netperf's: 4 of 20 runs lost packets"
    )


def test_title_and_notes_are_the_reader_s() -> None:
    frame = published.table("udp-send-size").assign(shared_kernel=True)
    figure = charts.percentiles(frame, of="local_sd", title="What sending costs", pool="send_size")
    assert figure.axes[0].get_title("left") == "What sending costs"
    assert "one kernel" in figure.axes[0].texts[0].get_text()


def test_a_hundred_thousand_runs_make_a_small_chart() -> None:
    frame = pd.DataFrame({"throughput_mbps": np.linspace(1, 2, 100_000)})
    figure = charts.percentiles(frame, of="throughput")
    assert len(figure.axes[0].lines[0].get_xdata()) == 1001


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="no factor 'mtu'"):
        charts.percentiles(published.table("udp-send-size"), of="local_sd", series="mtu")
