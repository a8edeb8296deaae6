"""A dead man's switch on each host, and one campaign at a time per host.

A campaign claims every host before its first run. Before its first change of a host it starts a
guard there: a process that needs no connection, and restores the host unless the controller extends
its deadline in time. Claim and guard last for the time of a run plus the patience, and end when the
restore is confirmed. Every change goes through `Guards`: the host runs it only while the claim is
ours, so that nothing is changed after a forced `netlimits restore` took the claim.
"""
