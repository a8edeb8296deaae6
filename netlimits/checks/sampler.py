"""Requirements of the sampler: Perl with three modules, and sock_diag and schedstat in the kernel.

Without Perl or one of the modules, `ss` takes only two samples of a run. CPU time then covers only
the middle of the transfer, and includes the time that sampling takes. Queues and windows are known
at two moments only.
"""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Answers, Check, Finding, Site
from netlimits.model import Command

MODULES = {"Time::HiRes": "perl-Time-HiRes", "Socket": "perl-Socket", "POSIX": "perl-POSIX"}
"""Perl module -> its package in distributions that split Perl into packages."""

NEEDED = f"""
command -v perl >/dev/null || echo perl
perl -e 'for (qw({" ".join(MODULES)})) {{ eval "require $_; 1" or print "$_\\n" }}
  socket(my $kernel, 16, 3, 4) or print "sock_diag\\n"' 2>/dev/null
[ -r /proc/self/schedstat ] || echo schedstat
command -v ss >/dev/null || echo ss
echo end
"""


class Sampler(Check):
    name = "sampler"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        return (Command(("sh", "-c", NEEDED), deadline=10),)

    def findings(self, site: Site, role: str, completed: Answers) -> Iterator[Finding]:
        missing = completed[0].stdout.split()
        if missing[-1:] != ["end"]:
            yield self.note(role, "unknown: the check's script did not end")
            return
        modules = [name for name in MODULES if name in missing]
        if "perl" in missing or modules:
            lacks = "no Perl" if "perl" in missing else f"Perl has no {', '.join(modules)}"
            packages = ["perl", *(MODULES[name] for name in modules)]
            samples = "no samples of connections" if "ss" in missing else "two samples by `ss`"
            yield self.warning(
                role,
                f"{lacks}: {samples} during a run, and CPU figures include the sampler's own time",
                f"install {' '.join(packages)} (Debian: perl)",
            )
            return
        if "sock_diag" in missing:
            yield self.warning(
                role,
                "the kernel does not report its sockets: figures of connections will be missing",
                "`modprobe inet_diag tcp_diag`, or a kernel with CONFIG_INET_DIAG",
            )
        if "schedstat" in missing:
            yield self.warning(
                role,
                "no /proc/PID/schedstat: the CPU time of threads and of the sampler is unknown",
                "use a kernel with CONFIG_SCHED_INFO",
            )
        if not {"sock_diag", "schedstat"} & {*missing}:
            yield self.note(role, "has Perl and its modules")
