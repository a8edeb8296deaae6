"""An experiment: from its YAML file to the ordered runs of a plan."""
