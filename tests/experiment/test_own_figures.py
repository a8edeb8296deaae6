"""A tool's own figure where no run can have it: an error that names the right one."""

from __future__ import annotations

import pytest

from netlimits.errors import DocumentError
from netlimits.experiment import load

HEAD = "experiment: x\nzip: {size: [1, 2]}\ndummies: [size]\n"
TABLE = "report: [{table: summary, of: [throughput, NAME], rows: size}]\n"


def parse(name: str, body: str):
    return load.parse(HEAD + body + TABLE.replace("NAME", name), "x.yaml")


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("local_cpu_util", "streams: 4\nmeasure: {netperf: {}}\n",
         "local_cpu_util: netperf's own figures of 4 clients cannot be added up; take local_cpu, "
         "which netlimits measures"),
        ("netperf_local_sd", "streams: 2\nmeasure: {netperf: {}}\n", "take local_sd"),
        ("LOCAL_CPU_UTIL", "roles: [source, sinks: 3]\nmeasure: {netperf: {}}\n", "of 3 clients"),
        ("local_cpu_util", "measure: {iperf3: {}}\n", "netperf does not measure here; take local_"),
    ],
)  # fmt: skip
def test_a_figure_that_no_run_has_is_an_error(name, body, why):
    with pytest.raises(DocumentError) as caught:
        parse(name, body)
    assert why in str(caught.value)
    assert "x.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("local_cpu_util", "measure: {netperf: {}}\n"),
        ("local_cpu", "streams: 4\nmeasure: {netperf: {}}\n"),
        ("local_cpu_util", 'factors: {n: [1, 4]}\nstreams: "${n}"\nmeasure: {netperf: {}}\n'),
        ("local_cpu_util", "factors: {tool: [netperf, iperf3]}\nmeasure: {netperf: {}, iperf3: {}}\n"),
    ],
)  # fmt: skip
def test_a_figure_that_some_runs_have_is_none(name, body):
    parse(name, body)
