"""Validation of an experiment file, in stages, so that all errors of a file are reported together.

`shape` (JSON Schema), `semantics` (names, roles, lists), `unused` (factors without effect),
`plan_errors` (configurations and their options). Each stage checks only the parts
without earlier errors.
"""
