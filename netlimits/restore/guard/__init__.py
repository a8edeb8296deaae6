"""A dead man's switch on each host, and one campaign at a time there.

A campaign claims every host before its first run, so that a second one is refused. Before the
first change a guard is started on the host: a process that no connection carries and that puts
back what was found unless the controller is heard from in time. Both hold for a run's own time
and the patience asked for, are renewed as a run starts when less than that is left (a tenth of the
patience is given on top each time, so most runs need no word), and end when the put-back is
confirmed. The guard also mends what cuts off the controller itself, such as a wrong MTU.

Every change of a host goes through `Guards.run`: the host itself makes it only while the claim is
ours. Whoever takes the claim away, a forced `netlimits restore`, can therefore rely on it that
nothing of ours is written afterwards.

claim says who, terms what may be taken over, guards holds the campaign's; script makes the guard,
scripts and commands all that is sent to a host, report what `netlimits status` shows.
"""
