"""Games as conversations in other frameworks: a module for each, imported only when it is asked for."""
