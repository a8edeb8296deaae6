"""Offloads of an interface, through `ethtool -k` and `ethtool -K`.

Features are a tree: a group such as `tcp-segmentation-offload` consists of leaves. While another
feature blocks a leaf, ethtool prints `off [requested on]` for it. The kernel switches the leaf on
when nothing blocks it any more. So the *requested* value of each leaf is restored. `ethtool -K`
exits 0 even if only some of the changes took effect, so the state is read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netlimits.errors import nearest
from netlimits.model import Command, Completed, decoding
from netlimits.settings._base import Setting, State, Traits
from netlimits.settings._schema import SWITCH, if_fixed, options

SHORT_NAMES = {
    "rx": "rx-checksumming",
    "tx": "tx-checksumming",
    "sg": "scatter-gather",
    "tso": "tcp-segmentation-offload",
    "ufo": "udp-fragmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
    "rxvlan": "rx-vlan-offload",
    "txvlan": "tx-vlan-offload",
    "ntuple": "ntuple-filters",
    "rxhash": "receive-hashing",
}
"""Legacy name, as in ethtool(8) -> the name that `ethtool -k` prints."""

_PERL = r"""
my (undef, $interface) = @_;
my %called = (
    "rx-checksumming" => "rx-checksum", "scatter-gather" => "tx-scatter-gather",
    "tcp-segmentation-offload" => "tx-tcp-segmentation",
    "generic-segmentation-offload" => "tx-generic-segmentation",
    "generic-receive-offload" => "rx-gro", "large-receive-offload" => "rx-lro",
    "rx-vlan-offload" => "rx-vlan-hw-parse", "tx-vlan-offload" => "tx-vlan-hw-insert",
    "ntuple-filters" => "rx-ntuple-filter", "receive-hashing" => "rx-hashing",
);
my $state = sub {
    my $driver = Kept::driver($interface);
    @Offload::names = Kept::strings($driver, 4) unless @Offload::names;
    my @names = @Offload::names;
    my $blocks = int((@names + 31) / 32);
    my $answer = pack "L2 x" . 16 * $blocks, 0x3a, $blocks;
    return unless $blocks && $driver->($answer);
    my @blocks = unpack "x8 L*", $answer;
    my %state;
    for my $n (0 .. $#names) {
        my ($can, $asked, $on, $never) =
            map $_ >> $n % 32 & 1, @blocks[4 * int($n / 32) .. 4 * int($n / 32) + 3];
        my $more = !$can || $never ? " [fixed]"
            : $asked == $on ? "" : $asked ? " [requested on]" : " [requested off]";
        $state{$names[$n]} = [$on, $more];
    }
    \%state;
};
my $shown = sub {
    my ($layout, $state) = @_;
    my $text = "Features for $interface:\n";
    for (@$layout) {
        my ($words, $name, $leaves) = @$_;
        my @of = @$state{@$leaves ? @$leaves : $name};
        return "" if grep !defined, @of;
        my $on = (grep $_->[0], @of) ? "on" : "off";
        $text .= "$words: $on" . (@$leaves ? "" : $of[0][1]) . "\n";
    }
    $text;
};
my $now = eval { $state->() };
my $layout = $Offload::layout{$interface};
my $known = $now && $layout ? $shown->($layout, $now) : "";
print($known), return 0 if length $known;
my ($status, $text) = Kept::output(qw(ethtool -k), $interface);
print $text;
my (@layout, $leaves);
for (grep /: /, split /\n/, $text) {
    my ($indent, $name) = /^(\t?)(.*?): /;
    push @$leaves, $name if $indent;
    push @layout, ["$indent$name", $called{$name} // $name, $indent ? [] : ($leaves = [])];
}
$Offload::layout{$interface} = \@layout if $now && $shown->(\@layout, $now) eq $text;
$status;
"""
"""Print the text of `ethtool -k` from the driver's flags.

The first call runs `ethtool -k` and keeps its text as a template if the flags reproduce that text
exactly. Later calls then start no process.
"""

_FEATURE = re.compile(
    r"^(?P<indent>\t?)(?P<name>[A-Za-z0-9_.-]+): (?P<value>on|off)"
    r"(?P<fixed> \[fixed\])?(?: \[requested (?P<requested>on|off)\])?\s*$"
)

_WRITTEN = re.compile(r"(on|off)( \[fixed\])?( \[requested (on|off)\])?")


class Offload(Setting):
    """`offload: {tso: on, lro: {want: off, if_fixed: accept}}`."""

    name = "offload"
    traits = Traits(separate=True, watched="fully", drops_carrier=True, leaves=("features", "link"))
    schema: Mapping[str, Any] = {
        "type": "object",
        "title": "Offloads of the data interface",
        "description": "Features (short or long name, as in ethtool -k) with on or off. {want: "
        "on|off, if_fixed: accept} also accepts a host that cannot switch the feature.",
        "minProperties": 1,
        "propertyNames": {"pattern": r"^[A-Za-z0-9][A-Za-z0-9_.-]*$(?!\n)"},
        "additionalProperties": {
            "anyOf": [
                SWITCH,
                options(
                    {
                        "want": SWITCH,
                        "if_fixed": if_fixed("What to do if the host has the other value [fixed]."),
                    },
                    required=("want",),
                ),
            ]
        },
    }

    def read(self, interface: str, about: Any) -> Command:
        return Command(("ethtool", "-k", interface), perl=_PERL)

    def state(self, completed: Completed) -> State:
        """Return {"features": {name: `off [requested on]`}, "groups": {group: [leaf, …]}}."""
        features: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        parent = ""
        for line in completed.stdout.splitlines():
            match = _FEATURE.match(line)
            if not match:
                continue
            name, text = match["name"], line.split(": ", 1)[1].strip()
            features[name] = text
            if not match["indent"]:
                parent = name
            else:
                groups.setdefault(parent, []).append(name)
        if completed.status != 0 or not features:
            raise self.shows_none(completed)
        return {"features": features, "groups": groups}

    def change(self, interface: str, state: State, wanted: Any) -> tuple[Command, ...]:
        pairs: list[str] = []
        for feature, (want, accept_fixed) in _wishes(wanted).items():
            if not state:
                pairs += [feature, want]
            elif _is(state, self._full_name(state, feature), want):
                continue
            elif _is_fixed(state, self._full_name(state, feature)):
                if not accept_fixed:
                    raise self.error(_fixed_problem(interface, feature, want))
            else:
                pairs += [feature, want]
        return _switch(interface, pairs)

    def unmet(self, state: State, wanted: Any) -> tuple[str, ...]:
        problems = []
        for feature, (want, accept_fixed) in _wishes(wanted).items():
            name = self._full_name(state, feature)
            if _is(state, name, want) or (accept_fixed and _is_fixed(state, name)):
                continue
            blocked = want == "on" and _is_blocked(state, name)
            why = ": another feature keeps it off (tso needs sg and tx)" if blocked else ""
            problems.append(f"{feature} is not {want}{why}")
        return tuple(problems)

    def undo(self, interface: str, original: State, state: State) -> tuple[Command, ...]:
        now = _requested(state) if state else {}
        pairs = [
            word
            for leaf, value in _requested(original).items()
            if not state or (leaf in now and now[leaf] != value)
            for word in (leaf, value)
        ]
        return _switch(interface, pairs)

    def differences(self, original: State, state: State) -> tuple[str, ...]:
        now = state["features"]
        return tuple(
            f"{leaf} is {now.get(leaf, 'gone')}, was {original['features'][leaf]}"
            for leaf in _leaves(original)
            if now.get(leaf) != original["features"][leaf]
        )

    def _full_name(self, state: State, feature: str) -> str:
        """Return the name that `ethtool -k` prints. Raises SettingError for an unknown feature."""
        name = SHORT_NAMES.get(feature, feature)
        if name in state["features"]:
            return name
        near = nearest(feature, [*SHORT_NAMES, *state["features"]])
        hint = f"; did you mean {near}?" if near else "; `ethtool -k` lists them"
        raise self.error(f"there is no feature {feature!r}{hint}")

    def faults(self, state: State) -> Iterator[str]:
        pattern = re.compile(self.schema["propertyNames"]["pattern"])
        for name, value in state["features"].items():
            if not pattern.search(name) or not _WRITTEN.fullmatch(value):
                yield f"{name[:40]!r}: {value[:40]!r} is no feature"
        if not decoding.has(list(state["groups"].values()), list[list[str]]):
            yield "its groups are no lists of features"


def _wishes(wanted: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return feature -> (on or off, [fixed] is accepted)."""
    return {
        feature: (
            (wish["want"], wish.get("if_fixed") == "accept")
            if isinstance(wish, Mapping)
            else (wish, False)
        )
        for feature, wish in wanted.items()
    }


def _is(state: State, name: str, want: str) -> bool:
    """Return True if a feature is as wanted.

    A group is off if no leaf is on. It is on if a leaf is on and no leaf is blocked. The leaves
    decide, not ethtool's line for the group: after `tx off` that line may still say on, since
    `tx-tcp-accecn-segmentation` stays on.
    """
    texts = _texts(state, name)
    if want == "off":
        return all(text.startswith("off") for text in texts)
    return any(text.startswith("on") for text in texts) and not _is_blocked(state, name)


def _is_blocked(state: State, name: str) -> bool:
    """Return True if another feature keeps a leaf off that is requested on."""
    return "off [requested on]" in _texts(state, name)


def _texts(state: State, name: str) -> list[str]:
    return [state["features"][leaf] for leaf in state["groups"].get(name, [name])]


def _is_fixed(state: State, name: str) -> bool:
    return all("[fixed]" in text for text in _texts(state, name))


def _leaves(state: State) -> Iterable[str]:
    return (f for f in state["features"] if f not in state["groups"])


def _requested(state: State) -> dict[str, str]:
    """Return leaf -> requested value, for leaves that are not fixed."""
    values = {}
    for leaf in _leaves(state):
        text = state["features"][leaf]
        if "[fixed]" not in text:
            request = re.search(r"\[requested (on|off)\]", text)
            values[leaf] = request[1] if request else text.split()[0]
    return values


def _switch(interface: str, pairs: list[str]) -> tuple[Command, ...]:
    return (Command(("ethtool", "-K", interface, *pairs), sudo=True),) if pairs else ()


def _fixed_problem(interface: str, feature: str, want: str) -> str:
    other = "off" if want == "on" else "on"
    return (
        f"{feature} is [fixed] {other} on {interface} and cannot be turned {want}; write "
        f"`{feature}: {{want: {want}, if_fixed: accept}}` to run with it as it is, or leave it out"
    )
