"""Upkeep and carrying: every record gets its vector, however it fared before; what is handed out comes in again as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory, Scope
from recollect.embedders import open_embedder
from recollect.errors import InvalidRecord, StoreUnavailable
from recollect.portable import line_of, read_lines, record_of_line
from recollect.ports import Profile
from recollect.records import KINDS
from recollect.testing import FixedClock


class Moody:
    """An embedder that does no work in the write itself, and none at all while it is down."""

    def __init__(self, down: bool = False) -> None:
        self.profile = Profile(name="moody", model="m", dimension=4, fingerprint="moody:m:4")
        self.down, self.texts = down, []

    def embed_documents(self, texts):
        if self.down:
            raise OSError("the moody one is down")
        self.texts += texts
        return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]

    embed_queries = embed_documents


@pytest.fixture(params=["memory:", "file"])
def url(request, tmp_path):
    return str(tmp_path / "memory.db") if request.param == "file" else request.param


def test_reembed_reaches_what_an_older_model_left(tmp_path):
    url = str(tmp_path / "memory.db")
    with Memory.open(url, owner="alice", embedder="hashing") as memory:
        memory.remember_many([{"text": f"Note {number}", "views": {"user": f"View {number}"}} for number in range(70)])
        memory.forget(memory.list(limit=1)[0])
    moody, told = Moody(), []
    with Memory.open(url, owner="alice", embedder=moody) as memory:
        assert memory.reembed(dry_run=True) == {"lacking": 138, "left": 138}
        assert memory.reembed(progress=lambda done, total: told.append((done, total))) == {"lacking": 138, "left": 0}
        assert told[-1] == (138, 138) and [done for done, _ in told] == sorted(done for done, _ in told)
        assert memory.reembed() == {"lacking": 0, "left": 0}
        counts = {(lane["space"], lane["view"]): lane["count"] for lane in memory.status()["vectors"]}
        assert counts["moody:m:4", "full"] == counts["moody:m:4", "user"] == 69
        assert len(moody.texts) == 138, "no text is embedded twice"


def test_reembed_goes_on_where_it_was_stopped(url):
    moody = Moody(down=True)
    with Memory.open(url, owner="alice", embedder=moody) as memory:
        memory.remember_many([f"Note {number}" for number in range(5)])
        found = memory.reembed()
        assert found == {"lacking": 5, "left": 5}
        assert "down" in memory.status()["embedder_error"]
        assert [step.ok for step in memory.upkeep()] == [False, True, True]
        moody.down = False
        assert memory.reembed() == {"lacking": 5, "left": 0}
        assert [step.ok for step in memory.upkeep()] == [True, True, True]


def test_reembed_passes_over_what_the_model_can_not_read(tmp_path):
    url = str(tmp_path / "memory.db")
    with Memory.open(url, owner="alice", embedder="none") as memory:
        memory.remember_many(["The kiln is dead.", "漢字漢字", "qqxzj"])
    with Memory.open(url, owner="alice", embedder=open_embedder("static")) as memory:
        assert memory.reembed()["left"] == 0
        assert memory.reembed() == {"lacking": 0, "left": 0}
        assert memory.status()["waiting"] == 0


def test_without_an_embedder_there_is_nothing_to_embed(url):
    with Memory.open(url, owner="alice", embedder="none") as memory:
        memory.remember("Note")
        assert memory.reembed() == {"lacking": 0, "left": 0}
        assert all(step.ok for step in memory.upkeep(dry_run=True))


def test_a_memory_without_a_file_says_so():
    with Memory.open("memory:", owner="alice", embedder="none") as memory, pytest.raises(StoreUnavailable, match="no file"):
        memory.backup("copy.db")


def test_each_goes_through_everything_in_order(url):
    with Memory.open(url, owner="alice", embedder="none") as memory:
        memory.remember_many([{"text": f"Note {n}", "id": f"n{n}", "at": 1000.0 + n} for n in range(1203)])
        memory.remember("Newer", id="new", supersedes="n0", at=5000.0)
        assert [record.id for record in memory.each()] == [*(f"n{n}" for n in range(1203)), "new"]
        assert "n0" not in {record.id for record in memory.each(timeless=False)}


def test_take_leaves_alone_what_is_there(url):
    with Memory.open(url, owner="alice", embedder="hashing") as memory:
        memory.remember("One", id="1")
        one = memory.get("1")
        lines = ['{"id": "2", "text": "Two"}', '{"id": "2", "text": "Two again"}', '{"id": "1", "text": "Other"}', line_of(one)]
        found = memory.take(read_lines(lines, memory.scope, memory.now()))
        assert found == {"added": 1, "unchanged": 1, "differing": 2}
        assert (memory.get("1"), memory.get("2").text) == (one, "Two")


texts = st.text(min_size=1, max_size=40).filter(lambda text: any(c.isprintable() and not c.isspace() for c in text))
names = st.none() | st.text("abcé漢 -", min_size=1, max_size=10)
times = st.none() | st.floats(0, 4e9).map(lambda seconds: round(seconds, 3))
drafts = st.fixed_dictionaries({
    "text": texts, "kind": st.sampled_from([kind for kind in KINDS if kind != "identity"]), "at": times | st.just("ageless"),
    "session": names, "project": names, "agent": names, "speaker": names, "turn": st.none() | st.integers(0, 99),
    "tags": st.lists(texts.map(str.strip).filter(bool), max_size=3), "quality": st.floats(0, 1), "confidence": st.floats(0, 1),
    "reinforced": st.integers(0, 9), "valid_from": times, "views": st.dictionaries(st.sampled_from(["user", "events"]), texts),
    "metadata": st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=5)),
})  # fmt: skip


@given(st.lists(drafts, max_size=5))
@settings(max_examples=40, deadline=None)
def test_a_line_says_all_that_a_record_holds(remembered):
    clock = FixedClock()
    with Memory.open("memory:", owner="alice", embedder="none", clock=clock) as memory:
        memory.remember_many(remembered)
        if remembered:
            memory.remember("Newer", supersedes=memory.list(limit=1, timeless=True)[0].id)
        records = list(memory.each())
        lines = [line_of(record) for record in records]
    clock.advance(days=9)
    with Memory.open("memory:", owner="alice", embedder="none", clock=clock) as memory:
        memory.take(read_lines([line.encode() for line in lines], memory.scope, memory.now()))
        assert list(memory.each()) == records


@pytest.mark.parametrize("line", [
    "null", "[]", "{}", '{"text": 7}', '{"text": ""}', '{"text": "x", "id": 7}', '{"text": "x", "at": "soon"}', "{" * 5000,
    '{"text": "x", "superseded_by": 7}', '{"text": "x", "recorded_at": true}', '{"text": "x", "vectors": {}}', '"x"',
    '{"text": "x"',
    '{"text": "x", "metadata": []}x',
])  # fmt: skip
def test_a_line_that_is_no_record_is_refused(line):
    with pytest.raises(InvalidRecord):
        record_of_line(line, Scope(owner="alice"), FixedClock()())


def test_a_line_without_an_id_gets_the_same_one_each_time():
    scope, now = Scope(owner="alice"), FixedClock()()
    one, two, three = (record_of_line(line, scope, now) for line in ('{"text": "x"}', '{"text": "x"}\n', '{"text": "y"}'))
    assert one.id == two.id != three.id
