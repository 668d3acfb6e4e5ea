"""Your own loop: Lightning
========================

The same in a `LightningModule`. `training_step` returns the scores times the gradient that `rb.Game`
gives: a number whose derivative by the scores is that gradient, so that Lightning's own `backward`,
clipping, accumulation and precision apply. The number itself means nothing. A batch has to say which
rows it holds, so the data set gives each row with its place. Paragraphs that begin with `# Promise:`
are all that the promise adds.
"""

import copy

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import ratebound as rb

torch.manual_seed(0)
adult = rb.datasets.load_adult()
X = torch.from_numpy(adult.train.X)
loader = DataLoader(TensorDataset(X, torch.arange(len(X))), batch_size=512, shuffle=True)

# Promise: what is promised, what is asked of training, and the game of it on the training rows.
promised = rb.Problem(rb.error_rate(), ['recall(sex == "Female") >= 0.95 * recall()'])
asked = rb.Problem(rb.error_rate(), ['recall(sex == "Female") >= recall()'])
compiled = rb.compile(asked, adult.train)
game = rb.Game(compiled, rules=rb.Rules(proxy="sigmoid"))
rounds = game.recorded(game.start(torch.zeros(len(X))))


class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(X.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
        self.snapshots = []

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.003, weight_decay=0.01)

    def training_step(self, batch):
        scores = self.net(batch[0]).squeeze(1)

        # Promise: a number whose derivative by the scores is the gradient.
        return (scores * rounds(scores, batch[1])).sum()

    def on_train_epoch_end(self):
        self.snapshots.append(copy.deepcopy(self.net))


model = Network()
quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
trainer = lightning.Trainer(max_epochs=8, enable_checkpointing=False, accelerator="cpu", **quiet)
trainer.fit(model, loader)

# Promise: the best mixture of the snapshots, by exact rates; then both kinds of rows.
mixture = rb.shrink(rb.trace_of(compiled, model.snapshots))
print(rb.audit(promised, mixture, adult.train))
print(rb.audit(promised, mixture, adult.test))
