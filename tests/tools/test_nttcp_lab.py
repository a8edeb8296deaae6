"""nttcp in a campaign: the real one where it is installed, else the stand-in for its sockets."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm

import netlimits as nl

pytestmark = pytest.mark.lab

STANDIN = Path(__file__).parents[1] / "standins" / "nttcp"


@pytest.fixture(scope="module")
def nttcp() -> Iterator[Path]:
    """nttcp where every login of the lab may run it: nobody, which it becomes, not in the checkout.

    It is in no folder of programs, of which machines get copies when an image of them is made.
    """
    if real := shutil.which("nttcp"):
        yield Path(real)
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(STANDIN, folder))


def ran(lab, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "nttcp.yaml").write_text(text)
    words = (folder / "nttcp.yaml", "--hosts", lab.hosts_file, "--out", folder / "out")
    return warm.run(
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
        "  nttcp:\n    {count: 5000, send_size: '${size}', seconds: 1,\n"
        f"     program: {nttcp}, server_program: {nttcp}}}\n"
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
