"""The checks one by one, on what hosts print. test_checks_lab.py has the real faults."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from simulated import SimulatedMachine

from netlimits import checks
from netlimits.checks import CHECKS, Finding, Site, survey
from netlimits.checks.clock import Clock
from netlimits.checks.cpus import Cpus
from netlimits.checks.disk import Disk, free, here
from netlimits.checks.fragments import Fragments
from netlimits.checks.irqbalance import Irqbalance
from netlimits.checks.link import Links
from netlimits.checks.path_mtu import PathMtu
from netlimits.checks.pcie import Pcie
from netlimits.checks.qdiscs import EXAMPLES, UNTRIED, Qdiscs
from netlimits.checks.qdiscs import trial as qdisc_trial
from netlimits.checks.sudo import Sudo
from netlimits.checks.survey import trial
from netlimits.checks.trace import Traces
from netlimits.errors import CheckError, DocumentError
from netlimits.evidence import facts
from netlimits.evidence.clocks import Offset
from netlimits.experiment import load, plan, resolution
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed, Machine
from netlimits.tools import Features

TEXT = """\
experiment: small
settings:
  - roles: [sender, receiver]
    offload: {tso: off}
measure:
  netperf: {seconds: 1, send_size: 1024}
"""
LINK = {"ifname": "data0", "flags": ["UP", "LOWER_UP"], "operstate": "UP",
        "addr_info": [{"local": "192.0.2.1", "scope": "global"}]}  # fmt: skip


def site(text: str = TEXT, **facts: Any) -> Site:
    """Two hosts with nothing to complain of, and a plan."""
    experiment = plan.seeded(load.parse(text, "small.yaml"))
    answers = {"uid": "0", "boot_id": "a", "link": {"mtu": 1500}, "link_settings": {}} | facts
    values = {name: {"value": value} for name, value in answers.items()}
    machines = {
        "sender": Machine("sender", "s", "data0", "192.0.2.1"),
        "receiver": Machine("receiver", "r", "data0", "192.0.2.2"),
    }
    other = {**values, "boot_id": {"value": "b"}}
    features = {name: Features("1") for name in experiment.measure}
    setups = tuple(plan.Plan(experiment).setups())
    return Site(experiment, machines, {"sender": values, "receiver": other}, features, setups)


def printed(stdout: str = "", status: int = 0, stderr: str = "") -> Completed:
    return answer(Command(("x",)), stdout, stderr, status)


def complaints(check: Any, at: Site, *completed: Completed, role: str = "sender") -> dict[str, str]:
    """severity -> problem and advice; two of one severity are put together."""
    result: dict[str, str] = {}
    for finding in check.findings(at, role, completed):
        result[finding.severity] = (
            result.get(finding.severity, "") + f"{finding.problem}; {finding.advice}\n"
        )
    return result


def test_each_check_has_a_name_of_its_own():
    assert len({check.name for check in CHECKS}) == len(CHECKS)


# -- irqbalance and PCIe --------------------------------------------------------------------


def test_a_running_irqbalance_is_told_of_where_interrupts_are_set():
    running = {"services": {"irqbalance": "running"}}
    moved = TEXT.replace("offload: {tso: off}", "irq: {spread: cpus}")
    result = complaints(Irqbalance(), site(moved, **running))
    assert "moves the interrupts that the experiment sets; stop it" in result["warning"]
    assert complaints(Irqbalance(), site(**running)) == {"note": "runs; \n"}
    assert complaints(Irqbalance(), site(moved)) == {"note": "does not run; \n"}


@pytest.mark.parametrize(
    ("printed", "speed", "severity", "words"),
    [
        ("current_link_speed: 8.0 GT/s PCIe\ncurrent_link_width: 4\n", "40000Mb/s", "warning",
         "(x4 at 8 GT/s, 31,508 Mbit/s) carries less than its port's 40000 Mbit/s"),
        ("current_link_speed: 8.0 GT/s PCIe\ncurrent_link_width: 4\nmax_link_speed: 16.0 GT/s "
         "PCIe\nmax_link_width: 8\n", "25000Mb/s", "note", "the NIC could have x8 at 16 GT/s"),
        ("current_link_speed: 2.5 GT/s PCIe\ncurrent_link_width: 1\n", "1000Mb/s", "note",
         "x1 at 2.5 GT/s, 2,000 Mbit/s"),
        ("current_link_speed: Unknown\ncurrent_link_width: 0\n", "", "note", "no PCIe link"),
    ],
)  # fmt: skip
def test_the_slot_of_a_nic(printed, speed, severity, words):
    (fact,) = [fact for fact in facts.FACTS if fact.name == "pcie"]
    known = facts._fact(fact, answer(Command(("x",)), printed)).get("value")
    result = complaints(Pcie(), site(pcie=known, link_settings={"Speed": speed}))
    assert words in result[severity]
    assert len(result) == 1


# -- link -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "severity", "words"),
    [
        ({}, "note", "data0 is up"),
        ({"flags": ["BROADCAST"], "operstate": "DOWN"}, "error", "ip link set dev data0 up"),
        ({"flags": ["UP", "NO-CARRIER"], "operstate": "DOWN"}, "error", "no carrier"),
        ({"operstate": "LOWERLAYERDOWN"}, "error", "no carrier"),
        ({"addr_info": []}, "error", "no interface has the address 192.0.2.1"),
        ({"ifname": "data1"}, "warning", "does not show data0"),
    ],
)
def test_link(change, severity, words):
    result = complaints(Links(), site(), printed(json.dumps([{**LINK, **change}])))
    assert words in result[severity]
    assert ("error" in result) == (severity == "error")


@pytest.mark.parametrize(("cgroup", "refused"), [("0::/\n", True), ("0::/vrf/red\n", False)])
def test_a_link_in_a_vrf_that_the_login_is_not_in_is_refused(cgroup, refused):
    in_vrf = {**LINK, "master": "red", "linkinfo": {"info_slave_kind": "vrf"}}
    result = complaints(Links(), site(), printed(json.dumps([in_vrf])), printed(cgroup))
    assert ("data0 is in the VRF red" in result.get("error", "")) == refused


def test_a_half_duplex_link_is_warned_of():
    at = site(link_settings={"Speed": "100Mb/s", "Duplex": "Half"})
    result = complaints(Links(), at, printed(json.dumps([LINK])))
    assert "half duplex" in result["warning"]
    assert "100Mb/s" in result["note"]


def test_an_mtu_that_nobody_knows_is_not_0():
    assert (
        "MTU not known" in complaints(Links(), site(link={}), printed(json.dumps([LINK])))["note"]
    )


@pytest.mark.parametrize("stdout", ["", "[", "{}", '[{"ifname": 3}]', "[" * 5000])
def test_what_ip_prints_may_be_anything(stdout):
    assert "does not show" in complaints(Links(), site(), printed(stdout))["warning"]
    assert "no route" in complaints(PathMtu(), site(), printed(stdout))["warning"]


# -- sudo -----------------------------------------------------------------------------------


def questions(text: str) -> list[str]:
    """What sudo is asked by a login that is not root, on a simulated sender."""
    machine = SimulatedMachine("sender", "192.0.2.1")
    at, host = site(text, uid="1000"), machine.host()
    states: dict[Any, Any] = {}
    list(survey.settings.findings(at, host, "sender", states))
    return [" ".join(c.argv) for c in Sudo().commands(replace(at, states=states), "sender")]


def test_sudo_is_asked_for_every_change_and_for_the_way_back():
    """The capture has tso on: `off` is a change now, `on` only after another configuration."""
    text = TEXT.replace("settings:", "factors: {tso: [on, off]}\nsettings:")
    lines = questions(text.replace("tso: off", 'tso: "${tso}"'))
    assert "sudo -n -l -- ethtool -K data0 tso off" in lines
    assert "sudo -n -l -- ethtool -K data0 tso on" in lines
    back = [line for line in lines if "tx-tcp-segmentation on" in line]
    assert len(back) == 1, "what puts back goes leaf by leaf"
    assert len(lines) == len(set(lines)) == 3


def test_root_is_not_asked():
    assert Sudo().commands(site(), "sender") == ()
    assert "root" in complaints(Sudo(), site())["note"]


def test_refusals_are_one_finding_a_program():
    refused = [
        answer(
            Command(("sudo", "-n", "-l", "--", *argv)),
            stderr="sudo: a password is required",
            status=1,
        )
        for argv in (("ethtool", "-K", "x"), ("ethtool", "-K", "y"), ("tc", "qdisc"))
    ]
    allowed = answer(Command(("sudo", "-n", "-l", "--", "ip", "link")), "/sbin/ip link\n")
    findings = list(Sudo().findings(site(uid="7"), "sender", (*refused, allowed)))
    assert [f.severity for f in findings] == ["error", "error"]
    assert "ethtool -K x` (and 1 more such): sudo: a password" in findings[0].problem
    assert "tc qdisc" in findings[1].problem


def test_a_trace_and_a_pace_need_root_too():
    lines = questions(
        TEXT + "pace: {rate: 1e9, frame_rate: 1.1e9}\ntrace: {roles: [sender], packets: 10}\n"
    )
    assert any("tcpdump -i data0" in line for line in lines)


def test_a_trace_needs_tcpdump_where_it_is_taken():
    traced = site(TEXT + "trace: {roles: [sender], packets: 10}\n")
    assert Traces().commands(site(), "sender") == ()
    assert Traces().commands(traced, "receiver") == ()
    assert len(Traces().commands(traced, "sender")) == 1
    assert complaints(Traces(), traced, printed("/usr/bin/tcpdump\n")) == {}
    assert "install tcpdump" in complaints(Traces(), traced, printed(status=127))["error"]


# -- qdiscs ---------------------------------------------------------------------------------

UNKNOWN = printed(stderr="Error: Specified qdisc kind is unknown.\n", status=2)


def test_a_qdisc_that_the_kernel_lacks_is_told_with_those_it_has():
    at = site(TEXT.replace("offload: {tso: off}", "qdisc: {kind: fq}"))
    commands = Qdiscs().commands(at, "sender")
    assert len(commands) == 1 + len(EXAMPLES)
    answers = [
        printed() if example["kind"] in ("tbf", "pfifo") else UNKNOWN for example in EXAMPLES
    ]
    error = complaints(Qdiscs(), at, UNKNOWN, *answers)["error"]
    assert "refuses fq: Error: Specified qdisc kind is unknown" in error
    assert "one that it has (tbf, pfifo)" in error
    assert "modprobe sch_fq" in error


def test_a_qdisc_that_cannot_be_tried_is_a_warning():
    at = site(TEXT.replace("offload: {tso: off}", "qdisc: {kind: fq}"))
    untried = [printed(status=UNTRIED)] * (1 + len(EXAMPLES))
    result = complaints(Qdiscs(), at, *untried)
    assert set(result) == {"warning"}
    assert "fq cannot be tested by this login" in result["warning"]


def test_a_plan_without_qdiscs_tries_none():
    assert Qdiscs().commands(site(), "sender") == ()
    assert complaints(Qdiscs(), site()) == {}


def test_a_pace_that_no_qdisc_keeps():
    at = site(TEXT + "pace: {rate: 1e9, frame_rate: 1.1e9}\n")
    assert "nothing paces" in complaints(Qdiscs(), at, *[UNKNOWN] * len(EXAMPLES))["error"]
    assert "by fq" in complaints(Qdiscs(), at, *[printed()] * len(EXAMPLES))["note"]
    assert Qdiscs().commands(at, "receiver") == ()


@pytest.mark.parametrize("options", EXAMPLES, ids=lambda options: options["kind"])
def test_a_trial_touches_nothing_but_a_loopback_of_its_own(options):
    script = qdisc_trial(options).argv[-1]
    assert script.startswith("ip link set lo up && tc qdisc add dev lo root")
    assert options["kind"] in script
    assert "del" not in script


# -- clocks, CPUs, disks --------------------------------------------------------------------

TRACED = TEXT + "trace: {roles: [sender, receiver], packets: 10}\n"


@pytest.mark.parametrize(
    ("text", "offset", "severity"),
    [
        (TEXT, 5.0, "note"),
        (TRACED, 5.0, "warning"),
        (TRACED, 0.05, "note"),
        (TRACED, -5, "warning"),
    ],
)
def test_clocks_matter_where_times_of_several_hosts_are_laid_together(text, offset, severity):
    clocks = {"sender": Offset(1, 0.001), "receiver": Offset(1 + offset, 0.001)}
    result = complaints(Clock(), replace(site(text), clocks=clocks), role="receiver")
    assert set(result) == {severity}
    assert f"{offset:+.4f} s against sender's, give or take 0.0020 s" in result[severity]


def sample(idle: int, governors: str = "") -> Completed:
    """One CPU for half a second: `idle` of 50 ticks."""
    first = "100.00 50.00\ncpu 0 0 0 0\ncpu0 1000 0 0 1000 0 0 0 0 0 0\n"
    second = f"100.50 50.00\ncpu 0 0 0 0\ncpu0 {1050 - idle} 0 0 {1000 + idle} 0 0 0 0 0 0\n"
    return printed(f"{first}\n{second}\n1.25 1.00 0.50 1/100 4242\n{governors}")


def test_other_load_is_warned_of():
    assert "80 % busy" in complaints(Cpus(), site(), sample(10))["warning"]
    assert "load average 1.25" in complaints(Cpus(), site(), sample(10))["warning"]
    assert set(complaints(Cpus(), site(), sample(48))) == {"note"}


def test_a_governor_that_is_not_performance():
    result = complaints(Cpus(), site(), sample(50, "performance\npowersave\n"))
    assert "performance, powersave" in result["warning"]
    assert "cpupower frequency-set -g performance" in result["warning"]
    assert "warning" not in complaints(Cpus(), site(), sample(50, "performance\nperformance\n"))


def test_a_proc_stat_that_says_nothing_is_no_error():
    assert set(complaints(Cpus(), site(), printed("garbage"))) == {"note"}


DF = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"


def test_free_disk():
    room = "tmpfs 1000 1 {} 1% /run\n/dev/sd a1 99 9 99999999 9% /my disk\n"
    assert list(free(DF + room.format(5))) == [("/run", 5), ("/my disk", 99999999)]
    assert (
        "5 KiB are free on /run"
        in complaints(Disk(), site(), printed(DF + room.format(5)))["error"]
    )
    assert set(complaints(Disk(), site(), printed(DF + room.format(5000)))) == {"warning"}
    assert set(complaints(Disk(), site(), printed(DF + room.format(50000)))) == {"note"}
    assert "does not show" in complaints(Disk(), site(), printed("df: no"))["warning"]


def test_room_for_the_results(tmp_path):
    assert here(tmp_path / "not" / "yet", 10).severity == "note"
    assert here(tmp_path, 10**12).severity == "warning"
    (tmp_path / "file").touch()
    assert str(tmp_path) in here(tmp_path / "file" / "results", 1).problem


# -- the trial of each tool -----------------------------------------------------------------


def test_what_is_tried_covers_every_tool_protocol_and_port_once():
    text = (
        "experiment: x\nfactors: "
        "{tool: [netperf, iperf3], protocol: [tcp, udp], size: [64, 9000]}\n"
        "measure:\n"
        '  netperf: {protocol: "${protocol}", send_size: "${size}", data_port: 5000, mss: 9}\n'
        '  iperf3: {protocol: "${protocol}", send_size: "${size}", rate: 1G, port: 5300}\n'
    )
    trials = {(t.tool, t.protocol): t for t in trial.trials(site(text))}
    assert len(trials) == len(trial.trials(site(text))) == 4
    assert trials["netperf", "tcp"].options["data_port"] == 5000
    assert "mss" not in trials["netperf", "tcp"].options, "the MTU it needs may not be set yet"
    assert trials["iperf3", "udp"].port == 5300
    assert trials["iperf3", "udp"].options["rate"] == "5M", "a trial is no load"
    assert trials["netperf", "udp"].options["send_size"] == 1472, "the largest that the MTU takes"
    assert trials["netperf", "udp"].small().options["send_size"] == trial.SMALL


def test_the_port_that_meets_silence():
    sockets = printed(
        "0      1      192.0.2.1:46013 192.0.2.2:12866\n"
        "0      1      192.0.2.1:46014 192.0.2.3:22\n"
        "0      1      [2001:db8::1]:46014 [2001:db8::2]:5201\n\ngarbage\n"
    )
    assert list(trial.connecting(sockets, "192.0.2.2")) == [12866]
    assert list(trial.connecting(sockets, "2001:db8::2")) == [5201]


def test_what_hangs_is_named_and_its_port_is_not_blamed():
    def hangs(command: Command) -> Completed:
        return replace(answer(command, status=124, host="receiver"), timed_out=True)

    hosts = {role: ScriptedHost(hangs, role) for role in ("sender", "receiver")}
    (finding,) = trial.findings(site(), hosts)
    assert (finding.host, finding.severity) == ("receiver", "error")
    assert finding.problem.startswith("`ss -Hltn` did not end within 10 s")
    assert finding.advice == "run `ss -Hltn` there by hand, and find out why it fails"


# -- what is skipped ------------------------------------------------------------------------

TOOLS = """\
experiment: x
factors: {tool: [netperf, nttcp]}
measure:
  netperf: {seconds: 1}
  nttcp: {count: 10, if_missing: skip}
