"""The version of scikit-learn: what tests ask of it differs between the lowest one that is supported and the newest."""

import sklearn

SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
