"""Handwritten digits as a graph, two GECO layers, under a minute on one core: python examples/digits.py [--seed S].

The 1,797 images of scikit-learn's digits are the nodes; each is linked to its 10 nearest neighbours by pixel distance. The
graph is built from all images, labels are used for the training nodes only (the usual transductive setting).
"""

import argparse
import copy
import sys
import time

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import kneighbors_graph
from torch.nn.functional import cross_entropy

from geco import GECO

parser = argparse.ArgumentParser(description="Train GECO on scikit-learn's digits.")
parser.add_argument("--seed", type=int, default=0, help="of the weights and of dropout; the split is always the same")
seed = parser.parse_args().seed
epochs, start = 150, time.perf_counter()
torch.manual_seed(seed)
torch.set_num_threads(1)  # the graph is small, and the numbers then do not depend on how many cores there are

# The graph: pixels as features, an edge in both directions wherever one image is a nearest neighbour of the other.
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
neighbours = kneighbors_graph(digits.data, 10)
adjacency = neighbours.maximum(neighbours.T).tocoo()
edge_index = torch.stack([torch.tensor(adjacency.row), torch.tensor(adjacency.col)]).long()

# 60 % train, 20 % validation, 20 % test, each with the same share of every digit.
train, rest = train_test_split(range(len(y)), train_size=0.6, stratify=digits.target, random_state=0)
valid, test = train_test_split(rest, train_size=0.5, stratify=digits.target[rest], random_state=0)
print(f"digits: {len(x)} nodes, {edge_index.shape[1]} edges; {len(train)} train, {len(valid)} validation, {len(test)} test")

# Static order: the nodes are shuffled once, so that the order of the file tells the model nothing.
model = GECO(64, 64, num_layers=2, out_channels=10, dropout=0.3, permutation="static")
optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=5e-4)


@torch.no_grad()
def accuracy(nodes: list[int]) -> float:
    right = model.eval()(x, edge_index).argmax(1) == y
    return 100 * right[nodes].float().mean().item()


best, best_epoch, best_weights = -1.0, 0, {}
for epoch in range(1, epochs + 1):
    model.train()
    optimiser.zero_grad()
    loss = cross_entropy(model(x, edge_index)[train], y[train])
    loss.backward()
    optimiser.step()
    score = accuracy(valid)
    if score > best:
        best, best_epoch, best_weights = score, epoch, copy.deepcopy(model.state_dict())
    if epoch % 25 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.3f}  validation {score:.2f} %", flush=True)
    elif sys.stdout.isatty():
        print(f"epoch {epoch:3d}/{epochs}", end="\r", flush=True)

model.load_state_dict(best_weights)
print(f"best validation {best:.2f} % at epoch {best_epoch}; test accuracy there: {accuracy(test):.2f} %")

# What node 0 attends to, by the first layer's surrogate attention: global context, so not only digits of its own kind.
nodes, _ = model.attention(x, edge_index).top(0, k=5)
top = ", ".join(f"node {i} (a {y[i]})" for i in nodes.tolist())
print(f"node 0 (a {y[0]}) attends most, in the first layer, to {top}")

print(f"took {time.perf_counter() - start:.0f} s; expect a test accuracy of 97.8 to 98.1 % (seeds 0, 1 and 2)")
print("next: `make test` runs the tests; the README's layer example shows how to use GECO in a model of your own")
