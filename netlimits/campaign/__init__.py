"""A campaign: from a plan and hosts to an archive.

- *Session*: `session` claims the connected hosts, guards them, and restores them at the end.
  `recorder` wraps a host and records its commands. `preparation` tracks the settings that runs have
  made.
- *Attempt*: `attempt` carries out one attempt at a run, from an immutable context. `specifications`
  describes what the run measures, `steps` lists its commands as data, and `measurement` executes
  them.
- *Schedule*: `schedule` carries out the runs of one pair in order. `mesh` carries out the runs of
  several pairs at once, in this process or on the workers of a scheduler.
- *Figures*: `figures` parses the raw output of an attempt, after the run or in `netlimits parse`.

`rehearsal` tries the settings before the first run. `creation` creates the campaign's folder,
`dry_run` lists the commands of runs, and `interrupt` handles Ctrl-C.
"""
