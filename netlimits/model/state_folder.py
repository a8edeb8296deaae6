"""The folder on a host for state that outlives the netlimits process: notes, guards, a load."""

WHERE = (
    'while read -r d _ uid _; do [ "$d" != Uid: ] || break; done </proc/self/status; '
    'if [ "$uid" = 0 ]; then d=/run/netlimits; else d="$HOME/.local/state/netlimits"; fi; '
)
"""The part of a script that sets $d to the folder, and $uid. Root's is lost at a reboot."""

FOLDER = "umask 077; " + WHERE
