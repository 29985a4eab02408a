def play(a, rng, folder):
    return "nothing"
