"""Lattice models against definitions by loops, finite differences and the shapes they promise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.kernels import dispatch
from ratebound._old.learners.lattice import (
    Lattice,
    calibrators,
    check_monotone,
    place_keypoints,
    random_subsets,
)
from ratebound._old.solution.deciders import GroupThresholds
from ratebound._old.solution.mixture import Members, member
from ratebound._old.solution.onnx import to_onnx
from ratebound._old.tables.fitting import fit_encoding

torch = pytest.importorskip("torch")

from ratebound._old.kernels import interpolation  # noqa: E402
from ratebound._old.kernels.interpolation import coefficients, interpolate  # noqa: E402
from ratebound._old.learners._torch_scorer import (  # noqa: E402
    TorchScorer,
    build,
    describe,
)
from ratebound._old.learners.lattice_network import Categorical, Lattices, Numeric  # noqa: E402

FREE = rb.Problem(rb.error_rate())
SIGNS = {0: 1, 1: -1}
rng = np.random.default_rng(0)


def table(rows=600, seed=0):
    """Two numbers, one of them sometimes missing, a third one, and a category of four codes."""
    random = np.random.default_rng(seed)
    X = np.column_stack([random.normal(size=(rows, 3)), random.integers(0, 4, rows)])
    y = X[:, 0] - X[:, 1] + 0.5 * np.sin(3 * X[:, 2]) + 0.5 * (X[:, 3] == 2) > 0
    X[random.random(rows) < 0.1, 1] = np.nan
    return X, y


X, Y = table()
LEARNER = Lattice(
    lattices=6, rank=3, keypoints=6, monotone=SIGNS, categorical=[3], orders={3: [(0, 2), (1, 2)]},
    learning_rate=0.02,
)  # fmt: skip


def played(learner=LEARNER, problem=FREE, rows=(X, Y), **options):
    population = rb.Population(rows[0], rows[1], columns={"group": np.arange(len(rows[1])) % 2})
    options = {"epochs": 15, "batch_size": 100, "progress": False, **options}
    return rb.play(rb.compile(problem, population), learner, **options)


@pytest.fixture(scope="module")
def trace():
    return played()


@pytest.fixture(scope="module")
def mixture():
    """Several members, by a constraint that pulls against the objective."""
    goal = rb.Problem(rb.error_rate(), [rb.positive_rate(group=0) >= 0.8, rb.positive_rate() <= 0.7])
    return rb.shrink(played(problem=goal))


@pytest.fixture(params=["compiled", "plain"])
def _way(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    elif not dispatch.numba_works():
        pytest.skip("numba is missing, or is to be left alone")


def random_module(seed=0, bounds=None, sizes=(4, 7)):
    torch.manual_seed(seed)
    features = [
        Numeric((0.0, 1.0, 4.0, 5.0), sign=1), Numeric((-2.0, 2.0), sign=-1), Numeric((0.0, 0.1, 3.0)),
        Categorical(3, ((0, 1), (1, 2))), Categorical(2),
    ]  # fmt: skip
    module = Lattices(features, random_subsets(5, sizes[1], sizes[0], seed), bounds)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
        module.project({name: p.data[None] for name, p in module.named_parameters()})
    return module


def random_rows(count, seed=0):
    random = np.random.default_rng(seed)
    numbers = random.uniform(-3, 6, size=(count, 3))
    codes = np.column_stack([random.integers(0, 4, count), random.integers(-1, 3, count)])
    rows = np.column_stack([numbers, codes]).astype(float)  # codes 3, -1 and 2 are unknown
    rows[random.random(rows.shape) < 0.1] = np.nan
    return rows.astype(np.float32)


# --- the function itself -------------------------------------------------------------------------


def by_definition(module, row):
    """One row's score with loops: np.interp for calibrators, a sum over all corners for lattices."""
    state = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    calibrated = []
    number = category = 0
    for feature, value in zip(module.features, row, strict=True):
        if isinstance(feature, Numeric):
            values = state["number_values"][number]
            points = np.array(feature.keypoints)
            known = np.interp(value, points, values[: len(points)])
            calibrated.append(values[-1] if np.isnan(value) else known)
            number += 1
        else:
            values = state["category_values"][category : category + feature.size + 1]
            known = not np.isnan(value) and 0 <= value < feature.size
            calibrated.append(values[int(value)] if known else values[-1])
            category += feature.size + 1
    total = 0.0
    for lattice, subset in enumerate(module.chosen):
        for corner in itertools.product((0, 1), repeat=len(subset)):
            share = np.prod([calibrated[f] if c else 1 - calibrated[f]
                             for f, c in zip(subset, corner, strict=True)])  # fmt: skip
            vertex = sum(c << d for d, c in enumerate(corner))
            total += share * state["vertices"][vertex, lattice]
    return total / len(module.chosen) + state.get("bias", 0.0)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_scores_are_what_the_definition_says(rank):
    module, rows = random_module(sizes=(rank, 6)), random_rows(40)
    expected = [by_definition(module, row) for row in rows]
    np.testing.assert_allclose(module(torch.tensor(rows)).detach(), expected, atol=3e-6)


