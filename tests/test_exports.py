"""The public names, written out; each has a docstring, and is imported when it is asked for."""

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import ratebound as rb
import ratebound._old as old

PUBLIC = {
    "words": """Area Constraint Expression Goal Guessed Range Rate Ratio Subset column constraint decided
        equal goal guessed missing parse rate ratio where""",
    "objectives": "g_mean h_mean kl_divergence largest smallest",
    "rates": " ".join(old.rates.named.RATES),  # listed once, in their own table
    "goals": """accurate_coverage decision_rule egregious_examples equal_accuracy equalized_odds
        equal_opportunity limited_churn minimum_accuracy minimum_coverage minimum_recall
        no_lost_benefits not_worse_off statistical_parity steering_examples""",
    "problem": "Compiled Pairs Population Problem Rows compile",
    "tables": "Features Inspection Parquet inspect",
    "game": """Answering CuttingPlane Descending Differentiating ExternalRegret Fit Folds Game Grid
        Growing Keep Lagrangian Learner Multipliers Player Rules Scorer Stop SwapRegret Trace play
        register_scorer""",
    "learners": "Boosted Lattice Linear MLP Oracle PlugIn Torch check_monotone trace_of",
    "solution": """Certificate Determined Mixture Price Reasons Status at_levels average best_iterate
        determinize duality_gap last_iterate price select shrink thresholds""",
    "auditing": """Audit ImpactRatios audit impact_ratios plot_calibrators plot_convergence
        plot_trade_off""",
    "certifying": "Alarm Monitor RowsNeeded certify rows_needed",
    "estimators": """ChangePlan Explanation Plan Policy RateConstrainedClassifier RateConstrainedRanker
        Release Training TunedThreshold explain load make_scorer plan""",
    "namespaces": "datasets game goals rates",
}
NAMES = sorted(" ".join(PUBLIC.values()).split())


def test_all_is_exactly_the_public_names():
    assert sorted(rb.__all__) == NAMES


def test_the_list_is_short_and_leads_to_every_name():
    first = set(dir(rb)) - {"__version__"}
    assert first <= set(NAMES)
    assert len(first) <= 54
    words = [PUBLIC[kind] for kind in ("words", "objectives", "rates")]
    assert set(dir(rb.rates)) == set(" ".join(words).split())
    assert set(dir(rb.goals)) == set(PUBLIC["goals"].split())
    assert set(dir(rb.game)) == set(PUBLIC["game"].split())


@pytest.mark.parametrize("namespace", ["game", "goals", "rates"])
def test_a_name_is_the_same_in_its_namespace(namespace):
    for name in dir(getattr(rb, namespace)):
        assert getattr(getattr(rb, namespace), name) is getattr(rb, name)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    public = getattr(rb, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):  # a sentence of its own, not its base's nor a dataclass's signature
        assert public.__doc__
        assert not public.__doc__.startswith(f"{name}(")


# --- nothing is loaded before it is used --------------------------------------------------------

HEAVY = "jax lightgbm matplotlib numba numpy pandas polars pyarrow scipy sklearn torch tqdm"
WATCH = f"""import atexit, sys
atexit.register(lambda: print("\\n", *sys.modules.keys() & set({HEAVY.split()})))
"""


def loaded(code):
    """Which heavy libraries are loaded once `code` was run by a new interpreter."""
    run = subprocess.run([sys.executable, "-c", WATCH + code], capture_output=True, text=True)
    assert "Traceback" not in run.stderr, run.stderr
    return set(run.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import ratebound; dir(ratebound)",
        "from ratebound import parse; parse('equal_opportunity(sex, ratio=0.95)')",
        "import ratebound as rb; rb.recall(sex='Female') >= 0.95 * rb.recall()",
        "import ratebound as rb; hasattr(rb, 'recal')",
    ],
)
def test_words_load_no_library(code):
    assert loaded(code) == set()


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["train", "--help"], ["train"], ["tarin"]]
)
def test_the_command_line_reads_its_arguments_without_any_library(words):
    assert (
        loaded(f"import sys; from ratebound._old.cli import main; sys.exit(main({words}))") == set()
    )


