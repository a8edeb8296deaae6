"""CPU profiles of a host during a run, by three scripts that run `perf`.

The first script records until the second script stops it. The third script folds the recording into
stacks, so that little has to be transferred. The scripts share a folder that only the login can
open. `perf` runs as root, unless the kernel lets every user profile it and read its symbols.
"""

from __future__ import annotations

from netlimits.model import Command

MIB = 128
"""Maximum size of a recording in MiB."""

FOLD_SECONDS = 240.0
"""Deadline of the third script in seconds. It folds 2 s of one busy CPU in about a second."""

STACKS, OUTPUT = 3_000, 20_000
"""Maximum number of stacks to print whole (the most frequent), and of rarer, shortened stacks."""

_RIGHTS = r"""
root="sudo -n --"
[ "$(id -u)" != 0 ] || root=
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] ||
  [ "$(cat /proc/sys/kernel/kptr_restrict)" != 0 ] || root=
"""

_FOLDER = r"""
folder=${TMPDIR:-/tmp}/netlimits-profile-$(id -u)-$(stat -L -c %i /proc/self/ns/net)-$1
"""

_RECORD = rf"""
frequency=$2 seconds=$3 size=$4
{_FOLDER}{_RIGHTS}
rm -rf "$folder"
mkdir -m 700 "$folder" && cd "$folder" && mkfifo -m 600 control answers || exit 1
exec 8<>control 9<>answers
trap 'echo stop >&8; cd /; rm -rf "$folder"; exit 143' TERM INT HUP
{{
  $root perf record -a -g -F "$frequency" -N -B -D -1 --control fifo:control,answers \
    --max-size "${{size}}M" -o - >data 2>errors </dev/null 8>&- 9>&-
  : >ended
  echo ended >&9
}} &
echo enable >&8
read -r word <&9
[ "$word" = ack ] || {{ cat errors >&2; cd /; rm -rf "$folder"; exit 1; }}
echo "profile: recording" >&2
( sleep "$seconds"; echo stop >&8 ) >/dev/null 2>&1 &
until [ "$word" = ended ]; do read -r word <&9; done
kill $!
wait
"""

_END = rf"""
{_FOLDER}
cd "$folder" || exit 1
exec 8<>control
echo stop >&8
n=0
until [ -e ended ]; do
  n=$((n + 1))
  [ "$n" -lt 400 ] || exit 1
  sleep 0.05
done
"""

_AWK = r"""
function name(   at, text) {
  text = $0
  sub(/^[ \t]*[0-9a-f]+ /, "", text)
  at = match(text, / \([^()]*\)$/)
  dso = ""
  if (at) { dso = substr(text, at + 2, RLENGTH - 3); text = substr(text, 1, at - 1) }
  if (text == "[unknown]" && !in_kernel) text = dso ~ /^\// ? "[" base(dso) "]" : "[unknown]"
  gsub(/[; ]/, "_", text)
  if (!in_kernel) return text
  if (dso ~ /^\[.*\]$/ && dso !~ /kernel/) return text "_" dso
  return text "_[k]"
}
function base(path) { sub(/.*\//, "", path); return path }
function put() { if (stack != "") { counts[cpu " " process stack]++; total++ } stack = "" }
/^[ \t]/ && NF {
  in_kernel = length($1) == 16 && $1 ~ /^[89a-f]/
  text = name()
  if (text != before || in_kernel) stack = ";" text stack
  before = text
  next
}
!NF { put(); next }
{
  put()
  before = ""
  event = $NF
  sub(/:.*/, "", event)
  cpu = $(NF - 1)
  gsub(/[^0-9]/, "", cpu)
  process = $0
  sub(/ +\[[0-9]+\] +[^ ]+ *$/, "", process)
  gsub(/[; ]/, "_", process)
}
END {
  put()
  print "# event " event
  for (key in counts) print counts[key] " " (key + 0) substr(key, index(key, " "))
}
"""

_REDUCE = r"""
/^#/ { print; next }
NR <= whole { print; next }
{
  n = split($0, part, ";")
  first = n - 2 > 2 ? n - 2 : 2
  text = part[1] ";[rare]"
  for (i = first; i <= n; i++) text = text ";" part[i]
  sub(/^[0-9]+ /, "", text)
  if (!(text in counts)) { if (lines++ >= most) { left += $1; next } }
  counts[text] += $1
}
END {
  for (text in counts) print counts[text] " " text
  print "# left_out " left + 0
}
"""

_FOLD = rf"""
frequency=$2 whole=$3 most=$4 fold=$5 reduce=$6
{_FOLDER}{_RIGHTS}
cd "$folder" || exit 1
trap 'cd /; rm -rf "$folder"' EXIT
[ -s data ] || {{ cat errors >&2; exit 1; }}
echo "# frequency $frequency"
echo "# kernel $(uname -r)"
export DEBUGINFOD_URLS=
{{ $root perf script -i - --no-inline --max-stack 64 -F comm,cpu,event,ip,sym,dso <data 2>problems
  echo $? >status; }} | awk "$fold" | sort -k 1,1nr |
  awk -v whole="$whole" -v most="$most" "$reduce"
[ "$(cat status)" = 0 ] || {{ cat problems >&2; exit 1; }}
"""

_TRIAL = rf"""
frequency=$1
{_RIGHTS}
echo "kernel=$(uname -r)"
command -v perf >/dev/null || exit 0
echo "perf=$(command -v perf)"
echo "version=$(perf --version 2>/dev/null)"
echo "limit=$(cat /proc/sys/kernel/perf_event_max_sample_rate)"
echo "event=$($root perf record -a -g -F "$frequency" -N -B -o - -- sleep 0.1 |
  $root perf script -i - -F event 2>/dev/null | awk 'NF {{ sub(/:.*/, ""); print $1; exit }}')"
if [ -n "$root" ]; then
  [ "$(cat /proc/sys/kernel/kptr_restrict)" = 2 ] || echo names=yes
else
  sed -n '/^0*[1-9a-f]/ {{ s/.*/names=yes/p; q; }}; 50q' /proc/kallsyms
fi
"""

RECORDING = "profile: recording"
"""Text that the first script prints once perf takes samples."""


def record(role: str, frequency: int, seconds: float) -> Command:
    """Return the command that records until the command of `end` runs, for at most `seconds`."""
    words = (role, str(frequency), f"{seconds:g}", str(MIB))
    return Command(("sh", "-c", _RECORD, "profile", *words), deadline=seconds + 30)


def trial(frequency: int) -> Command:
    """Return the command by which `checks.profile` finds out if a host can be profiled."""
    return Command(("sh", "-c", _TRIAL, "profile", str(frequency)), deadline=60)


def end(role: str) -> Command:
    """Return the command that stops a recording."""
    return Command(("sh", "-c", _END, "profile", role), deadline=30)


def fold(role: str, frequency: int) -> Command:
    """Return the command that prints a recording's stacks (`profiles.stacks`) and removes it."""
    words = (role, str(frequency), str(STACKS), str(OUTPUT), _AWK, _REDUCE)
    return Command(("sh", "-c", _FOLD, "profile", *words), deadline=FOLD_SECONDS)


def records(stderr: str) -> bool:
    """Return True once the command of `record` takes samples."""
    return RECORDING in stderr
