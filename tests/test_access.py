"""Access tokens: what they allow, that they end at once, that nothing of them can be had from the file, and the command."""

from __future__ import annotations

import json

import pytest

from recollect import Memory
from recollect.access import Access
from recollect.cli import main
from recollect.errors import InvalidRecord, NotAuthenticated, NotFound, ScopeRequired
from recollect.testing import FixedClock


@pytest.fixture
def access(store, clock):
    return Access(store, clock)


def test_a_token_is_what_was_granted(access):
    assert not access.needed()
    token, grant = access.create("acme/alice", write=True, label="laptop")
    assert access.check(token) == grant and (grant.owner, grant.write, grant.label) == ("acme/alice", True, "laptop")
    assert access.needed() and access.all() == [grant]
    for owner, reached in {"acme/alice": True, "acme/alice/x": True, "acme": False, "acme/alicette": False, "bob": False}.items():
        assert grant.reaches(owner) is reached, owner


def test_what_is_no_token(access):
    token, grant = access.create("alice")
    other, _ = access.create("bob")
    mixed = "_".join([*token.split("_")[:2], other.split("_", 2)[2]])
    for wrong in ("", "recollect_", token[:-1], token + "A", token.upper(), mixed, f"recollect_{'0' * 16}_{'A' * 43}", "é" * 70):
        with pytest.raises(NotAuthenticated) as refused:
            access.check(wrong)
        assert grant.id not in str(refused.value)


def test_a_token_ends_when_it_is_revoked_or_expires(access, clock):
    token, grant = access.create("alice")
    short, _ = access.create("alice", expires="2026-03-11")
    access.revoke(grant.id)
    with pytest.raises(NotAuthenticated):
        access.check(token)
    assert access.check(short)
    clock.advance(days=1)
    with pytest.raises(NotAuthenticated):
        access.check(short)
    assert access.needed() and [one.revoked is not None for one in access.all()].count(True) == 1
    with pytest.raises(NotFound):
        access.revoke("none")


def test_what_can_not_be_granted(access):
    for wrong in ({"owner": ""}, {"owner": "a//b"}):
        with pytest.raises(ScopeRequired):
            access.create(**wrong)
    for wrong in ({"label": "a\nb"}, {"label": "a" * 201}, {"expires": "2026-03-10"}, {"expires": "soon"}):
        with pytest.raises(InvalidRecord):
            access.create("alice", **wrong)
    assert not access.needed()


def test_the_file_holds_no_token(tmp_path):
    path = tmp_path / "memory.db"
    with Memory.open(str(path), owner="alice", embedder="none", clock=FixedClock()) as memory:
        token, _ = Access(memory.store, memory.now).create("alice")
    secret = token.split("_", 2)[2].encode()
    assert all(secret not in file.read_bytes() for file in tmp_path.iterdir())


def test_another_process_knows_at_once(tmp_path):
    opened = [Memory.open(str(tmp_path / "memory.db"), owner="alice", embedder="none") for _ in range(2)]
    one, two = (Access(memory.store, memory.now) for memory in opened)
    token, grant = one.create("alice")
    assert two.check(token) == grant
    two.revoke(grant.id)
    with pytest.raises(NotAuthenticated):
        one.check(token)
    for memory in opened:
        memory.close()


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    assert main(["token", "create", "--owner", "acme/alice", "--write"]) == 0
    token = capsys.readouterr().out.strip()
    with Memory.open("memory.db", owner="x", embedder="none") as memory:
        grant = Access(memory.store, memory.now).check(token)
    assert (grant.owner, grant.write) == ("acme/alice", True)
    assert main(["token", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["tokens"]
    assert [one["id"] for one in listed] == [grant.id] and token.split("_", 2)[2] not in json.dumps(listed)
    assert main(["token", "revoke", grant.id]) == 0
    assert main(["token", "revoke"]) == 1 and main(["token", "create", "x", "--owner", "a"]) == 1
