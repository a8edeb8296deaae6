"""What others changed during a run, from two readings of a host: real ones of a veth in a namespace."""

from __future__ import annotations

import pytest

from netlimits.evidence import watch
from netlimits.model import Command, Completed

LINK = (
    "16 0000010002000000{flags}00000000 3={name} 13=e8030000 4={mtu} 31=02000000 40=ffff0000"
    " 41=00000100 58=00000100 63=00000100 64=00000100 32=02000000 48={lost}000000{event}"
    " 43=0500020000000000 6=6e6f717565756500"
)
DATA0, FOO = "646174613000", "666f6f00"
AFTER_MTU = "a00f0000"

STATE = """\
order 0100
link {link}
route 198.19.5.2 24 02180000fe02fd0100000000 15=fe000000 1=c6130500 7=c6130501 4=02000000
features tx-scatter-gather tx-tcp-segmentation rx-gro
rings rx=256 mini=0 jumbo=0 tx=256
channels rx=1 tx=1 other=0 combined=0
speed 10000
gro_flush_timeout 0
"""
QUEUES = """\
notice 37 000000000200000000000000ffffffff01000000 1=6e6f717565756500
notice 36 000000000200000000007b81ffffffff03000000 1=74626600
notice 37 000000000200000000007b81ffffffff01000000 1=74626600
"""


def link(
    name: str = DATA0,
    mtu: str = "dc050000",
    flags: str = "43100100",
    lost: int = 1,
    event: str = "",
) -> str:
    return LINK.format(name=name, mtu=mtu, flags=flags, lost=f"{lost:02x}", event=event)


def completed(text: str) -> Completed:
    return Completed("sender", Command(("sh",)), 0, text, "", 0.0)


def changes(
    after: str = "", notices: str = "", before: str = "", watched: bool = True
) -> list[str]:
    state = STATE.format(link=link())
    first, last = (f"watch 1.{n}\n" for n in (0, 0 if watched else 1))
    told = watch.changes(
        completed(first + (before or state)),
        completed(last + notices + (after or state)),
        "data0",
        ["198.19.5.1"],
    )
    return [*told]


def told(**properties: object) -> str:
    return f"notice {link(**properties)}\n"


def test_a_host_that_nobody_touched_has_no_changes():
    assert changes() == []
    assert changes(notices=told()) == []


def test_what_changed_is_told_from_what_to_what():
    assert changes(STATE.format(link=link(mtu=AFTER_MTU))) == [
        "data0: its MTU was changed from 1500 to 4000"
    ]
    state = STATE.format(link=link())
    for was, now, line in (
        ("rx-gro", "rx-lro", ["data0: switched on: rx-lro", "data0: switched off: rx-gro"]),
        ("speed 10000", "speed 1000",
         ["data0: its link speed was changed from 10000 to 1000"]),
        ("tx=256", "tx=512", ["data0: its rings was changed from rx=256 mini=0 jumbo=0 tx=256 "
                              "to rx=256 mini=0 jumbo=0 tx=512"]),
    ):  # fmt: skip
        assert changes(state.replace(was, now)) == line


def test_what_was_undone_before_the_end_is_told_by_the_kernel():
    both = told(mtu=AFTER_MTU) + told()
    assert changes(notices=both) == ["data0: its MTU was changed from 1500 to 4000 and back"]
    feature = told(event=" 44=02000000")
    assert changes(notices=feature * 2) == ["data0: its offloads were changed and changed back"]
    assert changes(notices=told(name=FOO) + told()) == [
        "data0: its name was changed from data0 to foo and back"
    ]
    assert changes(notices=QUEUES) == [
        "data0: qdisc noqueue 0: was removed, qdisc tbf 817b: was made or changed, "
        "qdisc tbf 817b: was removed"
    ]


def test_notices_of_another_watch_do_not_count():
    assert changes(notices=told(mtu=AFTER_MTU) + told(), watched=False) == []


def test_a_link_that_went_down_and_up_is_told():
    down = told(flags="42100000", lost=2)
    after = STATE.format(link=link(lost=3))
    assert changes(after, down + told(lost=3)) == [
        "data0: its state was changed from up to down and back",
        "data0 lost its carrier 2 times",
    ]


def test_an_interface_that_is_gone_renamed_or_new_is_told():
    assert changes("absent\n", told(name=FOO)) == ["data0 was renamed to foo"]
    assert changes("absent\n") == ["data0 is gone: it was removed or renamed"]
    other = STATE.format(link=link()).replace("0000010002", "0000010007")
    assert changes(other) == ["data0 was removed and made again"]
    assert changes("absent\n", before="absent\n") == []


def test_a_cpu_that_was_taken_offline_is_told_also_where_it_came_back():
    assert changes(notices="cpu offline 1\ncpu online 1\n") == [
        "CPU 1 went offline",
        "CPU 1 went online",
    ]


ROUTE = "24 02{length}0000fe03fd0100000000 15=fe000000 1={to} 8=08000200{mtu} 4=02000000{more}"


