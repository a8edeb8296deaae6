"""Guards restore hosts if the controller is gone; claims allow one campaign at a time per host.

A campaign claims every host before its first run. Before it changes a host for the first time, it
starts a guard there. A guard is a process that needs no connection: it restores the host unless the
controller extends its deadline in time. Claim and guard last for the time of a run plus the
patience, and end when the restore is confirmed. Every change goes through `Guards`: the host runs
the change only while the claim is ours. So nothing is changed after a forced `netlimits restore`
has taken the claim.
"""
