"""The archive that a kernel unpacks at boot, read by the format's own rules."""

from __future__ import annotations

import stat

from hypothesis import given
from hypothesis import strategies as st

from netlimits.lab.guests.cpio import Entry, archive

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
