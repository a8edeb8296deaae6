"""What `ip -j` prints, and what is no list of links, addresses or routes."""

from __future__ import annotations

import ipaddress
import json

import pytest

from netlimits.errors import InputError, LabError
from netlimits.lab import link, network
from netlimits.lab.layout import Guest, Lab

LAB = Lab("torn", 1, 2, 9000, Guest())


def prints(monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    answers = iter(texts)
    monkeypatch.setattr(network, "output", lambda *_, **__: next(answers))


def links(**counters: dict[str, dict[str, int]]) -> str:
    return json.dumps([{"ifname": name, "stats64": of} for name, of in counters.items()])


def test_networks_are_those_of_addresses_and_narrow_routes(monkeypatch):
    prints(
        monkeypatch,
        '[{}, {"ifname": "eth0", "addr_info": [{"local": "192.0.2.7", "prefixlen": 24}]}]',
        '[{"dst": "default"}, {"dst": "10.0.0.0/8"}, {"dst": "198.18.0.0/24", "dev": "eth0"}]',
    )
    known = [ipaddress.ip_network(text) for text in ("192.0.2.7/32", "198.18.0.0/24")]
    assert network.known_networks() == known


@pytest.mark.parametrize(
    ("routes", "complaint"),
    [
        ('[{"gateway": "192.0.2.1"}]', "ip -j -4 route show table all` is unreadable.*`dst`"),
        ('[{"dst": "nowhere"}]', "networks cannot be read: .*nowhere"),
        ("Dump terminated", "ip -j -4 route show table all` is unreadable"),
    ],
)
def test_a_route_that_cannot_be_read_is_one_line(monkeypatch, routes, complaint):
    prints(monkeypatch, "[]", routes)
    with pytest.raises(LabError, match=complaint) as error:
        network.known_networks()
    assert "\n" not in str(error.value)


def test_a_links_traffic_is_what_its_taps_counted(monkeypatch):
    near = {"tx": {"packets": 5}, "rx": {"packets": 3}}
    far = {"tx": {"packets": 4}, "rx": {"packets": 2}}
    prints(monkeypatch, links(near1=near, far1=far))
    assert link.traffic(LAB, "sender") == (link.Traffic(5, 2), link.Traffic(4, 3))


@pytest.mark.parametrize("shown", ["[]", '[{"ifname": "near1"}, {"ifname": "far1"}]'])
def test_taps_that_are_gone_are_told_with_the_command_that_mends_it(monkeypatch, shown):
    prints(monkeypatch, shown)
    with pytest.raises(LabError, match=r"no counters.*lab link torn --host sender --off"):
        link.traffic(LAB, "sender")


@pytest.mark.parametrize("shown", ["not JSON", '[{"ifname": 1}]', '{"ifname": "near1"}'])
def test_links_that_cannot_be_read_are_one_line(monkeypatch, shown):
    prints(monkeypatch, shown)
    with pytest.raises(LabError, match="-s link show` is unreadable"):
        link.traffic(LAB, "sender")


def test_a_host_that_the_lab_has_not_is_named_with_those_it_has():
    with pytest.raises(InputError, match="lab torn has no host third: it has sender, receiver"):
        link.chosen(LAB, "third")
