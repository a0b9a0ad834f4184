"""The tuner: which algorithm, weight, restart rule and number of expansions per tick suit a map and a computer."""
