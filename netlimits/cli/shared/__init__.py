"""What several commands share: options, hosts and results to open, and lines to print."""
