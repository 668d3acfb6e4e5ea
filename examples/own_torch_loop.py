"""Your own PyTorch loop
=====================

Recall for each sex and race must be at least 95% of everyone's. You keep your own model, batches,
optimizer, schedule and clipping. In place of a loss, `rb.Game` takes the batch's scores, returns the
gradient with respect to them and moves its multipliers. After training, `rb.trace_of` computes the exact
rates of the snapshots, and `rb.shrink` finds the mixture of them that keeps the promises with the fewest
errors. It predicts, audits and saves like any other. Training asks for 98%, to leave room on new rows.
"""

import copy
from importlib.util import find_spec

import torch
from torch import nn

import ratebound as rb

GROUPS = {"sex": ("Female", "Male"), "race": ("Black", "White")}
PROMISED = rb.Problem(minimize=rb.error_rate(), subject_to=rb.equal_opportunity(GROUPS, ratio=0.95))
ASKED = rb.Problem(minimize=rb.error_rate(), subject_to=rb.equal_opportunity(GROUPS, ratio=0.98))


def scores_of(model, population):
    """Scores (n,) as the deployed model gives them."""
    with torch.no_grad():
        return model.eval()(torch.from_numpy(population.X)).squeeze(1).numpy()


def fit(population, compiled=None, epochs=12):
    """The model after every epoch; without a compiled problem it is trained on a plain loss."""
    torch.manual_seed(0)
    X, y = torch.from_numpy(population.X), torch.from_numpy(population.y).float()
    model = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    if compiled is not None:
        game = rb.Game(compiled, rb.SwapRegret(), rules=rb.Rules(proxy="sigmoid"))
        rounds = game.recorded(game.start(scores_of(model, population)))
    snapshots = []
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(X)).split(512):
            scores = model(X[rows]).squeeze(1)
            optimizer.zero_grad()
            if compiled is None:
                nn.functional.binary_cross_entropy_with_logits(scores, y[rows]).backward()
            else:
                scores.backward(rounds(scores, rows))
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        scheduler.step()
        snapshots.append(copy.deepcopy(model))
    return snapshots


def report(name, population, mixture):
    """One line on a mixture: its error, and the room of each promise, which is kept if not negative."""
    audit = rb.audit(PROMISED, mixture, population)
    cells = [f"{p.slack:+.3f} {'kept' if p.kept else 'BROKEN'}" for p in audit.promises]
    print(f"  {name:22}{audit.objective.value:.4f}   " + "".join(f"{c:15}" for c in cells).rstrip())


def main():
    adult = rb.datasets.load_adult()
    compiled = rb.compile(ASKED, adult.train)
    plain, snapshots = fit(adult.train), fit(adult.train, compiled)
    trace = rb.trace_of(compiled, snapshots)  # exact rates of every snapshot
    mixture = rb.shrink(trace)  # ready for predict, save and audit
    for name in ("train", "test"):
        population = getattr(adult, name)
        print(f"{name:24}error    women          men            Black          white")
        report("plain loss", population, rb.last_iterate(rb.trace_of(compiled, plain)))
        report("game, last epoch", population, rb.last_iterate(trace))
        report(f"game, {len(mixture)} mixed", population, mixture)
    print("Test rows hold 179 positive Black people: their recall there is uncertain by 0.07.")
    return trace


if __name__ == "__main__":
    found = main()

# %%
# The model after every epoch, on the training rows. Left of the line it keeps every promise asked for.

if __name__ == "__main__" and find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    rb.plot_trade_off(found, ax)
    plt.show()
