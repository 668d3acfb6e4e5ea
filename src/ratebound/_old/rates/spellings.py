"""Other spellings of a text, and hints for texts that cannot be read.

People paste texts from documents and other languages. Their quotes, signs and percents are changed to
the one spelling that ``ratebound.parse`` reads. Text in quotes is never changed.
"""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import cast

from ratebound._old.base.checks import closest, nearest
from ratebound._old.rates.subsets import WORDS, column_text, value_text

# The names that other libraries and papers use for a rate or a goal, by what to write here. Case and
# underscores do not matter, so DemographicParity is recognised too.
_CALLED = {
    "positive_rate()": "selection_rate acceptance_rate approval_rate predicted_positive_rate yes_rate",
    "negative_rate()": "rejection_rate denial_rate predicted_negative_rate no_rate",
    "recall()": "sensitivity tpr hit_rate detection_rate recall_score",
    "true_negative_rate()": "specificity tnr selectivity",
    "false_positive_rate()": "fpr fall_out false_alarm_rate",
    "false_negative_rate()": "fnr miss_rate",
    "precision()": "ppv positive_predictive_value precision_score",
    "negative_predictive_value()": "npv",
    "false_discovery_rate()": "fdr",
    "accuracy()": "accuracy_score",
    "error_rate()": "error misclassification_rate zero_one_loss",
    "0.5 * recall() + 0.5 * true_negative_rate()": "balanced_accuracy balanced_accuracy_score",
    "0.5 * false_negative_rate() + 0.5 * false_positive_rate()": "balanced_error_rate ber",
    "recall() - false_positive_rate()": "youden youden_j youden_index informedness",
    "prevalence()": "base_rate",
    "f_score()": "f1 f1_score f_measure dice",
    "f_score(beta=2)": "f_beta f_beta_score f2 f2_score",
    "jaccard()": "iou jaccard_score jaccard_index threat_score critical_success_index",
    "roc_auc()": "auc auroc roc_auc_score",
    "statistical_parity(sex, slack=0.05)": "demographic_parity demographic_parity_difference "
    "statistical_parity_difference group_fairness",
    "statistical_parity(sex, ratio=0.8)": "disparate_impact disparate_impact_ratio "
    "demographic_parity_ratio four_fifths_rule",
    "equal_opportunity(sex, slack=0.05)": "true_positive_rate_parity tpr_parity recall_parity "
    "equal_opportunity_difference equality_of_opportunity equalized_opportunity",
    "equalized_odds(sex, slack=0.05)": "equal_odds equalised_odds equalized_odds_difference "
    "average_odds_difference",
    "equal_accuracy(sex, slack=0.05)": "error_rate_parity accuracy_parity overall_accuracy_equality",
    "minimum_accuracy(sex, at_least=0.8)": "bounded_group_loss",
    'abs(false_positive_rate(sex == "Female") - false_positive_rate()) <= 0.05': "predictive_equality "
    "false_positive_rate_parity fpr_parity",
    'precision(sex == "Female") >= 0.95 * precision(sex == "Male")': "predictive_parity",
}
SYNONYMS = {word.replace("_", ""): ours for ours, words in _CALLED.items() for word in words.split()}
# Options that hold a column, which is the first argument of the goals here.
GROUP_WORDS = ("sensitive_features", "protected_attribute", "groups")
OPTION_WORDS = {"difference_bound": "slack", "ratio_bound": "ratio", "upper_bound": "slack"}
_QUOTED = r""""(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?"""  # to the end if a quote is not closed
_CURLY = r'[“”„](?P<double>[^“”„"]*)[“”]|[‘’‚](?P<single>[^‘’‚]*)[‘’]'
_SPELLING = re.compile(
    rf"(?P<quoted>{_QUOTED})|{_CURLY}"
    r"|(?<![\w.])(?P<percent>\d+(?:\.\d*)?|\.\d+)\s*%(?!\s*[\w.(])"
    rf"|\b(?P<word>{'|'.join(WORDS).upper()})\b"
    r"|(?P<sign>=>|=<|&&?|\|\|?|[≥≤≠−×~])"
)
_SIGNS = {
    "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<=", "≠": "!=", "−": "-", "×": "*",
    "&": " and ", "&&": " and ", "|": " or ", "||": " or ", "~": " not ",
}  # fmt: skip
TWO_SIDED = "rates are bounded with <= or >=; for equality give a range, as in 0.79 <= recall() <= 0.81"
_KEYWORD = re.compile(rf"{_QUOTED}|(?<![=!<>])(?P<equals>\s*=\s*)(?!=)")
# The text between a bracket, a comma or a connective and a comparison or the end of an argument.
_OPERAND = re.compile(
    r"(?:[(,&|~]|\band\b|\bor\b|\bnot\b)\s*([^(),&|~<>=!≤≥≠\"']+?)\s*(?:[,)&|<>=!≤≥≠]|\bin\b)", re.I
)


