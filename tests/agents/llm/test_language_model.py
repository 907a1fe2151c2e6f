"""Language models as agents, against scripted servers."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pytest
from scripted_server import Reply, ScriptedServer, actions_of, hedge, problem, says, uniform

from regret_envs import games, simulate, streams
from regret_envs.agents import Hedge
from regret_envs.agents.llm import client
from regret_envs.agents.llm.agent import LanguageModel
from regret_envs.games import NormalFormGame


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(client, "FIRST_WAIT", 0.01)


def play(agent, world=None, **settings):
    settings = {"horizon": 4, "num_runs": 3, "record": ("policies", "losses"), **settings}
    return simulate(streams.Gaussian(3) if world is None else world, [agent], **settings)


def model(server, **settings):
    return LanguageModel("m", base_url=server.base_url, **settings)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_model_that_plays_hedge_lands_on_hedge(shuffle):
    with ScriptedServer(hedge) as server:
        said = play(model(server, digits=17, shuffle=shuffle), horizon=12, starting_loss_scale=1.0)
    expected = play(Hedge(), horizon=12, starting_loss_scale=1.0)
    np.testing.assert_allclose(said.policies[0], expected.policies[0], atol=1e-9)
    np.testing.assert_allclose(said.regret(), expected.regret(), atol=1e-9)
    assert len(server.requests) == 12 * 3


def test_a_game_is_played_as_hedge_plays_it():
    game = games.make("chicken")
    with ScriptedServer(hedge) as server:
        agents = [model(server, digits=17), model(server, digits=17)]
        said = simulate(game, agents, horizon=8, num_runs=2, starting_loss_scale=1.0)
    expected = simulate(game, [Hedge(), Hedge()], horizon=8, num_runs=2, starting_loss_scale=1.0)
    np.testing.assert_allclose(said.regret(), expected.regret(), atol=1e-9)


def test_nothing_is_asked_twice():
    with ScriptedServer(hedge) as server:
        first = play(model(server))
        count = len(server.requests)
        second = play(model(server))
        assert len(server.requests) == count
        more = play(model(server), num_runs=5)
        assert len(server.requests) == count + 2 * 4
    np.testing.assert_array_equal(first.policies[0], second.policies[0])
    np.testing.assert_array_equal(more.policies[0][:, :3], first.policies[0])


def test_runs_of_a_round_are_asked_together_within_the_limit():
    together = threading.Barrier(5)

    def script(request, number):
        if "It is round 1." not in request["messages"][1]["content"]:
            together.wait(60)  # until so many are in flight
        return uniform(request)

    with ScriptedServer(script) as server:
        play(model(server, concurrency=5), num_runs=10, horizon=3)
    assert server.peak == 5


BAD = {
    "text": "I would rather not say",
    "sum": '{"A": 0.9, "B": 0.9, "C": 0.9}',
    "nan": '{"A": NaN, "B": 0.5, "C": 0.5}',
    "nothing": "",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_asked_again_and_counted(bad):
    def script(request, number):
        return says(bad) if len(request["messages"]) < 4 else uniform(request)

    with ScriptedServer(script) as server:
        agent = model(server)
        play(agent)
    assert agent.usage.malformed == agent.usage.decisions == 12
    assert agent.usage.fallbacks == 0
    assert agent.usage.requests == len(server.requests) == 24
    last = server.requests[-1]["messages"]
    assert last[2] == {"role": "assistant", "content": bad or "(nothing)"}
    assert last[3]["content"].startswith("This answer cannot be used: ")


def test_what_stays_unreadable_is_uniform_play_and_counted():
    with ScriptedServer(lambda r, n: says(None, refusal="I do not gamble.")) as server:
        agent = model(server, attempts=2)
        said = play(agent)
    np.testing.assert_array_equal(said.policies[0], 1 / 3)
    assert agent.usage.fallbacks == agent.usage.decisions == 12
    assert agent.usage.requests == 24
    assert "I do not gamble." in agent.usage.examples[0]


def test_a_server_without_formats_is_asked_without():
    def script(request, number):
        return (
            problem(400, "response_format is not supported")
            if "response_format" in request
            else uniform(request)
        )

    with ScriptedServer(script) as server:
        play(model(server))
    assert sum("response_format" in request for request in server.requests) == 1


@pytest.mark.parametrize(
    "failure",
    [
        problem(429, "slow down", headers={"Retry-After": "0.2"}),
        problem(429, "slow down"),
        problem(500, "oops"),
        problem(503, "busy"),
        Reply('{"choices": [', cut=None),
        Reply(says("x").body, cut=20),
        Reply(says("x").body, delay=3.0),
    ],
    ids=["retry-after", "429", "500", "503", "not-json", "truncated", "hanging"],
)
def test_failures_that_pass_are_retried_and_counted(failure):
    failed = []

    def script(request, number):
        if number % 4 == 1:
            failed.append(number)
            return failure
        return hedge(request)

    with ScriptedServer(script) as server:
        agent = model(server, digits=17, timeout=1.0 if failure.delay else 60.0)
        said = play(agent)
    np.testing.assert_allclose(said.policies[0], play(Hedge()).policies[0], atol=1e-9)
    # A slow machine may miss the timeout for other requests too.
    assert agent.usage.retries >= len(failed) if failure.delay else agent.usage.retries == len(failed)
    assert agent.usage.requests == 12


def test_retry_after_is_kept_to_by_all():
    import time

    times = []

    def script(request, number):
        times.append(time.monotonic())
        return problem(429, "wait", headers={"Retry-After": "1"}) if number == 0 else uniform(request)

    with ScriptedServer(script) as server:
        play(model(server), horizon=1)
    assert times[1] - times[0] >= 0.99


def test_a_failure_that_stays_is_one_line_with_what_the_server_said():
    def script(request, number):
        return problem(500, "the GPU is on fire") if number else uniform(request)

    with ScriptedServer(script) as server, pytest.raises(client.LanguageModelError) as caught:
        play(model(server, max_retries=2))
    assert "the GPU is on fire" in str(caught.value)
    assert "3 tries" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_model_is_told_with_the_list():
    with (
        ScriptedServer(
            lambda r, n: problem(404, "The model m2 does not exist"), models=["small", "large"]
        ) as server,
        pytest.raises(client.LanguageModelError, match=r"m2.*small, large"),
    ):
        play(LanguageModel("m2", base_url=server.base_url))
    assert len(server.requests) <= 2


def test_no_server(monkeypatch):
    with ScriptedServer() as server:
        url = server.base_url
    with pytest.raises(client.LanguageModelError, match=r"(?i)connect.* base_url its address") as caught:
        play(LanguageModel("m", base_url=url))
    assert "no answer within" not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply("<html>Hello</html>", content_type="text/html"), "text and not with"),
        (Reply({"hello": "world"}), "not a chat completion"),
        (Reply([1, 2]), "not a chat completion"),
        (Reply("", status=307, headers={"Location": "http://127.0.0.1:9/v1"}), "elsewhere"),
        (problem(401, "Incorrect API key provided: sekret"), "api_key_env"),
        (problem(404, "no"), "model=m"),
        (problem(418, "teapot"), "teapot"),
    ],
)
def test_what_is_no_server_is_said_at_once(reply, why):
    with ScriptedServer(lambda r, n: reply) as server, pytest.raises(client.LanguageModelError, match=why):
        play(model(server))
    assert len(server.requests) <= 2


def test_bandit_feedback_shows_the_drawn_loss_alone():
    from regret_envs.feedback import Bandit

    with ScriptedServer() as server:
        agent = model(server)
        with pytest.raises(ValueError, match="losses of all actions"):
            play(agent, streams.Gaussian(2), feedback=[Bandit()])
        agent.prepare("a task", hides_losses=True)
        said = play(agent, streams.Gaussian(2), feedback=[Bandit()], num_runs=2)
    policies, losses = said.policies[0], said.losses[0]
    assert set(np.unique(policies)) == {0.0, 1.0}
    last = [
        r["messages"][1]["content"] for r in server.requests if "It is round 4" in r["messages"][1]["content"]
    ]
    for run in range(2):
        seen = (policies * losses)[:3, run].sum(-1)
        assert any(all(f"{x:.4g}" in text for x in seen) for text in last)
        assert not any(
            all(f"{x:.4g}" in text for x in losses[:3, run][policies[:3, run] == 0]) for text in last
        )


def test_a_history_too_long_is_told_before_anything_is_asked():
    with ScriptedServer() as server:
        with pytest.raises(ValueError, match=r"about \d+ tokens.*context=2000.*summary"):
            play(model(server, context=2000), horizon=500)
        play(model(server, context=2000, prompts="summary"), horizon=8)
        assert len(server.requests) == 8 * 3


def test_action_answers_are_pure_play():
    def script(request, number):
        names = request["response_format"]["json_schema"]["schema"]["properties"]["action"]["enum"]
        return says(json.dumps({"action": names[0]}))

    with ScriptedServer(script) as server:
        said = play(model(server, answer="action", shuffle=True), num_runs=20, horizon=1)
    first = said.policies[0][0].argmax(-1)
    assert set(first) == {0, 1, 2}  # a model that always takes the first option plays every action
    assert actions_of


def test_settings_are_sent_and_runs_have_seeds_of_their_own():
    with ScriptedServer() as server:
        play(model(server, temperature=0.5, top_p=0.9, max_tokens=77, seed=3), horizon=1)
    assert {(r["temperature"], r["top_p"], r["max_tokens"], r["model"]) for r in server.requests} == {
        (0.5, 0.9, 77, "m")
    }
    assert len({r["seed"] for r in server.requests}) == 3


def test_game_prompts_show_the_payoffs_and_what_the_other_played():
    game = NormalFormGame([[[1, 2, 3], [4, 5, 6]], [[10, 20, 30], [40, 50, 60]]])
    shown = {}

    def script(request, number):
        user = request["messages"][1]["content"]
        shown[len(actions_of(request)), int(re.search(r"It is round (\d+)", user)[1])] = user
        names = actions_of(request)
        return says(
            json.dumps({name: 0.75 if k == 0 else 0.25 / (len(names) - 1) for k, name in enumerate(names)})
        )

    with ScriptedServer(script) as server:
        agents = [model(server, prompts="game"), model(server, prompts="game")]
        simulate(game, agents, horizon=3)
    row, column = shown[2, 3], shown[3, 3]
    assert "if you play B: 4 against a, 5 against b, 6 against c" in row
    assert "if you play C: 30 against a, 60 against b" in column
    assert "Round 1: you played A 0.75, B 0.25; the other player played a 0.75, b 0.125, c 0.125" in row
    assert "the other player played a 0.75, b 0.25" in column
    # 0.75 · (0.75 + 0.25 + 0.375) + 0.25 · (3 + 0.625 + 0.75)
    assert "your payoff was 2.125" in row


def test_game_prompts_need_a_game():
    with ScriptedServer() as server, pytest.raises(ValueError, match="a game of two players"):
        play(model(server, prompts="game"))
    assert not server.requests
