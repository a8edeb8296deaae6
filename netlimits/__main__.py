"""`python -m netlimits` is `netlimits`."""

from netlimits.cli import main

main()
