"""The SHA-256 of a file that only grows, in blocks, so that it can be gone on with.

A hash function's state cannot be written down. So the checksum of a journal is chained: of its
first `BLOCK` bytes, then of that checksum and the next `BLOCK` bytes, and so on. What is shorter
than a block has its plain SHA-256.
"""

from __future__ import annotations

import hashlib

BLOCK = 2**24
"""Bytes that are read again, at most, to go on from a link of the chain."""


class BlockDigest:
    """The checksum of what was added; it goes on from a `chain` that `size` bytes had."""

    def __init__(self, chain: str = "", size: int = 0) -> None:
        self.size = size
        self.chain = chain
        self._here = hashlib.sha256(bytes.fromhex(chain))
        self._room = BLOCK

    @property
    def behind(self) -> int:
        """How many bytes `chain` stands for."""
        return (self.size - 1) // BLOCK * BLOCK if self.size else 0

    def update(self, data: bytes) -> None:
        """Add bytes."""
        view = memoryview(data)
        while view:
            if not self._room:
                self.chain = self._here.hexdigest()
                self._here = hashlib.sha256(bytes.fromhex(self.chain))
                self._room = BLOCK
            part, view = view[: self._room], view[self._room :]
            self._here.update(part)
            self._room -= len(part)
            self.size += len(part)

    def hexdigest(self) -> str:
        """The checksum of all of it."""
        return self._here.hexdigest()
