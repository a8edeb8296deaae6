"""The versions of a campaign's folder, and what each of them brought.

Version 1: the first. The journal's lines are events alone; its `start` and `end` name a run by
    its number, whose configuration the plan has.
Version 2: `id` in campaign.json. The journal's lines are numbered and chained, so that one that is
    lost or changed is told; the first is `created`, with the checksums of what is never written
    again; `start`, `end` and `parsed` have `block`, `config` and `values`, so that a run's labels
    depend on no other file. Version 1 is still read and continued, as version 1, and
    archive.upgrade makes 2 of it. What came since, without a number of its own, since all that
    was there means what it did:
    `end` may have `controller`, what the attempt cost here; before, the raw output had that as a
        command of no host.
    `parts`: the journal in columns. A netlimits that does not know them reads the journal.
    Packs in `raw`: the raw output of many attempts in one file (archive.packs). A netlimits that
        does not know them has no raw output of those attempts, and says so where it is asked to
        read it again.
    `upgraded` in campaign.json: from which version, when, by which netlimits.
"""

from __future__ import annotations

VERSION = 2
READ = (1, VERSION)
"""The versions that are read and continued."""
