"""neper in a campaign, where it is installed: no distribution has it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import warm

import netlimits as nl

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not shutil.which("tcp_rr"),
        reason="no distribution or package registry has neper",
    ),
]

TEXT = """\
experiment: neper
factors: {test: [tcp_rr, tcp_crr, tcp_stream, udp_rr, udp_stream]}
measure:
  neper: {test: "${test}", seconds: 1}
repeat: {replicates: 1, order: listed, seed: 1}
"""


def test_every_test_tells_what_the_interfaces_carried(lab, tmp_path: Path) -> None:
    (tmp_path / "neper.yaml").write_text(TEXT)
    words = (tmp_path / "neper.yaml", "--hosts", lab.hosts_file, "--out", tmp_path / "out")
    done = warm.run(
        (sys.executable, "-m", "netlimits", "run", *map(str, words)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    frame = nl.open(tmp_path / "out").frame().set_index("test")
    assert done.returncode == 0, frame["reason"].tolist() or done.stdout + done.stderr
    assert frame["status"].eq("ok").all()
    assert frame[["local_processes", "remote_processes"]].eq(1).all(axis=None)
    streams = frame.loc[["tcp_stream", "udp_stream"]]
    arrived = streams["throughput_mbps"] * streams["elapsed_s"] * 1e6 / 8
    shares = arrived / streams["remote_rx_bytes"]
    assert shares.between(0.9, 1).all(), shares
    rr = frame.loc[["tcp_rr", "tcp_crr", "udp_rr"]]
    packets = rr["transaction_rate_tps"] * rr["elapsed_s"] / rr["local_tx_packets"]
    assert packets.between(0.15, 1.01).all(), packets
    assert (rr["latency_p99_us"] >= rr["latency_p50_us"]).all()
    assert (frame["local_sd_us_per_kib"].fillna(frame["local_sd_us_per_tran"]) > 0).all()
