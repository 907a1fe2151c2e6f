"""Tables: what a header is, what a cell is, and what a column is, in CSV and Parquet alike."""

import logging

import numpy as np
import pytest

from regret_envs.names import UnknownNameError
from regret_envs.streams import Recorded
from regret_envs.streams.tables import TableSettings, read_table

VALUES = [[0.1, 0.5, 0.9], [0.2, 0.6, 0.8]]
BELOW = "0.1,0.5,0.9\n0.2,0.6,0.8\n"


@pytest.fixture
def read(tmp_path):
    def read(text, **settings):
        path = tmp_path / "table.csv"
        path.write_text(text, encoding="utf-8", newline="")
        return read_table(path, TableSettings(**settings))

    return read


@pytest.fixture
def read_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def read(cells, **settings):
        parquet.write_table(pa.table(cells), tmp_path / "table.parquet")
        return read_table(tmp_path / "table.parquet", TableSettings(**settings))

    return read


class TestHeaders:
    @pytest.mark.parametrize(
        "header",
        [
            "a,b,",
            "TD,NA,RY",
            "a,\x85,c",
            ",b,c",
            "day,1,2",
            "nan,x,null",
            "True,b,c",
            "2020-01-01,x,2020-01-03",
        ],
    )
    def test_a_row_with_a_word_names_the_columns(self, read, header):
        table = read(f"{header}\n{BELOW}")
        np.testing.assert_array_equal(table.values, VALUES)
        assert table.notes == (f"table.csv: the first row ({header.replace(',', ', ')}) names the columns",)

    def test_plain_words_need_no_note(self, read):
        assert read(f"a,b,c\n{BELOW}").notes == ()

    def test_dates_over_numbers_are_a_header(self, read):
        np.testing.assert_array_equal(read(f"2020-01,2020-02,2020-03\n{BELOW}").values, VALUES)

    @pytest.mark.parametrize(
        "header",
        [
            *("0,1,2", "0.0,1.0,2.0", "1,2,3", "7203,6758,9984", "2019,2020,2021", "2,0,1", ",0,1", "NA,0,1"),
            *(
                "1_000,2,3.5",
                "$5,1,2",
                "−1,2,3",
                "(1),2,3",
                "'1','2','3'",
                "1'000,2.5,3",
                "1990.0,1991.0,1992.0",
            ),
        ],
    )
    def test_numbers_that_may_be_names_are_refused(self, read, header):
        with pytest.raises(ValueError, match=r"may be a header.*header = true .*header = false"):
            read(f"{header}\n{BELOW}")
        np.testing.assert_array_equal(read(f"{header}\n{BELOW}", header=True).values, VALUES)

    @pytest.mark.parametrize("header", ["0,1,2", "2019,2020,2021", "7203,6758,9984"])
    def test_over_whole_numbers_too(self, read, header):
        with pytest.raises(ValueError, match="may be a header"):
            read(f"{header}\n4,5,6\n7,8,6\n")
        assert read(f"{header}\n4,5,6\n7,8,6\n", header=False).values.shape == (3, 3)

    @pytest.mark.parametrize(
        "text",
        ["1,2\n3,4\n", "1.5,2\n3,4\n", "0,0\n0.5,1\n", "3,1,2\n4,1,2\n", "-1,4\n2,3\n", "1990.5,1\n2,3\n"],
    )
    def test_losses_without_a_header(self, read, text):
        rows = [[float(cell) for cell in line.split(",")] for line in text.split()]
        np.testing.assert_array_equal(read(text).values, rows)

    def test_marks_in_every_row_are_no_header(self, read):
        with pytest.raises(ValueError, match=r"row 1, column 1: '0,5' is not a number: write decimal"):
            read('"0,5","1,5"\n"2,5","3,5"\n')

    def test_a_missing_first_loss_says_how_to_make_it_a_header(self, read):
        with pytest.raises(ValueError, match=r"row 1, column 2: the value is missing.*header = true"):
            read("0.5,NA\n3,4\n")


