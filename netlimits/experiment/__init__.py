"""From a YAML file to ordered runs."""
