import numpy as np
import pytest
from conftest import cell, regrets

from regret_envs.benchmarks.analysis import export
from regret_envs.benchmarks.analysis.export import export_parquet

parquet = pytest.importorskip("pyarrow.parquet")


def test_a_line_a_run_and_value(tmp_path, monkeypatch):
    rows = [
        *cell("old", regrets(8.0), key="k"),
        *cell("hedge", regrets(0.1, 1 / 3), key="k", rounds=(1, 50)),
        *cell("ftl", regrets(5.0), block=2),
        *cell("bad", {}, status="failed"),
    ]
    monkeypatch.setattr(export, "_BATCH_ROWS", 3)
    path = tmp_path / "results.parquet"
    assert export_parquet(rows, path) == (8 + 4 + 1, [])
    assert [p.name for p in tmp_path.iterdir()] == ["results.parquet"]
    lines = parquet.read_table(path).to_pylist()
    assert len(lines) == 13 and {line["agent"] for line in lines} == {"hedge", "ftl", "bad"}
    last = [x for x in lines if x["round"] == 50 and x["metric"] == "external_regret"]
    assert [(x["agent"], x["run"], x["value"]) for x in last] == [
        ("hedge", 0, 0.1),
        ("hedge", 1, 1 / 3),
        ("ftl", 128, 5.0),
    ]
    (bad,) = [x for x in lines if x["status"] == "failed"]
    assert (bad["message"], bad["run"], bad["value"], bad["metric"]) == ("why", None, None, None)
    assert np.isfinite([x["value"] for x in lines if x["status"] == "ok"]).all()


def test_half_a_file_is_never_left(tmp_path):
    def rows():
        yield from cell("hedge", regrets(1.0))
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        export_parquet(rows(), tmp_path / "results.parquet")
    assert list(tmp_path.iterdir()) == []