class TestCells:
    def test_truth_values(self, read, read_parquet):
        for table in (
            read("a,b\ntrue,0.5\nFalse,1\n"),
            read_parquet({"a": [True, False], "b": [0.5, 1]}),
            read_parquet({"a": ["True", "false"], "b": [0.5, 1]}),
        ):
            np.testing.assert_array_equal(table.values, [[1, 0.5], [0, 1]])
            assert len(table.notes) == 1 and "true and false are read as 1 and 0" in table.notes[0]

    def test_truth_values_without_a_header(self, read):
        np.testing.assert_array_equal(read("True,False\nFalse,True\n").values, [[1, 0], [0, 1]])

    def test_percentages(self, read, read_parquet):
        for table in (read("a,b\n5%,0.5\n-1.5 %,1\n"), read_parquet({"a": ["5%", "-1.5%"], "b": [0.5, 1]})):
            np.testing.assert_allclose(table.values, [[0.05, 0.5], [-0.015, 1]], rtol=1e-15)
            assert "column 1 ('a'): percentages are read as hundredths" in table.notes[0]
        np.testing.assert_allclose(read("5%,6%\n7%,8%\n").values, [[0.05, 0.06], [0.07, 0.08]])

    def test_a_column_is_written_in_one_way(self, read):
        for second in ("5%", "true"):
            with pytest.raises(
                ValueError, match=rf"row 3, column 1 \('a'\): '{second}' is not a number like"
            ):
                read(f"a,b\n0.5,1\n{second},1\n")
        with pytest.raises(ValueError, match=r"row 3, column 1 \('a'\): '0.5' is not a number like those"):
            read("a,b\n5%,1\n0.5,1\n")

    @pytest.mark.parametrize("cell", ["1_000", '"1,000"', "1'000", "0x10", "1e", "٣", "--1", "5 6", "$3"])
    def test_what_python_or_people_take_for_numbers(self, read, read_parquet, cell):
        with pytest.raises(ValueError, match=r"row 2, column 2 \('b'\): .* is not a number"):
            read(f"a,b\n0.5,{cell}\n")
        with pytest.raises(ValueError, match=r"row 1, column 2 \('b'\): .* is not a number"):
            read_parquet({"a": [0.5], "b": [cell]})

    @pytest.mark.parametrize(
        "date",
        [
            "2020-01-31",
            "2020/1/31 09:30",
            "31.01.2020",
            "1/31/20",
            "31-Jan-2020",
            "2020-01-31T09:30:00Z",
            "09:30",
        ],
    )
    def test_dates_say_what_to_write(self, read, read_parquet, date):
        for bad in (
            lambda: read(f"when,b\n{date},1.5\n"),
            lambda: read_parquet({"when": [date], "b": [1.5]}),
        ):
            with pytest.raises(ValueError, match=r'not a number but a date or time: write skip = \["when"\]'):
                bad()
        with pytest.raises(ValueError, match=r"row 1, column 1: .*: write skip = \[0\]"):
            read(f"{date},1.5\n{date},2.5\n")
        np.testing.assert_array_equal(read(f"{date},1.5\n{date},2.5\n", skip=[0]).values, [[1.5], [2.5]])
        np.testing.assert_array_equal(read(f"when,b\n{date},1.5\n", skip=["when"]).values, [[1.5]])

    def test_decimal_commas(self, read):
        with pytest.raises(ValueError, match=r'cells must lie between commas, got .*: write separator = ";"'):
            read("a;b\n1,5;2,5\n")
        with pytest.raises(ValueError, match=r"'1,5' is not a number: write decimal = \",\""):
            read("a;b\n1,5;2,5\n", separator=";")
        np.testing.assert_array_equal(read("a;b\n1,5;2\n", separator=";", decimal=",").values, [[1.5, 2]])
        with pytest.raises(ValueError, match=r"'1.5' is not a number: write decimal = \"\.\""):
            read("a;b\n1.5;2\n", separator=";", decimal=",")
        np.testing.assert_array_equal(read("a\tb\n1\t2\n", separator="\t").values, [[1, 2]])


class TestColumns:
    @pytest.mark.parametrize(
        "text",
        [
            ",a,b\n0,0.1,0.5\n1,0.2,0.6\n",
            ",a,b\n1,0.1,0.5\n2,0.2,0.6\n",
            "round,a,b\n1,3,4\n2,5,6\n",
            "Unnamed: 0,a,b\n5,0.1,0.5\n7,0.2,0.6\n",
            "0,0.1,0.5\n1,0.2,0.6\n2,0.2,0.6\n",
            "when,a\n20200130,0.1\n20200131,0.2\n",
            "year,a\n1999,0.1\n2000,0.2\n",
        ],
    )
    def test_row_labels(self, read, text):
        with pytest.raises(ValueError, match=r"look like row labels. Write skip = \[.*skip = \[\]"):
            read(text)
        rows = [line.split(",") for line in text.split("\n")[:-1]]
        if not rows[0][1].replace(".", "").isdigit():
            rows = rows[1:]
        values = np.array(rows, dtype=float)
        np.testing.assert_array_equal(read(text, skip=[0]).values, values[:, 1:])
        np.testing.assert_array_equal(read(text, skip=[]).values, values)
        np.testing.assert_array_equal(read(text, columns=[1, 0]).values, values[:, [1, 0]])

    def test_row_labels_in_parquet(self, read_parquet):
        columns = {"__index_level_0__": [0, 1], "a": [0.5, 0.25]}
        with pytest.raises(ValueError, match=r'look like row labels. Write skip = \["__index_level_0__"\]'):
            read_parquet(columns)
        np.testing.assert_array_equal(read_parquet(columns, columns=["a"]).values, [[0.5], [0.25]])

    def test_whole_losses_are_losses(self, read):
        np.testing.assert_array_equal(read("a,b\n0,3\n1,2\n1,5\n").values, [[0, 3], [1, 2], [1, 5]])

    def test_by_name_and_number(self, read):
        text = f"a,b,c\n{BELOW}"
        np.testing.assert_array_equal(read(text, columns=["c", 0]).values, np.array(VALUES)[:, [2, 0]])
        np.testing.assert_array_equal(read(text, skip=["b"]).values, np.array(VALUES)[:, [0, 2]])
        with pytest.raises(UnknownNameError, match=r"unknown column of table.csv 'bb': did you mean 'b'"):
            read(text, skip=["bb"])
        with pytest.raises(ValueError, match="columns 0 … 2, there is no column 3"):
            read(text, columns=[3])
        with pytest.raises(ValueError, match="no column names: give 'a' as a number"):
            read(BELOW, columns=["a"])
        with pytest.raises(ValueError, match="several columns 'a'"):
            read(f"a,a,c\n{BELOW}", columns=["a"])
        np.testing.assert_array_equal(
            read(f"0,1,2\n{BELOW}", columns=["0", "2"]).values, np.array(VALUES)[:, [0, 2]]
        )

    def test_settings(self):
        for wrong, error in (
            ({"columns": "a"}, TypeError),
            ({"columns": [True]}, TypeError),
            ({"columns": []}, ValueError),
            ({"columns": ["a"], "skip": ["b"]}, ValueError),
            ({"skip": [1, 1]}, ValueError),
            ({"header": "yes"}, TypeError),
            ({"separator": ", "}, ValueError),
            ({"decimal": ","}, ValueError),
        ):
            with pytest.raises(error):
                TableSettings(**wrong)
        with pytest.raises(ValueError, match="has no cells"):
            Recorded(VALUES, skip=[0])


