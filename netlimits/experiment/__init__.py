"""An experiment: from its YAML file to the ordered runs of a plan.

`load` reads and checks a file (`document`, `overrides`, `schema`, `validation`); `configurations`
multiplies its factors, `setups` is what each configuration sets and measures, `plan` orders the
runs. `mesh` has the scheduling of many hosts, `duet` two sides in one plan, and `hosts_file` binds
roles to machines.
"""
