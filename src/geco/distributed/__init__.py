"""Several processes that train together: what they tell each other, how they are started, what becomes of faults."""
