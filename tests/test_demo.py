"""The demo: the story is whole and always the same, and the answers show what they are said to show."""

from __future__ import annotations

import json
import socket
from datetime import timedelta

import pytest

from recollect import Memory
from recollect.cli import main
from recollect.demo import EXPECTED, NOW, QUESTIONS, Clock, live_through, story


@pytest.fixture
def memory():
    clock = Clock()
    with Memory.open("memory:", owner="nora", embedder="static", clock=clock) as memory:
        live_through(memory, clock)
        yield memory


def test_the_story_is_some_hundred_lines_over_months():
    sessions = story()
    turns = [turn for session in sessions for turn in session.turns]
    assert 90 <= len(turns) <= 130 and len(sessions) >= 5
    assert len({turn["id"] for turn in turns}) == len(turns)
    assert {turn["speaker"] for turn in turns} == {"Nora", "Fern"}
    assert [session.at for session in sessions] == sorted(session.at for session in sessions)
    assert sessions[-1].at < NOW and NOW - sessions[0].at > timedelta(days=120)
    assert all(turn["text"].strip() == turn["text"] != "" for turn in turns)


def test_it_is_remembered_when_it_happened_and_only_once(memory):
    first, last = memory.get("hello-1"), memory.get("rain-15")
    assert first.recorded_at - first.at < timedelta(hours=1) and first.recorded_at < last.at < NOW
    assert live_through(memory, Clock()) == memory.status()["records"]


def test_the_three_questions_show_what_they_say(memory):
    now, then, key = (memory.recall(question.text, recipe=question.recipe, as_of=question.as_of) for question in QUESTIONS)
    assert "Porto" in now[0].text and now[0].explain["decay"] < 1
    assert "Lisbon" in then[0].text and all("Porto" not in hit.text for hit in then)
    assert any("Mrs Vandewalle, keeps our spare key" in hit.text for hit in key)
    why_not = memory.explain(QUESTIONS[0].text, recipe=QUESTIONS[0].recipe, expect=EXPECTED)
    assert "Lisbon" in memory.get(EXPECTED).text and why_not.gate == "beyond the limit"


def test_the_command_needs_no_network_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    def no_network(*_):
        raise AssertionError("the demo asked for the network")

    for name, value in {"HOME": str(tmp_path), "OPENAI_API_KEY": "sk-none", "RECOLLECT_EMBEDDER": "openai"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    for question in QUESTIONS:
        assert question.text in shown
    assert "final_score" in shown and "Why not" in shown and "<memory>" in shown
    assert "--db demo.db demo, then recollect --db demo.db --owner nora serve" in shown
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_kept_and_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    kept = str(tmp_path / "demo.db")
    assert main(["demo", "--db", kept, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["remembered"] == 100 and len(shown["answers"]) == 3 and shown["memory"].startswith("<memory>")
    assert main(["recall", "Who bought the green vase?", "--db", kept, "--owner", "nora", "--recipe", "balanced@3"]) == 0
    assert "vase" in capsys.readouterr().out