@pytest.mark.parametrize("numbers", [1, 24, 36, 48, 96, 2**19])
def test_gradients_are_those_of_finite_differences(monkeypatch, numbers):
    monkeypatch.setattr(interpolation, "NUMBERS", numbers)  # blocks of lattices, or of settings
    monkeypatch.setattr(interpolation, "ROWS", 3)
    subsets = torch.tensor(random_subsets(5, 4, 4, 0))
    both = torch.cat([subsets, subsets + 5])  # two settings
    z = torch.rand(10, 5, dtype=torch.double, requires_grad=True)
    vertices = torch.randn(2, 16, 4, dtype=torch.double, requires_grad=True)

    def scores(z, vertices):
        return interpolate(2 * z - 1, coefficients(vertices), both, 4)

    assert scores(z, vertices).shape == (2, 5)
    assert torch.autograd.gradcheck(scores, (z, vertices))


def test_blocks_change_nothing(monkeypatch):
    monkeypatch.setattr(dispatch, "by_numba", lambda *_: False)
    module, rows = random_module(), torch.tensor(random_rows(50))
    whole = module(rows)
    monkeypatch.setattr(interpolation, "NUMBERS", 64)
    monkeypatch.setattr(interpolation, "ROWS", 8)
    torch.testing.assert_close(module(rows), whole)


def test_settings_side_by_side_are_each_alone():
    rates = (0.002, 0.01, 0.05)
    together = played(Lattice(lattices=5, rank=3, categorical=[3], learning_rate=rates, monotone=SIGNS))
    for setting, rate in enumerate(rates):
        learner = Lattice(lattices=5, rank=3, categorical=[3], learning_rate=rate, monotone=SIGNS)
        alone = played(learner).parameters[-1]
        both = together.of_setting(setting).parameters[-1]
        np.testing.assert_allclose(both, alone, rtol=2e-3, atol=2e-3)


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="expected rows of 5 features, as trained on"):
        random_module()(torch.zeros(3, 4))


def test_the_same_seed_gives_the_same_model():
    first, again, other = (played(epochs=2, seed=seed).parameters[-1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# --- keypoints, subsets, counts ------------------------------------------------------------------


def test_every_feature_is_used_as_often_as_any_other():
    subsets = random_subsets(32, 300, 8, seed=1)
    assert all(len(set(subset)) == 8 for subset in subsets)
    assert set(np.bincount(np.ravel(subsets), minlength=32)) == {75}
    assert len({tuple(subset) for subset in subsets}) > 290


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        ([1.0, 2.0, np.nan], 10, (1.0, 2.0)),
        ([5.0, 5.0], 10, (5.0, 10.0)),
        ([np.nan], 10, (0.0, 1.0)),
        (np.arange(101.0), 5, (0.0, 25.0, 50.0, 75.0, 100.0)),
    ],
)
def test_keypoints_are_quantiles(values, count, expected):
    assert place_keypoints(np.array(values), count) == expected


