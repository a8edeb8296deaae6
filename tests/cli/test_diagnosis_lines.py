"""The answer of `netlimits diagnose` for people, and the commands that make by hand what helps."""

from __future__ import annotations

from netlimits.cli.shared.diagnosis_lines import commands, lines
from netlimits.limits.ladder.diagnosis import Help, as_json
from netlimits.model import Machine

KNOWN = {"of_bound_pct": 99.94, "rtt_us": 46.72}
LINK = {
    "workload": "tcp-4", "throughput_mbps": 9412.0, "transaction_rate_tps": None, "low": 9401.0,
    "high": 9423.0, "limit": "link", "state": "proven", "proof": "streams ×2 → ×1.00 [0.99, 1.01]",
    "cpu_us": {"send": 0.29, "receive": None}, "sensitivities": [], "ruled_out": {},
    "known": KNOWN, "evidence": "",
}  # fmt: skip
TRIP = LINK | {"workload": "rr", "throughput_mbps": None, "transaction_rate_tps": 21_400.0,
               "low": None, "high": None, "limit": "latency", "state": "suggested",
               "proof": ""}  # fmt: skip
OPEN = LINK | {
    "workload": "udp", "throughput_mbps": 640.0, "low": 600.0, "high": 680.0, "limit": "", "state": "open", "proof": "",
    "ruled_out": {"receive buffer": "it held the run back for 0 % of the time"},
    "sensitivities": [{"resource": "sender CPU", "value": 0.3, "low": -0.1, "high": 0.7,
                       "state": "open"}],
}  # fmt: skip
RUNG = Help("tcp", "receive-buffer-x2", 1.94, 1.9, 2.0, 6010.0,
            {"send": (0.31, 0.3), "receive": (0.42, 0.44)},
            [("receiver", "sysctl", {"net.ipv4.tcp_rmem": "4096 131072 16777216"}),
             ("receiver", "rps", {"cpus": "0-3"})], "sender-cpu (proven)")  # fmt: skip


def printed(*rows, **changed) -> str:
    answer = {"path": {"sender": "vm1", "receiver": "vm2", "link": "virtio, MTU 1500"},
              "workloads": rows, "ladder": [], "left_out": [], "restored": True,
              "results": "results/a b", "pending": 0}  # fmt: skip
    return "\n".join(lines(answer | changed))


def test_a_row_has_rate_limit_proof_and_cost():
    text = printed(LINK, TRIP)
    assert text.startswith("vm1 → vm2   virtio, MTU 1500\n")
    for words in ("TCP, 4 streams", "9.41 Gbit/s [9.40, 9.42]", "link, 99.9 % of it (proven)",
                  "streams ×2 → ×1.00 [0.99, 1.01]", "0.29  –", "21,400 trans/s",
                  "latency, 46.7 µs (suggested)"):  # fmt: skip
        assert words in text
    assert "Both hosts are as they were found.   'results/a b'" in text
    assert "extend" not in text


def test_pending_runs_come_before_more_blocks():
    assert "resume" not in printed(OPEN)
    text = printed(OPEN, pending=3)
    assert text.index("netlimits resume 'results/a b'") < text.index("netlimits extend")


def test_an_open_row_says_what_is_known_and_the_command_that_adds_blocks():
    text = " ".join(printed(OPEN).split())
    assert "UDP, 1472 B 640 Mbit/s [600, 680] open – 0.29" in text
    assert "open: policer?" in printed(OPEN | {"limit": "policer"})
    assert "sender CPU open [-0.10, 0.70]; receive buffer ruled out (it held the run" in text
    assert "netlimits extend 'results/a b' --replicates 6" in text


def test_a_host_that_was_not_restored_comes_with_the_command():
    assert "netlimits restore 'results/a b'" in printed(LINK, restored=False)


def test_a_rung_has_what_it_gains_and_costs_and_the_limit_that_is_next():
    rung = as_json(RUNG, ["vm2: sysctl -w …"])
    text = printed(LINK | {"workload": "tcp"}, ladder=[rung])
    assert (
        "1. TCP, 1 stream: receive buffer ×2 → ×1.94 [1.90, 2.00], 6.01 Gbit/s; next limit: "
        "sender-cpu (proven)\n     vm2: sysctl -w …\n     CPU time per unit, µs: send 0.31 → 0.30, "
        "receive 0.42 → 0.44\n"
    ) in text


def test_what_helps_is_commands_for_the_hosts_by_their_names():
    machines = {"receiver": Machine("receiver", "vm2", "eth0")}
    assert [*commands(machines, RUNG)] == [
        "vm2: sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216'",
        "vm2: for q in /sys/class/net/eth0/queues/rx-*/rps_cpus; do echo f >$q; done",
    ]
