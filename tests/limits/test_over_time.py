"""Verdicts on parts of a run: figures of its samples before and after a change."""

from __future__ import annotations

import pandas as pd
import pytest

from netlimits.limits import over_time
from netlimits.limits.figures import RunFigures

WHOLE = RunFigures(
    {
        "throughput_mbps": 70.0,
        "throughput_change_s": 2.0,
        "local_tx_bytes": 100e6,
        "remote_tx_bytes": 1e6,
        "local_mss_bytes": 1448,
        "local_connections": 1,
        "local_tcp_timeouts": 3,
    }
)


def samples(changes: list[tuple[float, float, float]]) -> pd.DataFrame:
    """A run that its receive window limits from second 2 on."""
    rows = []
    for place in range(1, 21):
        time = 0.2 * place
        late = time > 2.01
        common = {"time_s": time, "interval_s": 0.2}
        rows += [
            {**common, "end": "local", "rtt_us": 20000.0 if late else 2000.0, "cwnd_segs": 100.0,
             "busy_pct": 100.0, "rwnd_limited_pct": 95.0 if late else 0.0,
             "sndbuf_limited_pct": 0.0, "retrans_segs": 0.0, "sent_mbps": 40.0 if late else 90.0,
             "snd_wnd_bytes": 100_000.0, "min_rtt_us": 19000.0 if late else 1900.0,
             "app_limited_pct": 0.0, "notsent_bytes": 1e6},
            {**common, "end": "remote", "throughput_mbps": 40.0 if late else 90.0,
             "recv_q_bytes": 0.0},
        ]  # fmt: skip
    frame = pd.DataFrame(rows)
    frame.attrs["changes"] = changes
    return frame


def test_figures_of_a_part_are_those_of_its_samples():
    part = over_time.figures(WHOLE, samples([]), 2.0, 4.0)
    assert part.throughput == pytest.approx(40)
    assert part.sent("rtt_us") == pytest.approx(20000)
    assert part.sent("rwnd_limited_pct") == pytest.approx(95)
    assert part.sent("tcp_out_segs") == pytest.approx(40e6 / 8 * 2 / 1448)
    assert part.sent("tcp_timeouts") is None, "a counter of the whole run is no part's"


def test_the_sentence_names_the_second_and_what_moved():
    sentence = over_time._of_run(WHOLE, samples([(2.0, 90.0, 40.0)]), 7)
    assert sentence.startswith(
        "Run 7: from second 2.0 on throughput was 40 Mbit/s instead of 90 Mbit/s "
        "(round trip 2 to 20 ms)."
    )
    assert "the part after receive-window" in sentence
    assert not over_time._of_run(WHOLE, samples([]), 7)
