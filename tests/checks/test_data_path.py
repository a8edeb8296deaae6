"""The data interface and address of two hosts, as their routes have them."""

from __future__ import annotations

import json

import pytest

from netlimits.checks.survey.data_path import placed
from netlimits.errors import HostError
from netlimits.hosts.scripted import ScriptedHost, answer
from netlimits.model import Command, Completed, Machine

MACHINES = {"sender": Machine("sender", "vm1"), "receiver": Machine("receiver", "vm2")}
ROUTES = {
    "192.0.2.2": {"dev": "eth0", "prefsrc": "192.0.2.1"},
    "198.51.100.2": {"dev": "eth1", "prefsrc": "198.51.100.1"},
    "203.0.113.2": {"dev": "eth0", "gateway": "192.0.2.254", "prefsrc": "192.0.2.1"},
}
SPEEDS = {"eth0": 1000, "eth1": 1000}


def host(role: str, addresses: dict[str, str], stack: str, **changed) -> ScriptedHost:
    """A host with these addresses on interfaces, logged in to by its first one."""
    speeds = SPEEDS | changed

    def script(command: Command) -> Completed:
        if command.argv[:3] == ("ip", "-j", "route"):
            route = ROUTES.get(command.argv[-1])
            if route is None:
                return answer(command, stderr="RTNETLINK answers: Network is unreachable", status=2)
            return answer(command, json.dumps([route]))
        listed = [
            {"ifname": name, "addr_info": [{"local": address, "scope": "global"}]}
            for address, name in addresses.items()
        ] + [{}]  # ip's answer for an interface that is down
        lines = [f"login 192.0.2.9 4711 {next(iter(addresses))} 22", f"stack {stack} net:[1]"]
        lines += [f"speed /sys/class/net/{name}/speed {mbps}" for name, mbps in speeds.items()]
        return answer(command, "\n".join([json.dumps(listed), *lines, ""]))

    return ScriptedHost(script, role)


def hosts(*receivers: str, **changed) -> dict[str, ScriptedHost]:
    own = {"192.0.2.1": "eth0", "198.51.100.1": "eth1"}
    at = {address: f"ens{number}" for number, address in enumerate(receivers)}
    return {
        "sender": host("sender", own, "a", **changed),
        "receiver": host("receiver", at, "b"),
    }


def test_a_network_beside_the_logins_is_for_data():
    both = placed(MACHINES, hosts("192.0.2.2", "198.51.100.2"))
    assert (both["sender"].interface, both["sender"].address) == ("eth1", "198.51.100.1")
    assert (both["receiver"].interface, both["receiver"].address) == ("ens1", "198.51.100.2")


def test_the_faster_link_comes_before():
    both = placed(MACHINES, hosts("192.0.2.2", "198.51.100.2", eth0=10_000))
    assert both["sender"].interface == "eth0"


def test_a_neighbour_comes_before_a_gateway_whatever_its_speed():
    both = placed(MACHINES, hosts("203.0.113.2", "198.51.100.2", eth0=100_000))
    assert both["receiver"].address == "198.51.100.2"
    both = placed(MACHINES, hosts("203.0.113.2"))
    assert both["sender"].interface == "eth0"


def test_an_interface_that_is_named_is_the_one():
    both = placed(MACHINES, hosts("192.0.2.2", "198.51.100.2"), "eth0")
    assert both["receiver"].address == "192.0.2.2"


def test_without_a_route_the_error_has_the_addresses_that_were_tried():
    with pytest.raises(HostError, match=r"from vm1 to an address of vm2; vm2 has 10\.9\.9\.9:"):
        placed(MACHINES, hosts("10.9.9.9"))
    with pytest.raises(HostError, match=r"there is no interface eth7; it has .*eth0"):
        placed(MACHINES, hosts("192.0.2.2"), "eth7")


def test_an_address_of_the_senders_own_is_no_way_to_the_receiver():
    with pytest.raises(HostError, match="no route"):
        placed(MACHINES, hosts("198.51.100.1"))


def test_two_names_of_one_host_are_refused():
    same = host("sender", {"192.0.2.1": "eth0"}, "a")
    with pytest.raises(HostError, match="vm1 and vm2 are the same host"):
        placed(MACHINES, {"sender": same, "receiver": same})
