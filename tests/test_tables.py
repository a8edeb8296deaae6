import io
import json

import pandas as pd
import pytest

from netlimits import tables
from netlimits.analysis.summary import summary
from netlimits.errors import DataError
from netlimits.reproduce import published


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
    assert text.endswith("CPU figures are those of one machine: both roles ran on one kernel\n")


def test_any_other_frame_is_shown_as_it_is() -> None:
    frame = pd.DataFrame({"send_size": [1024], "cost_ns": [1234.56789], "why": [None]})
    assert tables.render(frame).splitlines()[-1].split() == ["1024", "1235", "–"]
    assert tables.render(frame).splitlines()[0].split("  ")[-2].strip() == "Cost (ns)"
    rates = pd.DataFrame({"link_gbps": [50.0, 94.1482], "bound_mbps": [0.24713, 123456.7]})
    header, _, *rows = tables.render(rates).splitlines()
    assert "Link (Gbit/s)" in header
    assert "Bound (Mbit/s)" in header
    assert [row.split() for row in rows] == [["50", "0.2471"], ["94.15", "123457"]]
    with pytest.raises(DataError, match="unknown table format 'xls'"):
        tables.render(frame, "xls")


def test_a_sentence_goes_on_below_itself() -> None:
    sentence = "The receiver's softirq on CPU 3 took 97 % of it. " * 4
    frame = pd.DataFrame({"size": [64, 1024], "evidence": [sentence, "–"], "runs": [10, 9]})
    text = tables.render(frame)
    header, rule, *rows = text.splitlines()
    assert max(map(len, rows)) < 100
    assert header.split() == ["Size", "Evidence", "Runs"]
    assert header.index("Evidence") == rows[0].index("The receiver") == len(rule.split("  ")[0]) + 2
    assert " ".join(row.removeprefix("64").removesuffix("10").strip() for row in rows[:-1]) == (
        sentence.strip()
    )
    assert rows[-1].split() == ["1024", "–", "9"]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([4805.0, 18314.0], 0), ([99.5], 1), ([1.69, 0.32], 2), ([0.012], 3), ([0.0], 0), ([5.6], 2)],
)
def test_numbers_are_rounded_as_far_as_the_smallest_allows(
    values: list[float], decimals: int
) -> None:
    assert tables.summaries.places(pd.Series(values)) == decimals


def campaign(blocks: int, failed: bool = False) -> pd.DataFrame:
    """Two sizes over blocks, CV 1 %; with `failed` every run of the larger one failed."""
    rows = [
        {
            "run": n,
            "block": n // 2,
            "attempt": 1,
            "config": str(size),
            "send_size": size,
            "status": "failed" if failed and size == 8192 else "ok",
            "reason": "",
            "throughput_mbps": None
            if failed and size == 8192
            else size / 10 * (1 + 0.01 * ((n * 7) % 5)),
        }
        for n, size in enumerate((1024, 8192) * blocks)
    ]
    return pd.DataFrame(rows)


def test_a_configuration_whose_runs_all_failed_has_its_row() -> None:
    table = summary(campaign(3, failed=True), "throughput", "send_size")
    text = tables.render(table)
    assert "8192               – (0 of 3)" in text
    assert "runs                 0–3 of 3" in text
    assert "6 runs: 3 ok, 3 failed; figures are of those that are ok" in text
    row = table[table["send_size"] == 8192].iloc[0]
    assert (row["n"], row["runs"]) == (0, 3)
    assert "8192,,0,3,," in tables.render(table, "csv")


def test_medians_stand_beside_means_where_runs_are_of_more_than_one_kind() -> None:
    frame = campaign(20)
    alike = tables.render(summary(frame, "throughput", "send_size"))
    assert "median" not in alike
    frame.loc[[1, 3, 5], "throughput_mbps"] /= 2
    mixed = tables.render(summary(frame, "throughput", "send_size"))
    assert "8192, median" in mixed
    assert "1024, median" not in mixed
    assert (
        "use the medians: fast and slow runs are mixed, so no run is near the mean: 8192" in mixed
    )
    shown = tables.render(summary(frame, "throughput", "send_size"), intervals=True)
    assert "1024, median" in shown


def test_fewer_than_six_runs_are_said() -> None:
    assert "too few runs to trust an interval (fewer than 6 a figure)" in tables.render(
        summary(campaign(3), "throughput", "send_size")
    )
    six = tables.render(summary(campaign(6), "throughput", "send_size"))
    assert "too few runs" not in six
    assert "fewer than 60 runs a figure may miss rare slow runs" in six
    assert "fewer than" not in tables.render(summary(campaign(60), "throughput", "send_size"))


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([1000, 1001, 999, 1002, 998, 1003, 500], 1000),
        ([1000, 1004, 996, 1002, 998, 1003, 999, 997, 700, 702], 998),
        ([1000] * 8 + [700] * 2, 1000),
    ],
)
def test_a_few_runs_of_two_kinds_have_their_median_and_a_note(values, median) -> None:
    text = tables.render(
        summary(pd.DataFrame({"throughput_mbps": map(float, values)}), "throughput")
    )
    assert f"all, median  {median}" in text
    assert (
        "Throughput: use the medians: fast and slow runs are mixed, so no run is near the mean: all"
        in text
    )


