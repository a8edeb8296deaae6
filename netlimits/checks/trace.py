"""tcpdump: it must be installed if the experiment asks for a packet trace."""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Around, Command

_LOOKUP = Command(("sh", "-c", "command -v tcpdump"), deadline=10)


class Traces(Check):
    name = "trace"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (_LOOKUP,) if any(role in _traced(r.around) for r in site.requirements) else ()

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        for answer in completed:
            if answer.status != 0:
                advice = f"install tcpdump there, or leave {role} out of `trace`"
                yield self.error(role, "there is no tcpdump", advice)


def _traced(around: Around) -> tuple[str, ...]:
    return tuple(around.trace.roles) if around.trace else ()
