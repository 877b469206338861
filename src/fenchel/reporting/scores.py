"""Scores on training and held-out data, with the curves that belong to the kind of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import metrics

from fenchel.errors import FenchelError
from fenchel.markup import Markup, joined
from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score
from fenchel.plotting.models import fitted_part
from fenchel.plotting.style import NOTE, PALETTE, finish, short
from fenchel.reporting.figures import picture, side_by_side
from fenchel.reporting.page import Section, note, scrolling
from fenchel.reporting.subject import Kind, Rows, Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: classes of a confusion matrix that is drawn; of more, the most frequent confusions are listed
_MOST_CLASSES, _LISTED = 20, 12
#: points of a curve or of a cloud
_MOST_POINTS = 1500


class Score(NamedTuple):
    """A named score, and whether larger is better."""

    name: str
    value: float
    higher: bool = True


def scores_section(subject: Subject) -> Section:
    """The scores, on held-out data with curves."""
    parts = {"training": subject.train} | ({} if subject.test is None else {"held out": subject.test})
    found = [scores(subject.kind, subject.estimator, rows) for rows in parts.values()]
    # a score that one of the parts does not allow is not shown
    names = [one.name for one in found[0] if all(one.name in {two.name for two in other} for other in found)]
    values = [{one.name: one.value for one in each} for each in found]
    cells = [(name, *(f"{each[name]:.4g}" for each in values)) for name in names]
    content = [scrolling(("score", *parts), cells)]
    if subject.test is None:
        content.append(note("No held-out data were given (X_test=, y_test=): scores on training data are optimistic."))
    content += [note(weighting) for weighting in [_weighting(parts)] if weighting]
    content.append(_CURVES[subject.kind](subject, subject.train if subject.test is None else subject.test))
    return Section("scores", "Scores", joined(content))


def _weighting(parts: dict[str, Rows]) -> str:
    """Which of the scores are weighted, in a sentence; none if there are no weights."""
    weighted = [name for name, rows in parts.items() if rows.weight is not None]
    if not weighted:
        return ""
    others = [name for name in parts if name not in weighted]
    words = f"Scores and ROC curves are weighted by sample_weight ({' and '.join(weighted)})"
    words += f"; {others[0]} rows count alike." if others else "."
    return f"{words} Confusions, residuals and thresholds count rows."


def scores(kind: Kind, estimator: Any, rows: Rows) -> list[Score]:
    """The scores of an estimator on rows; the first one is the main one."""
    return _SCORES[kind](estimator, rows)


def _two_classes(estimator: Any, rows: Rows) -> list[Score]:
    y, predicted = np.asarray(rows.y), estimator.predict(rows.X)
    positive = positive_label(estimator)
    found = [
        Score("accuracy", metrics.accuracy_score(y, predicted, sample_weight=rows.weight)),
        Score(
            f"F1 of {positive}",
            metrics.f1_score(y, predicted, pos_label=positive, zero_division=0.0, sample_weight=rows.weight),
        ),
    ]
    signs, own = y == positive, decisions(estimator, rows.X)
    if own is not None and _both(signs, rows):
        found.append(Score("ROC AUC", metrics.roc_auc_score(signs, own, sample_weight=rows.weight)))
        average = metrics.average_precision_score(signs, own, sample_weight=rows.weight)
        found.append(Score("average precision", average))
    return found


def _both(signs: Any, rows: Rows) -> bool:
    """Whether there are rows of both classes, with weight."""
    counted = signs if rows.weight is None else signs[rows.weight > 0.0]
    return bool(np.any(counted) and not np.all(counted))


def positive_label(estimator: Any) -> Any:
    """The positive one of two classes: the second one, unless ``pos_label`` names the other one."""
    return vars(fitted_part(estimator)).get("pos_label_", estimator.classes_[1])


def decisions(estimator: Any, X: Any) -> Any:
    """Scores of two classes that are larger for the positive label; None if the estimator has none."""
    positive = positive_label(estimator) == estimator.classes_[1]
    if hasattr(estimator, "decision_function"):
        found = np.asarray(estimator.decision_function(X))
        return found if positive else -found
    return estimator.predict_proba(X)[:, int(positive)] if hasattr(estimator, "predict_proba") else None


def _several(estimator: Any, rows: Rows) -> list[Score]:
    y, predicted, weight = np.asarray(rows.y), estimator.predict(rows.X), rows.weight
    return [
        Score("accuracy", metrics.accuracy_score(y, predicted, sample_weight=weight)),
        Score("balanced accuracy", float(np.mean(_recalls(y, predicted, weight)))),
        Score(
            "F1, mean over classes",
            metrics.f1_score(y, predicted, average="macro", zero_division=0.0, sample_weight=weight),
        ),
    ]


def _recalls(y: Any, predicted: Any, weight: Any) -> list[float]:
    """The recall of each class that has weight."""
    weight = np.ones(len(y)) if weight is None else weight
    classes = [y == label for label in np.unique(y[weight > 0.0])]
    return [float(np.average(predicted[own] == y[own], weights=weight[own])) for own in classes]


def _ordered(estimator: Any, rows: Rows) -> list[Score]:
    place = {label: k for k, label in enumerate(np.asarray(rows.order).tolist())}
    y, predicted = (np.asarray(one).tolist() for one in (rows.y, estimator.predict(rows.X)))
    unknown = sorted({str(label) for label in y if label not in place})
    if unknown:
        raise FenchelError(f"y holds labels that the model does not know: {', '.join(unknown[:5])}")
    away = np.array([abs(place[one] - place[two]) for one, two in zip(y, predicted, strict=True)])
    return [
        Score("accuracy", float(np.average(away == 0, weights=rows.weight))),
        Score("mean absolute error, in classes", float(np.average(away, weights=rows.weight)), higher=False),
        Score("at most one class away", float(np.average(away <= 1, weights=rows.weight))),
    ]


def _labels(estimator: Any, rows: Rows) -> list[Score]:
    y, predicted = (
        one.toarray() if sp.issparse(one) else np.asarray(one) for one in (rows.y, estimator.predict(rows.X))
    )
    own = {"sample_weight": rows.weight}
    return [
        Score("F1, over all labels", metrics.f1_score(y, predicted, average="micro", zero_division=0.0, **own)),
        Score("F1, mean over labels", metrics.f1_score(y, predicted, average="macro", zero_division=0.0, **own)),
        Score("Hamming loss", metrics.hamming_loss(y, predicted, **own), higher=False),
        Score("rows with all labels right", metrics.accuracy_score(y, predicted, **own)),
    ]


def _ranking(estimator: Any, rows: Rows) -> list[Score]:
    predicted, y = estimator.predict(rows.X), np.asarray(rows.y, dtype=np.float64)
    return [
        Score("NDCG@10", ndcg_score(y, predicted, rows.qid, sample_weight=rows.weight)),
        Score("mean average precision", mean_average_precision(y, predicted, rows.qid, sample_weight=rows.weight)),
        Score("mean reciprocal rank", mean_reciprocal_rank(y, predicted, rows.qid, sample_weight=rows.weight)),
    ]


def _sequences(estimator: Any, rows: Rows) -> list[Score]:
    return [
        Score("tokens with the right label", estimator.score(rows.X, rows.y, rows.weight)),
        Score("sequences without an error", estimator.sequence_score(rows.X, rows.y, rows.weight)),
    ]


def _regression(estimator: Any, rows: Rows) -> list[Score]:
    y, predicted = np.asarray(rows.y, dtype=np.float64), estimator.predict(rows.X)
    own = {"sample_weight": rows.weight}
    return [
        Score("R²", metrics.r2_score(y, predicted, **own)),
        Score("mean absolute error", metrics.mean_absolute_error(y, predicted, **own), higher=False),
        Score("root mean squared error", metrics.root_mean_squared_error(y, predicted, **own), higher=False),
    ]


# --- curves


def _thin(*arrays: Any) -> list[Any]:
    places = np.unique(np.linspace(0, len(arrays[0]) - 1, min(len(arrays[0]), _MOST_POINTS)).astype(int))
    return [one[places] for one in arrays]


def _roc_and_precision(subject: Subject, rows: Rows) -> Markup:
    own, signs = decisions(subject.estimator, rows.X), np.asarray(rows.y) == positive_label(subject.estimator)
    if own is None or not _both(signs, rows):
        return note("ROC and precision-recall curves need scores and rows of both classes.")
    false, true, _ = metrics.roc_curve(signs, own, sample_weight=rows.weight)
    precision, recall, _ = metrics.precision_recall_curve(signs, own, sample_weight=rows.weight)
    area, average = metrics.auc(false, true), metrics.average_precision_score(signs, own, sample_weight=rows.weight)

    def roc(ax: Axes) -> None:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=NOTE, linewidth=0.8, linestyle="--", label="chance")
        ax.plot(*_thin(false, true), color=PALETTE[0], linewidth=1.8, label=f"{subject.name}, area {area:.3f}")
        finish(ax, f"ROC curve ({_where(subject)})", xlabel="false positive rate", ylabel="true positive rate")
        ax.legend(frameon=False, fontsize="small")

    def pr(ax: Axes) -> None:
        share = float(np.average(signs, weights=rows.weight))
        ax.axhline(share, color=NOTE, linewidth=0.8, linestyle="--", label=f"chance, {share:.3g}")
        ax.plot(*_thin(recall, precision), color=PALETTE[0], linewidth=1.8, label=f"average precision {average:.3f}")
        finish(ax, f"Precision and recall ({_where(subject)})", xlabel="recall", ylabel="precision", ylim=(0.0, 1.03))
        ax.legend(frameon=False, fontsize="small")

    figures = picture(roc, f"ROC curve, area {area:.3f}"), picture(pr, f"Average precision {average:.3f}")
    return side_by_side(*figures)


def _where(subject: Subject) -> str:
    return "training data" if subject.test is None else "held-out data"


def _confusion(subject: Subject, rows: Rows) -> Markup:
    estimator = subject.estimator
    labels = np.asarray(estimator.classes_ if rows.order is None else rows.order)
    return _confusion_of(subject, labels, np.asarray(rows.y), estimator.predict(rows.X))


def _confusion_of(subject: Subject, labels: Any, y: Any, predicted: Any) -> Markup:
    counts = metrics.confusion_matrix(y, predicted, labels=labels)
    names = [str(label) for label in labels]
    if len(names) > _MOST_CLASSES:
        wrong = counts - np.diag(np.diag(counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:_LISTED]
        pairs = [(k // len(names), k % len(names)) for k in order if wrong.flat[k]]
        if not pairs:
            return note(f"No row of the {len(names)} classes is predicted wrongly.")
        cells = [
            (names[i], names[j], f"{counts[i, j]:,}", f"{counts[i, j] / max(1, counts[i].sum()):.1%}") for i, j in pairs
        ]
        header = ("class", "predicted", "rows", "share of the class")
        return joined([note(f"The most frequent confusions of {len(names)} classes:"), scrolling(header, cells)])

    def draw(ax: Axes) -> None:
        shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
        ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        for i, j in np.argwhere(counts > 0):
            shade = "white" if shares[i, j] > 0.55 else "black"
            ax.text(j, i, f"{counts[i, j]:,}", ha="center", va="center", fontsize=8, color=shade)
        turned = 90 if max(map(len, names)) > 3 else 0
        ax.set_xticks(range(len(names)), [short(name, 14) for name in names], rotation=turned)
        ax.set_yticks(range(len(names)), [short(name, 14) for name in names])
        ax.tick_params(length=0)
        finish(ax, f"Confusion matrix ({_where(subject)})", xlabel="predicted class", ylabel="class")

    side = 2.2 + 0.36 * len(names)
    return picture(draw, "Confusion matrix", (max(4.2, side), max(3.0, side - 0.6)))


def _residuals(subject: Subject, rows: Rows) -> Markup:
    y, predicted = np.asarray(rows.y, dtype=np.float64), subject.estimator.predict(rows.X)
    if y.ndim > 1:
        return note("Residuals are drawn for one target; this model has several.")
    errors = y - predicted
    some = np.random.default_rng(0).permutation(len(y))[:_MOST_POINTS]
    shown = "" if len(some) == len(y) else f", {len(some):,} of {len(y):,} rows"

    def cloud(ax: Axes) -> None:
        ax.axhline(0.0, color=NOTE, linewidth=0.8)
        ax.plot(predicted[some], errors[some], "o", markersize=3, alpha=0.5, color=PALETTE[0], markeredgewidth=0)
        finish(ax, f"Residuals ({_where(subject)}{shown})", xlabel="prediction", ylabel="target - prediction")

    def histogram(ax: Axes) -> None:
        ax.hist(errors, bins=min(40, max(5, len(y) // 10)), color=PALETTE[0], alpha=0.8)
        ax.axvline(0.0, color=NOTE, linewidth=0.8)
        finish(ax, "Distribution of residuals", xlabel="target - prediction", ylabel="rows")

    return side_by_side(picture(cloud, "Residuals against predictions"), picture(histogram, "Histogram of residuals"))


def _tokens(subject: Subject, rows: Rows) -> Markup:
    predicted = subject.estimator.predict(rows.X)
    y = [np.asarray(one) for one in rows.y]
    known = np.concatenate(y).astype(object), np.concatenate(predicted).astype(object)
    return _confusion_of(subject, subject.estimator.classes_.astype(object), *known)


def _of_labels(subject: Subject, rows: Rows) -> Markup:
    y, predicted = (
        one.toarray() if sp.issparse(one) else np.asarray(one) for one in (rows.y, subject.estimator.predict(rows.X))
    )
    each = metrics.f1_score(y, predicted, average=None, zero_division=0.0)
    order = np.argsort(-np.sum(y, axis=0), kind="stable")[:_LISTED]
    cells = [(str(k), f"{int(np.sum(y[:, k])):,}", f"{each[k]:.3f}") for k in order]
    return scrolling((f"label ({_where(subject)})", "rows", "F1"), cells)


def _queries(subject: Subject, rows: Rows) -> Markup:
    if rows.qid is None:
        return note("All rows are one query: qid= was not given.")
    y, predicted, qid = np.asarray(rows.y, dtype=np.float64), subject.estimator.predict(rows.X), np.asarray(rows.qid)
    each = np.array([ndcg_score(y[qid == one], predicted[qid == one]) for one in np.unique(qid)[:_MOST_POINTS]])
    each = each[np.isfinite(each)]

    def histogram(ax: Axes) -> None:
        ax.hist(each, bins=np.linspace(0.0, 1.0, 21), color=PALETTE[0], alpha=0.8)
        finish(ax, f"NDCG@10 of {len(each):,} queries ({_where(subject)})", xlabel="NDCG@10", ylabel="queries")

    return picture(histogram, "Histogram of NDCG@10")


_SCORES: dict[Kind, Callable[[Any, Rows], list[Score]]] = {
    Kind.TWO_CLASSES: _two_classes,
    Kind.CLASSES: _several,
    Kind.ORDERED: _ordered,
    Kind.LABELS: _labels,
    Kind.RANKING: _ranking,
    Kind.SEQUENCES: _sequences,
    Kind.REGRESSION: _regression,
}
_CURVES: dict[Kind, Callable[[Subject, Rows], Markup]] = {
    Kind.TWO_CLASSES: _roc_and_precision,
    Kind.CLASSES: _confusion,
    Kind.ORDERED: _confusion,
    Kind.LABELS: _of_labels,
    Kind.RANKING: _queries,
    Kind.SEQUENCES: _tokens,
    Kind.REGRESSION: _residuals,
}
