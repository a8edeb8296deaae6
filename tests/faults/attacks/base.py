"""What an attack is made with: a folder, chance, a campaign to harm, netlimits itself, and hosts."""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from click.testing import CliRunner
from recorded import recorded

import netlimits
from netlimits.archive import frames
from netlimits.archive.reader import Campaign
from netlimits.cli import group
from netlimits.errors import NetlimitsError

if TYPE_CHECKING:
    from faults.ground import Ground


class Needs(Enum):
    """What a family's attacks are made on."""

    NOTHING = "nothing"
    NAMESPACES = "a lab of namespaces"
    MACHINES = "a lab of machines"


@dataclass
class Held:
    """One attack's ground: its folder, its chance, and in words what was done so far.

    `number` is the attack's own in its family, `hosts` a lab for families that need one.
    """

    folder: Path
    chance: random.Random
    number: int = 0
    hosts: Ground | None = None
    deeds: list[str] = field(default_factory=list)

    @property
    def ground(self) -> Ground:
        """The hosts of a family that needs some."""
        assert self.hosts
        return self.hosts

    def says(self, what: object) -> None:
        """Note what is done, for whoever has to make it again."""
        self.deeds.append(str(what))

    def campaign(self) -> Path:
        """A campaign's folder, with everything that can be in one."""
        out = self.folder / "out"
        shutil.copytree(whole(), out)
        return out

    def call(self, *argv: object) -> tuple[str, bool]:
        """What netlimits says, and whether it went through. Anything but its own errors is raised."""
        done = CliRunner().invoke(group, [*map(str, argv)])
        error = done.exception
        if error is None or isinstance(error, SystemExit):
            return done.output, done.exit_code == 0
        if not isinstance(error, NetlimitsError):
            raise error
        if "\n" in str(error) and error.exit_status != 3:
            lines = [line for line in str(error).splitlines() if not line.strip()]
            assert not lines, f"a refusal with empty lines: {error}"
        return str(error), False


@dataclass(frozen=True)
class Family:
    """One kind of attack; `attack` returns what got through, nothing where it was held.

    A family that needs namespaces and is `portable` runs on machines as well.
    """

    name: str
    attack: Callable[[Held], str | None]
    weight: float = 1.0
    needs: Needs = Needs.NOTHING
    portable: bool = False


@functools.cache
def whole() -> Path:
    """The campaign that every attack starts from, made once a process."""
    out = Path(tempfile.mkdtemp(prefix="attacked-")) / "out"
    campaign = recorded(out)
    campaign.write_results()
    (out / "hosts" / "source.json").write_text("{}")
    return out


@functools.cache
def right() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Its runs and its interim results, as they must be read or not at all."""
    campaign = netlimits.open(whole())
    return frames.frame(campaign.archive, campaign.experiment), campaign.intervals()


def same(campaign: Campaign) -> bool:
    """Whether a campaign reads as the one that all start from."""
    try:
        for read, expected in zip((campaign.frame(), campaign.intervals()), right(), strict=True):
            pd.testing.assert_frame_equal(read, expected)
    except AssertionError:
        return False
    return True


def flipped(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one bit changed."""
    if not data:
        return data
    changed = bytearray(data)
    bit = chance.randrange(8 * len(data))
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
