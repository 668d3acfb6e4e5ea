"""Who plays θ: models that give scores and descend gradients with respect to them."""
