"""Any sysctl that can be written, set to another value: all come back, or nothing is changed.

Some move others, and no list is whole. So the tree of all network sysctls must be as before, whether
the setting was refused, or restored by `Changes` or from any state as a guard does it.
"""

from __future__ import annotations

from faults.attacks.base import Family, Held, Needs
from undoing import ListLog

from netlimits.errors import SettingError
from netlimits.experiment.hosts_file import Machine
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.model import sysctl_tree
from netlimits.restore.changes import Changes
from netlimits.settings import setting

_WRITABLE = "find /proc/sys/net -type f -perm -200"
MOVERS = ("/neigh/", "/conf/all/", "/conf/default/", "/route/", "mptcp")
"""Half of the attacks are on these."""


def attack(held: Held) -> str | None:
    """One sysctl, another value, and every sysctl before and after."""
    ground, chance = held.ground, held.chance
    name = chance.choice(ground.lab.hosts)
    login = Machine(name, ssh=ground.lab.login(name, "root"), ssh_config=ground.lab.ssh_config)
    host = ssh_host(login)
    try:
        paths = [path for path in ground.on(name, *_WRITABLE.split()).split() if "mgmt" not in path]
        if chance.random() < 0.5:
            paths = [path for path in paths if any(part in path for part in MOVERS)]
        before = sysctl_tree.values(ground.on(name, *sysctl_tree.READ, check=False))
        path = chance.choice(sorted(paths))
        sysctl = path.removeprefix("/proc/sys/").replace("/", ".")
        value = before.get(sysctl, "")
        if not value.lstrip("-").isdigit() or not sysctl.replace(".", "").isidentifier():
            return None
        wanted = {sysctl: 1 - int(value) if value in "01" else int(value) + chance.choice((1, 8))}
        held.says(f"{name}: {wanted}, was {value}")
        log = ListLog(lambda _: host)
        changes = Changes(lambda _: host, log)
        try:
            changes.reach(name, "data0", "sysctl", wanted)
            held.says("reached")
        except SettingError as error:
            held.says(f"refused: {error}")
        if log.originals and chance.random() < 0.5:
            held.says("restored from any state")
            for command in setting("sysctl").undo("data0", log.originals[0].state, {}):
                host.run(command)
        changes.restore()
        after = sysctl_tree.values(ground.on(name, *sysctl_tree.READ, check=False))
        return f"{moved}" if (moved := sysctl_tree.moved(before, after)) else None
    finally:
        host.close()


FAMILY = Family("sysctls", attack, weight=1, needs=Needs.NAMESPACES, portable=True)
