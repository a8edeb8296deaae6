"""One vocabulary: names, columns, selectors; wrong names; titles after the direction."""

import pytest

from netlimits.errors import InputError
from netlimits.metrics import METRICS, metric, tools_own
from netlimits.metrics.selectors import SELECTORS, column, is_text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mean_latency", "latency_mean"),
        ("P99_LATENCY", "latency_p99"),
        ("elapsed_time", "elapsed"),
        ("local_cpu_util", "netperf_local_cpu"),
        ("local_sd", "local_sd"),
        ("LOCAL_SD", "local_sd"),
        ("local_recv_throughput", "local_recv_throughput"),
        ("remote_send_throughput_mbps", "remote_send_throughput"),
        ("local_send_size", "local_send_size"),
        ("netperf_local_sd", "netperf_local_sd"),
    ],
)
def test_what_select_calls_a_figure_is_its_name_everywhere(name: str, meant: str) -> None:
    assert metric(name).name == meant


def test_every_selector_of_a_figure_is_accepted_under_its_column() -> None:
    assert len(SELECTORS) == 173
    for selector in SELECTORS:
        if is_text(selector):
            with pytest.raises(InputError, match="is a text, not a figure"):
                metric(selector.lower())
        elif selector not in ("THROUGHPUT", "LOCAL_SD", "REMOTE_SD"):
            assert metric(selector.lower()).column == column(selector)
            assert metric(column(selector)).column == column(selector), "and the column is a name"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("retransmits", ["local_transport_retrans", "local_tcp_retrans_segs"]),
        ("latency_average", ["latency_mean"]),
        ("median_latency", ["latency_p50"]),
        ("p99", ["latency_p99"]),
        ("bandwidth", ["throughput"]),
        ("sender_cpu", ["local_cpu"]),
        ("packet_loss", ["loss"]),
        ("thruput", ["throughput"]),
        ("latency", ["latency_p50", "latency_mean"]),
    ],
)
def test_a_wrong_name_is_answered_by_its_meaning(name: str, meant: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        metric(name)
    hint = str(caught.value).partition("did you mean ")[2]
    assert set(meant) <= set(hint.rstrip("?").split(" or ")), hint


def test_titles_follow_the_direction() -> None:
    titles = {d: metric("local_sd").towards(d).title for d in ("send", "recv", "rr", "both")}
    assert titles == {
        "send": "Send service demand",
        "recv": "Receive service demand",
        "rr": "Client service demand",
        "both": "Client service demand",
    }
    assert metric("remote_cpu").towards("recv").title == "Sender CPU utilization"
    assert metric("local_send_throughput").towards("recv").title == "Send throughput"
    limited = metric("local_rwnd_limited").towards("recv").title
    assert limited == "Busy time limited by the receive window, receiver"


def test_names_and_columns_are_there_once() -> None:
    for names in ([m.name for m in METRICS], [m.column for m in METRICS]):
        assert len(names) == len(set(names))


def test_one_word_before_a_metric_of_an_end_is_a_tools_own_whichever_tool() -> None:
    columns = ["other_local_sd_us_per_kib", "link_mtu", "other_local_cpu_pct", "target_loss_pct"]
    assert {
        name: metric.name for name, metric in tools_own([*columns, "local_cpu_pct"]).items()
    } == {
        "other_local_sd_us_per_kib": "local_sd",
        "other_local_cpu_pct": "local_cpu",
    }
    own = metric("other_local_sd")
    assert (own.column, own.title) == ("other_local_sd_us_per_kib", "Send service demand by other")
    assert metric(own.column) == own
    for factor in ("link_mtu", "other_throughput"):
        with pytest.raises(InputError, match="no metric is called"):
            metric(factor)


def test_a_selector_may_stand_under_its_own_column() -> None:
    assert metric("netperf_throughput_confid").column == "netperf_throughput_confid_pct"
    assert metric("iperf3_loss").column == "iperf3_loss_pct"