repeat: {replicates: 2, order: listed}
"""


def look(text: str = TOOLS, **more: Any) -> survey.Survey:
    experiment = plan.seeded(load.parse(text, "x.yaml"))
    two = [SimulatedMachine("sender", "192.0.2.1"), SimulatedMachine("receiver", "192.0.2.2")]
    machines = {m.role: m.machine() for m in two}
    # `command -v` of a simulated machine finds everything: only the client's nttcp is missing
    return survey.look(plan.Plan(experiment), machines, {m.role: m.host() for m in two}, **more)


def test_a_tool_that_may_be_missing_is_skipped_with_its_reason():
    result = look()
    assert "nttcp does not answer" in result.skipped["nttcp"]
    assert "nttcp" not in result.features
    assert [f.severity for f in result.findings if "nttcp" in f.problem] == ["warning"]


def test_a_campaign_that_goes_on_skips_what_it_skipped_and_nothing_else():
    assert look(skipped={"nttcp": "as then"}).skipped == {"nttcp": "as then"}
    errors = [f for f in look(skipped={}).findings if f.severity == "error"]
    assert ["nttcp does not answer" in f.problem for f in errors] == [True]


def test_a_tool_that_must_be_there_is_an_error():
    result = look(TOOLS.replace(", if_missing: skip", ""))
    assert result.skipped == {}
    with pytest.raises(CheckError, match="sender: tools: nttcp does not answer"):
        survey.refuse(result.findings)


@pytest.mark.parametrize("text", [TEXT, TOOLS])
def test_a_client_that_cannot_be_reached_is_not_said_to_lack_its_tools(text):
    planned = plan.Plan(plan.seeded(load.parse(text, "x.yaml")))
    receiver = SimulatedMachine("receiver", "192.0.2.2")
    result = survey.look(planned, {"receiver": receiver.machine()}, {"receiver": receiver.host()})
    assert result.skipped == {}
    assert [f for f in result.findings if f.check == "tools"] == []


def test_whether_a_tool_may_be_missing_cannot_depend_on_a_factor():
    text = TOOLS.replace("if_missing: skip", 'if_missing: "${tool}"')
    with pytest.raises(DocumentError, match=r"x.yaml:5.*must be fail or skip"):
        look(text)


def test_if_missing_is_for_us_and_not_for_the_tool():
    experiment = plan.seeded(load.parse(TOOLS, "x.yaml"))
    setup = resolution.setup(experiment, {"tool": "nttcp"})
    assert (setup.tool, setup.options) == ("nttcp", {"count": 10})


def test_a_fixed_data_port_takes_one_stream():
    text = TEXT.replace("send_size: 1024", "data_port: 5000, interim_seconds: 1") + "streams: 2\n"
    at = site(text)
    at = replace(at, features={"netperf": Features("2.7.0", frozenset({"demo"}))})
    (problem,) = survey.tools.refused(at)
    assert "one port takes one stream" in problem.problem


def test_what_is_refused_has_the_line_of_its_option_and_the_order_of_the_file():
    text = (
        "experiment: x\nfactors: {tool: [netperf, nuttcp], word: [speed, velocity]}\nmeasure:\n"
        "  nuttcp:\n    protocol: udp\n    mss: 500\n    rate: 0\n"
        '  netperf:\n    seconds: 1\n    select: ["${word}"]\n'
    )
    features = dict.fromkeys(("netperf", "nuttcp"), survey.tools.ANY_BUILD)
    at = replace(site(text), features=features)
    places = [finding.problem.split(": ")[:2] for finding in survey.tools.refused(at)]
    assert [(place.partition(":")[2], key) for place, key in places] == [
        ("6", "measure.nuttcp.mss"),
        ("10", "measure.netperf.select"),
        ("10", "measure.netperf.select"),
    ]


@pytest.mark.parametrize(
    ("measure", "around", "words"),
    [
        ("iperf3: {interim_seconds: 1}", "streams: 2", "`measure.iperf3.parallel` is its own way"),
        ("nuttcp: {interim_seconds: 1}", "streams: 2", "takes one client at a time, not 2"),
        ("nttcp: {count: 10}", "streams: 2", "nttcp prints no interim results"),
        ("iperf3: {interim_seconds: 1}", "streams: 1", ""),
        ("netperf: {interim_seconds: 1}", "streams: 2", ""),
    ],
)
def test_clients_that_cannot_run_together(measure, around, words):
    at = site(f"experiment: x\nmeasure: {{{measure}}}\n{around}\n")
    name = next(iter(at.experiment.measure))
    at = replace(at, features={name: Features("9", frozenset({"demo"}))})
    problems = [str(finding) for finding in survey.tools.refused(at)]
    assert len(problems) == bool(words)
    assert all(":3: streams: " in problem for problem in problems)
    assert all(words in problem for problem in problems)


@pytest.mark.parametrize(
    ("measure", "around", "words"),
    [
        (
            "iperf3: {seconds: 1}",
            "bulk: {streams: 2}",
            "beside this test of iperf3; use a transaction",
        ),
        (
            "netperf: {seconds: 1}",
            "bulk: {streams: 2}",
            "beside this test of netperf; use a transaction",
        ),
        ("netperf: {test: TCP_RR}", "bulk: {streams: 2}", ""),
        ("netperf: {seconds: 1}", "bulk: {streams: 0}", ""),
        (
            "netperf: {test: TCP_RR, interim_seconds: 1}",
            "bulk: {streams: 2}\nstreams: 2",
            "it goes with one client and one server",
        ),
    ],
)
def test_tests_that_no_bulk_streams_run_beside(measure, around, words):
    at = site(f"experiment: x\nmeasure: {{{measure}}}\n{around}\n")
    name = next(iter(at.experiment.measure))
    at = replace(at, features={name: Features("9", frozenset({"demo"}))})
    problems = [str(finding) for finding in survey.tools.refused(at)]
    assert len(problems) == bool(words)
    assert all(":3: bulk: " in problem and words in problem for problem in problems)


def test_what_to_do_stands_apart_from_what_is_wrong():
    """For programs, and for the table's last column."""
    finding = checks.error("sender", "load", "sender: no stress-ng there; install it")
    assert finding == Finding("sender", "load", "error", "no stress-ng there", "install it")
    host = SimulatedMachine("sender", "192.0.2.1").host()
    text = TEXT.replace("{tso: off}", "{rx-vlan-filter: on}")
    (fixed,) = survey.settings.findings(site(text), host, "sender", {})
    assert (fixed.severity, fixed.advice != "") == ("error", True), fixed
    assert ";" not in fixed.problem


