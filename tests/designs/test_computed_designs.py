"""Features on the fly are the matrix that they stand for: products, norms, bounds, rows of compiled loops and fits."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import preprocessing
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

import fenchel.designs.computed as computed
from fenchel import FenchelError, LinearClassifier, MeasureClassifier, Problem, certify, solve
from fenchel.certificate import Certificate
from fenchel.designs import ComputedDesign, as_design
from fenchel.features import HashedTextFeatures, KmerFeatures, PolynomialFeatures
from fenchel.risks import MeanRisk, Multinomial
from fenchel.solvers.threads import GeneratedDesign, in_parts
from slow_features import kmer_matrix, polynomial_matrix

RNG = np.random.default_rng(17)
DNA = [bytes(RNG.choice(list(b"ACGT"), RNG.integers(0, 30)).tolist()) for _ in range(12)]
#: empty, shorter than k, one that repeats, outside the alphabet at the ends and in the middle, text that is no ASCII
STRINGS = [
    *DNA,
    b"",
    b"A",
    b"ACG",
    "AAAAAAAAAAAA",
    "NACGTNNACNGTTTN",
    "acgt",
    "GATTéACA\ud800GATTACA",
    b"\xff\x00ACGTACGT",
]
KMERS = {
    "spectrum": KmerFeatures(k=3),
    "counts": KmerFeatures(k=2, normalize=False),
    "lengths": KmerFeatures(k=3, shortest=1, weighting="degree"),
    "windows": KmerFeatures(k=3, shortest=2, windows=((0, 5), (4, 11)), positions=4, weighting="degree"),
    "positions": KmerFeatures(k=2, windows=(), positions=9, normalize=False),
    "both strands": KmerFeatures(k=3, shortest=2, reverse_complement=True),
    "hashed": KmerFeatures(k=4, shortest=3, positions=5, hash_bits=4),
    "another alphabet": KmerFeatures(k=3, alphabet="CAN"),
}
TEXTS = [
    "The good, the bad and the ugly",
    "",
    "a",
    "bad bad bad",
    "Ünïcödé wörds — ok",
    "good " * 300,
    "ugly\nand good",
]
TABLE = sp.random_array((9, 6), density=0.5, random_state=np.random.default_rng(3), format="csr")


def polynomial_cases():
    for interaction_only in (False, True):
        for bits in (None, 5):
            yield f"{'no squares' if interaction_only else 'squares'}, {bits} bits", interaction_only, bits


def expected_polynomial(X, interaction_only, bits):
    if bits is not None:
        return polynomial_matrix(X, interaction_only, bits)
    return preprocessing.PolynomialFeatures(2, include_bias=False, interaction_only=interaction_only).fit_transform(X)


def designs():
    """A design of every kind with its matrix, from its definition or from scikit-learn."""
    for name, features in KMERS.items():
        yield name, features.design(STRINGS), kmer_matrix(features, STRINGS)
    yield "text", HashedTextFeatures(64).design(TEXTS), HashingVectorizer(n_features=64).transform(TEXTS).toarray()
    counts = HashingVectorizer(n_features=32, norm=None, ngram_range=(1, 2)).transform(TEXTS)
    tfidf = HashedTextFeatures(32, ngram_range=(1, 2), tfidf=True).learned(TEXTS)[1]
    yield "tf-idf", tfidf, TfidfTransformer().fit_transform(counts).toarray()
    for name, interaction_only, bits in polynomial_cases():
        design = PolynomialFeatures(interaction_only, bits).design(TABLE)
        yield name, design, expected_polynomial(TABLE.toarray(), interaction_only, bits)


CASES = {name: (design, matrix) for name, design, matrix in designs()}


@pytest.fixture(params=[1 << 18, 7], ids=["one block", "blocks of 7 entries"])
def block(request, monkeypatch):
    monkeypatch.setattr(computed, "_BLOCK_ENTRIES", request.param)


@pytest.mark.parametrize("name", CASES)
def test_products_and_norms_are_those_of_the_matrix(name, block):
    design, matrix = CASES[name]
    n, d = matrix.shape
    assert design.shape == (n, d)
    np.testing.assert_allclose(design.sparse().toarray(), matrix, rtol=1e-13, atol=1e-15)
    w, theta = RNG.standard_normal((2, d)), RNG.standard_normal((n, 2))
    np.testing.assert_allclose(design.scores(w[0]), matrix @ w[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.scores(w), matrix @ w.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.adjoint(theta[:, 0]), matrix.T @ theta[:, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.adjoint(theta), theta.T @ matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.column_squares(theta[:, 0] ** 2), theta[:, 0] ** 2 @ matrix**2, atol=1e-12)
    np.testing.assert_allclose(design.squared_row_norms, (matrix**2).sum(axis=1), rtol=1e-12)
    assert np.all(design.row_magnitudes >= np.linalg.norm(matrix, axis=1) * (1.0 - 1e-12))
    assert design.largest_row_norm >= np.max(np.linalg.norm(matrix, axis=1)) * (1.0 - 1e-12)
    assert design.adjoint_roundings >= 1 + np.max(np.count_nonzero(matrix, axis=0))
    assert np.all(design.score_roundings >= 1 + np.count_nonzero(matrix, axis=1))
    part, chosen = design.part(2, 5), design[np.array([5, 0, 5])]
    np.testing.assert_allclose(part.scores(w[0]), matrix[2:5] @ w[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(chosen.scores(w[0]), matrix[[5, 0, 5]] @ w[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_rows_of_compiled_loops_are_those_of_the_matrix(name):
    # in plain Python, which has no compiler to wrap 64 bits in silence
    design, matrix = CASES[name]
    rows, w = design.rows(), RNG.standard_normal(matrix.shape[1])
    with np.errstate(over="ignore"):
        for i, row in enumerate(matrix):
            sums, entries = np.zeros(len(w)), np.zeros(len(w))
            rows.row_add(i, 2.0, sums)
            for k in range(int(rows.row_begin(i)), int(rows.row_end(i))):
                entries[int(rows.row_column(i, k))] += rows.row_entry(i, k)
            np.testing.assert_allclose(rows.row_dot(i, w), row @ w, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(sums, 2.0 * row, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(entries, row, rtol=1e-12, atol=1e-12)
            square = rows.row_square(i)
            assert square == -1.0 or math.isclose(square, row @ row, rel_tol=1e-12, abs_tol=1e-15)


def test_bytes_are_hashed_alike_by_rows_and_blocks():
    strings = [RNG.bytes(int(size)).replace(b"\xff", b"") for size in RNG.integers(0, 40, 10)]
    design = KmerFeatures(k=11, shortest=10, alphabet=None, hash_bits=6, positions=3).design(strings)
    matrix, rows = design.sparse().toarray(), design.rows()
    assert len(np.flatnonzero(np.any(matrix, axis=0))) > 30
    w = RNG.standard_normal(64)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose([rows.row_dot(i, w) for i in range(10)], matrix @ w, rtol=1e-12, atol=1e-12)
    # equal substrings have equal columns, wherever they are
    found = KmerFeatures(k=5, alphabet=None, hash_bits=20).design([b"xxABCDEyy", b"ABCDE"]).sparse().toarray()
    assert np.all(found[0][found[1] > 0] > 0)


def test_hashed_text_is_bitwise_that_of_scikit_learn():
    ours = HashedTextFeatures(2**24, analyzer="char_wb", ngram_range=(2, 4), norm=None).design(TEXTS).sparse()
    theirs = HashingVectorizer(n_features=2**24, analyzer="char_wb", ngram_range=(2, 4), norm=None).transform(TEXTS)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.data, theirs.data)
    words = HashedTextFeatures(norm="l1", stop_words=["the"], binary=True).design(TEXTS).sparse()
    same = HashingVectorizer(norm="l1", stop_words=["the"], binary=True).transform(TEXTS)
    np.testing.assert_array_equal(words.indices, same.indices)
    np.testing.assert_allclose(words.data, same.data, rtol=1e-15)


def test_counts_above_127_are_kept():
    assert HashedTextFeatures(8, norm=None, alternate_sign=False).design(["ab " * 200]).sparse().sum() == 200.0


LABELS = np.where(np.arange(len(STRINGS)) % 3 == 0, 1.0, -1.0)


def same_proof(one: Certificate, other: Certificate) -> None:
    assert math.isclose(one.primal, other.primal, rel_tol=1e-10)
    assert math.isclose(one.dual, other.dual, rel_tol=1e-10)


def test_a_fit_and_its_certificate_are_those_of_the_matrix():
    features = KMERS["windows"]
    design, matrix = features.design(STRINGS), kmer_matrix(features, STRINGS)
    problems = [Problem(X, MeanRisk("hinge", LABELS), 1e-2) for X in (design, as_design(sp.csr_array(matrix)))]
    found = [solve(problem, "dual_coordinate", tol=1e-8, seed=0) for problem in problems]
    np.testing.assert_allclose(found[0].model.weights, found[1].model.weights, atol=1e-4)
    assert all(solution.certificate.relative_gap <= 1e-8 for solution in found)
    # the same model and witness have the same proof
    theirs = [certify(problem, found[0].model, found[0].witness) for problem in problems]
    same_proof(*theirs)
    rigorous = [certify(problem, found[0].model, found[0].witness, rigorous=True) for problem in problems]
    same_proof(*rigorous)


WIDE = {
    "strings": (KmerFeatures(k=13, shortest=9, positions=3, hash_bits=24), STRINGS),
    "texts": (HashedTextFeatures(2**24, analyzer="char", ngram_range=(1, 3)), TEXTS),
    "strings, exact": (KmerFeatures(k=12, shortest=12), STRINGS),
}


@pytest.mark.thorough
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("name", WIDE)
def test_weights_over_16_million_features_and_their_certificate_are_those_of_the_matrix(name, loss):
    features, raw = WIDE[name]
    design = features.design(raw)
    assert design.shape[1] >= 2**24
    matrix = design.sparse()
    labels = np.where(np.arange(len(raw)) % 3 == 0, 1.0, -1.0)
    # the columns that occur, of which there are few, in a matrix of their own
    columns = np.unique(matrix.indices)
    narrow = matrix[:, columns].toarray()
    assert narrow.shape[1] > 20
    problems = [Problem(X, MeanRisk(loss, labels), 1e-2) for X in (design, matrix)]
    found = [solve(problem, "dual_coordinate", tol=1e-8, seed=0) for problem in problems]
    assert all(solution.certificate.relative_gap <= 1e-8 for solution in found)
    np.testing.assert_allclose(found[0].model.weights[columns], found[1].model.weights[columns], atol=1e-3)
    # the weights of the other columns are zero
    assert np.count_nonzero(found[0].model.weights) <= len(columns)
    same_proof(*(certify(problem, found[0].model, found[0].witness) for problem in problems))
    small = solve(Problem(narrow, MeanRisk(loss, labels), 1e-2), "dual_coordinate", tol=1e-8, seed=0).certificate
    assert small.dual <= found[0].certificate.primal + 1e-12
    assert found[0].certificate.dual <= small.primal + 1e-12


def test_the_elastic_net_of_several_classes_needs_no_columns():
    design, matrix = CASES["lengths"]
    risk = Multinomial(np.arange(len(matrix)) % 3)
    found = [solve(Problem(X, risk, 1e-2, "elastic_net", intercept=True), tol=1e-6) for X in (design, matrix)]
    assert all(solution.certificate.relative_gap <= 1e-6 for solution in found)
    assert math.isclose(found[0].certificate.primal, found[1].certificate.primal, rel_tol=2e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(
    "name", ["hashed", "both strands", "text", "tf-idf", "squares, 5 bits", "no squares, None bits"]
)
def test_fits_of_every_kind_are_those_of_the_matrix(name, loss):
    design, matrix = CASES[name]
    labels = np.where(np.arange(len(matrix)) % 3 == 0, 1.0, -1.0)
    for solver in ("dual_coordinate", "smoothing", "bundle", "auto"):
        found = [solve(Problem(X, MeanRisk(loss, labels), 1e-2), solver, tol=1e-6, seed=0) for X in (design, matrix)]
        assert all(solution.certificate.relative_gap <= 1e-6 for solution in found)
        assert math.isclose(found[0].certificate.primal, found[1].certificate.primal, rel_tol=2e-6)


@pytest.mark.parametrize("name", ["squares, 5 bits", "tf-idf"])
def test_compiled_products_are_those_of_the_matrix(name):
    design, matrix = CASES[name]
    problem = Problem(design, MeanRisk("hinge", np.ones(len(matrix))), 1.0)
    products = in_parts(problem, 1)[0].design
    assert isinstance(products, GeneratedDesign)
    w, theta = RNG.standard_normal((2, matrix.shape[1])), RNG.standard_normal((len(matrix), 2))
    np.testing.assert_allclose(products.scores(w), matrix @ w.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products.adjoint(theta), theta.T @ matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(products.adjoint(theta[:, 0]), matrix.T @ theta[:, 0], rtol=1e-12, atol=1e-12)


def test_smoothing_uses_compiled_products_and_certifies_without_them():
    matrix = CASES["lengths"][1]
    labels = (LABELS > 0).astype(int)
    found = [
        MeasureClassifier("roc_auc", tol=1e-4, features=features).fit(X, labels)
        for X, features in ((STRINGS, KMERS["lengths"]), (matrix, None))
    ]
    assert all(model.certificate_.relative_gap <= 1e-4 for model in found)
    assert math.isclose(found[0].certificate_.primal, found[1].certificate_.primal, rel_tol=2e-4)


class Divisors(ComputedDesign):
    """A user's design: nothing but blocks."""

    def __init__(self, n):
        self.shape = (n, n)

    def block(self, begin, end):
        numbers = np.arange(begin, end)[:, None] + 1
        return sp.csr_array((numbers % np.arange(1, self.shape[1] + 1) == 0).astype(np.float64))


