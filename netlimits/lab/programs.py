"""Run the programs that build a lab, and recognize its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from netlimits.errors import LabError, one_line
from netlimits.lab.layout import IN_A_LAB, NAMESPACES

_PACKAGES = {
    "apt-cache": "apt",
    "apt-get": "apt",
    "awk": "mawk",
    "busybox": "busybox-static",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
    "dpkg-query": "dpkg",
    "getconf": "libc-bin",
    "ip": "iproute2",
    "ldd": "libc-bin",
    "mksquashfs": "squashfs-tools",
    "modprobe": "kmod",
    "netserver": "netperf",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "sh": "dash",
    "ss": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "sysctl": "procps",
    "taskset": "util-linux",
    "tc": "iproute2",
    "timeout": "coreutils",
    "umount": "mount",
}
"""Program -> its Debian package, if the package has another name."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH for programs: a user's own PATH may lack the sbin folders, even under sudo."""

_DEADLINE = 20.0


def need_root(doing: str) -> None:
    if os.geteuid() != 0:
        raise LabError(f"{doing} needs root; run it again with sudo")
    if IN_A_LAB.exists():
        raise LabError(f"{doing} from within a lab's host is not possible; leave the host first")


def program(name: str) -> str:
    need(name)
    return shutil.which(name, path=PATH) or name


def need(*names: str) -> None:
    missing = [name for name in names if shutil.which(name, path=PATH) is None]
    if missing:
        packages = " ".join(sorted({_PACKAGES.get(name, name) for name in missing}))
        raise LabError(
            f"not installed: {', '.join(missing)}; on Debian and Ubuntu: apt install {packages}"
        )


def output(
    *argv: str,
    stdin: str = "",
    may_fail: bool = False,
    deadline: float = _DEADLINE,
    label: str = "",
) -> str:
    """Run a program and return its output. Raises LabError, in which `label` names the program.

    The program inherits the lab's lock. So no other command touches the lab before the program
    ends, even if this process is killed. The program runs in a new session, so that it does not
    receive Ctrl-C.
    """
    command = [program(argv[0]), *argv[1:]]
    name = label or f"`{' '.join(argv)}`"
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=deadline,
            env={"PATH": PATH, "LC_ALL": "C"},
            close_fds=False,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{name} did not end within {deadline:g} s") from None
    if done.returncode and not may_fail:
        printed = one_line(done.stderr.strip() or done.stdout)
        raise LabError(f"{name} exited {done.returncode}: {printed[:300] or 'it printed nothing'}")
    return done.stdout


def running(file: Path, space: str) -> int | None:
    """Return the process id in a file if that process runs in the network namespace, else None."""
    try:
        pid = int(file.read_text())
        own = Path(f"/proc/{pid}/ns/net").stat()
        return pid if os.path.samestat(own, (NAMESPACES / space).stat()) else None
    except (OSError, ValueError):
        return None
