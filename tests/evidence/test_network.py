"""A host's network state: what is read of it, and what of two readings differs."""

from __future__ import annotations

import json

import pytest

from netlimits.evidence.network import script
from netlimits.evidence.network.comparison import differences, uncompared
from netlimits.evidence.network.state import NetworkState, loaded, parsed, saved
from netlimits.model import Completed

PRINTED = """\
@boot 4e6252de-b0e9
@links 2
[{"ifname":"data0","flags":["BROADCAST","UP","LOWER_UP"],"mtu":1500,"qdisc":"mq","operstate":"UP","promiscuity":0,\
"linkinfo":{"info_kind":"bridge","info_data":{"stp_state":0,"hello_timer":1.5}},"link_netnsid":3,"txqlen":1000,\
"addr_info":[{"family":"inet","local":"198.18.0.1","prefixlen":24,"scope":"global","label":"data0",\
"valid_life_time":4294967295,"preferred_life_time":4294967295},\
{"family":"inet6","local":"fd00::7","prefixlen":64,"scope":"global","dynamic":true,"valid_life_time":70}]},\
{"ifname":"mgmt0","flags":["UP"],"mtu":1500}]
@ethtool
Features for data0:
tcp-segmentation-offload: on
\ttx-tcp-segmentation: on [fixed]
\ttx-udp-segmentation: off [requested on]

Ring parameters for data0:
Pre-set maximums:
RX:\t\t4096
Current hardware settings:
RX:\t\t256

Coalesce parameters for data0:
Adaptive RX: off  TX: off
rx-usecs:\t3
RX flow hash indirection table for data0 with 2 RX ring(s):
    0:      0     1
@tc
qdisc htb 1: dev data0 root refcnt 3 r2q 10 default 0x10 direct_packets_stat 7 direct_qlen 1000
 overhead 24
qdisc fq_codel 0: dev mgmt0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms
@class data0 1:
class htb 1:10 root prio 0 rate 10Mbit
@filter data0 parent 1:
filter protocol ip pref 49152 u32 chain 0 fh 800::800 order 2048 flowid 1:10 not_in_hw
  match 01020304/ffffffff at 16
@sysctl
/proc/sys/net/core/somaxconn:4096
/proc/sys/net/netfilter/nf_conntrack_count:8
/proc/sys/net/ipv4/tcp_fastopen_key:secret
/proc/sys/net/ipv4/conf/data0/rp_filter:2
/sys/class/net/data0/queues/rx-0/rps_cpus:3
@ipv4
32765:\tfrom 1.2.3.4 lookup 77 proto unspec
198.18.0.9 dev data0 lladdr 02:00:00:00:00:09 PERMANENT
198.18.0.10 dev data0 proxy
unicast 10.9.0.0/24 table main proto boot scope global \\\tnexthop dev data0 weight 1 linkdown \\\tnexthop dev mgmt0 weight 2
local 198.18.0.1 dev data0 table local proto kernel scope host src 198.18.0.1
@ipv6
token :: dev mgmt0
token ::9 dev data0
unicast fd00::/64 dev data0 table main proto kernel scope global metric 256 linkdown pref medium
unicast fd01::/64 dev data0 table main proto ra metric 256 expires 70sec pref medium
@end
"""


def state(printed: str = PRINTED) -> NetworkState:
    """The state in what is printed; sysctls come by a command of their own."""
    before, _, rest = printed.partition("@sysctl\n")
    sysctls, following, after = rest.partition("@ipv4\n")
    printed_by = (f"{sysctls}@end\n" if following else "", before + following + after)
    answers = [
        Completed("host", command, 0, text, "", 0.1)
        for command, text in zip(script.read("data0"), printed_by, strict=True)
    ]
    return parsed(answers, "data0")


