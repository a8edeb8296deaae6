"""tcpdump, if the experiment asks for a packet trace."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Finding, Site
from netlimits.model import Around, Command, Completed

_LOOKUP = Command(("sh", "-c", "command -v tcpdump"), deadline=10)


class Traces:
    """Looks for tcpdump on root's PATH; the check `sudo` tells whether it may be run."""

    name = "trace"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (_LOOKUP,) if any(role in _traced(r.around) for r in site.requirements) else ()

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
        for answer in completed:
            if answer.status != 0:
                advice = f"install tcpdump there, or leave {role} out of `trace`"
                yield Finding(role, self.name, "error", "there is no tcpdump", advice)


def _traced(around: Around) -> tuple[str, ...]:
    return tuple(around.trace.roles) if around.trace else ()
