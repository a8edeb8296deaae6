"""An sshd for each host: started in its namespace, waited for, recognized again.

`ip netns exec` gives a process a mount namespace of its own. In there /run becomes private: sshd
wants /run/sshd, hosts keep their notes under /run, and the machine's own is not ours to write to.
What this machine's root has its shell do at each login is no host's either: it would take CPU
beside what is measured.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

from netlimits.errors import LabError
from netlimits.lab.layout import IN_A_LAB, Lab
from netlimits.lab.processes import running
from netlimits.lab.programs import output, program

_DEADLINE = 60.0
AT_ONCE = 8
"""Hosts that are started at the same time: of many a busy machine would make all wait too long."""

_START_UP = ".bashrc .bash_profile .bash_login .profile .zshenv .zprofile .zshrc .zlogin"
"""Files in root's home that shells read."""

_START = f"""\
set -e
printf %s "$2" >/proc/sys/kernel/hostname
for file in {_START_UP}; do
    [ ! -f ~root/"$file" ] || mount --bind /dev/null ~root/"$file"
done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/sshd
mkdir -m 1777 /run/lock
: >{IN_A_LAB}
cd /
set -- "$1" -f "$3/sshd_config" -E "$3/sshd.log"
# From 9.8 on sshd shuts out addresses that fail to log in, which here is what tests do.
if "$@" -t -o PerSourcePenalties=no 2>/dev/null; then set -- "$@" -o PerSourcePenalties=no; fi
exec "$@"
"""


def start(lab: Lab) -> None:
    """Start every host's sshd and wait until it lets us in. Raises LabError with its last words."""
    daemon = program("sshd")
    with ThreadPoolExecutor(min(lab.count, AT_ONCE)) as pool:
        list(pool.map(lambda host: _start(lab, host, daemon), lab.hosts))


def alive(lab: Lab, host: str) -> bool:
    """Whether the host's sshd runs: its process is there, and in the host's namespace."""
    return running(lab.host_folder(host) / "sshd.pid", lab.namespace(host)) is not None


def _start(lab: Lab, host: str, daemon: str) -> None:
    space, folder = lab.namespace(host), str(lab.host_folder(host))
    shell = ("unshare", "--uts", "sh", "-c", _START, "sh", daemon, space, folder)
    output("ip", "netns", "exec", space, *shell)
    deadline = time.monotonic() + _DEADLINE
    while not (alive(lab, host) and speaks(lab.management(host))):
        if time.monotonic() > deadline:
            raise LabError(f"{host}: sshd does not answer: {_last_words(lab, host)}")
        time.sleep(0.01)
    try:
        output(*ssh(lab, host))
    except LabError as error:
        raise LabError(f"{host}: {error}; {_last_words(lab, host)}") from None


def ssh(lab: Lab, host: str) -> tuple[str, ...]:
    """A login that does nothing. It ends when we are killed: ssh lets go of the lock."""
    words = ("-F", str(lab.ssh_config), lab.login(host), "true")
    return "setpriv", "--pdeathsig", "KILL", program("ssh"), *words


def speaks(address: str, patience: float = 1.0) -> bool:
    """Whether an SSH server behind the address says so, with `patience` seconds for each answer.

    Who tries often should be patient: a slow host starts a process for each who asks.
    """
    try:
        with socket.create_connection((address, 22), max(1.0, patience)) as sock:
            sock.settimeout(patience)
            return sock.recv(4) == b"SSH-"
    except OSError:
        return False


def _last_words(lab: Lab, host: str) -> str:
    try:
        lines = (lab.host_folder(host) / "sshd.log").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it logged nothing"
