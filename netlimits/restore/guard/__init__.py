"""A dead man's switch on each host, and one campaign at a time there.

A campaign claims every host before its first run. Before its first change it starts a guard there:
a process without a connection that restores the host unless the controller renews its deadline in
time. Both last for a run's own time plus the patience, and end when the restore is confirmed. Every
change goes through `Guards.run`: the host runs it only while the claim is ours, so that nothing is
changed after a forced `netlimits restore` took the claim.
"""
