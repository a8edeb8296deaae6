"""The burst charts show what the analysis says: strokes, shades, numbers, bars."""

import pytest

from netlimits import published
from netlimits.analysis.bursts import ack_bursts, trace
from netlimits.analysis.bursts import bursts as table_of
from netlimits.charts.bursts import LABELLED, burst_histogram, bursts
from netlimits.charts.style import save
from netlimits.errors import DataError

NAMES = ["rr-trace-deferred-acks", "rr-trace-ack-every-other"]


def written(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("name", NAMES)
def test_every_burst_is_shaded_and_numbered(name):
    packets = trace(published.path(name))
    table = table_of(packets)
    (axes,) = bursts(packets).axes
    assert len(axes.patches) == len(table)
    numbers = [text for text in axes.texts if text.get_text().isdigit()]
    assert [int(text.get_text()) for text in numbers] == table["segments"].tolist()
    bold = [int(t.get_text()) for t in numbers if t.get_fontweight() == "bold"]
    assert bold == table[table["burst"] == 1]["segments"].tolist()
    (strokes,) = axes.collections
    assert len(strokes.get_segments()) == table["segments"].sum()
    assert axes.get_xlabel() == "Time (ms)"
    assert axes.get_ylabel().endswith("(KiB)")


def test_acks_are_a_staircase_that_never_falls():
    (axes,) = bursts(trace(published.path(NAMES[0]))).axes
    stairs = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
    acked = stairs.get_ydata()
    assert (acked[1:] >= acked[:-1]).all()
    assert acked[-1] == pytest.approx(60832 / 1024)


def test_the_largest_connection_is_drawn_and_others_are_mentioned():
    packets = trace(published.path(NAMES[0]), control_port=None)
    (axes,) = bursts(packets).axes
    assert any("1 other connection not drawn" in text for text in written(axes))
    assert axes.get_title(loc="left").endswith("port 32970")
    with pytest.raises(DataError, match="no connection 7"):
        bursts(packets, connection=7)


def test_many_bursts_are_not_numbered():
    lines = []
    for k in range(LABELLED + 1):
        lines.append(f"000010 1.1.1.1.1 > 2.2.2.2.2: P {k * 9 + 1}:{k * 9 + 10}(9) ack 1 win 9")
        lines.append(f"000010 2.2.2.2.2 > 1.1.1.1.1: . ack {k * 9 + 10} win 9")
    (axes,) = bursts(trace("\n".join(lines) + "\n")).axes
    assert written(axes) == [f"{LABELLED + 1} bursts, of 1 segments at most"]


@pytest.mark.parametrize(("of", "unit"), [(table_of, "segments"), (ack_bursts, "ACKs")])
def test_histogram_counts_every_burst(of, unit):
    table = of(trace(published.path(NAMES[1])))
    (axes,) = burst_histogram(table).axes
    assert sum(bar.get_height() for bar in axes.patches) == len(table)
    assert unit in axes.get_xlabel()


def test_the_same_trace_is_the_same_file(tmp_path):
    packets = trace(published.path(NAMES[0]))
    for kind in ("png", "svg"):
        one, two = (save(bursts(packets), tmp_path / f"{n}.{kind}") for n in (1, 2))
        assert one.read_bytes() == two.read_bytes()
