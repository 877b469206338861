"""Cards that notebooks show: the sentences of an object, escaped, in a colour that says how it stands."""

import html
import re

import numpy as np

from fenchel import Certificate, Problem, solve
from fenchel.markup import Markup, element, table
from fenchel.risks import MeanRisk


def test_a_card_has_the_sentence_of_its_object():
    solution = solve(Problem(np.eye(2), MeanRisk("squared", [1.0, 2.0]), 1.0))
    assert f">{html.escape(str(solution.certificate))}</p>" in solution._repr_html_()
    assert f">{html.escape(str(solution.certificate))}</p>" in solution.certificate._repr_html_()


def test_what_users_name_is_escaped():
    shown = Certificate(1.0, 0.9, about="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert element("p", "<b>", Markup("<b>"), title='"') == '<p title="&quot;">&lt;b&gt;<b></p>'
    assert table((), [("<", "&")]) == '<table><tbody><tr><th scope="row">&lt;</th><td>&amp;</td></tr></tbody></table>'


def test_a_wrong_certificate_has_another_colour():
    found = [re.search("solid (#.{6})", one._repr_html_())[1] for one in (Certificate(1.0, 0.9), Certificate(0.9, 1.0))]
    assert len(set(found)) == 2