def test_every_leaf_has_a_kind_an_interface_a_name_and_a_value():
    leaves = {" ".join(filter(None, leaf)): value for leaf, value in state().leaves.items()}
    secret = leaves.pop("sysctl net.ipv4.tcp_fastopen_key")
    assert len(secret) == 16
    assert len(leaves.pop("RSS table and key data0")) == 16
    assert leaves == {
        "interface data0": "",
        "link data0 flags": "BROADCAST UP",
        "link data0 mtu": "1500",
        "link data0 txqlen": "1000",
        "link data0 linkinfo.info_kind": "bridge",
        "link data0 linkinfo.info_data.stp_state": "0",
        "address data0 198.18.0.1/24": "scope global",
        "interface mgmt0": "",
        "link mgmt0 flags": "UP",
        "link mgmt0 mtu": "1500",
        "features data0 tcp-segmentation-offload": "on",
        "features data0 tx-tcp-segmentation": "on",
        "features data0 tx-udp-segmentation": "off [requested on]",
        "ring data0 maximum RX": "4096",
        "ring data0 RX": "256",
        "coalesce data0 Adaptive RX": "off TX: off",
        "coalesce data0 rx-usecs": "3",
        "queue setting data0 queues/rx-0/rps_cpus": "3",
        "qdisc data0 htb 1: dev data0 root r2q 10 default 0x10 direct_qlen 1000 overhead 24": "",
        "qdisc mgmt0 fq_codel 0: dev mgmt0 root flows 1024 target 5ms": "",
        "class data0 1: class htb 1:10 root prio 0 rate 10Mbit": "",
        "filter data0 parent 1: filter protocol ip pref 49152 u32 chain 0 fh 800::800 order 2048 "
        "flowid 1:10 match 01020304/ffffffff at 16": "",
        "sysctl net.core.somaxconn": "4096",
        "sysctl data0 net.ipv4.conf.data0.rp_filter": "2",
        "IPv4 rule 32765: from 1.2.3.4 lookup 77 proto unspec": "",
        "IPv4 neighbour data0 198.18.0.9 dev data0 lladdr 02:00:00:00:00:09 PERMANENT": "",
        "IPv4 neighbour data0 198.18.0.10 dev data0 proxy": "",
        "IPv4 route data0 10.9.0.0/24 table main proto boot scope global nexthop dev data0 "
        "weight 1 nexthop dev mgmt0 weight 2": "",
        "token data0": "::9",
        "IPv6 route data0 fd00::/64 dev data0 table main proto kernel scope global metric 256 "
        "pref medium": "",
    }


@pytest.mark.parametrize(
    ("was", "is_", "words"),
    [
        ('"mtu":1500,"qdisc"', '"mtu":9000,"qdisc"', ["data0: link mtu is 9000, was 1500"]),
        ("somaxconn:4096", "somaxconn:1", ["sysctl net.core.somaxconn is 1, was 4096"]),
        ("198.18.0.10 dev data0 proxy\n", "",
         ["data0: IPv4 neighbour 198.18.0.10 dev data0 proxy is gone"]),
        ("token :: dev mgmt0", "token ::5 dev mgmt0", ["mgmt0: token was not there"]),
        ("RX:\t\t256", "RX:\t\t512", ["data0: ring RX is 512, was 256"]),
        # what moves by itself
        ('"operstate":"UP"', '"operstate":"DOWN"', []),
        ('"UP","LOWER_UP"', '"UP"', []),
        ('"promiscuity":0', '"promiscuity":1', []),
        ('"hello_timer":1.5', '"hello_timer":0.1', []),
        ('"valid_life_time":70', '"valid_life_time":30', []),
        ("direct_packets_stat 7", "direct_packets_stat 9", []),
        ("quantum 1514", "quantum 8910", []),  # a default qdisc is made by today's MTU
        ("nf_conntrack_count:8", "nf_conntrack_count:9", []),
        (" linkdown", "", []),
        ("expires 70sec", "expires 3sec", []),
        ("/proc/sys/net/core/somaxconn:4096\n", "", []),
    ],
)  # fmt: skip
def test_what_differs_is_told_in_words_and_what_moves_by_itself_is_not(was, is_, words):
    assert was in PRINTED
    different = differences(state(), state(PRINTED.replace(was, is_)))
    assert [str(difference) for difference in different] == words


def test_an_interface_that_came_is_one_difference_whatever_it_has():
    more = PRINTED.replace('{"ifname":"mgmt0"', '{"ifname":"new0","flags":[]},{"ifname":"mgmt0"')
    more = more.replace("@end", "unicast fd05::/64 dev new0 table main\n@end")
    assert [*map(str, differences(state(), state(more)))] == ["new0: interface was not there"]


def test_interfaces_that_come_with_a_tunnels_module_are_no_difference():
    more = PRINTED.replace('{"ifname":"mgmt0"', '{"ifname":"gre0","flags":[]},{"ifname":"mgmt0"')
    more = more.replace("@end", "unicast fd05::/64 dev gre0 table main\n@end")
    assert [*map(str, differences(state(), state(more)))] == []


def test_a_section_that_was_not_read_whole_is_not_compared():
    cut = PRINTED[: PRINTED.index("@ipv6") + 40]
    assert not differences(state(), state(cut))
    assert uncompared(state(), state()) == ()
    assert uncompared(state(), state(cut)) == (
        "IPv6 rules, neighbours and routes of other interfaces",
    )
    broken = PRINTED.replace('[{"ifname"', '[{"ifn')
    assert uncompared(state(), state(broken)) == ("interfaces and addresses",)
    assert len(uncompared(state(), state(""))) == 6
    (many,) = uncompared(state(), state(PRINTED.replace("@links 2", "@links 300")))
    assert many == "features and sysctls of other interfaces (there are 300)"


def test_a_reading_is_the_same_after_it_was_on_disk():
    assert loaded(json.dumps(saved(state()))) == state()
    with pytest.raises(ValueError, match="sections"):
        loaded('{"boot": "", "interfaces": 1}')
