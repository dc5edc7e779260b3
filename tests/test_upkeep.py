"""Upkeep: every record gets its vector, however it fared before; what does something can first show it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from recollect import Memory
from recollect.embedders import open_embedder
from recollect.errors import StoreUnavailable
from recollect.ports import Profile


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
        assert [step.name for step in memory.upkeep() if not step.ok] == ["embed"]
        moody.down = False
        assert memory.reembed() == {"lacking": 5, "left": 0}
        assert all(step.ok for step in memory.upkeep())


def test_reembed_passes_over_what_the_model_can_not_read(tmp_path):
    url = str(tmp_path / "memory.db")
    with Memory.open(url, owner="alice", embedder="none") as memory:
        memory.remember_many(["The kiln is dead.", "漢字漢字", "qqxzj"])
    with Memory.open(url, owner="alice", embedder=open_embedder("static")) as memory:
        assert memory.reembed()["left"] == 0
        assert memory.reembed() == {"lacking": 0, "left": 0}
        assert memory.status()["waiting"] == 0


def test_a_record_that_is_written_again_gets_a_vector_of_the_present_model(tmp_path):
    """Lazily: what nobody touches keeps its old vector, and is found by it."""
    url, moody = str(tmp_path / "memory.db"), Moody()
    with Memory.open(url, owner="alice", embedder="hashing") as memory:
        for number in range(3):
            memory.remember(f"Note {number}", id=f"n{number}")
    with Memory.open(url, owner="alice", embedder=moody) as memory:
        memory.flush()
        assert moody.texts == []
        memory.amend("n1", quality=0.9)
        memory.promote("n1")
        memory.flush()
        assert moody.texts == ["Note 1"], "once, though its text is the same"
        assert {(lane["space"], lane["count"]) for lane in memory.status()["vectors"]} >= {("moody:m:4", 1)}
        assert len(memory.recall("Note 2", recipe="recipe(routes=[vector])")) == 3, "by either model"


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


def test_upkeep_says_why_what_another_process_was_at_still_waits(tmp_path):
    moody = Moody(down=True)
    with Memory.open(tmp_path / "memory.db", owner="alice", embedder="none") as memory:
        memory.remember("Goa in March")
    with Memory.open(tmp_path / "memory.db", owner="alice", embedder=moody) as memory:
        memory.amend(memory.list()[0], text="Goa in May")
        now = int(time.time() * 1_000_000)
        memory.flush(5)
        assert memory.store.outbox.claim(None, "moody:m:4", 9, now + 3_600_000_000, 7_200_000_000), "somebody else takes it"
        moody.down = False
        (step,) = [step for step in memory.upkeep() if not step.ok]
        assert step.name == "embed" and "are not due yet: another process is at them" in step.did
