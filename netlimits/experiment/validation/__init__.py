"""Validation of an experiment file, in stages, so that all errors of a file are reported together.

| stage | module | checks |
|---|---|---|
| 1 | `shape` | the data against JSON Schema; `experiment.violations` words what it finds |
| 2 | `semantics` | names, roles, lists, conditions, comparisons; `names` is what the file defines |
| 3 | `unused` | factors and derived values without effect |
| 4 | `plan_errors` | the configurations, and each one's options |

A stage that finds errors does not end the validation. `salvage` takes what stage 1 objects to out
of the data, and `plan_errors` what the stages before it object to out of the plan; later stages see
the rest, and report no error that may only follow from an earlier one. What remains of the plan is
`experiment.partial_plan`, for checks of its packets.
"""
