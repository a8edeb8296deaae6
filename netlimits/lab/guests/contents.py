"""The contents of a guest's root file system: programs, accounts and configuration.

Programs are copied from this machine. They keep their paths, to match the rules in `sudoers`.
"""

from __future__ import annotations

import re
import shutil
from importlib import resources
from pathlib import Path

from netlimits.lab.layout import ENGINEER, SSHD_CONFIG
from netlimits.lab.programs import PATH, need, output

_PACKAGES = "bash coreutils dash diffutils findutils grep hostname kmod procps sed util-linux"
"""Packages whose programs are all copied."""

_NEEDED = """
    awk busybox ethtool getconf ip mount netperf netserver perl ss sshd sudo sysctl taskset tc
    timeout umount
"""
"""Required programs. Some belong to _PACKAGES too, in case dpkg does not list a package's files."""

_WHERE_INSTALLED = """
    bridge gawk iperf3 iptables iptables-legacy irtt less lspci lsof mawk nft nstat nttcp numactl
    nuttcp perf ping ping6 scp ssh stress-ng strace tcp_crr tcp_rr tcp_stream tcpdump tracepath
    udp_rr udp_stream visudo wg
"""
"""Programs that are copied if this machine has them: measuring tools and utilities."""

_PROGRAM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")

_FILES = (
    "etc/netconfig",
    "etc/protocols",
    "etc/services",
    "etc/rpc",
    "etc/iproute2/*",
    "etc/alternatives/awk",
    "usr/share/iproute2/*",
    "usr/lib/tc/*",
    "usr/lib/*/tc/*",
    "usr/lib/iproute2/*",
    "usr/lib/openssh/ssh*",
    "usr/libexec/openssh/ssh*",
    "usr/libexec/sudo/*",
    "usr/libexec/coreutils/libstdbuf.so",
    "usr/lib/*/libnss_files*",
    "usr/lib/*/perl-base/**/*",
    "usr/lib/*/perl/*/Time/HiRes.pm",
    "usr/lib/*/perl/*/auto/Time/HiRes/HiRes.so",
    "usr/lib/*/security/pam_deny.so",
    "usr/lib/*/security/pam_permit.so",
    "usr/lib/terminfo/*/*",
    "lib/terminfo/[ldsvx]/*",
    "usr/lib/*/xtables/lib*t_*tatistic.so",
    "usr/lib/*/xtables/libxt_tcp.so",
    "usr/lib/*/xtables/libxt_udp.so",
    "usr/lib/*/xtables/libxt_standard.so",
)
"""Other files that programs read or load, as patterns relative to /."""

ENGINEER_ID = 1000

_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)

