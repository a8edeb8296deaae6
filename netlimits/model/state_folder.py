"""Where netlimits keeps on a host what has to outlive its own process: notes, guards, a load."""

FOLDER = (
    'umask 077; if [ "$(id -u)" = 0 ]; then d=/run/netlimits; '
    'else d="$HOME/.local/state/netlimits"; fi; '
)
"""The part of a shell script that finds the folder, as $d: root's does not outlive a boot."""
