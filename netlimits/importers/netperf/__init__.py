"""netperf's text output in any form: `text` reads it line by line with the other modules."""