def test_values_too_small_for_a_slope_count_as_zero():
    """p-values come as small as that; one over a step between them would be infinite."""
    rows = np.column_stack([np.geomspace(1e-300, 1.0, 400), np.linspace(0.0, 1.0, 400)])
    points = place_keypoints(rows[:, 0], 20)
    assert (points[0], points[-1]) == (0.0, 1.0)
    module = Lattice(lattices=1, rank=2, keypoints=20, monotone={0: 1}).network(rows)
    scores = module(torch.as_tensor(rows, dtype=torch.float32))
    assert torch.isfinite(module.steepness).all()
    assert torch.isfinite(scores).all()


def test_a_value_that_many_rows_share_leaves_keypoints_to_the_others():
    values = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    points = place_keypoints(values, 12)
    assert len(points) == 12
    assert points[0] == 0
    assert points[-1] == 100


def paper_module(lattices, rank, width, shaped, keypoints):
    features = [Numeric(tuple(range(keypoints)), sign=int(i < shaped)) for i in range(width)]
    return Lattices(features, random_subsets(width, lattices, rank, seed=0))


def test_counts_of_the_papers_sizes():
    """Vertices, keypoints, a value for missing a feature, a bias; pairs along edges and keypoints.

    Published are 3,305 parameters and 9,740 constraints for Filtering: 3,200 of the parameters are the
    vertices of 50 · 2^6, and 9,740 is 50 · 6 · 2^5 + 14 · 10, which takes every input of every lattice
    for monotone, though 2 of 16 features are not. For Map Intent 93,600 is 300 · (2^8 + 8 · 7), with
    calibrators that are not shared.
    """
    filtering = paper_module(50, 6, 16, 14, 11)
    assert filtering.parameter_count == 50 * 2**6 + 16 * (11 + 1) + 1 == 3_393
    along = int(filtering.monotone.sum())
    assert filtering.constraint_count == along * 2**5 + 14 * 10
    every = paper_module(50, 6, 14, 14, 11)
    assert every.constraint_count == 9_740
    intent = paper_module(300, 8, 32, 28, 7)
    assert intent.parameter_count == 300 * 2**8 + 32 * (7 + 1) + 1 == 77_057
    assert intent.constraint_count == 300 * 8 * 28 // 32 * 2**7 + 28 * 6 == 268_968


# --- shapes --------------------------------------------------------------------------------------


def test_every_kept_iterate_is_monotone_without_tolerance(trace):
    module = trace.scorer.module
    for iterate in range(len(trace)):
        one = rb.last_iterate(trace.only(np.array([iterate])))
        assert check_monotone(one)
    assert module.constraint_count > 0


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("bounds", [None, (-1.0, 2.0)])
def test_outputs_are_monotone_on_random_pairs(bounds):
    """From outputs alone: a point and one moved in a promised direction, everything else equal."""
    for seed in range(3):
        module = random_module(seed, bounds).double()
        rows = random_rows(2000, seed).astype(float)
        random = np.random.default_rng(seed)
        for feature, sign in ((0, 1), (1, -1)):
            moved = rows.copy()
            moved[:, feature] += random.exponential(1.0, len(rows))
            before, after = (module(torch.tensor(r)).detach().numpy() for r in (rows, moved))
            assert (sign * (after - before)).min() >= -1e-12
            assert np.abs(after - before).max() > 0.01
        for low, high in ((0, 1), (1, 2), (0, 2)):
            below, above = rows.copy(), rows.copy()
            below[:, 3], above[:, 3] = low, high
            before, after = (module(torch.tensor(r)).detach().numpy() for r in (below, above))
            assert (after - before).min() >= -1e-12
        if bounds is not None:
            scores = module(torch.tensor(rows)).detach()
            assert bool((scores >= bounds[0] - 1e-12).all() & (scores <= bounds[1] + 1e-12).all())


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("rank", [3, 4, 6])
def test_where_lattices_are_flat_so_are_computed_scores(scale, rank):
    """Flat along the first four of eight inputs, so that these may move any distance."""
    random = np.random.default_rng(rank)
    features = [Numeric(tuple(np.sort(random.normal(size=20))), sign=int(i < 4)) for i in range(8)]
    module = Lattices(features, random_subsets(8, 20, rank, seed=0))
    with torch.no_grad():
        module.vertices.copy_(scale * torch.tensor(random.normal(size=module.vertices.shape)))
        for lattice, subset in enumerate(module.chosen):
            promised = sum(1 << d for d, feature in enumerate(subset) if feature < 4)
            module.vertices[:, lattice] = module.vertices[torch.arange(2**rank) & ~promised, lattice]
        assert check_monotone(module)
        rows = random.normal(size=(5000, 8)).astype(np.float32)
        moved = rows.copy()
        moved[:, :4] += random.exponential(size=(5000, 4)).astype(np.float32)
        before, after = module(torch.tensor(rows)), module(torch.tensor(moved))
    np.testing.assert_array_equal(before, after)
    assert before.std() > 0.01 * scale


