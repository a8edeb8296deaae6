"""Parts that several commands share: options, opening of hosts and results, printed lines."""
