"""Code that several commands share: options, access to hosts and results, printed lines."""
