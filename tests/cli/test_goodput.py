import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from netlimits.cli.goodput import goodput
from netlimits.errors import DataError, InputError


def call(*words: object) -> Result:
    outcome = CliRunner().invoke(goodput, [str(w) for w in words])
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome


def test_the_sum_is_shown_header_by_header() -> None:
    words = ["--link", "2.5G", "--mtu", 1500, "--timestamps", "--stack", "vxlan"]
    lines = call(*words).output.splitlines()
    rows = {tuple(line.split()) for line in lines}
    assert ("VXLAN", "8", "inside", "MTU") in rows
    assert ("data", "1398", "data") in rows
    assert "Goodput at most          2.272 Gbit/s" in lines
    assert "MTU inside the tunnels   1450 bytes" in lines


def test_a_program_reads_json(tmp_path: Path) -> None:
    chart = tmp_path / "mtu.svg"
    words = ["--link", "100G", "--timestamps", "--egress-cap", "50G", "--json", "--chart", chart]
    outcome = call(*words)
    figures = json.loads(outcome.stdout)
    assert (figures["binds"], figures["rate_bps"], figures["data_bytes"]) == (
        "egress cap",
        50e9,
        1448,
    )
    assert sum(h["bytes"] for h in figures["headers"]) == figures["header_bytes"] == 90
    assert chart.read_text().startswith("<?xml")
    assert outcome.stderr == f"{chart}\n"


def test_stacks_may_be_one_word_or_many() -> None:
    output = call("--stack", "vlan,geneve+8").output
    assert call("--stack", "vlan", "--stack", "geneve+8").output == output
    assert "GENEVE: further" not in output
    assert "geneve: further bytes" in output


def test_the_cap_that_is_out_of_reach_is_not_what_binds() -> None:
    printed = call("--link", "100G", "--timestamps", "--egress-cap", "100G").output
    assert "What binds               the link: 94.15 Gbit/s" in printed


def test_wrong_input_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--link: .*not a bit rate"):
        call("--link", "fast")
    with pytest.raises(DataError, match=r"\.png, \.svg, \.pdf"):
        call("--chart", tmp_path / "a.gif")
    with pytest.raises(InputError, match="for 100 Gbit/s write 100G"):
        call("--link", "100")
    assert call("--mtu", "big").exit_code == 2


def test_several_mtus_are_shown_one_after_the_other() -> None:
    words = ["--link", "2.5G", "--timestamps", "--mtu", 1500, "--mtu", 9000]
    lines = call(*words).output.splitlines()
    told = [line for line in lines if line.startswith(("MTU", "Goodput"))]
    assert told == [
        "MTU 1500 bytes",
        "Goodput at most          2.354 Gbit/s",
        "MTU 9000 bytes",
        "Goodput at most          2.475 Gbit/s",
    ]
    assert [at["mtu"] for at in json.loads(call(*words, "--json").stdout)] == [1500, 9000]
