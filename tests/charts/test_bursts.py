"""The burst charts show what the analysis says: strokes, shades, numbers, bars."""

import pandas as pd
import pytest

from netlimits.analysis.bursts import ack_bursts, trace
from netlimits.analysis.bursts import bursts as table_of
from netlimits.charts._style import save
from netlimits.charts.kinds.bursts import LABELLED, burst_histogram, bursts, first_bursts
from netlimits.errors import DataError
from netlimits.reproduce import published

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
    assert written(axes) == [f"{LABELLED + 1} bursts of at most 1 segments"]


@pytest.mark.parametrize(("of", "unit"), [(table_of, "segments"), (ack_bursts, "ACKs")])
def test_histogram_counts_every_burst(of, unit):
    table = of(trace(published.path(NAMES[1])))
    (axes,) = burst_histogram(table).axes
    assert sum(bar.get_height() for bar in axes.patches) == len(table)
    assert unit in axes.get_xlabel()


@pytest.mark.long
def test_the_same_trace_is_the_same_file(tmp_path):
    packets = trace(published.path(NAMES[0]))
    for kind in ("png", "svg"):
        first, second = (save(bursts(packets), tmp_path / f"{n}.{kind}") for n in (1, 2))
        assert first.read_bytes() == second.read_bytes()


def test_a_histogram_of_a_trace_is_that_of_its_bursts_of_segments():
    packets = trace(published.path(NAMES[0]))
    (axes,) = burst_histogram(packets).axes
    assert sum(bar.get_height() for bar in axes.patches) == len(table_of(packets))
    two = pd.concat([packets.assign(run=1), packets.assign(run=2)])
    (panel,) = burst_histogram(two, run=2).axes
    assert [b.get_height() for b in panel.patches] == [b.get_height() for b in axes.patches]


def test_only_the_first_transactions_are_drawn_with_the_acks_that_belong_to_them():
    packets = trace(published.path(NAMES[0]))
    (axes,) = bursts(packets, transactions=2).axes
    table = table_of(packets)
    kept = table[table["transaction"] <= 2]
    assert len(axes.patches) == len(kept)
    stairs = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert stairs.get_ydata()[-1] == pytest.approx(32444 / 1024), "the ACK after its last burst"
    requests = next(line for line in axes.lines if line.get_marker() == "^")
    assert len(requests.get_xdata()) == 2


def test_acks_that_overtake_one_another_do_not_take_back_what_was_acknowledged():
    text = """\
000010 1.1.1.1.1 > 2.2.2.2.2: P 1:1001(1000) ack 1 win 9
000010 1.1.1.1.1 > 2.2.2.2.2: P 1001:2001(1000) ack 1 win 9
000010 2.2.2.2.2 > 1.1.1.1.1: . ack 2001 win 9
000010 2.2.2.2.2 > 1.1.1.1.1: . ack 1001 win 9
"""
    (axes,) = bursts(trace(text)).axes
    stairs = next(line for line in axes.lines if line.get_drawstyle() == "steps-post")
    assert stairs.get_ydata().tolist() == pytest.approx([2000 / 1024, 2000 / 1024])


def test_the_first_burst_of_a_transaction_grows_with_their_number():
    deferred, every_other = (trace(published.path(name)) for name in NAMES)
    packets = pd.concat(
        [deferred.assign(run=1, acks="deferred"), every_other.assign(run=2, acks="every other")]
    )
    (axes,) = first_bursts(packets, "acks").axes
    lines = {line.get_ydata().tolist()[0]: line for line in axes.lines}
    assert lines[3].get_xdata().tolist() == [1, 2, 3]
    assert lines[3].get_ydata().tolist() == [3, 7, 8]
    assert lines[6].get_ydata().tolist() == [6]
    assert axes.get_xscale() == "linear"
    assert {"deferred", "every other"} <= set(written(axes))
    assert axes.get_ylabel() == "First burst of the transaction (segments)"


def test_many_transactions_stand_on_a_log_axis_where_the_bursts_grow():
    lines = []
    for k in range(60):
        at = k * 9 + 1
        lines.append(f"000010 2.2.2.2.2 > 1.1.1.1.1: P {k + 1}:{k + 2}(1) ack {at} win 9")
        lines.append(f"000010 1.1.1.1.1 > 2.2.2.2.2: P {at}:{at + 9}(9) ack {k + 2} win 9")
    (axes,) = first_bursts(trace("\n".join(lines) + "\n")).axes
    assert axes.get_xscale() == "log"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "5", "10", "20", "50"]
