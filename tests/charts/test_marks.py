"""What limited each point: letters where the limits differ, one sentence where they do not."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from netlimits import charts
from netlimits.charts._marks import KEY_OF_LINES, Marks

LIMITS = {64: "small-sends", 1024: "sender-cpu", 16384: "undetermined"}


def runs(limits: dict[int, str] = LIMITS) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for protocol, share in (("tcp", 1.0), ("udp", 1.5)):
        for size, limit in limits.items():
            for block in range(1, 7):
                ns = (800 + 0.2 * size) * share * (1 + block / 1000)
                rows.append(
                    {
                        "run": len(rows) + 1,
                        "block": block,
                        "config": f"{protocol}{size}",
                        "status": "ok",
                        "protocol": protocol,
                        "send_size": size,
                        "throughput_mbps": 8e3 * size / ns,
                        "local_send_throughput_mbps": 8e3 * size / ns,
                        "local_sd_us_per_kib": ns * 1.024 / size,
                        "remote_sd_us_per_kib": ns * 1.3 / size,
                        "segments_per_ack": 2 + size / 1000,
                        "pace_mbps": 8e3 * size / ns,
                        "limited_by": limit if protocol == "tcp" else "link",
                    }
                )
    return pd.DataFrame(rows)


TCP = runs().query("protocol == 'tcp'")

DRAWN = {
    "spread": lambda frame: charts.spread(frame, series="protocol"),
    "bars": lambda frame: charts.bars(frame, "throughput", ["protocol", "send_size"]),
    "boxes": lambda frame: charts.boxes(frame, "throughput", ["protocol", "send_size"]),
    "percentiles": lambda frame: charts.percentiles(frame, "throughput", ["protocol", "send_size"]),
    "cost": lambda frame: charts.cost(frame, series="protocol"),
    "packet_rate": lambda frame: charts.packet_rate(frame[frame["protocol"] == "tcp"]),
    "acks": lambda frame: charts.acks(frame, series="protocol"),
    "pacing": lambda frame: charts.pacing(
        frame[frame["protocol"] == "tcp"].assign(throughput_mbps=1000.0, pace_mbps=1000.0),
        of="throughput",
    ),
}


def texts(figure: charts.Chart) -> list[str]:
    figure.draw_without_rendering()
    of_axes = [text.get_text() for axes in figure.axes for text in axes.texts]
    labels = [
        label.get_text()
        for axes in figure.axes
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels())
    ]
    return [*of_axes, *labels, *(text.get_text() for text in figure.texts)]


@pytest.mark.long
@pytest.mark.parametrize("kind", DRAWN)
def test_each_point_or_bar_has_its_letter_and_a_key_beneath(kind):
    figure = DRAWN[kind](runs())
    key = figure.get_supxlabel().replace("\n", " ")
    shown = texts(figure)
    assert key.startswith("Limited by: ")
    for entry in key.removeprefix("Limited by: ").removesuffix(KEY_OF_LINES).split(" · "):
        letter, _, name = entry.partition(" ")
        assert name in {*LIMITS.values(), "link"}
        assert (letter == "?") is (name == "undetermined")
        assert any(text == letter or text.endswith(f"({letter})") for text in shown), (letter, kind)


def test_a_line_has_a_letter_where_its_limit_changes():
    limits = {
        64: "small-sends",
        256: "small-sends",
        1024: "link",
        2048: "link",
        4096: "small-sends",
    }
    figure = DRAWN["spread"](runs(limits))
    figure.draw_without_rendering()
    letters = [text for text in figure.axes[0].texts if text.get_text() in ("a", "b")]
    at = sorted((text.xy[0], text.get_text()) for text in letters)
    assert at == [(64, "a"), (64, "b"), (1024, "a"), (4096, "b")], "UDP is `link` all along"


def test_a_line_says_where_nothing_is_known_and_the_key_has_room():
    limits = {64: "small-sends", 256: None, 1024: None, 4096: "small-sends", 8192: "receive-window"}
    frame = runs(limits)
    many = [f"class-of-limits-{n}" for n in range(8)]
    frame.loc[frame["protocol"] == "udp", "limited_by"] = [many[n % 8] for n in range(30)]
    figure = DRAWN["spread"](frame)
    figure.draw_without_rendering()
    (of_tcp,) = {t.get_color() for t in figure.axes[0].texts if t.get_text() == "–"}
    letters = [t for t in figure.axes[0].texts if t.get_color() == of_tcp and len(t.get_text()) < 2]
    assert [t.xy[0] for t in letters] == [64, 256, 4096, 8192]
    box = figure._supxlabel.get_window_extent()
    assert "\n" in figure.get_supxlabel()
    assert box.x1 <= figure.bbox.x1


@pytest.mark.long
@pytest.mark.parametrize("kind", DRAWN)
def test_where_all_had_one_limit_it_is_said_once(kind):
    figure = DRAWN[kind](runs().assign(limited_by="link"))
    assert figure.get_supxlabel() == "Limited by: link"
    assert not [text for text in texts(figure) if text in ("a", "?") or text.endswith("(a)")]


@pytest.mark.long
@pytest.mark.parametrize("kind", DRAWN)
def test_without_verdicts_nothing_is_drawn(kind):
    figure = DRAWN[kind](runs().drop(columns="limited_by"))
    assert figure.get_supxlabel() == ""


def test_nothing_hides_the_limits_of_bars_beside_bounds_and_a_legend():
    intervals = pd.DataFrame(
        [
            {
                "run": run,
                "attempt": 1,
                "block": 1,
                "config": f"{machine}{mtu}",
                "status": "ok",
                "mtu": mtu,
                "machine": machine,
                "stream": 1,
                "ending_s": float(second),
                "interval_s": 1.0,
                "throughput_mbps": rate,
                "limited_by": limit,
            }
            for run, (machine, mtu, rate, limit) in enumerate(
                [
                    ("small", 1500, 9.9, "path-cap"),
                    ("small", 8896, 10.0, "path-cap"),
                    ("large", 1500, 18.8, "link"),
                    ("large", 8896, 19.8, "undetermined"),
                ],
                1,
            )
            for second in range(1, 6)
        ]
    )
    figure = charts.highest_average(intervals, 4, series="machine", link="20M", cap="20M")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "Limited by: a link · b path-cap · ? undetermined"
    (axes,) = figure.axes
    shown = [t for t in axes.texts if t.get_text()]
    letters = [t for t in shown if len(t.get_text()) == 1]
    assert sorted(t.get_text() for t in letters) == ["?", "a", "b", "b"]
    boxes = [t.get_window_extent() for t in shown if t not in letters]
    boxes += [legend.get_window_extent(), axes.xaxis.label.get_window_extent()]
    for letter in letters:
        assert not any(letter.get_window_extent().overlaps(box) for box in boxes)
    assert not legend.get_window_extent().overlaps(axes.xaxis.label.get_window_extent())


def test_a_point_of_several_limits_has_all_letters():
    marks = Marks.from_frame(runs(), ["send_size"])
    assert marks.letters == {
        "link": "a",
        "sender-cpu": "b",
        "small-sends": "c",
        "undetermined": "?",
    }
    assert marks.at((64,)) == "ac"
    assert marks.label("16384", (16384,)) == "16384 (a?)"
    assert marks.at((1,)) == "", "no run of it is known"


def test_runs_of_which_nothing_is_known_are_no_limit():
    frame = runs()
    frame.loc[frame["protocol"] == "udp", "limited_by"] = None
    assert Marks.from_frame(frame, ["protocol"]).limits.keys() == {("tcp",)}
