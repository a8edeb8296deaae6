"""The folder on a host for state that must outlive the netlimits process.

It contains notes on how to restore the host, files of guards, and files of settings that keep a
process running.
"""

WHERE = (
    'while read -r d _ uid _; do [ "$d" != Uid: ] || break; done </proc/self/status; '
    'if [ "$uid" = 0 ]; then d=/run/netlimits; else d="$HOME/.local/state/netlimits"; fi; '
)
"""Part of a shell script that sets $d to the folder and $uid to the user's id.

The folder of root is in /run, so a reboot deletes it.
"""

FOLDER = "umask 077; " + WHERE
