"""`benchmarks/situations.py`: which half a situation is in, what verifies it, what counts as right."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import benchmark
import pytest

from netlimits.experiment.load import load
from netlimits.experiment.plan import Plan

TABLE = {
    "sender-cpu", "receiver-cpu", "cpu-quota", "slow-reader", "softirq-core", "queue-collision",
    "netfilter", "link", "local-shaper", "path-cap", "policer", "per-flow-cap", "packet-rate",
    "receive-window", "send-buffer", "loss", "ack-path", "pacing", "application", "small-sends",
    "udp-receive-buffer", "udp-above-path", "fragmentation", "latency", "too-short", "host-full",
}  # fmt: skip
"""What limits a run, whether a class of ours knows it or not."""


confusion = benchmark.module("confusion")
making = benchmark.module("making")
situations = benchmark.module("situations")
EVERY = situations.every()

SENDER = """\
ESTAB 0      0         198.19.4.1:49218   198.19.4.2:5201
\t skmem:(r0,rb131072,t0,tb69120,f0,w0,o0,bl0,d0) bbr wscale:0,10 rto:220 rtt:18.442/10.182 bytes_sent:164 bytes_acked:165 bytes_received:4 pacing_rate 15803616bps app_limited busy:24ms minrtt:10.205 snd_wnd:28960
ESTAB 0      946420    198.19.4.1:49230   198.19.4.2:5201
\t skmem:(r0,rb131072,t0,tb1168128,f2572,w976372,o0,bl0,d0) bbr wscale:0,10 rto:212 rtt:11.185/1.069 bytes_sent:5432057 bytes_acked:5381378 pacing_rate 63872288bps busy:956ms rwnd_limited:392ms(41.0%) unacked:35 notsent:895740 minrtt:10.079 snd_wnd:65535
ESTAB 0      0         198.19.4.1:6201   198.19.4.1:49232
\t skmem:(r0,rb131072,t0,tb69120,f0,w0,o0,bl0,d0) bytes_received:99999999 snd_wnd:9
"""


def row(told: str, state: str, first: str = "", right: tuple[str, ...] = ("loss",), likely=()):
    situation = replace(EVERY[0], right=right, likely=likely)
    return situations.Row(situation, "held-out", "", told, state, first, "")


@pytest.mark.parametrize("situation", EVERY, ids=lambda situation: situation.name)
def test_each_situation_is_an_experiment_with_a_truth_that_is_checked(situation, tmp_path):
    text = situation.experiment.replace("@programs", str(tmp_path))
    file = tmp_path / "experiment.yaml"
    file.write_text(f"experiment: {situation.name}\nroles: [sender, receiver]\n{text}")
    assert len(Plan(load(file)))
    assert situation.right
    assert set(situation.right) <= TABLE
    assert situation.checks
    assert situation.made
    assert situation.truth
    assert all(bool(c.look) + bool(c.number) + bool(c.count) == 1 for c in situation.checks)


def test_there_are_30_situations_and_more():
    assert len(EVERY) >= 30


def test_a_new_situation_of_a_family_leaves_the_halves_of_the_others():
    family = [each for each in EVERY if each.family == "policer"]
    halves = situations.halves(family)
    for first, second in list(pairwise(family))[::2]:
        assert {halves[first.name], halves[second.name]} == {*situations.HALVES}
    longer = situations.halves([*family, replace(family[0], name="new")])
    assert {name: longer[name] for name in halves} == halves


def test_a_look_is_at_the_connection_that_carried_most_to_another_host():
    def read(text: str, look: str, **options: float) -> list[float]:
        return list(making.sampled_values(text, making.Check("sender", look, **options)))

    samples = f"\n\n{SENDER}\n\n{SENDER}"
    assert read(samples, "snd_wnd") == [65535.0, 65535.0]
    assert read(samples, "rwnd_limited") == [41.0, 41.0]
    assert read(samples, "send_q") == [946420.0, 946420.0]
    assert read(samples, "tb") == [1168128.0, 1168128.0]
    assert read(samples, "pacing_mbps") == pytest.approx([63.872288] * 2)
    control = "\n".join(SENDER.splitlines()[:2])
    assert read(control, "minrtt") == []
    assert read(control, "minrtt", bytes=100) == [10.205]
    assert read("1.5\n\n\n\n2\n", "") == [1.5, 2.0]


def test_what_is_refuted_is_right_where_it_was_wrong():
    assert row("loss", "suggested").is_right
    assert row("loss", "proven").is_right
    assert not row("link", "proven").is_right
    assert row("link", "refuted").is_right
    assert not row("loss", "refuted").is_right
    assert not row("undetermined", "undetermined").is_told
    assert not row("loss", "refuted").is_told


def test_what_is_likely_is_right_until_it_is_put_to_the_proof():
    assert row("path-cap", "suggested", likely=("path-cap",)).is_right
    assert row("undetermined", "undetermined", "path-cap", likely=("path-cap",)).points_right
    assert not row("path-cap", "proven", likely=("path-cap",)).is_right


def test_goals_that_are_missed_are_named():
    right, wrong = row("loss", "suggested"), row("link", "suggested")
    towards = row("undetermined", "undetermined", "loss")
    astray = row("undetermined", "undetermined", "link")
    assert list(situations.missed([right] * 19 + [wrong], [])) == []
    assert "95 %" in " ".join(situations.missed([right] * 18 + [wrong], []))
    assert list(situations.missed([towards] * 7 + [astray] * 3, [])) == []
    assert "70 %" in " ".join(situations.missed([towards] * 2 + [astray], []))
    assert list(situations.missed([right], [row("link", "open"), row("link", "refuted")])) == []
    assert "proof" in " ".join(situations.missed([right], [row("link", "proven")]))


@pytest.mark.lab
def test_a_situation_is_made_and_judged_and_one_whose_check_fails_is_none(tmp_path, capsys):
    held = next(each for each in EVERY if each.name == "cap-at-the-receiver")
    held = replace(held, replicates=1)
    never = replace(held, name="never", checks=[replace(held.checks[0], least=1e12)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(situations, "every", lambda: [held, never])
        for each in situations.every():
            situations.make(each, tmp_path)
        both = [(each, "development") for each in situations.every()]
        situations.judge(both, tmp_path, mistakes=False)
    shown = capsys.readouterr().out
    assert "not made: never (" in shown
    assert "Verdicts: 1 configurations" in shown
    assert (tmp_path / "never" / "truth.json").exists()
