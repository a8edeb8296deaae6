"""A campaign's results folder: what is on disk, who writes it, who reads it.

    campaign.json      the folder's version and id, the experiment's name, `--set`, seed, machines
    experiment.yaml    the experiment, to the letter (none if results were imported)
    against.yaml       the experiment of a duet's second side, to the letter
    plan.csv           the plan as it began, one row a run; `extend` adds runs in the journal
    hosts/ROLE.json    each host's facts, parsed and as printed
    state/ROLE.json    each host's network state before the first change, until it was compared
    journal.jsonl      what happened, one event a line; the only file that grows
    raw/               what each command of an attempt printed; the files that were imported
    parts/             of a large campaign: the journal in columns, made from it
    results.csv, results.parquet, results.json   of a small one: its table, made from the journal

The journal is the truth about runs. Everything in the last two lines can be deleted, and
`netlimits parse` makes it again. A campaign is large from about 4,000 runs on (`parts.ATTEMPTS`).

**Who writes.** `Archive.create` (`store`) makes the folder, campaign.json last: without it the
folder is no campaign. From then on one process at a time writes, the one that holds the lock on
the journal. For each attempt it appends `start`, writes the raw output to disk, and appends `end`
with the outcome and the figures. Before a host is changed, `found` with its state is on disk;
`put_back` answers it. Each event is appended with one write. An event is on disk when `append`
returns, and one of `add` before anything is measured after it. Between runs `compaction` turns
every 4,096 attempts of the journal into a part and packs their raw output into one file.

**Who reads.** `history` is the one fold over events. Readers give it the lines after the last
part, and take the rest from the parts: `records` makes attempts as values, `standing` counts what
`status` and `resume` need, `frames` and `relation` make tables in pandas and DuckDB. `logbook`
(experiment, plan, records, standing) is what a process at work needs, and loads neither pandas nor
pyarrow. `reader` adds the tables: `netlimits.open` returns its `Campaign`. `copies` leaves runs as
Parquet files where other machines read them.

**After a kill** at any byte:

- A torn last line of the journal is cut off when it is locked again. An attempt that has no end
  was interrupted, and `resume` makes another one.
- `found` without `put_back` tells `restore` and `resume` what to restore.
- Files other than the journal are there whole or not at all (`model.folder`). A part counts once
  its JSON is there, which is written last; a part that is missing is written again. Raw output
  stays in its own file until a pack that holds it was read back.

**Damage is reported**, with file and line. The journal's lines are numbered and chained by CRCs,
and its first line has the checksums of the files that are never written again (`Archive.check`).
Lines that are lost at the journal's end are missed by raw output that no event knows, and by
results.json, the parts and the registry, which know how many lines there were. An attempt's end has
the SHA-256 of its raw output. Parts that are damaged are ignored, and their lines read instead. The
format of each file is checked as it is read (`formats`), and no file is opened through a link
(`model.folder`), since a folder may come from somebody else. Whether it is the user's own, so that
its logins and its states may be used, is decided by the `registry` outside of it.

The modules, from the bottom up: formats; journal, history; parts, registry, packs; columns, raw;
compaction; store; records, standing, frames; logbook, relation; reader; copies.
"""
