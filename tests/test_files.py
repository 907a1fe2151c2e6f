import pytest

from regret_envs.files import replacing


def test_a_file_is_replaced_once_it_is_whole(tmp_path):
    path = tmp_path / "file.txt"
    for text in ("first", "second"):
        with replacing(path) as part:
            part.write_text(text)
            assert part.parent == path.parent and not (text == "first" and path.exists())
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_broken_off_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as part:
        part.write_text("ne")
        raise error
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_nothing_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file.txt"):
        pass
