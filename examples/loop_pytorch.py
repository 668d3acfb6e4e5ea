"""Your own loop: PyTorch
======================

A network, an optimizer, a schedule and batches of your own. In place of the loss, `rb.Game` takes the
scores of a batch and returns the gradient with respect to them. In the end `rb.shrink` mixes the
snapshots of the epochs so that the promise is kept with the fewest errors. The problem asks for a little
more than is promised, which leaves room on new rows. Paragraphs that begin with `# Promise:` are all
that the promise adds.
"""

import copy

import torch
from torch import nn

import ratebound as rb

torch.manual_seed(0)
adult = rb.datasets.load_adult()
X = torch.from_numpy(adult.train.X)
model = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)

# Promise: what is promised, what is asked of training, and the game of it on the training rows.
promised = rb.Problem(rb.error_rate(), ['recall(sex == "Female") >= 0.95 * recall()'])
asked = rb.Problem(rb.error_rate(), ['recall(sex == "Female") >= recall()'])
compiled = rb.compile(asked, adult.train)
game = rb.Game(compiled, rules=rb.Rules(proxy="sigmoid"))
rounds = game.recorded(game.start(model(X).detach().squeeze(1)))

snapshots = []
for _ in range(10):
    for rows in torch.randperm(len(X)).split(512):
        scores = model(X[rows]).squeeze(1)
        optimizer.zero_grad()

        # Promise: this gradient stands where the loss's would be.
        scores.backward(rounds(scores, rows))

        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    snapshots.append(copy.deepcopy(model))

# Promise: the best mixture of the snapshots, by exact rates; then both kinds of rows.
mixture = rb.shrink(rb.trace_of(compiled, snapshots))
print(rb.audit(promised, mixture, adult.train))
print(rb.audit(promised, mixture, adult.test))
