from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from netlimits import cli
from netlimits.cli.plan import plan
from netlimits.cli.schema import schema
from netlimits.errors import NetlimitsError

STATELESS = Path(__file__).parents[2] / "experiments" / "stateless-offloads.yaml"


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(plan, [str(STATELESS), *arguments])
    if done.exception and not isinstance(done.exception, NetlimitsError | SystemExit):
        raise done.exception
    return done


def test_what_a_plan_says():
    text = run("--rows", "2").output
    assert "6 configurations of 8 combinations" in text
    assert '2 excluded by protocol == "udp" and offloads == "off" (line 29)' in text
    assert "120 runs = 6 configurations × 20, order blocked" in text
    assert "seed 2021\n" in text
    assert "about 20 min 12 s, 10.1 s a run" in text
    assert "run  block  config        protocol  send_size  offloads  mss   transport" in text
    assert "1    1      062c4a3d818f  tcp       1024       off       1036  TCP off" in text
    assert "… and 118 more" in text


def test_a_drawn_seed_is_said_with_the_way_to_keep_it():
    first = run("--set", "repeat.seed=", "--json")
    seed = json.loads(first.output)["seed"]
    assert json.loads(first.output)["seed_drawn"] is True
    again = run("--set", f"repeat.seed={seed}", "--json")
    assert json.loads(again.output)["first"] == json.loads(first.output)["first"]
    assert "keeps it" in run("--set", "repeat.seed=").output


def test_json_for_programs():
    report = json.loads(run("--json", "--rows", "3").output)
    assert report["configurations"] == 6
    assert report["runs"] == 120
    assert report["excluded"][0]["removed"] == 2
    assert [row["run"] for row in report["first"]] == [1, 2, 3]
    assert report["first"][0]["values"]["mss"] == 1036


def test_commands_are_what_a_person_checks_of_each_configuration():
    text = run("--commands").output
    lines = text.splitlines()
    assert len(lines) < 100
    at = lines.index("062c4a3d818f: protocol=tcp send_size=1024 offloads=off")
    assert lines[at + 1] == "  runs 1, 9, 16, 24, 28, 31, 38, 43 and 12 more"
    end = lines.index("", at)
    commands = [line.split()[1:] for line in lines[at + 2 : end]]
    assert [words[:6] for words in commands[2:5]] == [
        ["sudo", "-n", "ethtool", "-K", "SENDER_INTERFACE", "tso"],
        ["sudo", "-n", "ethtool", "-K", "RECEIVER_INTERFACE", "tso"],
        ["sudo", "-n", "sysctl", "-w", "net.core.rmem_default=2147483647"],
    ]
    assert [words[0] for words in commands[5:]] == ["netserver", "netperf"]
    assert " -m 1024 " in text
    assert "/proc/" not in text  # neither how settings are read nor what samples
    assert str(run("--all").exception) == "--all needs --commands"


def test_all_commands_have_each_script_once_and_mean_the_same_to_a_shell(tmp_path: Path):
    whole = run("--commands", "--all", "--rows", "1").output
    planned = json.loads(run("--commands", "--rows", "1", "--json").output)["first"][0]["commands"]
    bodies = {word for each in planned for word in shlex.split(each["command"]) if "\n" in word}
    assert len(bodies) > 3
    for body in bodies:
        assert whole.count(shlex.quote(body)) == 1
    scripts, _, rest = whole[whole.index("script_1=") :].partition("\n\n062c4a3d818f: ")
    told = [line.split(maxsplit=1) for line in rest.splitlines()[2:]]
    show = "\n".join(f"set -- {command}; printf '%s\\0' \"$@\" END" for _, command in told)
    done = subprocess.run(["sh", "-c", f"{scripts}\n{show}"], capture_output=True, text=True)
    words = [shlex.split(each["command"]) for each in planned]
    assert done.stdout == "".join("\0".join([*each, "END", ""]) for each in words)
    assert [role for role, _ in told] == [each["role"] for each in planned]


def test_of_parallel_streams_the_tools_lines_are_shown_each_once():
    file = STATELESS.with_name("mtu-aggregate.yaml")
    text = CliRunner().invoke(plan, [str(file), "--commands", "--rows", "2"]).output
    clients = [line for line in text.splitlines() if line.split()[1:2] == ["netperf"]]
    assert len(clients) == 4
    assert [line.partition("  # ")[2] for line in clients] == ["", "", "8 times", "8 times"]
    assert all(">" not in line for line in clients)


def test_commands_with_the_names_of_a_hosts_file(tmp_path: Path):
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text(
        "sender: {ssh: vm1, interface: ens4}\n"
        "receiver: {ssh: vm2, interface: ens5, address: 192.0.2.2}\n"
    )
    text = run("--commands", "--rows", "1", "--hosts", str(hosts)).output
    assert "ethtool -K ens4" in text
    assert "-H 192.0.2.2" in text


