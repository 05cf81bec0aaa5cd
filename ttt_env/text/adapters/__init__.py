"""Games as conversations in the frameworks that train language models: a module each, which none imports."""
