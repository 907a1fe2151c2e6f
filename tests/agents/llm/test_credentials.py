"""Keys go where their owner sent them, and nowhere else."""

from __future__ import annotations

import pickle
import sqlite3
import traceback

import pytest
from scripted_server import ScriptedServer, problem, says, uniform

from regret_envs import simulate, streams
from regret_envs.agents import registry
from regret_envs.agents.llm.agent import LanguageModel
from regret_envs.agents.llm.cache import cache_folder
from regret_envs.agents.llm.credentials import DEFAULT_BASE_URL, CredentialsError, key_for, trusting

HOME, OTHER = DEFAULT_BASE_URL, "http://127.0.0.1:8000/v1"


def _no_network(*_, **__):
    raise AssertionError("a connection was tried")


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sekret-default")
    monkeypatch.setenv("MY_KEY", "sekret-mine")


@pytest.mark.parametrize(
    ("base_url", "variable", "trust", "key"),
    [
        (HOME, None, "typed", "sekret-default"),
        (HOME, "MY_KEY", "typed", "sekret-mine"),
        (OTHER, None, "typed", None),
        (OTHER, "OPENAI_API_KEY", "typed", "sekret-default"),
        (OTHER, "MY_KEY", "typed", "sekret-mine"),
        (HOME, None, "allowed", "sekret-default"),
        (HOME, "OPENAI_API_KEY", "allowed", "sekret-default"),
        (OTHER, None, "allowed", None),
        ("http://api.openai.com/v1", None, "typed", None),
        ("https://api.openai.com:444/v1", None, "typed", None),
        ("https://api.openai.com.evil.example/v1", None, "typed", None),
        ("https://API.openai.com/v1", None, "typed", "sekret-default"),
    ],
)
def test_which_key_goes_where(keys, base_url, variable, trust, key):
    assert key_for(base_url, variable, trust) == key


@pytest.mark.parametrize(
    ("base_url", "variable"), [(OTHER, "OPENAI_API_KEY"), (OTHER, "MY_KEY"), (HOME, "MY_KEY")]
)
def test_a_suite_file_sends_no_key_elsewhere(keys, base_url, variable):
    with pytest.raises(CredentialsError, match=f"{variable}.*command line") as caught:
        key_for(base_url, variable, "allowed")
    assert "sekret" not in str(caught.value)


def test_a_missing_key_names_its_variable(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(CredentialsError, match="export OPENAI_API_KEY"):
        key_for(HOME, None, "typed")
    with pytest.raises(CredentialsError, match="MY_KEY is not set"):
        key_for(OTHER, "MY_KEY", "typed")


@pytest.mark.parametrize(
    "spec",
    [
        "llm[model=m,base_url=http://user:sekret@127.0.0.1:9/v1]",
        "llm[model=m,base_url=http://sekret@127.0.0.1:9/v1]",
        "llm[model=m,base_url='http://127.0.0.1:9/v1?key=sekret']",
        "llm[model=m,base_url='http://127.0.0.1:9/v1#sekret']",
        "llm[model=m,api_key_env=sk-sekret]",
        "llm[model=m,api_key=sk-sekret]",
        "llm[model=m,api_key_env=sekret",
        "llm[model=m,base_url=ftp://sekret@host/v1]",
    ],
)
def test_secrets_in_specs_are_refused_and_not_shown(spec):
    with pytest.raises(ValueError) as caught:
        registry.make(spec)
    assert "sekret" not in "".join(traceback.format_exception(caught.value))


def play(server, **settings):
    agent = LanguageModel("m", base_url=server.base_url, **settings)
    simulate(streams.Gaussian(2), [agent], horizon=2, num_runs=2)
    return agent


def test_the_default_key_does_not_leave_for_another_host(keys, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "sekret-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "sekret-project")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sekret-admin")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sekret-custom\nX-Key: sekret-x")
    with ScriptedServer() as server:
        play(server)
    assert len(server.headers) == 4
    assert "sekret" not in str(server.headers) + str(server.requests)


def test_a_typed_key_arrives_and_stays_nowhere(keys):
    with ScriptedServer(lambda r, n: says("Bearer sekret-mine") if n == 0 else uniform(r)) as server:
        agent = play(server, api_key_env="MY_KEY")
    assert {headers["authorization"] for headers in server.headers} == {"Bearer sekret-mine"}
    assert b"sekret" not in pickle.dumps(agent)
    assert "sekret" not in repr(agent)
    (database,) = cache_folder().glob("*.sqlite")
    rows = sqlite3.connect(database).execute("SELECT * FROM answers").fetchall()
    assert rows
    assert "sekret" not in str(rows)
    for file in cache_folder().rglob("*"):
        assert not file.is_file() or b"sekret" not in file.read_bytes()


def test_an_echoed_key_is_in_no_traceback(keys):
    with (
        ScriptedServer(lambda r, n: problem(401, "no such key: sekret-mine")) as server,
        pytest.raises(RuntimeError, match="MY_KEY") as caught,
    ):
        play(server, api_key_env="MY_KEY")
    assert "sekret" not in "".join(traceback.format_exception(caught.value))


def test_no_request_is_redirected(keys):
    with ScriptedServer() as elsewhere:

        def script(request, number):
            reply = problem(307, "over there", headers={"Location": f"{elsewhere.base_url}/chat/completions"})
            return reply

        with ScriptedServer(script) as server, pytest.raises(RuntimeError, match="elsewhere"):
            play(server, api_key_env="MY_KEY")
    assert not elsewhere.requests


def test_an_untyped_model_answers_from_the_cache_alone():
    with ScriptedServer() as server:
        play(server)
        count = len(server.requests)
        with trusting("offline"):
            play(server)
            with pytest.raises(RuntimeError, match="--allow-llm"):
                play(server, temperature=0.5)
        assert len(server.requests) == count
        with trusting("allowed"):
            play(server, temperature=0.5)
        assert len(server.requests) == 2 * count
