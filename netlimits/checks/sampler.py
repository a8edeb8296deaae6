"""Whether a host has what the sampler needs, which looks at it during a run.

Without Perl or one of its modules `ss` looks twice in a run: then CPU time is of the middle of the
transfer alone, with what the sampler itself used, and queues and windows are of two moments.
"""

from __future__ import annotations

from collections.abc import Iterator

from netlimits.checks._base import Finding, Site
from netlimits.model import Command, Completed

MODULES = {"Time::HiRes": "perl-Time-HiRes", "Socket": "perl-Socket", "POSIX": "perl-POSIX"}
"""Modules of Perl, and the packages that have them where they are not in Perl's own."""

NEEDED = f"""
command -v perl >/dev/null || echo perl
perl -e 'for (qw({" ".join(MODULES)})) {{ eval "require $_; 1" or print "$_\\n" }}
  socket(my $kernel, 16, 3, 4) or print "sock_diag\\n"' 2>/dev/null
[ -r /proc/self/schedstat ] || echo schedstat
command -v ss >/dev/null || echo ss
echo end
"""
"""Prints what is not there."""


class Sampler:
    """Asks for Perl, its modules, and what the kernel tells."""

    name = "sampler"

    def commands(self, site: Site, role: str) -> tuple[Command, ...]:
        """One script, the same for every host."""
        return (Command(("sh", "-c", NEEDED), deadline=10),)

    def findings(
        self, site: Site, role: str, completed: tuple[Completed, ...]
    ) -> Iterator[Finding]:
        """Warnings for what is missing."""
        missing = completed[0].stdout.split()
        if missing[-1:] != ["end"]:
            yield Finding(role, self.name, "note", "it did not tell what the sampler finds there")
            return
        modules = [name for name in MODULES if name in missing]
        if "perl" in missing or modules:
            lacks = "no Perl" if "perl" in missing else f"Perl has no {', '.join(modules)}"
            packages = ["perl", *(MODULES[name] for name in modules)]
            looks = "no look at connections" if "ss" in missing else "two looks instead of many"
            yield Finding(
                role,
                self.name,
                "warning",
                f"{lacks}: {looks} during a run, and what they cost is in the CPU figures",
                f"install {' '.join(packages)} (Debian: perl)",
            )
            return
        if "sock_diag" in missing:
            yield Finding(
                role,
                self.name,
                "warning",
                "the kernel tells nothing of its sockets: figures of connections are missing",
                "`modprobe inet_diag tcp_diag`, or a kernel with CONFIG_INET_DIAG",
            )
        if "schedstat" in missing:
            yield Finding(
                role,
                self.name,
                "warning",
                "no /proc/PID/schedstat: CPU time of threads and of the sampler is not known",
                "a kernel with CONFIG_SCHED_INFO has it",
            )
        if not {"sock_diag", "schedstat"} & {*missing}:
            yield Finding(role, self.name, "note", "Perl and its modules are there")
