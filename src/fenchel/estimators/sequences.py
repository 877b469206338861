"""Classification of the tokens of sequences by linear chains: max-margin Markov networks and CRFs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import Floats
from fenchel.designs import ChainDesign
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.regularization import lam_of
from fenchel.estimators.sequence_data import (
    Tokens,
    classes_of,
    edge_columns,
    edges_of,
    labels_of,
    split_by,
    tokens_of,
    weights_of,
)
from fenchel.estimators.sequence_kernel import SequenceKernel
from fenchel.estimators.sequence_weights import SequenceWeights
from fenchel.estimators.sklearn_bases import WithReasons
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.problem import Problem
from fenchel.risks import ChainHinge, ChainLogistic, ChainRisk
from fenchel.risks.chains.oracles import marginals, viterbi
from fenchel.risks.chains.sequences import ChainScores, Sequences
from fenchel.solvers.base import Warm
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution
from fenchel.validation import check_choice

_RISKS: dict[str, type[ChainRisk]] = {"hinge": ChainHinge, "logistic": ChainLogistic}
#: transitions=: whether there are weights of pairs of labels, and of first and last labels
_TRANSITIONS = {"full": (True, True), "pairs": (True, False), "none": (False, False)}
#: scores above this size overflow in sums of a few of them
_LARGEST_SCORE = 1e300


@of_package
@dataclass(eq=False, repr=False)
class SequenceClassifier(
    WithReasons, SolverParameters, SequenceKernel, SequenceWeights, FitParameters, LinearEstimator
):
    r"""Linear-chain classifier of the tokens of sequences, with a duality-gap certificate.

    Minimizes :math:`\tfrac12\|w\|^2 + C\sum_q \mathrm{weight}_q\,f_q(w)` over weights of features and labels, of pairs
    of neighbouring labels, and of first and last labels, where :math:`f_q` is the loss of sequence q: "hinge", the
    max-margin loss :math:`\max_y \mathrm{Hamming}(y, y_q) + \mathrm{score}(y) - \mathrm{score}(y_q)` of a structured
    SVM [1]_, or "logistic", that of a conditional random field, :math:`-\log P(y_q)` [2]_.  With a ``kernel`` the
    weights of features are those of its feature space: a max-margin Markov network with a kernel [1]_, or Gaussian
    process sequence labelling [3]_.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        The loss of a sequence.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default=None
        A kernel of tokens as in :class:`KernelClassifier`; None uses the features themselves, which is faster than
        "linear".  With "precomputed" the features of a token are its kernel values with all training tokens.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf" and "poly".
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=0.0
        Constant of the kernel "poly".
    memory_limit : float, default=4096
        Megabytes of kernel values to keep; of a larger Gram matrix of all tokens only some rows are, which "hinge" does
        not support.
    counting : {"tokens", "pairs"}, default="tokens"
        With a kernel, whether the score of a token counts once, or once for each pair of neighbours that it belongs
        to, as in eq. (32) of [4]_: twice inside a sequence, and not at all in a sequence of one token.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which sequences are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for a fit.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    transitions : {"full", "pairs", "none"}, default="full"
        Which weights there are beside those of features: "full" has pairs of neighbouring labels, first and last
        labels, "pairs" the pairs alone, "none" makes tokens independent of each other.
    edge_features : None, "all" or list, default=None
        Features with a weight for each pair of labels beside that of the label: those of the second token of a pair
        weigh the pair.  A list of columns of X, or of names if X has names.  Requires transitions.
    n_jobs : int, default=None
        Threads of the solver where it uses them.  The solvers that "auto" takes for sequences visit them one after
        the other, so that it changes nothing for them.  The result does not depend on it.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :class:`LinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (labels, d)
        Weights of the features for each label.
    dual_coef_, support_, support_vectors_, gamma_ : ndarray, ndarray, ndarray or None, float or None
        With a kernel, instead of ``coef_``: coefficients of training tokens, (labels, tokens), their numbers and their
        features, as in :class:`KernelClassifier`.
    transitions_ : ndarray of shape (labels, labels)
        Weights of pairs: the label of a token in rows, that of the next token in columns.
    edge_transitions_ : ndarray of shape (K, labels, labels)
        Weights of pairs for each of the K edge features.
    start_, end_ : ndarray of shape (labels,)
        Weights of the first and of the last label of a sequence.
    classes_ : ndarray
        The labels.
    vectorizer_ : DictVectorizer or None
        The names of the features, if X has names.
    certificate_ : Certificate
        The duality gap of the fit; print it.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether the certificate proves ``tol``.
    n_iter_ : float
        Passes over the data.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_, decompositions_ : ndarray, list of ndarray
        The dual point and the distributions of labellings that prove its bound: ``Witness(theta_, None,
        decompositions_[0])``, from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    LinearClassifier : Examples that are independent of each other.
    fenchel.risks.ChainHinge : The max-margin risk.
    fenchel.risks.ChainLogistic : The risk of a conditional random field.

    Notes
    -----
    X is a list with an array or a sparse matrix of shape (tokens, features) for each sequence; or a list of lists of
    tokens, each a dict of features (as for ``DictVectorizer``), a string or a list of strings; or a matrix of all
    tokens, with ``lengths=`` in every method.  y has the same nesting.  A matrix with ``lengths=`` is not copied, nor
    is a list of adjacent parts of one array or CSR matrix, as of ``np.split`` or of slices; any other list of arrays
    is copied once into one matrix.

    References
    ----------
    .. [1] B. Taskar, C. Guestrin and D. Koller. "Max-margin Markov networks." NIPS 2003.
    .. [2] J. Lafferty, A. McCallum and F. Pereira. "Conditional random fields." ICML 2001.
    .. [3] Y. Altun, T. Hofmann and A. Smola. "Gaussian process classification for segmenting and annotating
           sequences." ICML 2004.
    .. [4] A. Saha, X. Zhang and S. V. N. Vishwanathan. "Regularized risk minimization by Nesterov's accelerated
           gradient methods: algorithmic extensions and empirical studies." 2009.

    Examples
    --------
    >>> from fenchel import SequenceClassifier
    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> model = SequenceClassifier("logistic", random_state=0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict([["the", "cat", "barks"]])]
    [['D', 'N', 'V']]
    >>> model.converged_
    True
    >>> print(model.summary(count=2))
    label  features                   following labels
    D      a +0.27, the +0.27         N +0.72, V -0.26
    N      cat +0.29, dog +0.29       V +0.72, N -0.23
    V      barks +0.27, sleeps +0.27  V -0.22, N -0.19
    """

    _reasons: ClassVar = {
        "predict_proba": "the probabilities of the labels of each token are predict_marginals(X), with loss='logistic'"
    }

    loss: str = "hinge"
    _: KW_ONLY
    transitions: str = "full"
    edge_features: Any = None
    n_jobs: int | None = None
    checkpoint: Path | str | None = None

    # all weights are regularized
    fit_intercept = False
    l1_ratio = 0.0

    # --- the steps of a fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> Self:
        """Fit to sequences X with labels y; ``sample_weight`` has a weight for each sequence."""
        deadline = Deadline(self.time_limit)
        return self._fit_and_store(self.encode(X, y, sample_weight, lengths=lengths), deadline)

    def encode(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> Task:
        """Check the parameters and the data, and encode the labels."""
        self._check_parameters()
        tokens = tokens_of(X, lengths, None)
        labels = labels_of(y, tokens.lengths, flat=lengths is not None)
        classes, codes = classes_of(labels)
        if len(classes) < 2:
            raise FenchelError(f"y must hold at least two labels, got {classes.tolist()}")
        columns = edge_columns(self.edge_features, tokens)
        weights = weights_of(sample_weight, len(tokens.lengths))
        design, regularizer, known = self._chain_design(
            tokens, len(classes), weights, _TRANSITIONS[self.transitions], len(columns)
        )
        return Task(
            X=tokens,
            design=design,
            y=labels,
            targets=codes,
            C=self.C,
            regularizer=regularizer,
            sample_weight=weights,
            weights=weights,
            classes=classes,
            fitted={
                "classes_": classes,
                "vectorizer_": tokens.vectorizer,
                "n_features_in_": int(tokens.X.shape[1]),
                **known,
            },
        )

    def problems(self, task: Task) -> list[LazyProblem]:
        """The one problem of all sequences."""
        return [lambda: self._chain_problem(task)]

    def _chain_problem(self, task: Task) -> Problem:
        edges = edges_of(task.X, edge_columns(self.edge_features, task.X))
        risk = _RISKS[self.loss](task.targets, task.X.lengths, task.n_classes, task.weights, edges)
        return Problem(task.design, risk, lam_of(task.C, task.total_weight), task.regularizer)

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        (solution,) = solutions
        found = super().attributes(task, solutions)
        del found["intercept_"], found["coef_"]
        own = self._weights_of(task, solution.model)
        return {**found, **own, "decompositions_": [solution.witness.decomposition]}

    def warm_starts(self, task: Task, problems: Sequence[LazyProblem]) -> Sequence[Warm | None]:
        """The last fit, if it has the same labels and features."""
        same = np.array_equal(vars(self).get("classes_", ()), task.fitted["classes_"])
        return [self._last_fit(task, self.theta_, self.decompositions_[0]) if same else None]

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, tuple(_RISKS))
        check_choice("transitions", self.transitions, tuple(_TRANSITIONS))
        if self.edge_features is not None and self.transitions == "none":
            raise FenchelError("edge_features require weights of pairs: set transitions to 'full' or 'pairs'")
        if self.edge_features is not None and self.kernel is not None:
            raise FenchelError("edge_features require kernel=None: set only one of the two")
        self._check_sequence_kernel()
        self._check_strength()
        self._check_run()

    def _why_unproved(self, task: Task) -> str:
        return "predictions of sequences are not proved: labels of neighbours depend on each other"

    # --- predictions

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """The best labels: an array for each sequence, or one of all tokens with ``lengths``."""
        tokens, sequences, scores = self._scored(X, lengths)
        labels = self.classes_[viterbi(sequences, scores).labels]
        return labels if lengths is not None else split_by(labels, tokens.lengths)

    def predict_marginals(self, X: Any, *, lengths: Any = None) -> Any:
        """The probabilities of labels, (tokens, labels): an array for each sequence, or one with ``lengths``."""
        check_is_fitted(self)
        if self.loss != "logistic":
            raise FenchelError(f"predict_marginals requires loss='logistic', a probability model, got {self.loss!r}")
        tokens, sequences, scores = self._scored(X, lengths)
        found = marginals(sequences, scores, np.ones(len(sequences))).nodes
        return found if lengths is not None else split_by(found, tokens.lengths)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """The share of tokens with the right label; weights are those of sequences."""
        right, sizes, weights = self._right(X, y, sample_weight, lengths)
        return float(weights @ right / (weights @ sizes))

    def sequence_score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """The share of sequences in which every label is right."""
        right, sizes, weights = self._right(X, y, sample_weight, lengths)
        return float(weights @ (right == sizes) / np.sum(weights))

    def _right(self, X: Any, y: Any, sample_weight: Any, lengths: Any) -> tuple[Floats, Floats, Floats]:
        """The right labels and the tokens of each sequence, and its weight."""
        tokens, sequences, scores = self._scored(X, lengths)
        labels = labels_of(y, tokens.lengths, flat=lengths is not None)
        # a label that the fit has not seen is never right
        right = self.classes_[viterbi(sequences, scores).labels] == labels
        weights = weights_of(sample_weight, len(tokens.lengths))
        # of moderate size, whose products with lengths do not overflow
        weights = weights / np.max(weights)
        return sequences.sums(np.asarray(right, dtype=np.float64)), tokens.lengths.astype(np.float64), weights

    def _scored(self, X: Any, lengths: Any) -> tuple[Tokens, Sequences, ChainScores]:
        check_is_fitted(self)
        tokens = tokens_of(X, lengths, self.vectorizer_, self.n_features_in_)
        if "dual_coef_" in vars(self):
            nodes, sequences = self._node_scores(tokens), Sequences(tokens.lengths, len(self.classes_))
            return tokens, sequences, ChainScores(nodes, self.transitions_, self.start_, self.end_)
        columns = edge_columns(self.edge_features, tokens)
        sequences = Sequences(tokens.lengths, len(self.classes_), edges_of(tokens, columns))
        design = ChainDesign(tokens.X, len(self.classes_), edge_features=len(columns))
        weights = design.joined(self.coef_.T, self._matrices(), self.start_, self.end_)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = design.scores(weights)
        if not np.max(np.abs(scores)) < _LARGEST_SCORE:
            raise FenchelError("the scores of X overflow: scale X as in the fit")
        return tokens, sequences, sequences.split(scores)

    def _matrices(self) -> Floats:
        """The weights of pairs: those of all pairs, and those of each edge feature."""
        return np.concatenate([self.transitions_[None], self.edge_transitions_])
