"""The built wheel, the editable install, and what an import costs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = {
    "regret_envs": "regret_envs",
    "agents": "regret_envs.agents",
    "benchmarks": "regret_envs.benchmarks",
}


def python(code, *, cwd, path=None):
    """Run `code` in a fresh interpreter; its output, or the error."""
    environment = {"PATH": "", "PYTHONPATH": str(path) if path else ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def tracked(*folders):
    """The repository's files below folders, relative to its root; without caches and build outputs."""
    skipped = {"__pycache__", ".pytest_cache", ".hypothesis"}
    files = (file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file())
    return [file.relative_to(ROOT) for file in files if not skipped & set(file.parts)]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    source = folder / "source"
    for name in (*SOURCES, "tests", "examples", "docs", ".ci"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("*.*"):
        if file.is_file():
            shutil.copy(file, source)
    shutil.copy(ROOT / "LICENSE", source)
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True, timeout=300)
    (file,) = folder.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    return folder / file.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The files of the wheel that the source distribution builds, unpacked away from the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder, sdist], check=True, timeout=300)
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_sdist_holds_its_tests_whole(sdist):
    needed = [
        *tracked(*SOURCES, "tests", "examples"),
        *map(Path, ("LICENSE", "README.md", "constraints.txt")),
    ]
    assert len(needed) > 250
    assert [str(file) for file in needed if not (sdist / file).is_file()] == []


def test_the_wheel_runs_a_suite_outside_the_repository(wheel, tmp_path):
    code = (
        "import sys\n"
        "sys.argv[1:] = 'run --suite smoke --agents hedge,rm+ --runs 2 --executor local:1'.split()\n"
        "from regret_envs.benchmarks.cli.main import main\n"
        "main()"
    )
    printed = python(code, cwd=tmp_path, path=wheel)
    assert "| hedge " in printed and "| rm+ " in printed and (tmp_path / "regret-envs-results.jsonl").exists()


def test_links_on_a_package_index_lead_outside(wheel):
    (metadata,) = wheel.glob("*.dist-info/METADATA")
    text = metadata.read_text("utf-8")
    assert "Description-Content-Type: text/markdown" in text
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("#")]
    assert len(links) >= 4 and all(link.startswith("https://") for link in links)
    assert "the derivation" in text and "docs/concepts" not in text


def test_the_package_list_is_the_folders():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {}
    for folder, package in SOURCES.items():
        for file in (ROOT / folder).rglob("__init__.py"):
            below = file.parent.relative_to(ROOT / folder).parts
            found[".".join((package, *below))] = "/".join((folder, *below))
    assert sorted(settings["packages"]) == sorted(found)
    # Folders below a mapped one are found by themselves in the wheel; an editable install needs them all.
    mapped = settings["package-dir"]
    assert set(SOURCES.values()) <= set(mapped)
    assert mapped.items() <= found.items()


def test_the_wheel_holds_every_file_and_works_outside_the_repository(wheel, tmp_path):
    for folder, package in SOURCES.items():
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                below = package.replace(".", "/") / file.relative_to(ROOT / folder)
                assert (wheel / below).is_file(), f"{below} is not in the wheel"
    code = (
        "import regret_envs, regret_envs.benchmarks\n"
        "from regret_envs import agents, streams\n"
        "streams.prices('djia')\n"
        "print(regret_envs.__file__, agents.__file__)"
    )
    printed = python(code, cwd=tmp_path, path=wheel)
    assert printed == f"{wheel}/regret_envs/__init__.py {wheel}/regret_envs/agents/__init__.py"


@pytest.mark.parametrize("folder", ["agents", "benchmarks"])
def test_the_bare_folder_names_are_no_packages(folder):
    assert f"this folder is the package regret_envs.{folder}" in python(f"import {folder}", cwd=ROOT)


@pytest.mark.parametrize("module", ["regret_envs", "regret_envs.agents", "regret_envs.benchmarks.cli.main"])
def test_imports_are_light(module):
    heavy = ["torch", "pandas", "matplotlib", "scipy.stats", "scipy", "ray", "pyarrow", "dask"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    assert python(code, cwd=ROOT) == "[]"


@pytest.mark.parametrize(
    ("module", "above"),
    [
        ("regret_envs", ["regret_envs.agents", "regret_envs.benchmarks"]),
        ("regret_envs.agents", ["regret_envs.benchmarks"]),
    ],
)
def test_imports_point_one_way(module, above):
    code = f"import sys, {module}; print([m for m in {above} if m in sys.modules])"
    assert python(code, cwd=ROOT) == "[]"
