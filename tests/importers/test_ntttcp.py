"""Linux' ntttcp: one run, whatever form its results are in, and CPU that may exceed 100 %."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlimits.importers import read

CAPTURES = Path(__file__).parents[1] / "captures" / "imports"


def test_text_and_xml_of_a_run_say_the_same():
    text, xml = (
        read("x", (CAPTURES / f"ntttcp-linux{form}.txt").read_bytes())[1][0]
        for form in ("", "-xml")
    )
    assert text.values == xml.values
    assert text.values["streams"] == 2
    for name, figure in text.figures.items():
        assert xml.figures[name] == pytest.approx(figure, rel=1e-3)
    assert text.figures["ntttcp_local_cpu_pct"] == pytest.approx(100 - 4.51 - 0.17)


@pytest.mark.parametrize(
    ("rate", "seconds", "mbps"),
    [("84.04Gbps", "60.00", 84040), ("1.05Gbps", "60.00", 84038.940)],
)
def test_of_rate_and_bytes_that_with_more_digits_counts(rate: str, seconds: str, mbps: float):
    text = (CAPTURES / "ntttcp-linux.txt").read_text()
    text = text.replace("100.65Mbps", rate).replace("3.00 seconds", f"{seconds} seconds")
    text = text.replace("37748736", "630292053310").replace(":2.31%", ":534.41%")
    (run,) = read("x", text.encode())[1]
    assert run.figures["local_send_throughput_mbps"] == pytest.approx(mbps)
    assert run.figures["ntttcp_local_process_cpu_pct"] == 534.41
