"""Our own sshd on 127.0.0.1, with its own keys, in a private /run, gone after the tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from waiting import LONG

from netlimits.hosts.local import local_host
from netlimits.hosts.login import LoginHost
from netlimits.hosts.ssh.channels import ssh_host
from netlimits.model import Machine

_SSHD = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/{host_key}
PidFile none
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding yes
MaxStartups 100
"""
# In a mount namespace of its own: /run/sshd must exist, and neither the machine's /run nor root's
# home is ours.
_START = (
    "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && mount --bind {home} /root && "
    "exec /usr/sbin/sshd -D -e -f {conf}"
)


class ProcessTable:
    """What runs on this machine, by whole command line."""

    def running(self, *words: str) -> list[int]:
        """The ids of processes whose command line is exactly these words."""
        command_line = "\0".join(words).encode() + b"\0"
        pids = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cmdline").read_bytes() == command_line:
                    pids.append(int(entry.name))
            except OSError:
                continue
        return pids

    def below(self, pid: int, *words: str) -> set[int]:
        """Those of them that a process began, or its children, or theirs."""
        return {*self.running(*words)} & descendants(pid)

    def gone(self, *words: str, within: float = LONG) -> bool:
        """Whether no process has that command line any more, soon."""
        limit = time.monotonic() + within
        while self.running(*words):
            if time.monotonic() > limit:
                return False
            time.sleep(0.02)
        return True

    def appears(self, *words: str, within: float = LONG) -> int:
        """The id of the process with that command line, once there is one."""
        limit = time.monotonic() + within
        while not (pids := self.running(*words)):
            assert time.monotonic() < limit, f"{words} never ran"
            time.sleep(0.01)
        return pids[0]


@pytest.fixture
def ps() -> ProcessTable:
    return ProcessTable()


def children(pid: int) -> list[int]:
    """The ids of a process's children."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            pids.append(int(entry.parent.name))
    return pids


def descendants(pid: int) -> set[int]:
    """The ids of a process's children, of theirs, and so on."""
    below = set(children(pid))
    return below.union(*map(descendants, below))


def keygen(file: Path, passphrase: str = "") -> Path:
    """A new key pair."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", file.name, "-f", file]
    subprocess.run(command, check=True)
    return file


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class Sshd:
    """A running sshd."""

    folder: Path
    host_key: str
    port: int = field(default_factory=free_port)
    pid: int = 0

    @property
    def home(self) -> Path:
        """Root's home folder, as logins there see it."""
        folder = self.folder / f"home_{self.host_key}"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def known(self) -> str:
        """Its line for known_hosts."""
        key = (self.folder / f"{self.host_key}.pub").read_text().split()
        return f"[127.0.0.1]:{self.port} {key[0]} {key[1]}\n"

    @contextmanager
    def running(self) -> Iterator[Sshd]:
        conf = self.folder / f"sshd_{self.port}"
        conf.write_text(_SSHD.format(port=self.port, folder=self.folder, host_key=self.host_key))
        log = (self.folder / f"log_{self.port}").open("wb")
        command = ["unshare", "-m", "sh", "-c", _START.format(conf=conf, home=self.home)]
        with log, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as p:
            try:
                self._answers(p)
                self.pid = p.pid
                yield self
            finally:
                for child in children(p.pid):
                    os.kill(child, signal.SIGTERM)
                p.terminate()

    def _answers(self, process: subprocess.Popen[bytes]) -> None:
        limit = time.monotonic() + LONG
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                log = (self.folder / f"log_{self.port}").read_text()
                assert process.poll() is None, log
                assert time.monotonic() < limit, log
                time.sleep(0.02)


@dataclass
class Lab:
    """Two sshds and a configuration that names them."""

    folder: Path
    far: Sshd
    near: Sshd

    def config(self, text: str = "", known: str | None = None) -> Path:
        """A configuration file: `text`, then hosts `far` and `near` and what all have in common."""
        folder = Path(os.environ["HOME"])
        file = folder / "ssh_config"
        known_hosts = folder / "known_hosts"
        known_hosts.write_text(self.far.known + self.near.known if known is None else known)
        file.write_text(
            f"{text}\n"
            f"Host far\n HostName 127.0.0.1\n Port {self.far.port}\n"
            f"Host near\n HostName 127.0.0.1\n Port {self.near.port}\n"
            f"Host *\n User root\n IdentityFile {self.folder}/key\n IdentitiesOnly yes\n"
            f" UserKnownHostsFile {known_hosts}\n GlobalKnownHostsFile none\n"
        )
        return file

    def machine(self, name: str = "far", text: str = "", known_hosts: str | None = None) -> Machine:
        return Machine("sender", ssh=name, ssh_config=self.config(text, known_hosts))


@pytest.fixture(scope="session")
def sshds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if os.geteuid() != 0 or not Path("/usr/sbin/sshd").exists() or not shutil.which("unshare"):
        pytest.skip("needs root, sshd and unshare")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host_far", "host_near", "key", "stranger"):
        keygen(folder / name)
    keygen(folder / "locked", "secret")
    keys = [(folder / f"{name}.pub").read_text() for name in ("key", "locked")]
    (folder / "authorized_keys").write_text("".join(keys))
    with Sshd(folder, "host_far").running() as far, Sshd(folder, "host_near").running() as near:
        yield Lab(folder, far, near)


@pytest.fixture
def lab(sshds: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The two sshds, with a home folder of our own and no agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return sshds


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL soon after SIGTERM, for tests that wait for it."""
    for module in ("shell", "perl", "server"):
        monkeypatch.setattr(f"netlimits.hosts.{module}.KILL_GRACE", 0.3)


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.lab)])
def host(request: pytest.FixtureRequest) -> Iterator[LoginHost]:
    """Both hosts that run commands: what holds for one holds for the other."""
    if request.param == "local":
        opened = local_host("sender")
    else:
        opened = ssh_host(request.getfixturevalue("lab").machine())
    yield opened
    opened.close()