def test_all_errors_are_told_a_line_each():
    findings = [
        Finding("sender", "link", "error", "is down", "bring it up"),
        Finding("sender", "cpu", "warning", "is busy"),
        Finding("", "results", "error", "no room"),
    ]
    with pytest.raises(CheckError) as raised:
        survey.refuse(findings)
    assert str(raised.value) == "sender: link: is down; bring it up\nresults: no room"
    survey.refuse(findings[1:2])


# -- what the frames of a paced run hold ----------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "addresses", "errors"),
    [
        (42, ("192.0.2.1", "192.0.2.2"), 0),
        (42, ("2001:db8::1", "2001:db8::2"), 1),
        (62, ("2001:db8::1", "2001:db8::2"), 0),
        (62, ("192.0.2.1", "192.0.2.2"), 1),
    ],
)
@pytest.mark.parametrize("family", [None, "ipv4", "ipv6"])
def test_a_frame_rate_counts_the_headers_of_its_own_ip(headers, addresses, errors, family):
    if family:  # what is asked for counts, where no host was asked for its addresses yet
        errors = int((headers == 42) != (family == "ipv4"))
    text = f"""\
experiment: x
factors: {{size: [1000, 1400]}}
derive: {{frames: "100000000 * (size + {headers}) / size"}}
pace: {{rate: 100000000, frame_rate: "${{frames}}"}}
measure: {{netperf: {{protocol: udp, send_size: "${{size}}"}}}}
repeat: {{replicates: 1, order: listed}}
""" + (f"family: {family}\n" if family else "")
    experiment = plan.seeded(load.parse(text, "x.yaml"))
    roles = zip(("sender", "receiver"), addresses, strict=True)
    machines = {role: Machine(role, "x", "data0", address) for role, address in roles}
    setups = tuple(plan.Plan(experiment).setups())
    site = Site(experiment, machines, {}, {}, setups)
    problems = [f for f in Fragments().findings(site, "sender", ()) if f.severity == "error"]
    assert len(problems) == errors
    assert all("pace.frame_rate: counts" in f.problem for f in problems)


