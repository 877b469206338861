"""
Text: which library wrote this docstring?
=========================================

The docstrings of NumPy and of SciPy are a small corpus that needs no download. The features are TF-IDF weights of
words, the model a linear SVM with the ridge penalty, and then with the lasso penalty, which keeps a few words.
"""

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from fenchel import LinearClassifier


def docstrings(module):
    """The documentation of the public functions of a module up to the notes and examples, which name the library."""
    found = (inspect.getdoc(getattr(module, name, None)) or "" for name in dir(module) if not name.startswith("_"))
    found = {re.split(r"\n(?:Notes|Examples|References)\n-", text)[0] for text in found}
    return sorted(text for text in found if len(text) > 300)


numpy_texts = docstrings(np)
scipy_texts = [
    text for module in (scipy.optimize, scipy.signal, scipy.special, scipy.stats) for text in docstrings(module)
]
texts = numpy_texts + scipy_texts
labels = ["numpy"] * len(numpy_texts) + ["scipy"] * len(scipy_texts)
train, test, y_train, y_test = train_test_split(texts, labels, stratify=labels, random_state=0)

words = TfidfVectorizer(sublinear_tf=True, min_df=3, token_pattern=r"[a-z]{3,}", stop_words=["numpy", "scipy"])
model = make_pipeline(words, LinearClassifier("squared_hinge", C=1.0, class_weight="balanced")).fit(train, y_train)
print(f"{len(train)} documents, {len(words.vocabulary_)} words; accuracy {model.score(test, y_test):.2f}")
print(model[-1].certificate_)

# %%
# The lasso needs a fraction of the words.

sparse = make_pipeline(words, LinearClassifier("squared_hinge", C=1.0, l1_ratio=1.0, class_weight="balanced"))
sparse.fit(train, y_train)
weights = sparse[-1].coef_[0]
print(f"{np.count_nonzero(weights)} words are left; accuracy {sparse.score(test, y_test):.2f}")

order = np.argsort(weights)
shown = np.concatenate([order[:10], order[-10:]])
fig, ax = plt.subplots(figsize=(6.4, 4.6))
ax.barh(words.get_feature_names_out()[shown], weights[shown], color=np.where(weights[shown] > 0, "C1", "C0"))
ax.set(xlabel="weight (to the right: SciPy)", title="Words with the largest weights of a sparse linear SVM")
ax.grid(axis="y", visible=False)
plt.show()
