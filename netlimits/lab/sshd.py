"""Start an sshd in each namespace, and check SSH servers.

Each sshd gets a private /run: it needs /run/sshd, and hosts keep their notes under /run. The
start-up files of root's shell are hidden, since they would use CPU time during measurements.
"""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

from netlimits.errors import LabError
from netlimits.lab.layout import IN_A_LAB, Lab
from netlimits.lab.programs import output, program, running

_DEADLINE = 60.0
AT_ONCE = 8
"""Number of hosts that are started concurrently; more would time out on a busy machine."""

_START_UP = ".bashrc .bash_profile .bash_login .profile .zshenv .zprofile .zshrc .zlogin"
"""Start-up files of shells in root's home."""

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
# sshd 9.8 and later block addresses after failed logins, which tests make on purpose.
if "$@" -t -o PerSourcePenalties=no 2>/dev/null; then set -- "$@" -o PerSourcePenalties=no; fi
exec "$@"
"""


def start(lab: Lab) -> None:
    daemon = program("sshd")
    with ThreadPoolExecutor(min(lab.count, AT_ONCE)) as pool:
        list(pool.map(lambda host: _start(lab, host, daemon), lab.hosts))


def alive(lab: Lab, host: str) -> bool:
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
    """Return a command that only logs in; the kernel kills it when this process ends."""
    words = ("-F", str(lab.ssh_config), lab.login(host), "true")
    return "setpriv", "--pdeathsig", "KILL", program("ssh"), *words


def speaks(address: str, patience: float = 1.0) -> bool:
    """Return True if an SSH server answers within `patience` seconds (at least 1 to connect)."""
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
