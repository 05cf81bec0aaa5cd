"""Many agents against each other."""

from ttt_env.tournament.tournament import Tournament, tournament
