"""
Ranking
=======

Rows that belong to queries, with grades of relevance: only the order within a query counts.
:class:`fenchel.LinearRanker` minimizes a loss of pairs (RankSVM and its smooth relatives). Here queries differ in how
they grade, which confuses a regression of the grades and not a ranking.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel import LinearRanker, LinearRegressor
from fenchel.metrics import ndcg_score

rng = np.random.default_rng(0)
queries, rows, d = 240, 12, 15
X = rng.standard_normal((queries * rows, d))
qid = np.repeat(np.arange(queries), rows)
true = rng.standard_normal(d)
# a query has features of its own that say nothing about the order, but much about the level of its grades
level = rng.standard_normal(queries)[qid]
X[:, 0] += 3 * level
relevance = X[:, 1:] @ true[1:] / 2 + 4 * level + rng.standard_normal(len(X))
y = np.clip(np.round(relevance), 0, 4).astype(int)
train, test = qid < 120, qid >= 120

Cs = np.logspace(-3, 2, 6)
fig, ax = plt.subplots()
for loss in ("pairwise_hinge", "pairwise_logistic"):
    fits = [LinearRanker(loss, C=C).fit(X[train], y[train], qid=qid[train]) for C in Cs]
    ax.semilogx(Cs, [fit.score(X[test], y[test], qid=qid[test]) for fit in fits], "o-", label=loss)
    print(f"{loss}: {fits[-1].certificate_}")
ridge = LinearRegressor(C=1.0).fit(X[train], y[train]).predict(X[test])
ax.axhline(
    ndcg_score(y[test], ridge, qid=qid[test], k=10), color="0.4", linestyle="--", label="ridge regression of the grades"
)
ax.set(xlabel="C", ylabel="mean NDCG@10 of held-out queries", title="Pairs within a query against grades")
ax.legend()
plt.show()
