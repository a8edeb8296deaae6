"""Hosts files and names of hosts that nobody would write: a line for each mistake, no option."""

from __future__ import annotations

import json

from faults.attacks.base import Family, Held, flipped

GOOD = "sender: {ssh: vm1, interface: ens4}\nreceiver: {ssh: vm2, interface: ens4, address: 192.0.2.2}\n"
NAMES = (
    "rx..lan", "." * 70, "a" * 64 + ".lan", "a" * 300, "-oProxyCommand=x", "x y", "", "é.invalid", "\ud83d\ude00",
    "[::1]:22x", "user@@host", "ssh://", "host:99999999", "host:-1", "%h", "xn--", "\u202egnp", "0x7f.1",
    "[fe80::1%nosuch]:22", "*", "!a", "a,b", "nobody.invalid", "..", "@", ":", "a@b:c",
)  # fmt: skip

MOST = 6
"""Mistakes that such a file may have: of each role each of its keys."""


def attack(held: Held) -> str | None:
    path = held.folder / "hosts.yaml"
    if held.chance.random() < 0.5:
        text = json.dumps(
            {
                role: {"ssh": held.chance.choice(NAMES), "interface": "ens4"}
                for role in ("sender", "receiver")
            }
        ).encode()
    else:
        text = GOOD.encode()
        for _ in range(held.chance.randrange(1, 4)):
            text = flipped(text, held.chance)
    held.says(text)
    path.write_bytes(text)
    config = held.folder / "ssh_config"
    config.write_text("Host vm1 vm2\n  HostName nobody.invalid\n  ConnectTimeout 1\n")
    complaint, through = held.call("status", "--hosts", path)
    lines = complaint.splitlines()
    if not through and (len({*lines}) < len(lines) or len(lines) > MOST):
        return f"not a line for each mistake: {complaint!r}"
    if "Traceback" in complaint:
        return complaint
    return None


FAMILY = Family("hosts files", attack, weight=2)