def test_blocks_are_enough_for_a_design():
    design = Divisors(30)
    labels = np.where(np.arange(30) % 4 == 3, 1.0, -1.0)
    ours = solve(Problem(design, MeanRisk("hinge", labels), 1e-2), tol=1e-6, seed=0)
    theirs = solve(Problem(design.sparse(), MeanRisk("hinge", labels), 1e-2), tol=1e-6, seed=0)
    assert math.isclose(ours.certificate.primal, theirs.certificate.primal, rel_tol=2e-6)
    np.testing.assert_allclose(design.squared_row_norms[[0, 5, 11]], [1.0, 4.0, 6.0])


@pytest.mark.parametrize(
    ("features", "X", "message"),
    [
        (KmerFeatures(k=0), ["A"], "k must be"),
        (KmerFeatures(k=3, shortest=4), ["A"], "shortest must be"),
        (KmerFeatures(weighting="linear"), ["A"], "weighting='linear' is unknown; choose one of"),
        (KmerFeatures(windows=((5, 2),)), ["A"], "windows must be pairs"),
        (KmerFeatures(windows=()), ["A"], "leaves no features"),
        (KmerFeatures(alphabet=None), ["A"], "requires hash_bits"),
        (KmerFeatures(alphabet="AA"), ["A"], "different ASCII characters"),
        (KmerFeatures(k=32, hash_bits=20), ["A"], "codes take 63 bits"),
        (KmerFeatures(k=20), ["A"], "set hash_bits"),
        (KmerFeatures(hash_bits=31), ["A"], "hash_bits must be"),
        (KmerFeatures(alphabet="ABCD", reverse_complement=True), ["A"], "requires alphabet='ACGT'"),
        (KmerFeatures(reverse_complement=True, positions=2), ["A"], "is for windows"),
        (KmerFeatures(), "ACGT", "got one str"),
        (KmerFeatures(), ["ACGT", 3], r"X\[1\] must be a string, got int"),
        (KmerFeatures(), 3, "must be a sequence of strings"),
        (KmerFeatures(), np.array([["A"]]), r"an array of shape \(1, 1\)"),
        (HashedTextFeatures(0), ["a"], "n_features must be"),
        (HashedTextFeatures(norm="max"), ["a"], "norm='max' is unknown; choose one of"),
        (HashedTextFeatures(tfidf=True), ["a"], "learns idf"),
        (HashedTextFeatures(8, idf=np.ones(8)), ["a"], "idf must hold"),
        (PolynomialFeatures(n_features_in=3), [[1.0]], "fitted with 3"),
        (PolynomialFeatures(), sp.csr_array((1, 10**5)), "set hash_bits"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_features_are_refused(features, X, message):
    with pytest.raises(FenchelError, match=message):
        features.design(X)


def test_no_strings_are_no_rows():
    for features in (KmerFeatures(k=2), HashedTextFeatures(8)):
        design = features.design([])
        assert design.shape[0] == 0
        assert design.scores(np.ones(design.shape[1])).shape == (0,)


def test_a_classifier_takes_strings_by_its_parameter():
    model = LinearClassifier(features=KmerFeatures(k=2, shortest=1), random_state=0).fit(STRINGS, LABELS)
    matrix = kmer_matrix(KmerFeatures(k=2, shortest=1), STRINGS)
    np.testing.assert_allclose(model.decision_function(STRINGS), matrix @ model.coef_[0] + model.intercept_, atol=1e-12)
