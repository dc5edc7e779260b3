"""Measuring how well recipes find, on data somebody names: `recollect eval`, `recollect tune`. The engine imports none of it."""
