"""The vector environment: what it shows (`env`), what happens (`engine`, `compiled`), on what (`states`)."""
