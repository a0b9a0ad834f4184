"""The tuner: which algorithm, weight, restart rule and number of expansions a tick suit a map and a computer."""
