"""Write the files of a lab: its record, keys, SSH configurations, accounts and hosts file."""

from __future__ import annotations

import json
import os
import pwd
from dataclasses import asdict
from pathlib import Path

import msgspec

from netlimits.errors import LabError
from netlimits.lab.layout import (
    DATA,
    ENGINEER,
    LABS,
    NAMESPACE_FILES,
    SSHD_CONFIG,
    Guest,
    Lab,
)
from netlimits.lab.programs import output
from netlimits.model import decoding
from netlimits.model.folder import Folder

_LABS_AT_ONCE = 1000
"""Maximum attempts to create a folder: removals of other labs may delete its parent meanwhile."""

_ENGINEER_IDS = range(60600, 60700)  # used by neither adduser nor systemd

_SSHD = """\
ListenAddress {address}:22
HostKey {folder}/host_key
PidFile {folder}/sshd.pid
AuthorizedKeysFile {folder}/authorized_keys
"""

_SSH = """\
Host {names}
  HostName {address}
  Port 22
  User {user}
  HostKeyAlias {alias}
"""

_SSH_ALL = """\
Host *
  IdentityFile {key}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 60
"""


def write_record(lab: Lab) -> None:
    guest = asdict(lab.guest) if lab.guest else None
    record = {"name": lab.name, "index": lab.index, "hosts": lab.count, "mtu": lab.mtu}
    Folder(lab.folder).write(lab.record.name, json.dumps({**record, "guest": guest}) + "\n")


def read_record(name: str) -> Lab | None:
    try:
        record = decoding.typed((LABS / name / "lab.json").read_bytes(), _Record)
    except (OSError, ValueError):
        return None
    return Lab(name, record.index, record.hosts, record.mtu, record.guest)


class _Record(msgspec.Struct):
    index: int
    hosts: int
    mtu: int
    guest: Guest | None = None


def write(lab: Lab) -> None:
    _folder(lab.folder)
    _key(lab.key, f"netlimits lab {lab.name}")
    host_keys = []
    engineer = _engineer_id()
    for host in lab.hosts:
        folder = lab.host_folder(host)
        _folder(folder)
        _key(folder / "host_key", lab.namespace(host))
        kind, key, *_ = (folder / "host_key.pub").read_text().split()
        host_keys.append(f"{lab.management(host)} {kind} {key}\n")
        if lab.guest is None:
            _text(folder / "authorized_keys", lab.key.with_suffix(".pub").read_text())
            sshd = _SSHD.format(address=lab.management(host), folder=folder) + SSHD_CONFIG
            _text(folder / "sshd_config", sshd)
            home = folder / "home"
            _folder(home)
            home.chmod(0o700)
            os.chown(home, engineer, engineer)
            _accounts(lab, host, engineer)
    _text(lab.folder / "known_hosts", "".join(host_keys))
    _text(lab.ssh_config, _ssh_config(lab))


def write_hosts(lab: Lab) -> None:
    """Write the hosts file, which marks the lab as up."""
    lines = [f"ssh_config: {lab.ssh_config}\n"]
    for host in lab.hosts:
        lines.append(
            f"{host}: {{ssh: {lab.login(host)}, interface: {DATA}, address: {lab.data(host)}}}\n"
        )
    Folder(lab.folder).write(lab.hosts_file.name, "".join(lines))


def _ssh_config(lab: Lab) -> str:
    blocks = [f"# netlimits lab {lab.name}: ssh -F {lab.ssh_config} {lab.login('sender')}\n"]
    for host in lab.hosts:
        for user in ("root", ENGINEER):
            blocks.append(
                _SSH.format(
                    names=lab.login(host, user),
                    address=lab.management(host),
                    user=user,
                    alias=lab.management(host),
                )
            )
    return "".join([*blocks, _SSH_ALL.format(key=lab.key, folder=lab.folder)])


def _accounts(lab: Lab, host: str, engineer: int) -> None:
    """Write the files that `ip netns exec` mounts over those of /etc, with a user `engineer`."""
    folder = lab.namespace_files(host)
    _namespace_folder(folder)
    users = [line for line in _lines("/etc/passwd") if not line.startswith(f"{ENGINEER}:")]
    groups = [line for line in _lines("/etc/group") if not line.startswith(f"{ENGINEER}:")]
    home = lab.host_folder(host) / "home"
    users.append(f"{ENGINEER}:x:{engineer}:{engineer}::{home}:/bin/sh")
    groups.append(f"{ENGINEER}:x:{engineer}:")
    # `*` matches no password; unlike `!` it does not lock the account for key logins
    shadow = [f"{line.partition(':')[0]}:*:19000:0:99999:7:::" for line in users]
    contents = {
        "passwd": users,
        "group": groups,
        "shadow": shadow,
        "sudoers": ["root ALL=(ALL:ALL) ALL"],
        "hosts": lab.etc_hosts(host),
    }
    modes = {"shadow": 0o640, "sudoers": 0o440}
    for name, lines in contents.items():
        if Path("/etc", name).is_file():  # a bind mount needs an existing target
            _text(folder / name, "\n".join(lines) + "\n", modes.get(name, 0o644))


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _engineer_id() -> int:
    taken = {user.pw_uid for user in pwd.getpwall()}
    for number in _ENGINEER_IDS:
        if number not in taken:
            return number
    raise LabError(f"no user id from {_ENGINEER_IDS[0]} to {_ENGINEER_IDS[-1]} is free")


def _key(path: Path, comment: str) -> None:
    output("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path))


def _namespace_folder(path: Path) -> None:
    """Create a folder in NAMESPACE_FILES; other labs may create and remove it meanwhile."""
    for _ in range(_LABS_AT_ONCE):
        try:
            _folder(NAMESPACE_FILES)
            _folder(path)
            return
        except (FileExistsError, FileNotFoundError):
            continue
    raise LabError(f"{path}: cannot be created: other labs keep removing {NAMESPACE_FILES}")


def _folder(path: Path) -> None:
    """Create a folder that the hosts' users can read, regardless of the umask."""
    if not path.is_dir():
        path.mkdir()
        path.chmod(0o755)


def _text(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text)
    path.chmod(mode)