def test_arrays_are_enough_for_a_problem():
    """PyTorch, scikit-learn and DataFrames are imported only in the functions that use them."""
    code = (
        "import ratebound as rb; rb.compile(rb.Problem(rb.error_rate()), rb.Population([[1]], [1]))"
    )
    assert loaded(code) <= {"numpy", "scipy"}


def test_a_table_is_looked_at_and_a_saved_model_decides_with_numpy_alone(tmp_path):
    X, groups = [[1.0], [2.0], [3.0], [4.0]] * 5, ["a", "b"] * 10
    train = rb.Population(X, [0, 0, 1, 1] * 5, columns={"group": groups})
    problem = rb.Problem(rb.error_rate(), [rb.recall(group="a") >= 0.9])
    saved = rb.shrink(rb.play(rb.compile(problem, train), rb.Linear(), rounds=20)).save(tmp_path)
    table = tmp_path / "small.csv"
    table.write_text("age,sex,label\n40,F,1\n30,M,0\n" * 10)
    assert loaded(f"import ratebound as rb; rb.load({str(saved)!r}).predict([[1.0]])") == {"numpy"}
    assert loaded(f"from ratebound._old.cli import main; main(['inspect', {str(table)!r}])") == {
        "numpy"
    }


# --- names that are imported when they are asked for --------------------------------------------


def test_the_stub_says_what_the_package_does():
    tree = ast.parse((Path(rb.__file__).parent / "__init__.pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    stub = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    ours = {name: f"ratebound._old.{place}" for name, place in rb._PLACES.items()}
    rooms = dict.fromkeys(("datasets", "game", "rates"), "ratebound._old")
    assert stub == {
        **ours,
        **rooms,
        "goals": "ratebound._old.rates",
        "*": "ratebound._old.rates.named",
    }
    one_by_one = [alias for node in imports for alias in node.names if alias.name != "*"]
    assert all(alias.name == alias.asname for alias in one_by_one)  # a re-export


def test_importing_everything_gives_every_name():
    found = {}
    exec("from ratebound import *", found)
    assert set(NAMES) <= set(found)
    assert found["datasets"].load_adult
    assert found["Trace"].__module__ == "ratebound._old.game.trace"
    assert {name for name, _ in inspect.getmembers(rb) if not name.startswith("_")} <= set(NAMES)


def test_the_rooms_are_attributes_as_if_they_were_imported():
    code = "import ratebound; print(ratebound.solution.shrink_weights.__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["shrink_weights"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("recal", ", did you mean 'recall'?"),
        ("RateConstrainedClasifier", "Classifier'?"),
        ("xyzzy", "'"),
        ("selection_rate", ": selection_rate is written positive_rate() here"),
        ("EqualizedOdds", ": EqualizedOdds is written equalized_odds(sex, slack=0.05) here"),
    ],
)
def test_a_misspelled_name_says_what_was_probably_meant(name, meant):
    with pytest.raises(AttributeError) as error:
        getattr(rb, name)
    assert str(error.value).startswith(f"module 'ratebound' has no attribute '{name}'")
    assert str(error.value).endswith(meant)
    assert error.value.name == name
    with pytest.raises(ImportError):
        exec(f"from ratebound import {name}")


def test_what_is_pickled_is_read_where_nothing_was_imported_yet():
    promises = [
        rb.recall(sex="Female") >= 0.95 * rb.recall(),
        rb.parse("equalized_odds(sex, slack=0.1)"),
    ]
    code = (
        "import pickle, sys; first, goal = pickle.load(sys.stdin.buffer); import ratebound as rb; "
        "assert first == rb.parse(str(first)) and goal == rb.parse(str(goal)); "
        "rb.compile(rb.Problem(rb.error_rate(), [first, goal]),"
        " rb.Population([[1], [2], [3], [4]], [0, 0, 1, 1], columns={'sex': ['Female', 'Male'] * 2}))"
    )
    subprocess.run([sys.executable, "-c", code], input=pickle.dumps(promises), check=True)


def test_threads_may_ask_for_their_first_names_at_once():
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
import ratebound as rb
names = ["column", "recall", "parse", "where", "largest", "churn", "minimum_recall", "equal"] * 2
failed = []
def ask(name):
    try:
        getattr(rb, name)
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=ask, args=(name,)) for name in names]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(failed)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
