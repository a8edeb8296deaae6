"""Logins and states planted in a folder: no command of its runs, nothing is put back unasked."""

from __future__ import annotations

import json
import random
from typing import Any

from faults.attacks.base import Family, Held
from recorded import begun, rewritten
from setting_examples import EXAMPLES

from netlimits.archive import registry
from netlimits.model.folder import Folder
from netlimits.restore import states
from netlimits.settings import SETTINGS

COMMANDS = (("status", "--guards"), ("restore",), ("restore", "--yes"), ("resume", "--yes"))
WORDS = (
    "1", "-w", "; touch x", "$(touch x)", "../../x", "kernel.core_pattern=x", "net.ipv4.ip_forward",
    "dev mgmt0", "default via 192.0.2.9 dev mgmt0", "a\nb", "\x00", "--help", "", "netns", "eth0 up",
)  # fmt: skip


def attack(held: Held) -> str | None:
    return held.chance.choice((a_login, a_login, a_state))(held)


def a_login(held: Held) -> str | None:
    """A configuration of ssh that runs a command, in a folder of somebody else's or changed since."""
    out, trap = held.campaign(), held.folder / "trapped"
    config = held.chance.choice(
        (out / "ssh_config", out / "hosts" / "config", held.folder / "config")
    )
    how = held.chance.choice(("ProxyCommand", "Match exec", "Include"))
    text = f"Host *\n  ProxyCommand sh -c 'touch {trap}; exit 1'\n"
    if how == "Match exec":
        text = f'Match exec "touch {trap}"\n  User x\n'
    elif how == "Include":
        (out / "more").write_text(text)
        text = f"Include {out / 'more'}\n"
    began = held.chance.choice(("never", "config", "campaign", "journal", "id"))
    held.says(f"{how} in {config.relative_to(held.folder)}, changed: {began}")
    if began != "never":
        config.write_text("Host *\n  HostName nobody.invalid\n")
        _bind(out, str(config))
        begun(out)
    if began == "id":
        _bind(out, str(config), id=f"{held.chance.getrandbits(128):032x}")
    elif began == "journal":
        rewritten(out, lambda body: body.replace(b"put_back", b"put_back"))
        with (out / "journal.jsonl").open("ab") as journal:
            journal.write(b"x")
    elif began in ("never", "campaign"):
        _bind(out, str(config), note="x")
    config.write_text(text)
    for command in COMMANDS:
        held.call(command[0], out, *command[1:])
        if trap.exists():
            return f"{command} ran it"
    return None


def _bind(out: Any, config: str, **more: Any) -> None:
    """The machines of a folder, with the checksum of what campaign.json is then."""
    path = out / "campaign.json"
    old = Folder(out).digest("campaign.json").encode()
    meta = {**json.loads(path.read_text()), **more}
    for machine in meta["machines"].values():
        machine["ssh_config"] = config
    path.write_text(json.dumps(meta))
    new = Folder(out).digest("campaign.json").encode()
    rewritten(out, lambda body: body.replace(old, new))


def a_state(held: Held) -> str | None:
    """A state of a setting, with words in it that are no values: refused, or only words of values."""
    chance = held.chance
    setting = chance.choice(SETTINGS)
    state = _state(chance, setting.name)
    held.says(f"{setting.name}: {str(state)[:200]}")
    if states.fault(setting.name, state) or states.owner_only(setting.name):
        return None
    for command in setting.undo("data0", states.settable(setting.name, state), {}):
        strange = [
            w for w in command.argv if w in ("-w", "--help", "") and command.argv.index(w) > 1
        ]
        rest = " ".join(command.argv[3:] if command.argv[:2] == ("sh", "-c") else command.argv)
        if strange or any(c in rest + command.stdin.strip() for c in ";$\n\0|&`<>"):
            return f"it would be told {command.argv}"
        # what a sysctl is set to names nothing, and so much `settings:` may set as well
        pairs = setting.name == "sysctl"
        names = " ".join(w.partition("=")[0] for w in command.argv) if pairs else rest
        moves = ("mgmt0", "core_pattern", "/../", *(("ip_forward",) if "sysctl" in rest else ()))
        if any(word in names for word in moves):
            return f"it would be told {command.argv}"
    return None


def _state(chance: random.Random, name: str) -> Any:
    state = json.loads(json.dumps(EXAMPLES[name].state))
    for _ in range(chance.randrange(1, 3)):
        holder = state
        while True:
            keys = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
            if not keys:
                break
            key = chance.choice(keys)
            if isinstance(holder[key], dict | list) and holder[key] and chance.random() < 0.9:
                holder = holder[key]
                continue
            word = chance.choice((*WORDS, 0, -1, 10**12, None, True, []))
            if isinstance(holder, dict) and chance.random() < 0.4:
                holder[str(chance.choice(WORDS))] = holder.pop(key)
            elif isinstance(holder[key], str) and isinstance(word, str) and chance.random() < 0.5:
                holder[key] += f" {word}"
            else:
                holder[key] = word
            break
    return state


assert registry.place()  # is the tests' own: conftest.py, benchmarks/attacks.py
FAMILY = Family("planted", attack, weight=4)
