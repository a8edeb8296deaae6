"""nttcp in a campaign: the real one where it is installed, else the stand-in for its sockets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import netlimits as nl

pytestmark = pytest.mark.lab

STANDIN = Path(__file__).parents[1] / "standins" / "nttcp"
INSTALLED = Path("/usr/local/bin/nttcp")


@pytest.fixture(scope="module")
def nttcp() -> Iterator[Path]:
    """nttcp where every login of the lab finds it; a link to the stand-in, gone afterwards."""
    if real := shutil.which("nttcp"):
        yield Path(real)
        return
    copy = INSTALLED.with_name(f".nttcp-{os.getpid()}")
    shutil.copy(STANDIN, copy)  # nobody, which it becomes, may not see the checkout
    INSTALLED.symlink_to(copy.name)
    try:
        yield INSTALLED
    finally:
        INSTALLED.unlink()
        copy.unlink()


def ran(lab, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "nttcp.yaml").write_text(text)
    words = (folder / "nttcp.yaml", "--hosts", lab.hosts_file, "--out", folder / "out")
    return subprocess.run(
        (sys.executable, "-m", "netlimits", "run", *map(str, words)),
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_trial_before_a_campaign_does_not_keep_its_servers_from_their_port(
    lab, nttcp, tmp_path
):
    text = (
        "experiment: nttcp\nfactors: {size: [1000, 8000]}\nmeasure:\n"
        "  nttcp: {count: 5000, send_size: '${size}', seconds: 1}\n"
        "repeat: {replicates: 2, order: blocked, seed: 1}\n"
    )
    done = ran(lab, tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    frame = nl.open(tmp_path / "out").frame()
    assert frame["status"].eq("ok").all(), frame["reason"].tolist()
    sent = frame["throughput_mbps"] * frame["elapsed_s"] * 1e6 / 8
    assert (sent / frame["size"]).round(3).eq(5000).all()
    assert (frame["remote_rx_bytes"] > frame["size"] * 5000).all()
    assert (frame["local_sd_us_per_kib"] > 0).all()
