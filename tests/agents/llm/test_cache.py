"""The cache of answers."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from regret_envs.agents.llm.cache import Answer, AnswerCache, CacheError, cache_folder, request_key


def test_an_answer_is_kept(tmp_path):
    answer = Answer("é {}", "length", None, 12, 3, 0.25, 2)
    AnswerCache(tmp_path).put("k", answer)
    assert AnswerCache(tmp_path).get("k") == answer
    assert AnswerCache(tmp_path).get("other") is None


def test_the_first_answer_stays(tmp_path):
    here, there = AnswerCache(tmp_path), AnswerCache(tmp_path)
    here.put("k", Answer("first"))
    assert there.put("k", Answer("second")).text == "first"
    assert here.get("k").text == "first"


def _put_and_die(folder):
    cache = AnswerCache(folder)
    for k in range(100):
        cache.put(str(k), Answer(str(k)))
    os.kill(os.getpid(), signal.SIGKILL)


def test_answers_survive_a_killed_process(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=_put_and_die, args=(tmp_path,))
    process.start()
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    assert [AnswerCache(tmp_path).get(str(k)).text for k in range(100)] == [str(k) for k in range(100)]


def test_a_file_that_is_something_else_is_named(tmp_path):
    (tmp_path / "answers.sqlite").write_text("not a database, but long enough to look like one" * 50)
    with pytest.raises(CacheError, match=r"answers\.sqlite.*REGRET_ENVS_CACHE"):
        AnswerCache(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="REGRET_ENVS_CACHE"):
        AnswerCache(tmp_path / "file")


def test_keys_tell_requests_apart():
    base = {"server": "a", "model": "m", "settings": {"t": 0.5}, "messages": [{"role": "user"}], "sample": 1}
    others = [{**base, key: "other"} for key in base]
    keys = {request_key(**request) for request in [base, *others]}
    assert len(keys) == 1 + len(base)
    assert request_key(**base) == request_key(**dict(reversed(base.items())))


def test_the_folder_is_the_users_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("REGRET_ENVS_CACHE", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x"
    monkeypatch.delenv("REGRET_ENVS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "regret-envs"