@pytest.mark.usefixtures("_way")
def test_where_a_calibrator_is_flat_so_are_computed_scores():
    module = random_module(2)
    with torch.no_grad():
        module.number_values[0, 1:3] = module.number_values[0, 1]  # between 1 and 4
        module.project({name: p.data[None] for name, p in module.named_parameters()})
        rows = random_rows(2000)
        rows[:, 0] = np.random.default_rng(0).uniform(1, 4, 2000)
        moved = rows.copy()
        moved[:, 0] = np.random.default_rng(1).uniform(1, 4, 2000)
        np.testing.assert_array_equal(module(torch.tensor(rows)), module(torch.tensor(moved)))


@pytest.mark.usefixtures("_way")
def test_the_scores_that_decide_do_not_fall_over_any_distance():
    """In single precision, as the module computes by itself, a few would by a rounding."""
    for seed in range(5):
        module, random = random_module(seed), np.random.default_rng(seed)
        scorer = TorchScorer(module)
        parameters = torch.cat([p.detach().flatten() for p in module.parameters()])[None].numpy()
        rows = random_rows(4000, seed)
        before = scorer.scores(parameters, rows)
        for distance in (1e-7, 1e-6, 1e-5, 1e-3, 1.0):
            for feature, sign in ((0, 1), (1, -1)):
                moved = rows.copy()
                moved[:, feature] += sign * distance * random.exponential(size=len(rows))
                assert (before <= scorer.scores(parameters, moved)).all()


def test_check_monotone_sees_one_value_out_of_order():
    module = random_module()
    assert check_monotone(module)
    for name, place in (("number_values", (0, 1)), ("number_values", (1, 0)), ("category_values", (1,))):
        values = dict(module.named_parameters())[name].data
        kept = values[place].item()
        values[place] = 1.5
        assert not check_monotone(module)
        values[place] = kept
    with torch.no_grad():
        vertices, rising = module.vertices, module.monotone
        lattice = int(rising[0].nonzero()[0])
        kept = vertices[0, lattice].item()
        above = np.nextafter(np.float32(vertices[1, lattice].item()), np.float32(np.inf))
        vertices[0, lattice] = float(above)
        assert not check_monotone(module)
        vertices[0, lattice] = kept
    assert check_monotone(module)


def test_a_mixture_of_monotone_models_is_monotone(mixture):
    """Each member's yes never turns to no as a score rises, so nor does the weighted share of yeses."""
    assert len(mixture) > 1
    assert check_monotone(mixture)
    for feature, sign in SIGNS.items():
        moved = X.copy()
        moved[:, feature] += sign * np.random.default_rng(1).exponential(1.0, len(X))
        # Missing stays missing, and NaN + 1 is NaN.
        rise = mixture.decision_proba(moved)[:, 1] - mixture.decision_proba(X)[:, 1]
        assert rise.min() >= 0
        assert rise.max() > 0


def test_check_monotone_refuses_other_models():
    model = rb.last_iterate(played(rb.Torch(torch.nn.Linear(3, 1)), rows=(X[:, [0, 2, 3]], Y), epochs=1))
    with pytest.raises(TypeError, match="expected a lattice model, got Linear"):
        check_monotone(model)


def test_parameters_to_start_from_are_put_in_order_first(trace):
    wild = np.random.default_rng(0).normal(size=trace.parameters.shape[1]).astype(np.float32)
    assert check_monotone(rb.last_iterate(played(LEARNER.starting_at(wild), rounds=1, epochs=None)))


# --- how well it fits ----------------------------------------------------------------------------


