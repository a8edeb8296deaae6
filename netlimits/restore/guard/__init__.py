"""A dead man's switch on each host, and one campaign at a time there.

A campaign claims every host before its first run, so that a second campaign is refused. Before the
first change it starts a guard on the host: a process without a connection that restores the host
unless the controller renews its deadline in time. Claim and guard last for a run's own time plus
the patience. They are renewed when a run starts with less time left (each renewal adds a tenth of
the patience, so most runs need none), and end when the restore is confirmed. The guard also fixes
changes that cut off the controller itself, such as a wrong MTU.

Every change of a host goes through `Guards.run`: the host runs it only while the claim is ours. So
a forced `netlimits restore`, which takes the claim away, can rely on it that this campaign changes
nothing afterwards.

Modules: `claim` (who), `terms` (what may be taken over), `claims` and `guards` (a campaign's own),
`script` (the guard), `scripts` and `commands` (everything sent to a host), `in_perl` (two scripts
in Perl), `report` (for `netlimits status`).
"""
