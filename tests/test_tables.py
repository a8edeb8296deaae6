import io
import json

import pandas as pd
import pytest

from netlimits import published, tables
from netlimits.analysis.summary import summary
from netlimits.errors import DataError


def report() -> pd.DataFrame:
    return summary(
        published.table("summary"),
        ["throughput", "local_sd"],
        "send_size",
        "transport",
        "8192 over 1024",
    )


def test_the_summary_stands_as_in_the_report() -> None:
    assert tables.render(report(), title="Summary") == (
        "Summary\n"
        "\n"
        "Throughput (Mbit/s - Higher is Better)\n"
        "Send size (bytes)              UDP  TCP on  TCP off\n"
        "---------------------------  -----  ------  -------\n"
        "1024                          4805   10638     4430\n"
        "8192                         18314   24820    19902\n"
        "improvement, 8192 over 1024   3.81    2.33     4.49\n"
        "runs                             1       1        1\n"
        "\n"
        "Send service demand (µs CPU/KiB - Lower is Better)\n"
        "Send size (bytes)             UDP  TCP on  TCP off\n"
        "---------------------------  ----  ------  -------\n"
        "1024                         1.69    0.79     2.40\n"
        "8192                         0.43    0.32     0.42\n"
        "improvement, 8192 over 1024  3.93    2.47     5.71\n"
        "runs                            1       1        1\n"
    )


def test_intervals_stand_in_brackets_where_there_are_any() -> None:
    frame = published.table("udp-send-size")
    table = summary(frame, "local_sd", "send_size", improvement="8192 over 1024")
    text = tables.render(table, intervals=True)
    assert "1.5383 [1.5265, 1.5501]" in text
    assert "4.79 [4.75, 4.83]" in text
    assert text.endswith("in brackets: 95 % confidence intervals\n")
    assert "[" not in tables.render(report(), intervals=True).split("in brackets")[0]


def test_csv_and_json_hold_every_digit() -> None:
    table = report()
    again = pd.read_csv(io.StringIO(tables.render(table, "csv")))
    assert again["value"].tolist() == table["value"].tolist()
    rows = json.loads(tables.render(table, "json"))["rows"]
    assert [row["value"] for row in rows] == pytest.approx(table["value"].tolist(), rel=1e-14)
    assert rows[0]["low"] is None


def test_markup_in_values_stays_text() -> None:
    frame = pd.DataFrame(
        {"mtu": [1500], "qdisc": ["<script>|*x*"], "throughput_mbps": [1.0], "shared_kernel": True}
    )
    table = summary(frame, "throughput", "mtu", "qdisc")
    page = tables.render(table, "html", title="<b>")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;|*x*" in page
    assert "&lt;script>\\|\\*x\\*" in tables.render(table, "markdown")


def test_a_configuration_that_was_not_run_is_a_dash_and_notes_follow() -> None:
    frame = pd.DataFrame(
        {
            "mtu": [1500, 9000, 1500],
            "tso": [True, True, False],
            "local_sd_us_per_kib": [3.0, 1.5, 4.0],
            "shared_kernel": True,
        }
    )
    text = tables.render(summary(frame, "local_sd", "mtu", "tso"))
    assert "MTU (bytes)  TSO false  TSO true" in text
    assert "9000                 –      1.50" in text
    assert text.endswith("both roles on one kernel: CPU figures are one machine's\n")


def test_any_other_frame_is_shown_as_it_is() -> None:
    frame = pd.DataFrame({"send_size": [1024], "cost_ns": [1234.56789], "why": [None]})
    assert tables.render(frame).splitlines()[-1].split() == ["1024", "1235", "–"]
    assert tables.render(frame).splitlines()[0].split("  ")[-2].strip() == "Cost (ns)"
    rates = pd.DataFrame({"link_gbps": [50.0, 94.1482], "bound_mbps": [0.24713, 123456.7]})
    header, _, *rows = tables.render(rates).splitlines()
    assert "Link (Gbit/s)" in header
    assert "Bound (Mbit/s)" in header
    assert [row.split() for row in rows] == [["50", "0.2471"], ["94.15", "123457"]]
    with pytest.raises(DataError, match="no table format 'xls'"):
        tables.render(frame, "xls")


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([4805.0, 18314.0], 0), ([99.5], 1), ([1.69, 0.32], 2), ([0.012], 3), ([0.0], 0), ([5.6], 2)],
)
def test_numbers_are_rounded_as_far_as_the_smallest_allows(
    values: list[float], decimals: int
) -> None:
    assert tables.places(pd.Series(values)) == decimals
