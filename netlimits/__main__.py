"""Entry point of `python -m netlimits`."""

from netlimits.cli import main

main()
