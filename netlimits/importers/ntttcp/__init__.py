"""ntttcp's output: XML of Windows and Linux, text and JSON of Linux; `results` builds the run."""