def test_a_true_promise_helps_where_labels_are_noisy():
    """Monotone truth, a fifth of the labels turned: the free model learns the noise by heart."""
    random = np.random.default_rng(3)

    def draw(rows):
        rows = random.uniform(size=(rows, 4))
        return rows, rows[:, 0] * rows[:, 1] + rows[:, 2] ** 2 - 0.5 * rows[:, 3] > 0.35

    (few, truth), (test, wanted) = draw(400), draw(4000)
    noisy = truth ^ (random.random(400) < 0.2)
    errors = {}
    for name, signs in (("monotone", {0: 1, 1: 1, 2: 1, 3: -1}), ("free", {})):
        learner = Lattice(lattices=8, rank=4, keypoints=8, monotone=signs)
        model = rb.last_iterate(played(learner, rows=(few, noisy), epochs=60))
        errors[name] = np.mean((model.member_scores(test)[:, 0] >= 0) != wanted)
    assert errors["monotone"] < errors["free"] - 0.02
    assert errors["monotone"] < 0.12


# --- files, refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [None, (-1.0, 2.0)])
def test_a_description_rebuilds_the_module(bounds):
    module, rows = random_module(bounds=bounds), torch.tensor(random_rows(30))
    again = build(describe(module))
    again.load_state_dict(module.state_dict())
    assert torch.equal(again(rows), module(rows))
    assert again.constraint_count == module.constraint_count


def test_saved_and_loaded_it_decides_alike(mixture, tmp_path):
    again = rb.load(mixture.save(tmp_path / "model.safetensors"))
    assert np.array_equal(again.member_scores(X), mixture.member_scores(X))
    assert np.array_equal(again.predict(X), mixture.predict(X))
    assert check_monotone(again)


@pytest.fixture
def runtime():
    pytest.importorskip("onnx", reason="pip install 'ratebound[onnx]' to test the export")
    return pytest.importorskip("onnxruntime", reason="pip install 'ratebound[onnx]' to run exports")


def run_onnx(runtime, mixture, rows, folder):
    path = to_onnx(mixture, folder / "mixture.onnx")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    keys = np.arange(len(rows))
    found = session.run(None, {"features": np.asarray(rows, np.float32), "key": keys})
    return dict(zip([o.name for o in session.get_outputs()], found, strict=True)), keys


def test_onnx_takes_infinite_values_as_the_model_does(mixture, runtime, tmp_path):
    module = Lattices([Numeric((0.0, 1.0)), Numeric((0.0, 2.0, 3.0))], [[0, 1]])
    parameters = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])[None]
    one = replace(mixture, members=Members(np.ones(1), parameters, TorchScorer(module)))
    rows = np.array([[np.inf, 1.0], [-np.inf, 1.0], [0.5, np.inf], [0.5, -np.inf]], dtype=np.float32)
    found, _ = run_onnx(runtime, one, rows, tmp_path)
    ends = module(torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.5, 3.0], [0.5, 0.0]])).detach().numpy()
    np.testing.assert_allclose(one.scorer.scores(parameters, rows)[0, 0], ends, atol=1e-6)
    np.testing.assert_allclose(found["scores"][:, 0], ends, atol=1e-6)


@pytest.mark.parametrize("encoded", [False, True])
def test_onnx_decides_alike(mixture, runtime, tmp_path, encoded):
    if encoded:
        mixture = replace(mixture, encoding=fit_encoding(X, style="codes"))
    found, keys = run_onnx(runtime, mixture, X, tmp_path)
    rows = X.astype(np.float32)
    scores = mixture.member_scores(rows)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-4)
    clear = (np.abs(scores) > 1e-4).all(axis=1)
    assert clear.mean() > 0.99
    assert np.array_equal(found["decision"][clear], mixture.predict(rows, key=keys)[clear])


@pytest.mark.parametrize("name", ["mixed", "bounded", "numbers", "categories"])
def test_onnx_gives_the_same_scores(mixture, runtime, tmp_path, name):
    module = {
        "mixed": lambda: random_module(),
        "bounded": lambda: random_module(1, (0.0, 1.0), sizes=(5, 3)),
        "numbers": lambda: Lattices([Numeric((0.0, 1.0)), Numeric((0.0, 2.0, 3.0))], [[0, 1]]),
        "categories": lambda: Lattices([Categorical(3), Categorical(2)], [[0], [1]]),
    }[name]()
    scorer = TorchScorer(module)
    base = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
    parameters = np.stack([base, 0.5 * base, base + 0.1])
    three = replace(mixture, members=Members(np.ones(3) / 3, parameters, scorer))
    rows = random_rows(200)[:, :2] if name in ("numbers", "categories") else random_rows(200)
    found, _ = run_onnx(runtime, three, rows, tmp_path)
    np.testing.assert_allclose(found["scores"].T, scorer.scores(parameters, rows)[:, 0], atol=1e-5)


