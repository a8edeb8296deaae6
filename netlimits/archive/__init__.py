"""A campaign's results folder: what is on disk, who writes it, who reads it.

    campaign.json      the folder's version and id, the experiment's name, `--set`, seed, machines
    experiment.yaml    an exact copy of the experiment (none if results were imported)
    against.yaml       an exact copy of the experiment of `run --against`
    plan.csv           the initial plan, one row per run; `extend` adds runs in the journal
    hosts/ROLE.json    each host's facts, parsed and as printed
    state/ROLE.json    each host's network state before the first change; removed at the end,
                       after the comparison with the state after the last restore
    journal.jsonl      the events, one per line; the only file that grows
    raw/               the output of each command of an attempt; the imported files
    parts/             large campaigns: the journal in columns, derived from it
    results.csv, results.parquet, results.json   small campaigns: the table, derived too

The journal is the authority on runs. The files of the last two lines can be deleted, and
`netlimits parse` recreates them. A campaign is large from about 4,000 runs on (`parts.ATTEMPTS`).

**Who writes.** `Archive.create` (`store`) creates the folder and writes campaign.json last: a
folder without it is no campaign. After that only the process that holds the lock on the journal
writes. For each attempt it appends `start`, writes the raw output to disk, and appends `end` with
the outcome and the figures. Before a host is changed, a `found` event with its state is on disk;
after it was restored, a `put_back` event follows. Each event is appended with one write. `append`
returns when the event is on disk; an event of `add` reaches the disk before the next measurement.
Between runs `compaction` turns every 4,096 attempts of the journal into a part and packs their raw
output into one file.

**Who reads.** All readers fold events with `parts.History`. They read the parts and then the
journal's lines after the last part: `records` returns attempts and counts them for `status` and
`resume`, `frames` and `relation` return tables in pandas and DuckDB. A running campaign uses
`logbook` (experiment, plan, records), which loads neither pandas nor pyarrow. `reader` adds the
tables: `netlimits.open` returns its `Campaign`. `copies` writes runs as Parquet files for other
machines.

**After a kill** at any byte:

- An incomplete last line of the journal is cut off by the next lock. An attempt without an `end`
  was interrupted, and `resume` makes a new attempt.
- A `found` event without a `put_back` tells `restore` and `resume` what to restore.
- All files except the journal are written atomically (`model.folder`). A part is valid once its
  JSON exists, which is written last; a missing part is written again. Raw output stays in its own
  file until it was read back from a pack.

**Damage is reported**, with file and line. The journal's lines are numbered and chained by CRCs,
and its first line has the checksums of all files that never change (`Archive.check`). Lines lost at
the journal's end are detected by raw output without an event, and by the number of lines in
results.json, the parts and the registry. The end of an attempt has the SHA-256 of its raw output.
Damaged parts are ignored, and the journal is read instead. Each file is validated when it is read
(`formats`), and no link is followed (`model.folder`), since a folder may come from another user.
The `registry`, outside of the folder, decides if the folder is the user's own, so that its logins
and states may be used.

Modules, from the bottom up: formats; journal; parts, registry; packs; columns, raw; compaction;
store; assembly; records, frames; logbook, relation; timelines; reader; copies.
"""
