"""From a plan to an archive: what drives hosts, and what it makes of what they print."""