@pytest.mark.parametrize(
    ("size", "mtu", "severity", "advice"),
    [
        (65_509, 65_536, "error", "send 65507 bytes at most"),
        (100_000, 1_500, "error", "send 1472 bytes at most"),
        (2_000, 1_500, "warning", "send 1472 bytes at most, or set an `mtu` that they fit into"),
    ],
)
def test_no_advice_exceeds_the_largest_datagram(size, mtu, severity, advice):
    text = f"experiment: x\nmeasure: {{netperf: {{test: UDP_STREAM, send_size: {size}}}}}\n"
    at = site(text, link={"mtu": mtu})
    (finding,) = Fragments().findings(at, "sender", ())
    assert (finding.severity, finding.advice) == (severity, advice)


@pytest.mark.parametrize(
    ("addresses", "direction", "refused"),
    [
        (("127.0.0.1", "127.0.0.1"), "both", True),
        (("127.0.0.1", "127.0.0.1"), "send", False),
        (("192.0.2.1", "192.0.2.2"), "both", False),
        ((None, None), "both", False),
    ],
)
def test_bulk_streams_both_ways_want_two_stacks(addresses, direction, refused):
    text = (
        f"experiment: x\nmeasure: {{netperf: {{test: TCP_RR}}}}\nbulk: "
        f"{{streams: 1, direction: {direction}}}\n"
    )
    at = site(text)
    at = replace(
        at,
        features={"netperf": Features("9")},
        machines={
            role: replace(machine, address=address)
            for (role, machine), address in zip(at.machines.items(), addresses, strict=True)
        },
    )
    problems = [str(finding) for finding in survey.tools.refused(at)]
    assert len(problems) == refused
    assert all("over one network stack" in problem for problem in problems)


