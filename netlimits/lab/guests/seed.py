"""Add a machine's own name, addresses and keys to its initial file system, as files below /etc."""

from __future__ import annotations

import shlex
from pathlib import Path

from netlimits.lab.guests.cpio import Entry, archive
from netlimits.lab.layout import DATA_LINK, MANAGEMENT_LINK, Lab

INITIAL = "initrd"
"""The machine's own initial file system, in its folder."""


def write(lab: Lab, host: str, initial: Path) -> None:
    own = archive(_entries(lab, host))
    target = lab.host_folder(host) / INITIAL
    target.touch(0o600)  # it holds the host's key
    target.write_bytes(initial.read_bytes() + own)


def _entries(lab: Lab, host: str) -> list[Entry]:
    folder = lab.host_folder(host)
    values = {
        "name": lab.namespace(host),
        "management_link": lab.link_address(host, MANAGEMENT_LINK),
        "data_link": lab.link_address(host, DATA_LINK),
        "management": lab.management(host),
        "data": lab.data(host),
        "mtu": lab.mtu,
    }
    variables = "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items())
    return [
        Entry("host/hostname", f"{lab.namespace(host)}\n".encode(), 0o644),
        Entry("host/hosts", ("\n".join(lab.etc_hosts(host)) + "\n").encode(), 0o644),
        Entry("host/netlimits"),
        Entry("host/netlimits/host", variables.encode(), 0o644),
        Entry("host/netlimits/management", lab.management(host).encode(), 0o644),
        Entry("host/ssh"),
        Entry("host/ssh/host_key", (folder / "host_key").read_bytes(), 0o600),
        Entry("host/ssh/authorized_keys", lab.key.with_suffix(".pub").read_bytes(), 0o644),
    ]
