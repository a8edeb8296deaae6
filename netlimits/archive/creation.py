"""A new campaign's folder: everything but runs, or nothing of it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from netlimits.archive import registry
from netlimits.archive.journal import Head
from netlimits.errors import ArchiveError, one_line
from netlimits.model.folder import Folder

AGAINST = "against.yaml"

VERSION = 2
"""The version of the folder: campaign.json says it, and no other is read."""


def create(
    path: Path,
    meta: Mapping[str, Any],
    text: str = "",
    hosts: Mapping[str, Any] | None = None,
    write_plan: Callable[[TextIO], object] | None = None,
    register: Callable[[Folder, registry.Registration], None] | None = None,
    against: str = "",
) -> None:
    """Make a folder with everything but runs; `campaign.json`, which makes it one, comes last.

    Just before that `register` is told of it, but for its logins. What is imported has neither
    experiment nor hosts nor plan. Raises ArchiveError when the folder exists and is not empty, or
    cannot be written; then nothing of it is left.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise ArchiveError(f"{path}: is not empty; name another folder with --out")
        try:
            about = {"version": VERSION, "id": secrets.token_hex(16), **meta}
            texts = {"experiment.yaml": text, AGAINST: against}
            _fill(Folder(path), about, texts, hosts or {}, write_plan, register)
        except BaseException:
            _empty(Folder(path), hosts or {})
            raise
    except OSError as error:
        why = one_line(error)
        raise ArchiveError(f"{path}: {why}; choose a folder with --out") from None


def _fill(
    folder: Folder,
    meta: Mapping[str, Any],
    texts: Mapping[str, str],
    hosts: Mapping[str, Any],
    write_plan: Callable[[TextIO], object] | None,
    register: Callable[[Folder, registry.Registration], None] | None,
) -> None:
    about = pretty(meta).encode("utf-8", "backslashreplace")
    digests = {"campaign.json": sha256(about).hexdigest()}
    for name in ("raw", "hosts"):
        folder.make(name)
    for name, content in {
        **{name: text for name, text in texts.items() if text},
        **{f"hosts/{role}.json": pretty(facts) for role, facts in hosts.items()},
    }.items():
        folder.write(name, content)
        digests[name] = folder.digest(name)
    if write_plan:
        with folder.whole("plan.csv") as file:
            plan = TextIOWrapper(file, "utf-8", newline="", write_through=False)
            write_plan(plan)
            plan.flush()
            plan.detach()
        digests["plan.csv"] = folder.digest("plan.csv")
    line = Head().sealed(json.dumps(created(digests)).encode())
    folder.write("journal.jsonl", line)
    if register:
        extent = (1, len(line), sha256(line).hexdigest())
        campaign = digests["campaign.json"]
        register(folder, registry.begun(meta["id"], folder, campaign, extent))
    folder.write("campaign.json", about)


def _empty(folder: Folder, hosts: Mapping[str, Any]) -> None:
    """Remove what was created in a folder that was empty before."""
    names = ("experiment.yaml", AGAINST, "plan.csv", "journal.jsonl", "campaign.json")
    for name in (*names, *(f"hosts/{role}.json" for role in hosts)):
        try:
            folder.remove(name)
        except OSError:
            continue
    for name in ("raw", "hosts", "."):
        try:
            (folder.path / name).rmdir()
        except OSError:
            continue


def created(digests: Mapping[str, str]) -> dict[str, Any]:
    """A journal's first event: the checksums of what is never written again."""
    return {"event": "created", "at": time.time(), "files": dict(digests)}


def pretty(value: Any) -> str:
    """JSON for people to read, too."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
