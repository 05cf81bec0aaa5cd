"""Games in the frameworks that train language models: a module for each, which needs its own extra."""