def meant(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown rate or goal: the name that is probably meant.

    >>> meant("sensitivity", ["recall"])
    ': sensitivity is written recall() here.'
    >>> meant("recal", ["recall"])
    ", did you mean 'recall'?"
    """
    known = list(known)
    if closest(name, known, alike=0.9) is None:
        word = closest(name.replace("_", ""), SYNONYMS, alike=0.9)
        if word is not None:
            return f": {name} is written {SYNONYMS[word]} here."
    return nearest(name, known)


def in_our_words(tree: ast.expr, known: Iterable[str]) -> str | None:
    """A promise with other libraries' names replaced by ours; None if it has no such names.

    If a goal is compared with a number, the number becomes its option. So
    ``demographic_parity_difference(sex) <= 0.1`` is read too.

    >>> in_our_words(ast.parse("tpr(age < 25) >= 0.9 * tpr()", mode="eval").body, ["recall"])
    'recall(age < 25) >= 0.9 * recall()'
    >>> in_our_words(ast.parse("demographic_parity(sex) <= 0.1", mode="eval").body, [])
    'statistical_parity(sex, slack=0.1)'
    """
    words = _InOurWords(known)
    return ast.unparse(words.visit(copy.deepcopy(tree))) if words.applies_to(tree) else None


class _InOurWords(ast.NodeTransformer):
    """Replaces other libraries' names by ours."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = set(known)

    def ours(self, node: ast.AST) -> ast.expr | None:
        """Our expression for a call, if its name is another library's."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        if node.func.id in self.known:
            return None
        word = closest(node.func.id.replace("_", ""), SYNONYMS, alike=0.9)
        return None if word is None else ast.parse(SYNONYMS[word], mode="eval").body

    def applies_to(self, tree: ast.expr) -> bool:
        return any(self.ours(node) is not None for node in ast.walk(tree))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        ours = self.ours(node.left)
        if isinstance(ours, ast.Call) and len(ours.keywords) == 1 and len(node.ops) == 1:
            call, bound = cast(ast.Call, self.visit(node.left)), ours.keywords[0].arg
            at_most = isinstance(node.ops[0], ast.LtE | ast.Lt)
            if (bound, at_most) in (("slack", True), ("ratio", False)):  # a goal, and its bound
                others = [each for each in call.keywords if each.arg not in ("slack", "ratio")]
                call.keywords = [*others, ast.keyword(bound, node.comparators[0])]
                return call
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        ours = self.ours(node)
        if ours is None:
            return self.generic_visit(node)
        groups = [each.value for each in node.keywords if each.arg in GROUP_WORDS]
        options = [
            ast.keyword(OPTION_WORDS.get(str(each.arg), each.arg), each.value)
            for each in node.keywords
            if each.arg not in GROUP_WORDS
        ]
        given = {each.arg for each in options}
        for call in ast.walk(ours):
            if isinstance(call, ast.Call):
                own = call.keywords if not given & {"slack", "ratio", "at_least"} else []
                call.args = [*node.args, *groups]
                call.keywords = [*options, *(each for each in own if each.arg not in given)]
        return ours


def respelled(text: str) -> str:
    """The same text in the spelling that ``parse`` reads.

    >>> respelled("recall(sex == “Female” & age ≥ 25) >= 95% * recall()")
    'recall(sex == "Female"  and  age >= 25) >= 0.95 * recall()'
    """
    return _SPELLING.sub(_respelled, text)


def keywords_anywhere(text: str) -> str:
    """The same text with ``is`` for every ``=``, which may then stand before conditions too.

    >>> keywords_anywhere('recall(of="cat", age <= 40)')
    'recall(of is "cat", age <= 40)'
    """
    return _KEYWORD.sub(lambda match: " is " if match["equals"] else match[0], text)


def _respelled(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind in ("double", "single"):
        return value_text(match[kind])
    if kind == "percent":
        return str(Decimal(match["percent"]) / 100)
    if kind == "word":
        return match["word"].lower()
    return _SIGNS[match["sign"]] if kind == "sign" else match["quoted"]


def tree_of(text: str) -> tuple[str, ast.expr]:
    """The text and its syntax tree; keywords before conditions become ``is``, so that Python parses."""
    try:
        return text, _parsed(text)
    except SyntaxError as error:
        turned = keywords_anywhere(text)
        with suppress(SyntaxError):
            if error.msg.startswith("positional argument follows keyword"):
                return turned, _with_keywords(_parsed(turned))
        raise


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's advice on style is not the user's concern
        return ast.parse(text, mode="eval").body


def _with_keywords(tree: ast.expr) -> ast.expr:
    for node in [each for each in ast.walk(tree) if isinstance(each, ast.Call)]:
        for each in [*node.args]:
            if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Is):
                node.args.remove(each)
                node.keywords.append(ast.keyword(ast.unparse(each.left), each.comparators[0]))
    return tree


def hint(text: str, reason: str) -> str:
    """What to write instead of a `text` that Python cannot parse; `reason` is Python's message.

    >>> hint("recall(hours per week > 40) >= 0.9", "invalid syntax")
    'the column "hours per week" is written column("hours per week")'
    """
    bare = re.sub(f"{_QUOTED}|{_CURLY}", '""', text)
    if re.search(r"\)\s*=(?!=)", bare):
        return TWO_SIDED
    for operand in _OPERAND.findall(bare):
        written = column_text(operand)
        if written != operand and re.search(r"[^\W\d]", operand):
            return f"the column {value_text(operand)} is written {written}"
    if "'=='" in reason or '"=="' in reason:
        return 'equality is written ==, as in sex == "Female"'
    if reason.startswith("invalid syntax"):
        return f'{reason} (a column whose name is not one plain word is written column("two words"))'
    return reason