@pytest.mark.parametrize(
    ("numa", "why"),
    [
        ({"0": "0-3", "1": "4-7"}, "sender has no numactl; install it"),
        ({"0": "0-3", "numactl": "yes"}, "sender has no NUMA node 1: 0"),
        ({"0": "0-3", "1": "4-7", "numactl": "yes"}, ""),
    ],
)
def test_a_node_that_no_program_can_be_bound_to_is_refused(numa, why):
    text = TEXT.replace("seconds: 1,", "seconds: 1, numa: 1,")
    problems = "".join(str(finding) for finding in survey.tools.refused(site(text, numa=numa)))
    assert why in problems
    assert bool(why) == bool(problems)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"netperf": {"test": "TCP_STREAM", "cpu_bind": "0,77"}},
            "receiver has no CPU 77; it has 0-7",
        ),
        ({"netperf": {"test": "TCP_STREAM", "cpu_bind": 77}}, "sender has no CPU 77; it has 0-7"),
        ({"iperf3": {"cpus": "6-9"}}, "sender has no CPU 8-9; it has 0-7"),
        ({"iperf3": {"server_cpus": "0-77"}}, "receiver has no CPU 8-77; it has 0-7"),
        ({"iperf3": {"cpus": "0-7", "server_cpus": 7}}, ""),
    ],
)
def test_a_cpu_that_a_host_lacks_is_refused(options, why):
    text = json.dumps({"experiment": "x", "measure": options})
    at = site(text, numa={"0": "0-3", "1": "4-7", "nic": "0"})
    at = replace(at, features=dict.fromkeys(options, survey.tools.ANY_BUILD))
    problems = "".join(str(finding) for finding in survey.tools.refused(at))
    assert why in problems
    assert bool(why) == bool(problems)