@pytest.mark.parametrize(
    ("notice", "lines"),
    [
        pytest.param(ROUTE.format(length=18, to="c6130500", mtu="78050000", more=""),
                     ["the route to 198.19.5.2 was changed to 198.19.5.0/24 over interface 2 mtu "
                      "1400 and is 198.19.5.0/24 over interface 2 src 198.19.5.1 again"],
                     id="other metrics"),
        pytest.param("25 02180000fe02fd0100000000 15=fe000000 1=c6130500 7=c6130501 4=02000000",
                     ["the route to 198.19.5.2 was removed and is 198.19.5.0/24 over interface 2 "
                      "src 198.19.5.1 again"], id="removed"),
        pytest.param(ROUTE.format(length=20, to="c6130502", mtu="78050000", more=""),
                     ["the route to 198.19.5.2 was changed to 198.19.5.2/32 over interface 2 mtu "
                      "1400 and is 198.19.5.0/24 over interface 2 src 198.19.5.1 again"],
                     id="one more specific"),
        pytest.param("24 02200000fe03fd0100000000 15=fe000000 1=c6130502 4=07000000",
                     ["the route to 198.19.5.2 was changed to 198.19.5.2/32 over interface 7 and "
                      "is 198.19.5.0/24 over interface 2 src 198.19.5.1 again"],
                     id="one more specific over another interface"),
        pytest.param("24 02200000fd03fd0100000000 15=fd000000 1=c6130502 4=07000000", [],
                     id="in another table, over another interface"),
        pytest.param("24 02180000fe02fd0100000000 15=fe000000 1=c6130500 4=07000000", [],
                     id="of another interface in the same network"),
        pytest.param("24 02180000fe10fd0100000000 15=fe000000 1=c6130500 4=02000000", [],
                     id="written again as it is, by a DHCP client"),
        pytest.param("24 02000000fe10000100000000 15=fe000000 5=c6130509 4=02000000", [],
                     id="a default route, which is wider"),
        pytest.param(ROUTE.format(length=18, to="c6130600", mtu="78050000", more=""), [],
                     id="to another network"),
        pytest.param(ROUTE.format(length=18, to="c6130500", mtu="78050000", more=" 6=64000000"),
                     [], id="of a greater metric, which is not taken"),
        pytest.param("20 0218800002000000 1=c6130501 2=c6130501", [], id="an address's lifetime"),
        pytest.param("21 0218800002000000 1=c6130509 2=c6130509", [], id="another address"),
        pytest.param("21 0218800002000000 1=c6130501 2=c6130501",
                     ["data0: its address 198.19.5.1 was removed"], id="the data address"),
        pytest.param("21 0a408000020000001=fe80", [], id="no message"),
    ],
)  # fmt: skip
def test_a_route_or_an_address_counts_where_data_goes_by_it(notice: str, lines: list[str]):
    assert changes(notices=f"notice {notice}\n") == lines


def test_a_route_that_is_another_at_the_end_is_told():
    state = STATE.format(link=link())
    assert changes(state.replace("4=02000000", "4=02000000 5=c6130509", 1)) == [
        "the route to 198.19.5.2 was 198.19.5.0/24 over interface 2 src 198.19.5.1 and is "
        "198.19.5.0/24 via 198.19.5.9 over interface 2 src 198.19.5.1"
    ]


@pytest.mark.parametrize(
    ("notice", "lines"),
    [
        pytest.param("32 022000000000000100000000 6=4d000000 15=4d000000 1=c6130502",
                     ["the rule 77: to 198.19.5.2/32 lookup 77 was added"], id="to the peer"),
        pytest.param("33 02001800fe00000100000000 6=4d000000 15=fe000000 2=c6130500",
                     ["the rule 77: from 198.19.5.0/24 lookup main was removed"], id="from here"),
        pytest.param("32 020000000000000600000000 6=05000000 3=646174613000",
                     ["the rule 5: was added"], id="for what arrives, to nowhere"),
        pytest.param("32 022000000000000100000000 6=4d000000 15=4d000000 1=c6130509", [],
                     id="to another host"),
        pytest.param("32 022000000000000100000000 6=4d000000 15=4d000000 1=c6130502 17=6c6f00", [],
                     id="over another interface"),
        pytest.param("32 0a0000000000000100000000 6=4d000000 15=4d000000", [],
                     id="of the other family"),
    ],
)  # fmt: skip
def test_a_rule_counts_where_it_can_apply_to_the_data(notice: str, lines: list[str]):
    assert changes(notices=f"notice {notice}\n") == lines


def test_a_run_whose_notices_were_lost_says_so():
    (line,) = changes(notices="lost\n" * 2)
    assert "the kernel dropped notices" in line
    assert changes(notices="lost\n", watched=False) == []


PLAIN = """\
ifindex 2
mtu 1500
flags 0x1003
tx_queue_len 1000
carrier_down_count 1
features rx-checksumming tx-checksumming
path fe80::1 fe80::1 from :: dev data0 proto kernel src fe80::2 metric 256 expires 86391sec pref medium
"""


def test_a_host_without_perl_tells_what_is_another_at_the_end():
    assert changes(PLAIN, before=PLAIN) == []
    assert changes(PLAIN.replace("86391", "86380"), before=PLAIN) == []
    after = PLAIN.replace("mtu 1500", "mtu 4000").replace("count 1", "count 2")
    after = after.replace("0x1003", "0x1002").replace(" tx-checksumming", "")
    assert changes(after, before=PLAIN) == [
        "data0: its state was changed from up to down",
        "data0 lost its carrier 1 time",
        "data0: its MTU was changed from 1500 to 4000",
        "data0: switched off: tx-checksumming",
    ]
    lost = changes(PLAIN.replace("fe80::1 from", "fe80::1 via fe80::9 from"), before=PLAIN)
    assert [line.partition(" was ")[0] for line in lost] == ["the route to fe80::1"]


def test_a_big_endian_host_is_read_in_its_own_order():
    state = STATE.format(link=link()).replace("order 0100", "order 0001")
    state = state.replace("0000010002000000", "0000010000000002")
    after = state.replace("4=dc050000", "4=00000fa0")
    before = state.replace("4=dc050000", "4=000005dc")
    assert changes(after, before=before) == ["data0: its MTU was changed from 1500 to 4000"]
