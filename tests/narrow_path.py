"""Add a bottleneck between the namespaces of a lab, for tests that do not depend on the rate.

An unlimited netperf would use the whole machine and slow other tests down.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from netlimits.lab import network
from netlimits.lab.labs import Lab
from netlimits.lab.layout import DATA

RATE = ("tbf", "rate", "100mbit", "burst", "128kb", "limit", "512kb")
BUFFER = "net.ipv4.tcp_wmem=4096 16384 262144"
"""Socket buffers that are small enough to drain before the next run if a program dies."""


def build(lab: Lab) -> None:
    """Replace the data link by a switch whose ports are limited to RATE."""
    ip("-n", lab.namespace("sender"), "link", "delete", DATA)
    ip("netns", "add", lab.switch)
    network.batch(network._switch(lab), lab.switch)
    for host in lab.hosts:
        lines = [line for line in network._addresses(lab, host) if DATA in line]
        network.batch(lines, lab.namespace(host))
    narrow(lab)


def narrow(lab: Lab) -> None:
    """Limit the ports of a lab's switch to RATE."""
    for host in lab.hosts:
        ip("netns", "exec", lab.namespace(host), "sysctl", "-q", "-w", BUFFER)
        qdisc = ("qdisc", "add", "dev", lab.data_port(host), "root")
        subprocess.run(["tc", "-n", lab.switch, *qdisc, *RATE], check=True)


@contextmanager
def idle(machines: Lab) -> Iterator[None]:
    """Limit the ports of the machines' switch so much that the machines are idle."""
    rate = ("tbf", "rate", "10mbit", "burst", "128kb", "limit", "256kb")
    ports = [("tc", "-n", machines.switch, "qdisc", "add", "dev", machines.data_port(host), "root")
             for host in machines.hosts]  # fmt: skip
    for port in ports:
        subprocess.run([*port, *rate], check=True)
    try:
        yield
    finally:
        for port in ports:
            subprocess.run(["del" if word == "add" else word for word in port], check=True)


@contextmanager
def slower(lab: Lab) -> Iterator[None]:
    """Halve the rate towards the receiver."""
    qdisc = ("qdisc", "replace", "dev", lab.data_port("receiver"), "root")
    tc = ["tc", "-n", lab.switch, *qdisc]
    subprocess.run([*tc, *("50mbit" if word == "100mbit" else word for word in RATE)], check=True)
    try:
        yield
    finally:
        subprocess.run([*tc, *RATE], check=True)


def ip(*words: str) -> None:
    """Run `ip WORDS`, which must succeed."""
    subprocess.run(["ip", *words], check=True)
