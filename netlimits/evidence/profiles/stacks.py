"""The stacks of a host during a run, in the format that `evidence.profile` prints.

    # event cpu-clock
    # frequency 999
    # kernel 6.1.0-31-cloud-amd64
    # left_out 0
    412 0 iperf3;main;write;entry_SYSCALL_64_after_hwframe_[k];…;rep_movs_alternative_[k]

Each line has the number of samples, the CPU, the process's name and the functions, outermost first.
The names of kernel functions end in `_[k]`. Functions of a kernel module end in the module's name,
such as `start_xmit_[virtio_net]`. `left_out` counts the samples of stacks that were not printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from netlimits.errors import ToolFailure
from netlimits.model.cpu_categories import CATEGORIES, IDLE

CALLER = "caller"
"""Category of helper functions in _FILE. A helper counts in the category of its caller."""

UNSORTED = ""
"""Category of functions that no pattern matches; they count as `other`."""

_SUFFIX = re.compile(r"\.(?:isra|constprop|part|cold|llvm|lto_priv|localalias).*$")
_FILE = "functions.txt"


@dataclass(frozen=True, slots=True)
class Function:
    """A function on a stack. `module` is the kernel module, "" for the kernel itself."""

    function: str
    kernel: bool = False
    module: str = ""


class Patterns:
    """Shell patterns with their categories. If several patterns match, the longest one counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        ordered = sorted(
            pairs,
            key=lambda pair: (
                -len(pair[0].replace("*", "")),
                "*" in pair[0],
                not pair[0].endswith("*"),
                pair[0].count("*"),
            ),
        )
        self.categories = [category for _, category in ordered]
        parts = (re.escape(pattern).replace(r"\*", ".*") for pattern, _ in ordered)
        self._pattern = re.compile("|".join(f"({part})" for part in parts))

    def find(self, name: str) -> str:
        match = self._pattern.fullmatch(name)
        return self.categories[match.lastindex - 1] if match and match.lastindex else UNSORTED


