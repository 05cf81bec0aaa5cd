"""The vector environment: its interface (`env`), its steps (`engine`, `compiled`), its boards (`states`)."""