def test_a_reverse_test_is_titled_as_what_it_is() -> None:
    frame = pd.DataFrame(
        {
            "mtu": [1500],
            "throughput_mbps": [9.0],
            "local_recv_throughput_mbps": [9.0],
            "remote_send_throughput_mbps": [9.1],
            "local_sd_us_per_kib": [1.0],
            "remote_cpu_pct": [3.0],
        }
    )
    text = tables.render(summary(frame, ["local_sd", "remote_cpu", "local_recv_throughput"], "mtu"))
    assert "Receive service demand (µs CPU/KiB" in text
    assert "Sender CPU utilization (%" in text
    assert "Receive throughput, at the client (Mbit/s" in text
    both = frame.assign(local_send_throughput_mbps=8.0, remote_recv_throughput_mbps=8.0)
    assert "Client service demand" in tables.render(summary(both, "local_sd", "mtu"))


def test_one_metric_that_cannot_be_had_does_not_take_the_rest_along() -> None:
    table = summary(campaign(3), ["latency_p99", "throughput"], "send_size")
    assert set(table["metric"]) == {"throughput_mbps"}
    assert "left out: no column latency_p99_us" in " ".join(table.attrs["notes"])
    with pytest.raises(DataError, match="latency_p99"):
        summary(campaign(3), ["latency_p99"], "send_size")


def test_a_missing_value_of_a_factor_is_null_and_no_total() -> None:
    frame = pd.DataFrame({"offloads": ["on", None, "on", None], "size": 1, "throughput_mbps": 9.0})
    across = tables.render(summary(frame, "throughput", "size", "offloads")).splitlines()
    assert across[1].split() == ["Size", "offloads", "on", "null"]
    down = tables.render(summary(frame, "throughput", "offloads"))
    assert "\nnull " in down
    assert "nan" not in down


def test_a_figure_that_a_tool_does_not_tell_is_a_dash_and_one_of_failed_runs_is_counted() -> None:
    frame = pd.DataFrame(
        {
            "tool": ["iperf3", "iperf3", "netperf", "netperf", "nuttcp"],
            "size": 1,
            "status": ["ok", "ok", "ok", "ok", "failed"],
            "throughput_mbps": [9.0, 9.1, 9.0, 9.2, None],
            "latency_mean_us": [3.0, 4.0, None, None, None],
        }
    )
    table = summary(frame, ["throughput", "latency_mean"], "tool")
    block = tables.render(table).split("\n\n")[1].splitlines()
    assert [line.split(maxsplit=1) for line in block[3:]] == [
        ["iperf3", "3.50"],
        ["netperf", "–"],
        ["nuttcp", "– (0 of 1)"],
        ["runs", "0–2 of 1–2"],
    ]
    across = tables.render(summary(frame, "latency_mean", "size", "tool")).splitlines()
    assert across[3].split() == ["1", "3.50", "–", "–", "(0", "of", "1)"]
    assert across[4].split() == ["runs", "2", "–", "0", "of", "1"]


def test_a_table_needs_no_factor() -> None:
    text = tables.render(summary(campaign(3), "throughput", pool="send_size"))
    assert text.splitlines()[1].split() == ["all"]
    assert "all          466" in text, "of two sizes, which the table says"
    assert "all, median" in text


def test_what_limited_each_cell_of_several_columns_is_a_block_of_its_own() -> None:
    rows = [
        {"status": "ok", "send_size": size, "protocol": protocol, "throughput_mbps": size * share}
        for size in (64, 1024)
        for protocol, share in (("tcp", 1.0), ("udp", 1.5))
        for _ in range(2)
    ]
    table = summary(pd.DataFrame(rows), ["throughput"], "send_size", ["protocol"])
    assert "Limited by" not in tables.render(table)
    table["verdict"] = [f"{row.protocol}-{row.send_size}" for row in table.itertuples()]
    *_, block = tables.summary_blocks(table)
    assert block == tables.Block(
        "Limited by",
        ("Send size (bytes)", "udp", "tcp"),
        (("64", "udp-64", "tcp-64"), ("1024", "udp-1024", "tcp-1024")),
    )


def test_what_another_factor_gains_stands_in_a_block_of_its_own() -> None:
    frame = pd.DataFrame(
        [
            {"protocol": protocol, "tso": tso, "size": size, "kind": f"{protocol} {tso}",
             "config": f"{protocol}{tso}{size}", "block": block, "status": "ok",
             "throughput_mbps": rate * size + block, "local_send_calls": 5.0}
            for block in range(2)
            for protocol, tso, rate in (("udp", "on", 1), ("tcp", "on", 6), ("tcp", "off", 3))
            for size in (1000, 9000)
        ]
    )  # fmt: skip
    of = ["throughput", "local_send_calls"]
    for columns in ("kind", ["protocol", "tso"]):
        table = summary(frame, of, "size", columns, improvement={"tso": "on over off"})
        gains = table[table["statistic"] == "improvement"]
        assert list(gains["contrast"].unique()) == ["tso: on over off"]
        assert list(gains["metric"].unique()) == ["throughput_mbps"]  # calls have no direction
        told = tables.render(table)
        block = told[: told.index("\n\n")].splitlines()
        assert block[0] == "Improvement, TSO on over off (ratio - Above 1 is Better)"
        assert block[3].split() == ["1000", "2.00"]
        assert block[4].split() == ["9000", "2.00"]
    several = {"tso": ["on over off", "on over gone"]}
    noted = summary(frame, of, "size", "kind", improvement=several).attrs["notes"]
    assert "improvement 'on over gone': tso has no value 'gone'; its values are on, off" in noted
