"""ntttcp's output: `xml` of Windows and Linux, `text` and JSON of Linux."""
