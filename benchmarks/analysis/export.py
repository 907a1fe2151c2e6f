"""Results as a Parquet table, a line a run, for pandas, polars, DuckDB and R."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from regret_envs.benchmarks.analysis.comparable import comparable
from regret_envs.benchmarks.running.cells import BLOCK_RUNS
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.files import replacing

_BATCH_ROWS = 10_000


def export_parquet(rows: Iterable[Row], path: str | os.PathLike[str]) -> tuple[int, list[str]]:
    """Write the rows of whole cells, the last of each key, in long form: one line per run and value.

    Of a task, only the cells that were measured on the same data are written (see `comparable`). Columns are
    the fields of `Row` except `values`, which become `run` and `value`. A cell without values (failed, n/a)
    is one line with its message. Seeds are int64; uint64 or text in a file where one does not fit.

    Returns:
        The number of lines, and notes on what is left out.

    Raises:
        ImportError: if pyarrow is not installed.
        OSError: if the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells, notes = comparable(complete_cells(rows).values())
    largest = max((row.seed for cell in cells for row in cell), default=0)
    seeds = pa.int64() if largest < 2**63 else pa.uint64() if largest < 2**64 else pa.string()
    names = pa.dictionary(pa.int32(), pa.string())
    text = (
        "suite",
        "task",
        "agent",
        "source",
        "status",
        "metric",
        "key",
        "identity",
        "code_version",
        "task_hash",
        "data_hash",
        "date",
    )
    schema = pa.schema(
        [(name, names) for name in text]
        + [("seats", pa.list_(names))]
        + [(name, pa.int64()) for name in ("task_version", "seat", "player", "run", "round", "num_actions")]
        + [("seed", seeds)]
        + [("value", pa.float64()), ("loss_scale", pa.float64()), ("message", pa.string())]
    )
    lines = 0
    with replacing(path) as part, pq.ParquetWriter(part, schema, compression="zstd") as writer:
        left = (row for cell in cells for row in cell)
        while batch := list(islice(left, _BATCH_ROWS)):
            table = list(_lines(batch, seed=str if seeds == pa.string() else int))
            lines += len(table)
            writer.write_table(pa.Table.from_pylist(table, schema=schema))
    return lines, notes


def _lines(rows: Iterable[Row], *, seed: type[int | str]) -> Iterator[dict[str, Any]]:
    for row in rows:
        line = {name: getattr(row, name) for name in row.__struct_fields__} | {"seed": seed(row.seed)}
        first = row.block * BLOCK_RUNS
        if not row.values:
            yield {**line, "run": None, "value": None}
        for i, value in enumerate(row.values):
            yield {**line, "run": first + i, "value": value}
