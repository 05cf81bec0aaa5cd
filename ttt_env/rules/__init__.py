"""The games: rules alone, without frameworks, drawings or agents."""
