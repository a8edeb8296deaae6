"""The conditions for claiming a host: which claims and notes may be taken over."""

from __future__ import annotations

from dataclasses import dataclass

from netlimits.model import decoding
from netlimits.restore.guard.claim import Claim, Holder, printable
from netlimits.restore.guard.commands import HostStatus

OR_FORGET = ", or leave it as it is with `netlimits restore --hosts FILE --forget`"
"""Part of an error message: the command that frees a host without restoring it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions under which a host may be claimed.

    `dead` allows replacing another campaign's claim if that campaign's connection is gone, and
    `living` even if it is open. `noted` allows claiming a host with notes of another campaign.
    """

    dead: bool = False
    living: bool = False
    noted: bool = False


RUN = Terms()
RESTORE = Terms(dead=True)
FROM_NOTES = Terms(dead=True, noted=True)


def forced(terms: Terms, force: bool) -> Terms:
    return Terms(terms.dead, terms.living or force, terms.noted)


def refusal(now: HostStatus, holder: Holder, terms: Terms = RUN) -> str:
    """Return the reason why `holder` may not claim a host, or ""."""
    if len(now.claims) > 1:
        return f"it has more than one claim; remove {printable(now.claims[-1][0])}"
    for path, _, claim in now.claimed():
        if claim is None:
            if terms.living or (terms.dead and path not in now.held):
                continue
            why = f"{path} is not a claim of netlimits"
            return f"{why}; `netlimits restore --hosts FILE` removes it"
        if not (_is_own(claim, holder) or claim.stale) and (why := _in_the_way(claim, terms)):
            return why
    return "" if terms.noted else _noted(now, holder, damaged_too=not terms.dead)


def _is_own(claim: Claim, holder: Holder) -> bool:
    return claim.holder.id == holder.id and claim.holder.controller == holder.controller


def _in_the_way(claim: Claim, terms: Terms) -> str:
    if terms.living or (terms.dead and not claim.held):
        return ""
    if terms.dead:
        return (
            f"{claim} is using it (its connection is up); end it first, or take the host from it "
            "with `netlimits restore --hosts FILE --force`"
        )
    if not claim.held:
        return (
            f"it is claimed by {claim}, whose connection is gone; restore what it changed with "
            f"`netlimits restore --hosts FILE`{OR_FORGET}"
        )
    return (
        f"{claim} is using it (its connection is up); wait until it ends, or end it with "
        "`netlimits restore --hosts FILE --force`"
    )


def must_be_dead(now: HostStatus, holder: Holder, terms: Terms) -> bool:
    """Return True if the host's present claim may be replaced only while nobody holds it."""
    return not terms.living and any(
        claim is None or not (claim.stale or _is_own(claim, holder)) for *_, claim in now.claimed()
    )


def _noted(now: HostStatus, holder: Holder, damaged_too: bool) -> str:
    """Return the reason why the notes on a host forbid `holder` to claim it, or ""."""
    for note in now.notes:
        try:
            fields = decoding.parsed(note)
            if fields["link_address"] in now.links and fields.get("id") != holder.id:
                campaign = printable(str(fields["campaign"]))[:200]
                return (
                    f"campaign {campaign} changed it and did not confirm that it was restored; "
                    f"do that first: `netlimits restore --hosts FILE`{OR_FORGET}"
                )
        except (ValueError, KeyError, TypeError):
            if not damaged_too:
                continue
            return (
                "a note in its netlimits folder is damaged; see `netlimits restore --hosts FILE`"
                f"{OR_FORGET}"
            )
    return ""
