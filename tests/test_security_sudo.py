"""SECURITY.md's sudoers against every command that settings and traces make, and what it refuses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pairs
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from netlimits.errors import SettingError
from netlimits.evidence import drops, profile, trace
from netlimits.model import Command, Trace
from netlimits.settings import SETTINGS, Setting

ROOT = Path(__file__).parents[1]
SNIPPET = re.search(r"```sudoers\n(.*?)```", (ROOT / "SECURITY.md").read_text(), re.DOTALL)[1]
INTERFACES = st.sampled_from(["data0", "ens4", "eth0.100", "wlp3s0", "bond0", "br-lan"])


def rules() -> Iterator[tuple[str, re.Pattern[str]]]:
    """(program, pattern of its arguments) of each command in the snippet."""
    for line in SNIPPET.replace("\\\n", "").splitlines():
        if line.startswith("Cmnd_Alias"):
            for path, pattern in re.findall(r"(/\S+) (\^.*?\$)(?=, |$)", line):
                yield Path(path).name, re.compile(pattern.replace("[[:blank:]]", "[ \t]"))


RULES = tuple(rules())


def allowed(argv: tuple[str, ...]) -> bool:
    """As sudo decides: the arguments, joined by blanks, against each pattern of the program."""
    words = " ".join(argv[1:])
    return any(program == argv[0] and pattern.fullmatch(words) for program, pattern in RULES)


def test_every_command_of_the_snippet_is_read_here():
    assert len(RULES) == SNIPPET.count("$, \\\n") + SNIPPET.count("$\n\n") > 40


# -- what is to be allowed ------------------------------------------------------------------


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a setting's schema allows."""
    if "anyOf" in schema:
        return st.one_of([values(part) for part in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([KINDS[kind](schema) for kind in kinds])


def mappings(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    needed = set(schema.get("required", ()))
    properties = {name: values(part) for name, part in schema.get("properties", {}).items()}
    if properties:
        must = {name: part for name, part in properties.items() if name in needed}
        may = {name: part for name, part in properties.items() if name not in needed}
        mapping = st.fixed_dictionaries(must, optional=may)
    else:
        names = st.from_regex(schema["propertyNames"]["pattern"], alphabet=ASCII)
        mapping = st.dictionaries(names, values(schema["additionalProperties"]), max_size=3,
                                  min_size=schema.get("minProperties", 0))  # fmt: skip
    return mapping.filter(lambda value: len(value) >= schema.get("minProperties", 0))


ASCII = st.characters(max_codepoint=127)
KINDS = {
    "array": lambda s: st.lists(values(s["items"]), min_size=s.get("minItems", 0), max_size=3),
    "integer": lambda s: st.integers(s.get("minimum"), s.get("maximum")),
    "number": lambda s: st.floats(s.get("minimum", 0.1), s.get("maximum", 1000)),
    "boolean": lambda s: st.booleans(),
    "string": lambda s: st.from_regex(s["pattern"], alphabet=ASCII),
    "object": mappings,
}


def held(commands: tuple[Command, ...]) -> int:
    """How many commands need root; each must be allowed."""
    roots = [command.argv for command in commands if command.sudo]
    roots += [argv for command in commands for argv in in_script(command)]
    for argv in roots:
        assert allowed(argv), shlex.join(argv)
    return len(roots)


def in_script(command: Command) -> Iterator[tuple[str, ...]]:
    """What the scripts that restore routes and queues and write sysctls may run as root."""
    if command.argv[3:4] == ("restore routes",):
        interface, *arguments = command.argv[4:]
        for family, verb, _, words, metrics in zip(*[iter(arguments)] * 5, strict=True):
            yield ("ip", family, "route", "del", *words.split(), "dev", interface)
            for way in ("change", verb):
                yield ("ip", family, "route", way, *f"{words} {metrics} dev {interface}".split())
    elif command.argv[3:4] == ("restore queues",):
        interface, *pairs_of_queues = command.argv[4:]
        for pair in pairs_of_queues:
            name = pair.partition("=")[0]
            queue = f"/sys/class/net/{interface}/queues/{name}"
            yield ("tee", "/proc/irq/25/smp_affinity_list" if " " in name else queue)
    elif command.argv[3:4] == ("remove rules",):
        yield ("ethtool", "-N", command.argv[4], "delete", "1023")
    elif command.argv[3:4] in (("remove tunnel",), ("remove ingress",)):
        yield command.by_hand[0].argv
    elif command.argv[3:4] == ("set keys",):
        port, endpoint, inner = command.argv[4:]
        yield ("wg", "set", "nltun0", "private-key", "/dev/stdin", "listen-port", port, "peer",
               f"{'x' * 43}=", "endpoint", endpoint.replace("ADDRESS", "192.0.2.1"), "allowed-ips", inner)  # fmt: skip
    elif command.argv[3:4] == ("hold /dev/cpu_dma_latency: µs, seconds",):
        yield ("tee", "/dev/cpu_dma_latency")
    elif command.argv[3:4] == ("write sysctls",):
        yield ("sysctl", "-w", *command.argv[5:])


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@given(st.data())
@budget(max_examples=50, deadline=None)
def test_whatever_an_experiment_asks_for(setting: Setting, data: st.DataObject):
    wanted = data.draw(values(setting.schema))
    try:
        commands = setting.change(data.draw(INTERFACES), {}, wanted)
    except SettingError:
        return
    if setting.name == "route":  # without a state it names no route, as in `netlimits plan`
        commands = tuple(
            Command(tuple(w if w != "…" else "proto" for w in c.argv if w != "NETWORK"), sudo=True)
            for c in commands
            if "…" not in c.argv
        )
    held(commands)


def states(setting: Setting) -> list[Any]:
    """What hosts were found in."""
    originals = []
    for name in pairs.names(f"settings/{setting.name}"):
        with suppress(SettingError):
            originals.append(pairs.state(setting, name))
    return originals


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_way_back_from_whatever_was_found(setting: Setting):
    """From nothing known and from every other state: all that `restore` and a guard may run."""
    originals = states(setting)
    assert originals
    commands = 0
    for state in originals:
        for now in ({}, *originals):
            commands += held(setting.undo("data0", state, now))
    assert commands or setting.name in ("load", "switch"), "these run as the login"


def test_a_route_with_other_metrics():
    (route,) = [setting for setting in SETTINGS if setting.name == "route"]
    for state in states(route):
        for to in state["routes"]:
            if "?" in state["routes"][to] or to in state["behind"]:
                continue
            (target,) = re.findall(r"default|\S+/\d+", to)[:1]
            wanted = {"to": target, "quickack": 1, "cwnd": 10, "rto_min": "5ms", "mtu": 1400}
            assert held(route.change("data0", state, wanted))


def test_a_profile():
    every = (profile.record("x", 999, 3), profile.trial(4000), profile.fold("x", 999))
    lines = [
        shlex.split(re.sub(r"[12]?[<>].*", "", line.strip().removesuffix("|")).replace('"', ""))
        for command in every
        for line in command.argv[2].replace("\\\n", "").splitlines()
        if "$root perf" in line
    ]
    filled = {"$frequency": "999", "${size}M": "128M"}
    for words in lines:
        words = words[next(at for at, word in enumerate(words) if word.endswith("root")) + 1 :]
        assert allowed(tuple(filled.get(word, word) for word in words)), words
    assert len(lines) == 4
    assert not allowed(
        ("perf", *["record", "-a", "-g", "-F", "9", "-N", "-B", "-o", "-", "--", "sh"])
    )
    assert not allowed(("perf", *["script", "-i", "-", "-F", "event", "-o", "/etc/passwd"]))


def test_drops_by_reason():
    filled = {"t": "/sys/kernel/tracing", "e": "events/skb/kfree_skb", "$": "4711"}
    filled |= {"i": f"{filled['t']}/instances/netlimits-4711"}
    filled["1"] = f"{filled['i']}/{filled['e']}/hist"
    script = drops.command(5).argv[4].replace("\\\n", "")
    lines = re.findall(r"\$root (\w+ \$\S+)", re.sub(r"[);}]", " ", script))
    lines.append("mkdir $t/instances/netlimits-$$")
    for line in lines:
        words = re.sub(r"\$([a-z1$])", lambda name: filled[name[1]], line).split()
        assert allowed(tuple(words)), line
    assert len(lines) == 9
    assert drops.probe()[4].count("$root cat") == 2
    for line in (
        "tee /sys/kernel/tracing/instances/netlimits-1/../../events/skb/kfree_skb/trigger",
        "tee /sys/kernel/tracing/events/skb/kfree_skb/trigger",
        "cat /sys/kernel/tracing/trace_pipe",
        "rmdir /sys/kernel/tracing/instances/other",
    ):
        assert not allowed(tuple(line.split())), line


def test_a_trace():
    command = trace.command("data0", Trace(("sender",), 1000), 10.5, 12865)
    assert held((command, trace.command("ens4", Trace(("sender",), 5), 3, None))) == 2


# -- what is not ----------------------------------------------------------------------------

REFUSED = """\
ethtool -f eth0 firmware.bin
ethtool --flash eth0 firmware.bin
ethtool -E eth0 offset 0 value 0
ethtool -K eth0 tso on -f
ethtool -s eth0 speed 10
ethtool -s eth0 autoneg on wol g
ethtool -s eth0 autoneg on advertise 0x3f
ethtool -K --flash tso on
ethtool -X eth0 context new equal 2
ethtool -X eth0 hkey 00:11 context 1
ethtool -N eth0 rx-flow-hash udp4 sdfn
ethtool -N eth0 flow-type tcp4 dst-port 1 action -1
ethtool -A eth0 rx on --debug 1
ip link set dev eth0 gso_max_size 9 up
ip link add nltun0 type veth peer name x
ip link add x type vxlan id 1
ip link del dev eth0
ip addr add 192.0.2.1/24 dev eth0
wg set wg0 private-key /etc/shadow
wg set nltun0 private-key /etc/shadow listen-port 1 peer x= endpoint 192.0.2.1:1 allowed-ips 192.0.2.1
tc filter add dev eth0 parent ffff: protocol all prio 1 matchall action mirred egress redirect dev x
tc filter add dev eth0 parent 6e6c: protocol ip prio 1 bpf obj /tmp/x.o
tc qdisc add dev eth0 parent 1:1 handle 6e6d: pfifo limit 5
tee /sys/devices/system/cpu/cpu0/../../x/cpufreq/scaling_governor
tee /sys/devices/system/cpu/cpu0/online
tee /dev/mem
ip netns exec x sh
ip -batch /tmp/file
ip link set dev eth0 down
ip link set dev eth0 mtu 1500 down
ip link set dev eth0 xdp obj /tmp/x.o
ip link add x type veth
ip -4 route replace default encap bpf in obj /tmp/x.o dev eth0
ip -4 route flush dev eth0
ip -4 route del default
ip -4 route replace default via 192.0.2.1 dev eth0 nexthop via 192.0.2.2
ip -6 addr del ::1/128 dev lo dev
tc exec bpf
tc -batch /tmp/file
tc filter add dev eth0 ingress bpf obj /tmp/x.o
tc qdisc add dev eth0 root ../../tmp/x
tc qdisc add dev eth0 root evil
tc qdisc replace dev eth0 root pfifo limit 5
tc qdisc replace dev eth0 root netem
tc qdisc add dev eth0 root netem delay 10ms 1ms distribution ../../tmp/x
tc qdisc add dev eth0 root cake -batch /tmp/file
tc qdisc add dev eth0 ingress
sysctl -w kernel.core_pattern=x
sysctl -w net.core.rmem_max=1 kernel.core_pattern=x
sysctl -w net/../kernel/core_pattern=x
sysctl -w net.../kernel/core_pattern=x
sysctl -w net/ipv6/conf/../../../kernel/core_pattern=x
sysctl -w net.core.rmem_max=1 -p /tmp/file
sysctl -w net.core.rmem_max=1 --load=/tmp/file
sysctl -w net.core.rmem_max=1 --system
sysctl -p /tmp/file
sysctl --system
tee /etc/passwd
tee /sys/class/net/../../../etc/passwd
tee /sys/class/net/eth0/gro_flush_timeout /etc/passwd
tee -a /proc/irq/1/smp_affinity_list
tee /sys/class/net/eth0/queues/rx-0/../../../../rps_cpus
tee /sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit_max
tee /proc/irq/../../etc/passwd
timeout -s INT 5 sh
timeout -s INT 5 tcpdump -i eth0 -nn -S -tt -c 1 -s 1 tcp -z sh
timeout -s INT 5 tcpdump -w /etc/passwd -i eth0 -nn -S -tt -c 1 -s 1 tcp
timeout -s INT 5 /tmp/tcpdump -i eth0 -nn -S -tt -c 1 -s 1 tcp
sh -c id
netserver -D""".splitlines()


@pytest.mark.long
@pytest.mark.parametrize("line", REFUSED)
def test_nothing_else_is_allowed(line: str):
    assert not allowed(tuple(shlex.split(line)))
    assert not allowed(tuple(line.split(" ", 1)))  # nor with the words in one argument