def test_the_whole_plan_as_csv(tmp_path: Path):
    path = tmp_path / "plan.csv"
    done = run("--csv", str(path), "--rows", "0")
    assert done.output.splitlines()[-1] == str(path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert len(rows) == 120
    assert list(rows[0]) == [
        "run", "block", "config", "protocol", "send_size", "offloads", "mss", "transport"
    ]  # fmt: skip
    assert run("--csv", "-").output == path.read_text()
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_csv_that_breaks_off_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from netlimits.experiment.plan import Plan

    path = tmp_path / "plan.csv"
    path.write_text("old")

    def broken(self: Plan, file: io.TextIOBase) -> int:
        file.write("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Plan, "write_csv", broken)
    run("--csv", str(path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_csv_may_be_a_pipe(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run("--csv", str(pipe), "--set", "repeat.replicates=1")
        assert os.read(reader, 65536).decode().startswith("run,block,config")
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "none.yaml: there is no such file"),
        ([str(STATELESS), "--set", "repeat"], "--set repeat: write KEY=VALUE"),
        ([str(STATELESS), "--set", "repeat.replicats=2"], "did you mean replicates?"),
        ([str(STATELESS), "--set", 'exclude=["send_size > 9000"]'], "removes nothing"),
        ([str(STATELESS), "--set", "derive.mss=send_size / 0"], "divides by zero"),
        ([str(STATELESS), "--set", "derive.mss=send_size * 99"], "must be at most 65535"),
        ([str(STATELESS), "--hosts", "none.yaml"], "there is no such file"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as caught:
        cli.main(["plan", *arguments])
    out, err = capsys.readouterr()
    assert caught.value.code == 2
    assert says in err
    assert err.startswith("netlimits: ")
    assert len(err.splitlines()) == 1
    assert out == ""


def test_what_a_file_says_cannot_drive_the_terminal(tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_text(
        'experiment: a\nquestion: "\\e[31mred"\nmeasure: {netperf: {}}\n'
        'factors: {a: ["\\e[2J", b]}\ndummies: [a]\nexclude: [\'a == "\\x1b"\', \'a == "b"\']\n'
    )
    done = CliRunner().invoke(plan, [str(path), "--set", "exclude=[]"])
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert "\\u001b[2J" in done.output


@pytest.mark.long
def test_schema_is_printed_for_editors():
    done = CliRunner().invoke(schema)
    document = json.loads(done.output)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["properties"]["measure"]["properties"]["netperf"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("streams: 4\nmeasure: {iperf3: {seconds: 1}}", "streams: a server of iperf3 takes one"),
        (
            "streams: 2\nmeasure: {netperf: {interim_seconds: 1, data_port: 9000}}",
            "data_port: one port takes one stream",
        ),
        (
            "settings: [{roles: [sender, receiver], mtu: 1500}]\nmeasure: {netperf: {mss: 8204}}",
            "an MSS of 8204 does not fit an MTU of 1500",
        ),
        (
            "measure: {netperf: {select: [thruput]}}",
            "no selector 'thruput'; did you mean throughput",
        ),
        (
            "measure: {iperf3: {reverse: true, bidirectional: true}}",
            "bidirectional sends both ways already",
        ),
    ],
)
def test_what_check_would_say_without_a_host_plan_says(body: str, says: str, tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_text(f"experiment: a\n{body}\n")
    done = CliRunner().invoke(plan, [str(path)])
    assert done.exit_code == 2
    assert says in done.stderr
    assert "error: sender: " in done.stderr
    told = json.loads(CliRunner().invoke(plan, [str(path), "--json"]).stdout)["findings"]
    assert any(says in finding["problem"] + "; " + finding["advice"] for finding in told)


UNKNOWN = """\
experiment: x
factors: {size: [1400, 1500]}
measure: {netperf: {seconds: 1, packet_size: 9, test: TCP_RR}}
bulk: {stream: 2}
"""


def test_a_kind_that_is_unknown_is_named_and_not_called_missing(tmp_path, capsys):
    path = tmp_path / "x.yaml"
    path.write_text(
        "experiment: x\nroles: [sender, receiver]\nfactors: {size: [64, 128]}\n"
        'measure: {netperf: {test: UDP_STREAM, send_size: "${size}"}}\n'
        "settings:\n- {roles: [sender], qdisc: {kind: fqq, delay: 20ms}}\n"
    )
    with pytest.raises(SystemExit):
        cli.main(["plan", str(path)])
    (line,) = capsys.readouterr().err.splitlines()
    assert "settings.0.qdisc.kind: must be one of" in line
    assert line.endswith("did you mean fq?")


def test_of_an_unknown_key_nothing_is_said_that_follows_from_it(tmp_path, capsys):
    path = tmp_path / "x.yaml"
    path.write_text(UNKNOWN)
    with pytest.raises(SystemExit) as ended:
        cli.main(["plan", str(path)])
    assert ended.value.code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"netlimits: {path}:3: measure.netperf.packet_size: is an unknown key")
    assert second == f"{path}:4: bulk.stream: is an unknown key; did you mean streams?"


@pytest.mark.long
def test_every_shipped_experiment_plans_without_a_complaint():
    for path in sorted((Path(__file__).parents[2] / "experiments").glob("*.yaml")):
        done = CliRunner().invoke(plan, [str(path), "--rows", "0"])
        assert (done.exit_code, done.stderr) == (0, ""), path


def test_all_options_that_cannot_take_their_value_are_told(tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_text(
        "experiment: a\nfactors: {size: [1, x], mtu: [1500, 10]}\n"
        "settings: [{roles: [sender], mtu: '${mtu}'}]\n"
        "measure: {netperf: {seconds: '${size}', mss: '${mtu}'}}\n"
    )
    done = CliRunner().invoke(plan, [str(path)])
    complaint = str(done.exception)
    assert [line.split(":")[1] for line in complaint.split("\n")] == ["3", "4"]
    assert "(where mtu = 10)" in complaint


def test_profiled_runs_are_counted_and_marked():
    arguments = (
        "--set",
        "profile={runs: 3}",
        "--set",
        "repeat.replicates=4",
        "--set",
        "repeat.seed=1",
    )
    answer = json.loads(run(*arguments, "--json", "--rows", "100").output)
    assert answer["profiled"] == 3 * answer["configurations"]
    assert f" and {answer['profiled']} profiled, " in run(*arguments).output
    assert sum(row["profiled"] for row in answer["first"]) == answer["profiled"]