class TestRecorded:
    def test_rewards(self):
        np.testing.assert_array_equal(Recorded(VALUES, sign="rewards").losses, -np.array(VALUES))
        with pytest.raises(UnknownNameError, match="did you mean 'rewards'"):
            Recorded(VALUES, sign="reward")

    def test_prices(self):
        prices = [[1.0, 8.0], [2.0, 4.0], [1.0, 4.0]]
        expected = np.log(2) * np.array([[-1, 1], [1, 0]])
        np.testing.assert_allclose(Recorded(prices, transform="log_returns").losses, expected, rtol=1e-15)
        relatives = Recorded([[2.0, 0.5], [0.5, 1.0]], transform="log_relatives", loss_scale=2)
        np.testing.assert_allclose(relatives.losses, expected / 2, rtol=1e-15)
        with pytest.raises(ValueError, match="row 1, column 0, counted from 0, is 0"):
            Recorded([[1.0], [0.0]], transform="log_returns")
        with pytest.raises(ValueError, match="leave out sign"):
            Recorded(prices, transform="log_returns", sign="rewards")
        with pytest.raises(ValueError, match="needs two rows"):
            Recorded([[1.0]], transform="log_returns")

    def test_the_fingerprint_of_prices_does_not_depend_on_the_logarithm(self, monkeypatch):
        prices = [[1.0, 8.0], [2.0, 4.0]]
        mine = Recorded(prices, transform="log_returns")
        log = np.log
        monkeypatch.setattr(np, "log", lambda x: log(x) * (1 + 2**-52))
        other = Recorded(prices, transform="log_returns")
        assert not np.array_equal(mine.losses, other.losses)
        assert mine.fingerprint == other.fingerprint
        settings = ({}, {"loss_scale": 2.0}, {"transform": None}, {"transform": "log_relatives"})
        prints = {Recorded(prices, **{"transform": "log_returns", **s}).fingerprint for s in settings}
        assert len(prints) == 4

    def test_a_rule_that_was_applied_is_said_once(self, tmp_path, caplog):
        path = tmp_path / "said-once.csv"
        path.write_text(f"a,NA,c\n{BELOW}")
        with caplog.at_level(logging.WARNING, logger="regret_envs"):
            first, _ = Recorded(path), Recorded(path)
        assert first.notes == ("said-once.csv: the first row (a, NA, c) names the columns",)
        assert [record.message for record in caplog.records] == list(first.notes)

    def test_a_table_is_parsed_once(self, tmp_path, monkeypatch):
        path = tmp_path / "once.csv"
        path.write_text(BELOW)
        one = Recorded(path)
        monkeypatch.setattr("csv.reader", None)
        np.testing.assert_array_equal(Recorded(path).losses, one.losses)

    def test_a_header_that_announces_72_tib(self, tmp_path):
        path = tmp_path / "huge.npy"
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10)}
            )
            file.write(b"\0" * 80)
        with pytest.raises(ValueError, match=r"huge.npy cannot be read as .npy: its header announces 8000"):
            Recorded(path)
        np.savez(tmp_path / "huge.npz", losses=np.array(VALUES))
        import zipfile

        with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
            archive.write(path, "losses.npy")
        with pytest.raises(ValueError, match=r"huge.npz cannot be read as .npz: its header announces 8000"):
            Recorded(tmp_path / "huge.npz")
