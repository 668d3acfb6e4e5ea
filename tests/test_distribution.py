"""What is handed over: the wheel holds the package and nothing else, and its metadata are true."""

import re
import subprocess
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import ratebound as rb

ROOT = Path(__file__).parents[1]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCES = {".py", ".pyi", ".css", ".html", ".js", ".typed", ".toml"}  # the last until `_old` goes
DATA = {
    "README.md",
    "adult.csv.gz",
    "bank_full.csv.gz",
    "compas.csv.gz",
}  # of ratebound/_old/datasets/data

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="git says which files are ours"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source archive, as `make dist` builds them."""
    pytest.importorskip("hatch_fancy_pypi_readme")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    folder = str(tmp_path_factory.mktemp("dist"))
    return [
        Path(next(builder(str(ROOT)).build(directory=folder, versions=versions)))
        for builder, versions in ((WheelBuilder, ["standard"]), (SdistBuilder, ["standard"]))
    ]


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built[0]) as archive:
        yield archive


def ours(*folders):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def metadata(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(wheel.namelist())
    package = {name for name in names if name.startswith("ratebound/")}
    assert package == {name.removeprefix("src/") for name in ours("src/ratebound")}
    info = f"ratebound-{rb.__version__}.dist-info/"
    kept = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert names - package == {info + name for name in kept}


def test_the_wheel_holds_no_tests_and_no_stray_data(wheel):
    for info in wheel.infolist():
        path = Path(info.filename)
        if path.parts[0] != "ratebound":
            continue
        assert not {"tests", "test", "__pycache__"} & set(path.parts)
        if path.parent.name == "data":
            assert path.name in DATA
        else:
            assert path.suffix in SOURCES
    assert sum(info.compress_size for info in wheel.infolist()) < 4 * 2**20


def test_metadata_are_those_of_the_project_without_placeholders(wheel):
    said = metadata(wheel)
    assert said["Name"] == "ratebound"
    assert said["Version"] == rb.__version__
    assert said["Requires-Python"] == DECLARED["requires-python"]
    assert said["License-Expression"] == "Apache-2.0"
    assert {line.split(",")[0] for line in said.get_all("Project-URL")} == set(DECLARED["urls"])
    whole = "\n".join(f"{key}: {value}" for key, value in said.items())
    assert not re.search(
        r"example\.(com|org)|TODO|FIXME|your[-_ ]|\bfoo\b|<\w+>", whole, re.IGNORECASE
    )


def test_extras_of_users_are_in_all(wheel):
    extras = DECLARED["optional-dependencies"]
    (everything,) = extras["all"]
    inside = set(everything.removeprefix("ratebound[").removesuffix("]").split(","))
    assert inside == set(extras) - {"all", "dev", "docs"}
    assert set(metadata(wheel).get_all("Provides-Extra")) == set(extras)


def test_the_readme_of_the_index_has_no_links_that_lead_nowhere(wheel):
    """On a package index links to files of the repository would be broken."""
    page = metadata(wheel).get_payload()
    targets = re.findall(r"\]\(([^)\s]+)", page)
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert not re.search(r"https://\S*(\$|https://)", page)


def test_the_source_archive_has_all_that_its_tests_need(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ours(
        "src", "tests", "docs", "examples", "benchmarks", "conftest.py", "Makefile", "LICENSE"
    )
    assert wanted <= names


def test_the_version_stands_in_one_place():
    places = [
        path
        for path in ours("src", "docs/conf.py", "pyproject.toml", "CITATION.cff")
        if Path(path).suffix in {".py", ".toml", ".cff"}
        and rb.__version__ in (ROOT / path).read_text("utf-8")
    ]
    assert places == ["src/ratebound/__init__.py"]


def test_the_changelog_has_the_version():
    assert f"\n## {rb.__version__} " in (ROOT / "CHANGELOG.md").read_text("utf-8")
