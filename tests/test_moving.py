"""Copies from store to store: all that was there, compared record by record, whatever happened on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from doubles import Toy, memory_on

from recollect.cli import main
from recollect.moving import copy, take
from recollect.ports import Add, Amend, Holding
from recollect.records import Record, moment
from recollect.stores import open_store as open_url
from recollect.stores.inmemory import InMemoryStore


def furnish(store, count: int = 1203) -> None:
    """Two owners with everything a store can hold of them."""
    toy = Toy()
    with_vectors = memory_on(store, embedder=toy, owner="acme/alice")
    with_vectors.remember_many([{"text": f"Note {n}", "id": f"m{n}", "views": {"user": f"Hello {n}"}} for n in range(count)])
    with_vectors.flush(20)
    toy.trouble = lambda rows: 1 / 0
    with_vectors.remember("Newer", id="new", supersedes="m0", links=[("Priya", "lives in", "Goa")])
    with_vectors.update_settings(rrf_k=7)
    with_vectors._crew.worker.stop(5)
    plain = memory_on(store, owner="acme")
    plain.remember("Alice is a nurse.", kind="identity", id="t1", vectors={"full": [0.6, 0.8]})


def held(store, owner: str) -> list:
    return [(h.record, {lane: v.tobytes() for lane, v in h.vectors.items()}, h.waiting) for h in store.holdings(owner)]


@pytest.fixture
def source(tmp_path, open_store):
    store = open_store(str(tmp_path / "source.db"))
    furnish(store)
    return store


@pytest.mark.parametrize("furnished", ["sqlite", "inmemory"])
def test_a_copy_holds_what_the_source_holds(furnished, store, source):
    if furnished == "inmemory":
        source, old = InMemoryStore(), source
        assert [copy(old, source, owner).verified for owner in old.owners()] == [True, True]
    assert source.owners() == ["acme", "acme/alice"]
    told = []
    found = [copy(source, store, owner, progress=lambda *how: told.append(how)) for owner in source.owners()]
    assert [(one.owner, one.records, one.added, one.verified, one.more) for one in found] == [
        ("acme", 1, 1, True, 0), ("acme/alice", 1204, 1204, True, 0),
    ]  # fmt: skip
    assert told[-1] == (2408, 2408) and store.owners() == source.owners()
    for owner in source.owners():
        assert held(store, owner) == held(source, owner) and store.settings(owner) == source.settings(owner)
    assert store.status("acme/alice")["waiting"] == 1
    again = copy(source, store, "acme/alice")
    assert (again.added, again.updated, again.verified) == (0, 0, True)


def test_what_the_target_has_otherwise_stays_and_is_named_or_is_updated(source, store):
    copy(source, store, "acme/alice")
    store.write(
        "acme/alice", [Amend(id="m3", fields={"text": "Meddled with"}), Amend(id="m4", fields={"recorded_at": moment(0)})]
    )
    store.write("acme/alice", [Add(record=replace(next(store.holdings("acme/alice")).record, id="own", superseded_by=None))])
    store.settings("acme/alice", {"rrf_k": 8})
    found = copy(source, store, "acme/alice")
    assert not found.verified and found.unlike == ("m3", "m4", "setting rrf_k") and (found.missing, found.more) == ((), 1)
    assert next(store.holdings("acme/alice", ["m3"])).record.text == "Meddled with"
    found = copy(source, store, "acme/alice", update=True)
    assert found.verified and found.updated == 2 and store.settings("acme/alice") == {"rrf_k": 7}
    assert held(store, "acme/alice")[:-1] == held(source, "acme/alice")


def test_a_copy_that_lost_something_is_not_verified(source, store, monkeypatch):
    real = store.write

    def forgetful(owner, changes):
        kept = [change for change in changes if change.record.id not in ("m7", "m8")]
        blind = [replace(c, vectors={}) if c.record.id == "m9" else c for c in kept]
        return real(owner, blind)

    monkeypatch.setattr(store, "write", forgetful)
    found = copy(source, store, "acme/alice")
    assert found.missing == ("m7", "m8") and found.unlike == ("m9",) and not found.verified
    monkeypatch.undo()
    found = copy(source, store, "acme/alice")
    assert found.verified and found.added == 2, "a vector that was lost is brought, too"


def test_an_embedder_at_the_target_may_be_further(source, store):
    """What waited at the source has its vector at the target by the time both are compared."""
    copy(source, store, "acme/alice")
    store.write("acme/alice", [Amend(id="new", fields={}, vectors={("toy:4", "full"): np.eye(4, dtype=np.float32)[0]})])
    assert copy(source, store, "acme/alice").verified


def test_the_same_record_twice_in_one_batch_is_one(store):
    record = Record(id="m1", owner="alice", text="Goa", recorded_at=moment(0))
    lane, vector = ("toy", "full"), np.eye(3, dtype=np.float32)[0]
    twice = [Holding(record, {}, ()), Holding(record, {lane: vector}, ()), Holding(replace(record, text="Pune"), {}, ())]
    changes, counts = take(twice, store, None)
    store.write("alice", changes["alice"])
    assert counts == {"added": 1, "unchanged": 1, "differing": 1}
    assert [list(h.vectors) for h in store.holdings("alice")] == [[lane]]


COPY = "import sys; from recollect.cli import main; print('go', flush=True); sys.exit(main(['copy', *sys.argv[1:], '--json']))"


def test_a_copy_that_was_killed_goes_on(tmp_path, source):
    """Killed at several moments, each later than the last; then left alone."""
    target = tmp_path / "target.db"
    for pause in (0.05, 0.15, 0.25, 0.35):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([sys.executable, "-c", COPY, str(tmp_path / "source.db"), str(target)], **pipes) as child:
            assert child.stdout.readline() == b"go\n"
            time.sleep(pause)
            child.send_signal(signal.SIGKILL)
            child.wait(30)
    with closing(open_url(str(target))) as store:
        assert [copy(source, store, owner).verified for owner in source.owners()] == [True, True]
        assert [held(store, owner) for owner in source.owners()] == [held(source, owner) for owner in source.owners()]


def test_the_command_copies_everybody_or_one(tmp_path, source, capsys):
    here, there = str(tmp_path / "source.db"), str(tmp_path / "there.db")

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["copy", *words])
        return status, *capsys.readouterr()

    assert run(here, there, "--owner", "acme") == (0, "acme\t1\t1\t0\tequal\n", "")
    status, said, _ = run(here, there, "--json")
    whole = json.loads(said)
    assert status == 0 and whole["verified"] and [one["added"] for one in whole["owners"]] == [0, 1204]
    with closing(open_url(there)) as store:
        store.write("acme/alice", [Amend(id="m1", fields={"quality": 0.9})])
    status, said, complaint = run(here, there)
    assert status == 1 and "acme/alice\t1,204\t0\t0\t0 missing, 1 different" in said and "m1 of acme/alice: --update" in complaint
    assert run(here, there, "--update")[0] == 0
    for wrong, why in [
        ((here, here), "onto itself"), ((str(tmp_path / "no.db"), there), "no file"), ((here, there, "--owner", "zoe"), "acme"),
        ((here, str(tmp_path / "nowhere" / "x.db")), "folder"), ((here, "mysql://x"), "speaks"),
    ]:  # fmt: skip
        status, said, complaint = run(*wrong)
        assert (status, said) == (1, "") and why in complaint
    assert not (tmp_path / "no.db").exists()
