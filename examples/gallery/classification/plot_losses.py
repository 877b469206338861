"""
The losses of classification
============================

Each loss is a function of the margin, label times score. Below it, the dual side: its conjugate, from which the lower
bound of a certificate is computed.
"""

import matplotlib.pyplot as plt
import numpy as np

from fenchel.losses import Hinge, HuberHinge, Logistic, SquaredHinge

losses = {"hinge": Hinge(), "huber_hinge": HuberHinge(), "squared_hinge": SquaredHinge(), "logistic": Logistic()}
margin, one = np.linspace(-2, 2.5, 400), np.ones(400)

fig, (above, below) = plt.subplots(1, 2, figsize=(9, 3.6))
for name, loss in losses.items():
    above.plot(margin, loss.value(margin, one), label=name)
    lowest, highest = (float(bound[0]) for bound in loss.domain(one))
    slopes = np.linspace(max(lowest, -3), highest, 400)
    below.plot(slopes, loss.conjugate(slopes, one))
above.set(xlabel="margin y s", ylabel="f(s, y)", title="Loss", ylim=(-0.1, 4))
below.set(xlabel="slope u", ylabel="f*(u, y) at y = 1", title="Conjugate")
above.legend()
plt.show()