_USERS = """\
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
tcpdump:x:101:101::/nonexistent:/usr/sbin/nologin
{engineer}:x:{number}:{number}::/home/{engineer}:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""

_GROUPS = """\
root:x:0:
daemon:x:1:
tty:x:5:
tcpdump:x:101:
{engineer}:x:{number}:
nogroup:x:65534:
"""

_SHADOW = "".join(
    f"{line.partition(':')[0]}:*:19000:0:99999:7:::\n" for line in _USERS.splitlines()
)
"""`*` matches no password; unlike `!` it does not lock the account for key logins."""

_PAM = """\
auth required pam_deny.so
account required pam_permit.so
password required pam_deny.so
session required pam_permit.so
"""

_SSHD = """\
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
LoginGraceTime 600
PidFile /run/sshd.pid
"""

_INIT_TABLE = """\
::sysinit:/etc/netlimits/start
::respawn:/etc/netlimits/sshd
::ctrlaltdel:/bin/busybox reboot
::restart:/bin/busybox init
"""

_BUSYBOX = ("halt", "init", "poweroff", "reboot")
"""Applets of busybox that get their own names in /usr/sbin."""

_SHELL_FILES = {
    "root/.profile": "export LC_ALL=C\n",
    "root/.bashrc": "PS1='\\h:\\w# '\n",
    "etc/profile": "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    "export PATH\n[ \"$(id -u)\" = 0 ] || PS1='\\h:\\w$ '\n",
}


def check() -> None:
    need(*_NEEDED.split())


def programs_and_files() -> set[Path]:
    """Return the programs and files of this machine to copy, without libraries."""
    programs = [*_NEEDED.split(), *_WHERE_INSTALLED.split()]
    locations = {name: shutil.which(name, path=PATH) for name in programs}
    paths = {Path(path) for path in locations.values() if path}
    for line in output("dpkg-query", "-L", *_PACKAGES.split(), may_fail=True).splitlines():
        path = Path(line)
        if str(path.parent) in _PROGRAM_FOLDERS and path.is_file():
            paths.add(path)
    for pattern in _FILES:
        paths |= {path for path in Path("/").glob(pattern) if path.is_file()}
    return paths


def files() -> dict[Path, Path]:
    """Return the files to copy, with libraries: path in the root file system -> path here."""
    paths = programs_and_files()
    with_libraries = [str(path.resolve()) for path in sorted(paths)]
    libraries = output("ldd", *with_libraries, may_fail=True, deadline=60)
    paths |= {Path(path) for path in _LIBRARY.findall(libraries)}
    return {_merged(path): path.resolve() for path in sorted(paths)}


def texts() -> dict[str, tuple[str, int]]:
    """Return the generated files: path in the root file system -> text and mode."""
    sshd = Path(shutil.which("sshd", path=PATH) or "")
    daemon = _SSHD + SSHD_CONFIG
    if b"persourcepenalties" in sshd.read_bytes().lower():
        # sshd 9.8 and later block addresses after failed logins, which tests make on purpose
        daemon += "PerSourcePenalties no\n"
    own = resources.files("netlimits.lab.guests")
    plain = {
        "etc/passwd": _USERS.format(engineer=ENGINEER, number=ENGINEER_ID),
        "etc/group": _GROUPS.format(engineer=ENGINEER, number=ENGINEER_ID),
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
        "etc/pam.d/other": _PAM,
        "etc/ssh/sshd_config": daemon,
        "etc/inittab": _INIT_TABLE,
        "etc/shells": "/bin/sh\n/bin/bash\n",
        "etc/os-release": Path("/etc/os-release").read_text(),
        **_SHELL_FILES,
    }
    return {
        **{path: (text, 0o644) for path, text in plain.items()},
        "etc/shadow": (_SHADOW.format(engineer=ENGINEER), 0o640),
        "etc/sudoers": (_sudoers((own / "SECURITY.md").read_text("utf-8")), 0o440),
        "etc/netlimits/start": ((own / "start.sh").read_text(), 0o755),
        "etc/netlimits/sshd": ((own / "sshd.sh").read_text(), 0o755),
    }


def _sudoers(page: str) -> str:
    """Return the sudoers file: the rules for the engineer are the block in SECURITY.md."""
    _, _, rest = page.partition("```sudoers\n")
    rules, _, _ = rest.partition("```")
    return f"root ALL=(ALL:ALL) ALL\n\n{rules}"


def links() -> dict[str, str]:
    """Return the symbolic links: path in the root file system -> target."""
    folders = {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")}
    mounts = {"etc/mtab": "/proc/self/mounts", "var/run": "/run", "var/lock": "/run/lock"}
    return {**folders, **mounts, **{f"usr/sbin/{name}": "/bin/busybox" for name in _BUSYBOX}}


def folders() -> dict[str, int]:
    """Return the empty folders: path in the root file system -> mode."""
    plain = ("proc", "sys", "dev", "run", "mnt", "home", "var/lib", "var/log", "usr/lib64")
    return {
        **dict.fromkeys(plain, 0o755),
        "root": 0o700,
        "tmp": 0o1777,
        "var/tmp": 0o1777,
    }


def _merged(path: Path) -> Path:
    """Return a path relative to a root in which /bin, /sbin and /lib are links into /usr."""
    inside = path.relative_to("/")
    merged = inside.parts[0] in ("bin", "sbin", "lib", "lib64")
    return Path("usr") / inside if merged else inside
