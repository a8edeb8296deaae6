"""What makes one machine another than the next: its own files, and only its own."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlimits.lab import layout
from netlimits.lab.guests import seed
from netlimits.lab.guests.seed import Entry, archive
from netlimits.lab.layout import Guest, Lab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr(layout, "LABS", tmp_path)
    lab = Lab("seeded", 7, 3, 9000, Guest())
    for host in lab.hosts:
        lab.host_folder(host).mkdir(parents=True)
        (lab.host_folder(host) / "host_key").write_text(f"secret of {host}")
    lab.key.with_suffix(".pub").write_text("public")
    return lab


def files(lab: Lab, host: str) -> dict[str, Entry]:
    return {entry.path: entry for entry in seed._entries(lab, host)}


def test_each_machine_has_its_own_name_addresses_and_key(lab: Lab) -> None:
    contents = [files(lab, host) for host in lab.hosts]
    for name in (
        "host/hostname",
        "host/netlimits/host",
        "host/netlimits/management",
        "host/ssh/host_key",
    ):
        assert len({own[name].content for own in contents}) == 3, name
    own = contents[1]
    assert own["host/ssh/host_key"].content == b"secret of receiver"
    assert own["host/ssh/host_key"].mode == 0o600
    assert all(b"198.19.7." in own["host/hosts"].content and name.encode() in own["host/hosts"].content
               for name in lab.hosts)  # fmt: skip


def test_a_shell_reads_the_variables_as_they_are(lab: Lab) -> None:
    text = files(lab, "sender")["host/netlimits/host"].content.decode()
    variables = dict(word.split("=", 1) for word in shlex.split(text))
    assert variables == {
        "name": "nl-seeded-sender",
        "management_link": lab.link_address("sender", layout.MANAGEMENT_LINK),
        "data_link": lab.link_address("sender", layout.DATA_LINK),
        "management": "198.18.7.1",
        "data": "198.19.7.1",
        "mtu": "9000",
    }


def test_the_file_system_that_holds_the_key_is_the_owners_and_begins_with_the_images(
    lab: Lab, tmp_path: Path
) -> None:
    (tmp_path / "image").write_bytes(b"image")
    seed.write(lab, "sender", tmp_path / "image")
    target = lab.host_folder("sender") / seed.INITIAL
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_bytes().startswith(b"image070701")
    assert b"secret of sender" in target.read_bytes()


NAMES = st.text("abcxyz0123456789_-./é", min_size=1, max_size=40).filter(
    lambda n: n != "TRAILER!!!"
)
ENTRIES = st.builds(
    Entry, NAMES, st.none() | st.binary(max_size=600), st.sampled_from([0o600, 0o644, 0o755])
)


def members(data: bytes) -> list[Entry]:
    """The entries of an archive, by buffer-format.rst."""
    place, entries, inodes = 0, [], []
    while True:
        assert place % 4 == 0
        assert data[place : place + 6] == b"070701"
        fields = [int(data[place + 6 + 8 * n : place + 14 + 8 * n], 16) for n in range(13)]
        inode, mode, uid, gid, links, _, size, *devices, length, checksum = fields
        name = data[place + 110 : place + 110 + length]
        assert name[-1:] == b"\0"
        begin = place + -(-(110 + length) // 4) * 4
        place = begin + -(-size // 4) * 4
        if name == b"TRAILER!!!\0":
            assert data[place:].count(0) == len(data) - place
            assert len(set(inodes)) == len(inodes)
            return entries
        assert (uid, gid, links, checksum, set(devices)) == (0, 0, 1, 0, {0})
        content = None if stat.S_ISDIR(mode) else data[begin : begin + size]
        assert stat.S_ISDIR(mode) or stat.S_ISREG(mode)
        inodes.append(inode)
        entries.append(Entry(name[:-1].decode(), content, stat.S_IMODE(mode)))


@given(st.lists(ENTRIES, max_size=6))
def test_what_went_in_comes_out(entries: list[Entry]) -> None:
    data = archive(entries)
    assert len(data) % 512 == 0
    assert members(data) == entries
