"""The public names: each has one home and a docstring, and is imported when it is asked for."""

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import ratebound as rb
from ratebound import _old
from ratebound.rates.table import ALIASES, KINDS

NAMES = rb.__all__
NAMESPACES = ("datasets", "goals")
HEAVY = (
    "jax lightgbm matplotlib narwhals numba numpy pandas polars pyarrow scipy sklearn torch tqdm"
)
WATCH = f"""import atexit, sys
atexit.register(lambda: print("\\n", *sys.modules.keys() & set({HEAVY.split()})))
"""
COMPILE = "rb.compile(rb.Problem('error_rate()'), rb.Population([[1], [2]], [0, 1]))"


def run(code, **options):
    """Run code in a new interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, **options)


def find_loaded(code):
    """Return which heavy libraries are loaded once a new interpreter has run the code."""
    done = run(WATCH + code, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_every_name_is_listed_once():
    listed = [name for names in rb.HOMES.values() for name in names.split()]
    rates = [name for name, kind in KINDS.items() if not kind.is_own]
    listed += [*rb.OLD_NAMES, *rates, *ALIASES, "goals"]
    assert sorted(listed) == NAMES
    assert len(set(listed)) == len(listed)
    assert dir(rb) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    public = getattr(rb, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):  # a sentence of its own, not its base's nor a dataclass's signature
        assert public.__doc__
        assert not public.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize("name", sorted(rb.goals.BUILT_IN))
def test_every_goal_is_documented_and_is_a_name_of_the_package_too(name):
    assert inspect.getdoc(getattr(rb.goals, name))
    assert getattr(rb, name) is getattr(rb.goals, name)


def test_the_stub_says_what_the_package_does():
    tree = ast.parse((Path(rb.__file__).parent / "__init__.pyi").read_text("utf-8"))
    homes = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                homes[alias.asname] = f"{node.module}.{alias.name}"  # None: not re-exported
        elif isinstance(node, ast.AnnAssign):
            homes[node.target.id] = ast.unparse(node.annotation)
    assert homes.pop(None) == "ratebound.rates.table.Kind"
    assert homes.pop("__version__") == "str"
    assert sorted(homes) == NAMES
    for name, home in homes.items():
        if name in KINDS or name in ALIASES:
            assert home == "Kind"
        elif name in rb.HOME_OF_NAME and name != "compile":
            assert home == f"ratebound.{rb.HOME_OF_NAME[name]}.{name}"
        elif name in _old._PLACES and name in rb.OLD_NAMES:
            assert home == f"ratebound._old.{_old._PLACES[name]}.{name}"


def test_importing_everything_gives_every_name():
    names = {}
    exec("from ratebound import *", names)
    assert set(NAMES) <= set(names)
    assert names["datasets"].load_adult


# --- nothing is loaded before it is used ----------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import ratebound", set()),
        ("import ratebound as rb; dir(rb); hasattr(rb, 'recal')", {"numpy"}),
        ("import ratebound as rb; rb.parse('equal_opportunity(sex, ratio=0.95)')", {"numpy"}),
        ("import ratebound as rb; rb.recall(sex='Female') >= 0.95 * rb.recall()", {"numpy"}),
        ("import ratebound as rb; rb.Problem('error_rate()', ['recall() >= 0.5'])", {"numpy"}),
        (f"import ratebound as rb; {COMPILE}", {"numpy"}),
    ],
)
def test_the_language_and_the_compiler_need_numpy_alone(code, libraries):
    assert find_loaded(code) == libraries


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["train", "--help"], ["train"], ["tarin"]]
)
def test_the_command_line_reads_its_arguments_without_any_library(words):
    code = f"import sys; from ratebound._old.cli import main; sys.exit(main({words}))"
    assert find_loaded(code) == set()


def test_a_table_is_looked_at_and_a_saved_model_decides_with_numpy_alone(tmp_path):
    X = [[1.0], [2.0], [3.0], [4.0]] * 5
    train = rb.Population(X, [0, 0, 1, 1] * 5, columns={"group": ["a", "b"] * 10})
    problem = rb.Problem(rb.error_rate(), [rb.recall(group="a") >= 0.9])
    trace = rb.play(rb.compile(problem, train), rb.Linear(), rounds=20)
    saved = str(rb.shrink(trace).save(tmp_path))
    table = tmp_path / "small.csv"
    table.write_text("age,sex,label\n40,F,1\n30,M,0\n" * 10)
    assert find_loaded(f"import ratebound as rb; rb.load({saved!r}).predict([[1.0]])") == {"numpy"}
    code = f"from ratebound._old.cli import main; main(['inspect', {str(table)!r}])"
    assert find_loaded(code) == {"numpy"}


# --- names that are imported when they are asked for ----------------------------------------------


def test_the_rooms_are_attributes_as_if_they_were_imported():
    code = "import ratebound; print(ratebound.solution.shrink_weights.__name__)"
    assert run(code, check=True).stdout.split() == [b"shrink_weights"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("recal", "; did you mean recall?"),
        ("RateConstrainedClasifier", "; did you mean RateConstrainedClassifier?"),
        ("xyzzy", ", ..."),
        ("_xyzzy", "'_xyzzy'"),
    ],
)
def test_a_misspelled_name_suggests_the_nearest(name, hint):
    with pytest.raises(AttributeError) as error:
        getattr(rb, name)
    assert str(error.value).startswith(f"module 'ratebound' has no attribute '{name}'")
    assert str(error.value).endswith(hint)
    with pytest.raises(ImportError):
        exec(f"from ratebound import {name}")


def test_constraints_are_unpickled_where_nothing_was_imported_yet():
    constraints = [
        rb.recall(sex="Female") >= 0.95 * rb.recall(),
        rb.parse("equalized_odds(sex, slack=0.1)"),
    ]
    code = (
        "import pickle, sys; first, goal = pickle.load(sys.stdin.buffer); import ratebound as rb; "
        "assert first == rb.parse(str(first)) and goal == rb.parse(str(goal)); "
        "rb.compile(rb.Problem(rb.error_rate(), [first, goal]),"
        " rb.Population(None, [0, 0, 1, 1], columns={'sex': ['Female', 'Male'] * 2}))"
    )
    run(code, input=pickle.dumps(constraints), check=True)


def test_threads_may_ask_for_their_first_names_at_once():
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
import ratebound as rb
names = ["column", "recall", "parse", "where", "largest", "churn", "compile", "equal", "Game"] * 2
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
    for _ in range(3):
        assert run(code, check=True).stdout.strip() == b"[]"
