"""A campaign: from a plan and hosts to an archive.

- *Session*: `session` holds the connected hosts, their claims and guards, and restores them at the
  end. `recorder` is a host that keeps what it did, `preparation` what runs have set on it.
- *Attempt*: `attempt` is one run, a straight line from an immutable context. `specifications` is
  what the run measures, `steps` its commands as data, and `measurement` carries them out.
- *Schedule*: `schedule` is one pair's runs in order, `mesh` several pairs at once, here or by a
  scheduler's workers.
- *Figures*: `figures` reads the raw output of an attempt, live or again (`netlimits parse`).

`rehearsal` tries the settings before the first run. `creation` makes the campaign's folder,
`dry_run` prints what runs would do, and `interrupt` is how Ctrl-C reaches them.
"""
