"""The page that shows how agents think: game trees, Monte Carlo search, weights."""
