"""Recorded losses: every format, every kind of bad input, and the shipped price relatives."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from regret_envs import simulate, streams
from regret_envs.agents import Hedge, Uniform
from regret_envs.names import UnknownNameError
from regret_envs.streams import Recorded, prices

LOSSES = np.arange(21.0).reshape(7, 3) ** 1.5 - 4


def write_csv(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


class TestReading:
    def test_array(self):
        stream = Recorded(LOSSES.tolist())
        np.testing.assert_array_equal(stream.losses, LOSSES)
        assert stream.num_actions == 3
        assert stream.losses.dtype == np.float64
        assert not stream.losses.flags.writeable

    def test_the_array_handed_in_is_copied(self):
        mine = LOSSES.copy()
        stream = Recorded(mine)
        mine[:] = 0
        np.testing.assert_array_equal(stream.losses, LOSSES)

    def test_npy_npz_and_parquet(self, tmp_path):
        np.save(tmp_path / "losses.npy", LOSSES)
        np.savez(tmp_path / "one.npz", only=LOSSES)
        np.savez(tmp_path / "two.npz", first=LOSSES + 1, second=LOSSES)
        for stream in (
            Recorded(tmp_path / "losses.npy"),
            Recorded(str(tmp_path / "one.npz")),
            Recorded(tmp_path / "two.npz", key="second"),
        ):
            np.testing.assert_array_equal(stream.losses, LOSSES)

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = {"a": LOSSES[:, 0].astype(int), "b": LOSSES[:, 1], "c": LOSSES[:, 2].astype(np.float32)}
        parquet.write_table(pa.table(table), tmp_path / "losses.parquet")
        np.testing.assert_array_equal(
            Recorded(tmp_path / "losses.parquet").losses, np.stack(list(table.values()), axis=1)
        )

    def test_parquet_decimals(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"a": [Decimal("1.25")], "b": [3]}), tmp_path / "losses.parquet")
        np.testing.assert_array_equal(Recorded(tmp_path / "losses.parquet").losses, [[1.25, 3]])

    def test_npz_beside_an_array_of_objects(self, tmp_path):
        np.savez(tmp_path / "two.npz", losses=LOSSES, names=np.array(["a", None], dtype=object))
        np.testing.assert_array_equal(Recorded(tmp_path / "two.npz", key="losses").losses, LOSSES)
        with pytest.raises(ValueError, match=r"cannot be read as .npz: Object arrays"):
            Recorded(tmp_path / "two.npz", key="names")
        with pytest.raises(ValueError, match=r"holds 2 arrays, choose one by key="):
            Recorded(tmp_path / "two.npz")

    @pytest.mark.parametrize("header", ["", "a,b,c\n", "\ufeffa,b,c\n", '"x, y",b,c\r\n'])
    def test_csv_with_or_without_header(self, tmp_path, header):
        rows = "".join(",".join(map(repr, row)) + "\n" for row in LOSSES.tolist())
        path = write_csv(tmp_path / "losses.CSV", header + rows + "\n")
        np.testing.assert_array_equal(Recorded(path).losses, LOSSES)

    def test_csv_with_a_byte_order_mark_and_no_header(self, tmp_path):
        path = write_csv(tmp_path / "losses.csv", "\ufeff1,2\n3,4\n")
        np.testing.assert_array_equal(Recorded(path).losses, [[1, 2], [3, 4]])

    def test_loss_scale_divides(self):
        stream = Recorded(LOSSES, loss_scale=4.0)
        np.testing.assert_array_equal(stream.losses, LOSSES / 4)
        assert stream.loss_scale == 1.0

    def test_repr_shows_name_size_and_settings(self, tmp_path):
        np.save(tmp_path / "mine.npy", LOSSES)
        stream = Recorded(tmp_path / "mine.npy", loss_scale=0.5, window=2)
        assert repr(stream) == "<mine.npy, 7 rounds × 3 actions, loss_scale=0.5, window=2>"

    def test_fingerprint_is_of_the_content(self, tmp_path):
        np.save(tmp_path / "mine.npy", LOSSES)
        stream = Recorded(LOSSES)
        assert len(stream.fingerprint) == 64
        assert stream.fingerprint == Recorded(tmp_path / "mine.npy").fingerprint
        assert stream.fingerprint == Recorded(np.asfortranarray(LOSSES)).fingerprint
        assert stream.fingerprint == pickle.loads(pickle.dumps(stream)).fingerprint
        changed = LOSSES.copy()
        changed[3, 1] += 1e-12
        others = [LOSSES.reshape(3, 7), LOSSES / 2, changed]
        assert len({stream.fingerprint, *(Recorded(other).fingerprint for other in others)}) == 4


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a,b\n1,2\n3,\n", r"bad.csv: row 3, column 2 \('b'\): the value is missing \(''\)"),
            ("1,2\n3,NA\n", r"bad.csv: row 2, column 2: the value is missing \('NA'\)"),
            ("a,b\n\n1,2\n\nnan,4\n", r"row 5, column 1 \('a'\): the value is missing"),
            ("1,2\n3,inf\n", r"row 2, column 2: inf is not finite"),
            ("1,2\n3,x4\n", r"row 2, column 2: 'x4' is not a number"),
            ("date,a\n2020-01-01,1\n", r"row 2, column 1 \('date'\): '2020-01-01' is not a number"),
            (",0,1\n0,4,5\n", r"the first row \(, 0, 1\) may be a header: .*header = true .*header = false"),
            (",a,b\n0,4,5\n", r"column 1 has no name, and its cells count from 0.*skip = \[0\].*skip = \[\]"),
            ("1,2\n3,4,5\n", r"bad.csv: row 2 has 3 cells, the first has 2"),
            ("a,b\n1,2\n3\n", r"bad.csv: row 3 has 1 cells, the first has 2"),
            ("a;b\n1,5;2,5\n", r"bad.csv: row 1: cells must lie between commas, got 'a;b'"),
            ("1\t2\n3\t4\n", r"bad.csv: row 1: cells must lie between commas, got '1\\t2'"),
            ('a,"b\n1,2\n', r"bad.csv cannot be read as .csv: unexpected end of data"),
            ("a,b\n", "bad.csv has no rows"),
            ("", "bad.csv has no rows"),
        ],
    )
    def test_csv(self, tmp_path, text, message):
        with pytest.raises(ValueError, match=message):
            Recorded(write_csv(tmp_path / "bad.csv", text))

    def test_csv_in_another_encoding(self, tmp_path):
        with pytest.raises(ValueError, match=r"cannot be read as .csv: 'utf-8' codec"):
            Recorded(write_csv(tmp_path / "bad.csv", "é,b\n1,2\n", encoding="latin-1"))

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (
                [[1, 2], [3, np.nan]],
                r"recorded losses: row 1, column 1, counted from 0: the value is missing",
            ),
            ([[1, 2], [-np.inf, 4]], r"row 1, column 0, counted from 0: -inf is not finite"),
            (
                np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [1, 0]]),
                r"row 1, column 0, counted from 0: the value is missing",
            ),
            (np.array([["2020-01-01"]], "M8[ns]"), r"row 0, column 0.*'2020-01-01T.*' is not a number"),
            (np.array([[3]], "m8[ns]"), r"row 0, column 0.*is not a number"),
            ([[1, 2], [3, None]], r"row 1, column 1, counted from 0: None is not a number"),
            ([[1, 2], ["x", 4]], r"row 1, column 0, counted from 0: 'x' is not a number"),
            (
                np.array([[1, 2], ["x", 4]], dtype=object),
                r"row 1, column 0, counted from 0: 'x' is not a number",
            ),
            ([[1j, 2]], r"row 0, column 0.*is not a number"),
            ([[1, 2], [3]], r"not a table of \(rounds, num_actions\)"),
            ([1, 2, 3], r"must have shape \(rounds, num_actions\), got \(3,\)"),
            (np.zeros((2, 2, 2)), r"got \(2, 2, 2\)"),
            (1.0, r"got \(\)"),
            ([], "recorded losses has no rows"),
            (np.empty((0, 3)), "recorded losses has no rows"),
            (np.empty((3, 0)), r"got \(3, 0\)"),
        ],
    )
    def test_array(self, array, message):
        with pytest.raises(ValueError, match=message):
            Recorded(array)

    def test_npy_and_npz(self, tmp_path):
        np.save(tmp_path / "bad.npy", [[1, 2], [3, 4], [5, np.nan]])
        with pytest.raises(
            ValueError, match=r"bad.npy: row 2, column 1, counted from 0: the value is missing"
        ):
            Recorded(tmp_path / "bad.npy")
        np.save(tmp_path / "pickled.npy", np.array([{}]), allow_pickle=True)
        with pytest.raises(ValueError, match=r"pickled.npy cannot be read as .npy: Object arrays"):
            Recorded(tmp_path / "pickled.npy")
        for suffix in (".npy", ".npz"):
            path = tmp_path / f"torn{suffix}"
            path.write_bytes(b"PK\x03\x04torn")
            with pytest.raises(ValueError, match=f"cannot be read as {suffix}"):
                Recorded(path)
        np.save(tmp_path / "array.npy", LOSSES)
        (tmp_path / "array.npy").rename(tmp_path / "array.npz")
        with pytest.raises(ValueError, match=r"cannot be read as .npz: File is not a zip file"):
            Recorded(tmp_path / "array.npz")
        np.savez(tmp_path / "two.npz", first=LOSSES, second=LOSSES)
        with pytest.raises(ValueError, match=r"holds 2 arrays, choose one by key=: \['first', 'second'\]"):
            Recorded(tmp_path / "two.npz")
        with pytest.raises(
            UnknownNameError, match=r"unknown array of two.npz 'secnd': did you mean 'second'"
        ):
            Recorded(tmp_path / "two.npz", key="secnd")

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "bad.parquet"
        for table, message in [
            (
                {"a": [1, 2], "b": [3, None]},
                r"bad.parquet: row 2, column 2 \('b'\): the value is missing \(None\)",
            ),
            ({"day": ["mon", "tue"], "b": [3.0, 4.0]}, r"row 1, column 1 \('day'\): 'mon' is not a number"),
            (
                {"a": [1.0], "day": [datetime.date(2020, 1, 2)]},
                r"row 1, column 2 \('day'\).*'2020-01-02' is not a number but a date .*skip = \[\"day\"\]",
            ),
            (
                {"time": pa.array([5], pa.timestamp("ns")), "b": pa.array([5], pa.timestamp("ns"))},
                r"row 1, column 1 \('time'\).*'1970-01-01.*' is not a number",
            ),
            ({"a": pa.array([], pa.float64())}, "bad.parquet has no rows"),
            ({}, "bad.parquet has no rows"),
        ]:
            parquet.write_table(pa.table(table), path)
            with pytest.raises(ValueError, match=message):
                Recorded(path)
        path.write_text("not parquet")
        with pytest.raises(ValueError, match=r"bad.parquet cannot be read as .parquet"):
            Recorded(path)

    def test_parquet_without_the_extra(self, tmp_path, monkeypatch):
        (tmp_path / "losses.parquet").write_bytes(b"")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError, match=r'pip install "regret-envs\[parquet\]"'):
            Recorded(tmp_path / "losses.parquet")

    def test_no_file_or_no_format(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file of recorded losses at .*missing.csv"):
            Recorded(tmp_path / "missing.csv")
        with pytest.raises(ValueError, match=r"unknown format '.parq' .*did you mean '.parquet'"):
            Recorded("losses.parq")
        with pytest.raises(ValueError, match="unknown format ''"):
            Recorded("losses")

    def test_settings(self, tmp_path):
        for scale in (0.0, -1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match="loss_scale must be finite and positive"):
                Recorded(LOSSES, loss_scale=scale)
        with pytest.raises(ValueError, match="window must be at least 1, got 0"):
            Recorded(LOSSES, window=0)
        with pytest.raises(ValueError, match="holds 7 rounds, less than one window of 8"):
            Recorded(LOSSES, window=8)
        with pytest.raises(
            ValueError, match=r"key='a' names an array of an .npz file, but the source is an array"
        ):
            Recorded(LOSSES, key="a")
        with pytest.raises(ValueError, match=r"key='a' names .* but losses.csv is .csv"):
            Recorded("losses.csv", key="a")


class TestPlaying:
    def test_every_run_plays_the_sequence(self):
        play = simulate(Recorded(LOSSES), Uniform(), horizon=5, num_runs=2, record="losses")
        np.testing.assert_array_equal(play.losses[0], np.repeat(LOSSES[:5, None], 2, axis=1))

    def test_run_r_plays_window_r(self):
        stream = Recorded(LOSSES, window=2)
        assert stream.num_windows == 3
        play = simulate(stream, Uniform(), horizon=2, num_runs=3, record="losses")
        np.testing.assert_array_equal(play.losses[0].transpose(1, 0, 2), LOSSES[:6].reshape(3, 2, 3))
        last = simulate(stream, Uniform(), horizon=2, first_run=2, record="losses")
        np.testing.assert_array_equal(last.losses[0][:, 0], LOSSES[4:6])

    def test_a_horizon_below_the_window_plays_each_windows_first_rounds(self):
        play = simulate(Recorded(LOSSES, window=3), Uniform(), horizon=2, num_runs=2, record="losses")
        np.testing.assert_array_equal(play.losses[0].transpose(1, 0, 2), [LOSSES[:2], LOSSES[3:5]])

    def test_a_sequence_longer_than_a_block(self):
        long = np.random.default_rng(0).standard_normal((1000, 4))
        play = simulate(Recorded(long, window=500), Uniform(), horizon=500, num_runs=2, record="losses")
        np.testing.assert_array_equal(play.losses[0].transpose(1, 0, 2), long.reshape(2, 500, 4))

    def test_more_than_there_is(self):
        with pytest.raises(
            ValueError, match=r"horizon 8 is longer than the recorded stream.* has 7 rounds; give"
        ):
            simulate(Recorded(LOSSES), Uniform(), horizon=8)
        stream = Recorded(LOSSES, window=3)
        with pytest.raises(ValueError, match=r"horizon 4 is longer .* has 3 rounds per window"):
            simulate(stream, Uniform(), horizon=4)
        for more in ({"num_runs": 3}, {"first_run": 2}):
            with pytest.raises(ValueError, match=r"has 2 full windows of 3 rounds, one per run: run 2 "):
                simulate(stream, Uniform(), horizon=3, **more)


class TestPrices:
    @pytest.mark.parametrize(
        ("market", "shape", "best", "held", "rebalanced"),
        [
            ("nyse_o", (5651, 36), 54.140, 14.497, 27.075),
            ("djia", (507, 30), 1.1884, 0.764, 0.813),
            ("msci", (1043, 24), 1.5040, 0.906, 0.927),
            ("sp500", (1276, 25), 3.7792, 1.342, 1.649),
        ],
    )
    def test_wealth(self, market, shape, best, held, rebalanced):
        losses = prices(market).losses
        assert losses.shape == shape
        final = np.exp(-losses.sum(0))
        assert final.max() == pytest.approx(best, abs=5e-4)
        assert final.mean() == pytest.approx(held, abs=5e-4)
        assert np.exp(np.log(np.exp(-losses).mean(1)).sum()) == pytest.approx(rebalanced, abs=5e-4)

    def test_default_step_hardly_moves_at_natural_size(self):
        stream = streams.prices("nyse_o")
        hedge, uniform = (
            float(simulate(stream, agent, horizon=5651).regret()[0, 0]) for agent in (Hedge(), Uniform())
        )
        assert hedge == pytest.approx(1.628, abs=5e-4)
        assert uniform == pytest.approx(1.605, abs=5e-4)

    def test_windows(self):
        stream = streams.make("prices", market="nyse_o", loss_scale=0.02, window=250)
        assert stream.num_windows == 22
        np.testing.assert_allclose(stream.losses, prices("nyse_o").losses / 0.02, rtol=1e-15)
        assert repr(stream) == "<nyse_o, 5651 rounds × 36 actions, loss_scale=0.02, window=250>"

    def test_unknown_market(self):
        with pytest.raises(UnknownNameError, match="unknown market 'nyse': did you mean 'nyse_o'"):
            prices("nyse")


def test_streams_import_neither_pyarrow_nor_pandas():
    code = (
        "import sys, regret_envs; from regret_envs import streams; streams.prices('djia');"
        "sys.exit(bool({'pyarrow', 'pandas', 'scipy.stats', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_losses_whose_differences_are_lost_in_rounding_are_refused():
    losses = np.random.default_rng(0).random((50, 3))
    for level in (1e12, -1e15):
        with pytest.raises(ValueError, match=r"differ too little for their size.* Subtract a common level"):
            Recorded(losses + level)
    # What can be told apart, at whatever scale, and what does not differ at all, is taken.
    for fine in (losses + 1e6, 1e300 * losses, 1e-300 * losses, np.full((50, 3), 1e15)):
        assert Recorded(fine).losses.shape == (50, 3)