@cache
def _patterns() -> tuple[Patterns, Patterns]:
    text = resources.files(__package__).joinpath(_FILE).read_text("utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    pairs = [(pattern, category) for category, *patterns in lines for pattern in patterns]
    modules = ((p.strip("[]"), category) for p, category in pairs if p.startswith("["))
    return Patterns(p for p in pairs if not p[0].startswith("[")), Patterns(modules)


@lru_cache(maxsize=20_000)
def of_function(function: str, module: str = "") -> str:
    """Return the category of a kernel function, CALLER for a helper, or UNSORTED."""
    functions, modules = _patterns()
    category = functions.find(_SUFFIX.sub("", function))
    if category in (UNSORTED, CALLER) and module:
        return modules.find(module) or category
    return category


def of_stack(stack: Sequence[Function], program: bool = False) -> str:
    """Return the category of a stack.

    If the innermost function is not in the kernel, the category is `program` if the argument
    `program` is true, else `other`.
    """
    if not stack or not stack[-1].kernel:
        return "program" if program else "other"
    for frame in reversed(stack):
        if not frame.kernel:  # all kernel functions are helpers of a system call
            return "socket"
        category = of_function(frame.function, frame.module)
        if category != CALLER:
            return category
    return "other"


_HEADER = re.compile(r"# ([a-z_]{1,20}) (.{0,200})")
_STACK = re.compile(r"([0-9]{1,12}) ([0-9]{1,6}) (.+)")
_KERNEL = re.compile(r"_\[([A-Za-z0-9_]{1,64})\]$")

LATE = frozenset(("locking", "interrupts"))
"""Categories of functions that enable interrupts. Late samples (see `Profile.late`) show these
functions instead of the code before them."""

LISTED = 20
"""Maximum number of unsorted functions to list."""


@dataclass(frozen=True, slots=True)
class Stack:
    count: int
    cpu: int
    process: str
    frames: tuple[Function, ...]

    @property
    def in_kernel(self) -> bool:
        return bool(self.frames) and self.frames[-1].kernel


@dataclass(frozen=True, slots=True)
class Profile:
    """The stacks of a host during a run.

    `about` has the header's values. `programs` are the names of the processes that measure.
    """

    stacks: Sequence[Stack]
    about: Mapping[str, str]
    programs: frozenset[str] = frozenset()

    @property
    def late(self) -> bool:
        """True if samples may be late: the timer `cpu-clock` waits until interrupts are enabled."""
        return self.about.get("event") == "cpu-clock"

    def category(self, stack: Stack) -> str:
        return of_stack(stack.frames, program=stack.process in self.programs)

    def samples(self, cpu: int | None = None) -> Counter[str]:
        """Count the samples of one CPU (default: all) by category; unsorted ones are `other`."""
        counts: Counter[str] = Counter()
        for stack in self.stacks:
            if cpu in (None, stack.cpu):
                counts[self.category(stack) or "other"] += stack.count
        return counts

    def unsorted(self) -> Counter[str]:
        """Count the samples in kernel functions without a category, by function."""
        counts: Counter[str] = Counter()
        for stack in self.stacks:
            if self.category(stack) == UNSORTED:
                counts[stack.frames[-1].function] += stack.count
        return counts

    def kernel_samples(self) -> int:
        """Count the samples in the kernel, except idle samples."""
        return sum(s.count for s in self.stacks if s.in_kernel and self.category(s) != IDLE)

    def figures(self) -> dict[str, float | int | str]:
        counts = self.samples()
        busy = counts.total() - counts[IDLE]
        kernel = self.kernel_samples()
        figures: dict[str, float | int | str] = {
            "event": self.about.get("event", ""),
            "samples": busy,
            "idle_pct": percent(counts[IDLE], counts.total()),
            "unsorted_pct": percent(self.unsorted().total(), kernel),
        }
        figures |= {f"{name}_pct": percent(counts[name], busy) for name in CATEGORIES}
        cpus: Counter[int] = Counter()
        for stack in self.stacks:
            if self.category(stack) != IDLE:
                cpus[stack.cpu] += stack.count
        if cpus:
            (cpu, own), *_ = cpus.most_common(1)
            of_cpu = self.samples(cpu)
            del of_cpu[IDLE]
            named = [name for name in of_cpu if not (self.late and name in LATE)] or [*of_cpu]
            category = max(named, key=of_cpu.__getitem__)
            most = of_cpu[category]
            figures |= {"cpu": cpu, "cpu_category": category, "cpu_pct": percent(most, own)}
        return figures


def percent(part: float, total: float) -> float:
    """Return a part in percent of the total; 0 if the total is 0."""
    return 100 * part / total if total else 0.0


def parse(text: str, programs: Collection[str] = ()) -> Profile:
    """Parse a profile. Raises ToolFailure if a line is no stack, or if there are no samples."""
    about: dict[str, str] = {}
    stacks = []
    for line in text.splitlines():
        if header := _HEADER.fullmatch(line):
            about[header[1]] = header[2]
        elif match := _STACK.fullmatch(line):
            process, *names = match[3].split(";")
            frames = tuple(map(_frame, names))
            stacks.append(Stack(int(match[1]), int(match[2]), process, frames))
        elif line:
            raise ToolFailure(f"the profile has a line that is no stack: {line[:80]!r}")
    if not stacks:
        raise ToolFailure("the profile has no samples: perf recorded nothing during the run")
    return Profile(stacks, about, frozenset(programs))


def _name(function: Function) -> str:
    return (
        f"{function.function}_[{function.module or 'k'}]" if function.kernel else function.function
    )


def _frame(name: str) -> Function:
    match = _KERNEL.search(name)
    if not match:
        return Function(name)
    module = "" if match[1] == "k" else match[1]
    return Function(name[: match.start()], kernel=True, module=module)


def together(profiles: Sequence[Profile]) -> Profile:
    programs = frozenset().union(*(profile.programs for profile in profiles))
    about = {key: value for profile in reversed(profiles) for key, value in profile.about.items()}
    return Profile([stack for profile in profiles for stack in profile.stacks], about, programs)


def folded(profile: Profile) -> Counter[str]:
    """Return stack -> samples on all CPUs. Stacks look like `a;b;c`, as for flame graphs."""
    counts: Counter[str] = Counter()
    for stack in profile.stacks:
        counts[";".join((stack.process, *map(_name, stack.frames)))] += stack.count
    return counts
