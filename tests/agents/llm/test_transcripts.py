"""Transcripts of language models."""

from __future__ import annotations

import numpy as np
import pytest
from scripted_server import ScriptedServer, hedge, says

from regret_envs import simulate, streams
from regret_envs.agents.llm.agent import LanguageModel
from regret_envs.agents.llm.transcripts import TranscriptError, read
from regret_envs.play import Simulation


def script(request, number):
    # Run by run the first answer to round 2 cannot be read.
    bad = "It is round 2" in request["messages"][1]["content"] and len(request["messages"]) < 4
    return says("<b>no</b>") if bad else hedge(request)


def test_a_transcript_holds_what_was_asked_said_played_and_lost(tmp_path):
    with ScriptedServer(script) as server:
        agent = LanguageModel("m", base_url=server.base_url, digits=17, shuffle=True)
        agent.prepare("t", hides_losses=False, transcripts=tmp_path / "t")
        play = simulate(streams.Gaussian(3), [agent], horizon=3, num_runs=2, record=("policies", "losses"))
    assert len(list((tmp_path / "t").iterdir())) == 2
    for run in range(2):
        rounds = read(tmp_path / "t" / f"run-{run}.jsonl")
        assert [r.round for r in rounds] == [1, 2, 3]
        assert [len(r.answers) for r in rounds] == [1, 2, 1]
        assert [len(r.messages) for r in rounds] == [2, 4, 2]
        for t, exchange in enumerate(rounds):
            names = sorted(exchange.policy)
            np.testing.assert_array_equal([exchange.policy[name] for name in names], play.policies[0][t, run])
            np.testing.assert_array_equal([exchange.losses[name] for name in names], play.losses[0][t, run])
            assert not exchange.fallback


def test_a_saved_simulation_goes_on_with_its_transcript(tmp_path):
    def make(server, folder):
        agent = LanguageModel("m", base_url=server.base_url, digits=17)
        agent.prepare("t", hides_losses=False, transcripts=tmp_path / folder)
        return Simulation(streams.Gaussian(3), [agent], horizon=6, num_runs=2)

    with ScriptedServer(hedge) as server:
        whole, part = make(server, "whole"), make(server, "part")
        whole.advance(3)
        whole.advance(6)
        part.advance(3)
        part.save(tmp_path / "state")
        part.advance(5)  # and is killed: rounds 4 and 5 are played again
        part = Simulation.load(tmp_path / "state")
        part.advance(6)
    np.testing.assert_array_equal(part.play().regret(), whole.play().regret())
    assert read(tmp_path / "part" / "run-0.jsonl") == read(tmp_path / "whole" / "run-0.jsonl")
    assert len(server.requests) == 12


def test_what_is_no_transcript_is_told(tmp_path):
    file = tmp_path / "x.jsonl"
    for text, why in {"": "no transcript", "{}\n": "line 1", '{"round": 1': "unfinished"}.items():
        file.write_text(text)
        with pytest.raises(TranscriptError, match=why):
            read(file)