def test_calibrators_are_drawn_as_they_are(mixture):
    pytest.importorskip("matplotlib")
    named = replace(mixture, encoding=fit_encoding(X, style="codes"))
    axes = rb.plot_calibrators(named)
    assert [ax.get_title() for ax in axes] == ["0", "1", "2", "3"]
    curves = calibrators(mixture)
    for ax, curve in zip(axes, curves, strict=True):
        assert len(ax.lines) == 2 * len(mixture)
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), curve.at)
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.values[0])
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), [curve.missing[0]] * 2)
    assert (np.diff(curves[0].values, axis=1) >= 0).all()
    assert (np.diff(curves[1].values, axis=1) <= 0).all()
    assert curves[3].categorical
    assert len(rb.plot_calibrators(mixture.scorer.module)) == 4
    one = member(mixture, 0)
    decider = GroupThresholds((), ((),), np.zeros((3, 1), int), np.arange(3.0)[:, None, None])
    of_one = replace(one, members=replace(one.members, weights=np.ones(3) / 3), decider=decider)
    assert len(rb.plot_calibrators(of_one)[0].lines) == 2  # three sets of thresholds on one model


REFUSALS = {
    "sign": ({"monotone": {0: 2}}, "feature 0 takes 1"),
    "monotone category": ({"monotone": {3: 1}, "categorical": [3]}, "feature 3 is categorical"),
    "order of a number": ({"orders": {0: [(0, 1)]}}, "feature 0 is not among the categorical"),
    "named feature": ({"categorical": ["town"]}, "count features from 0, got 'town'"),
    "negative code": ({"categorical": [3], "orders": {3: [(-1, 1)]}}, "codes of feature 3 are 0, 1, 2"),
    "cycle": ({"categorical": [3], "orders": {3: [(0, 1), (1, 0)]}}, "category 0 below itself"),
    "bounds": ({"output_bounds": (1.0, 0.0)}, "a lower and a higher number"),
    "one bound": ({"output_bounds": 3}, r"two numbers, as in \(-1.0, 1.0\), got 3"),
    "bounds in words": ({"output_bounds": ("low", "high")}, "two numbers"),
    "no upper bound": ({"output_bounds": (0.0, None)}, "two numbers"),
    "rank": ({"rank": 13}, "rank is at most 12"),
    "lattices": ({"lattices": 0}, "lattices takes a whole number from 1 on"),
    "keypoints": ({"keypoints": 1}, "keypoints takes a whole number from 2 on"),
    "learning rate": ({"learning_rate": -1.0}, "learning rate"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_name_what_is_wrong(name):
    options, message = REFUSALS[name]
    with pytest.raises(ValueError, match=message):
        Lattice(**options)


STARTS = {
    "named column": ({"monotone": {"income": 1}}, X, "names the column 'income'"),
    "no such feature": ({"monotone": {9: 1}}, X, "no feature 9: there are 4"),
    "too few": ({"lattices": 1, "rank": 2}, X, r"cannot use all 4: take rb.Lattice\(lattices=2"),
    "large": ({}, np.where(X > 1, 1e300, X), "feature 0 has infinite values or some beyond 1e"),
    "fractional codes": ({"categorical": [0]}, X, "feature 0 is categorical: codes"),
    "infinite": ({}, np.where(X > 1, np.inf, X), "infinite"),
    "one axis": ({}, X[:, 0], "needs rows"),
}


@pytest.mark.parametrize("name", STARTS)
def test_rows_that_do_not_fit_are_refused(name):
    options, rows, message = STARTS[name]
    with pytest.raises(ValueError, match=message):
        Lattice(**options).start(rb.Population(rows), 1, 0)
