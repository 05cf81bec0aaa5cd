"""The leaderboard: how algorithms take part, what is counted, what is kept, and what is shown of it."""
