"""What can't be used is refused with an error that names what was given and the cure; nothing is lost, the store works on."""

from __future__ import annotations

import math
import os
import re
import sqlite3
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from doubles import ASK, Toy, names, near

from recollect import Memory, Scope
from recollect.errors import (
    DuplicateRecord,
    InvalidQuery,
    InvalidRecipe,
    InvalidRecord,
    InvalidSetting,
    InvalidVector,
    NewerSchema,
    NotADatabase,
    RecollectError,
    ScopeRequired,
    StoreReadOnly,
    StoreUnavailable,
    UnknownEmbedder,
    UnknownRecord,
)
from recollect.settings import Settings, load


@pytest.fixture
def memory(open_memory):
    memory = open_memory(recipe="annie", clock=None)
    memory.remember("Goa in March", id="goa", vectors={"full": ASK})
    yield memory
    assert names(memory.list()) == ["goa"] == names(memory.recall("Goa")), "nothing lost, nothing added, still at work"
    memory.remember("Pune", id="pune")
    assert names(memory.recall("Pune")) == ["pune"]


def refused(kind: type[RecollectError], *said: str):
    """The error, with all of this said in it."""
    return pytest.raises(kind, match="".join(f"(?=.*{re.escape(part)})" for part in said) or None)


# Remember


@pytest.mark.parametrize("text", ["", " ", "\t\n  ", "\x00", "\x00\x07\x1b", "\u3000 \u2003"])
def test_empty_text(memory, text):
    with refused(InvalidRecord, "nothing to remember", "visible character"):
        memory.remember(text)


@pytest.mark.parametrize("text", [None, 7, b"Goa", ["Goa"], {"text": "Goa"}])
def test_what_is_not_text(memory, text):
    with refused(InvalidRecord, type(text).__name__, "Pass a str"):
        memory.remember(text)


def test_text_beyond_all_bounds(memory):
    with refused(InvalidRecord, "4,000,001", "in parts"):
        memory.remember("x" * 4_000_001)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"kind": "memory"}, ("kind='memory'", "semantic, episodic")),
        ({"kind": None}, ("kind=None", "semantic")),
        ({"kind": ["semantic"]}, ("kind=", "semantic")),
        ({"role": "boss"}, ("role='boss'", "note, turn")),
        ({"color": "red"}, ("color", "fields are")),
        ({"owner": "bob"}, ("owner", "fields are")),
        ({"at": "yesterday"}, ("at='yesterday'", "ISO 8601")),
        ({"at": "2026-13-45"}, ("2026-13-45", "ISO 8601")),
        ({"at": True}, ("at=True", "datetime")),
        ({"at": [2026]}, ("2026", "datetime")),
        ({"at": math.nan}, ("nan", "years 1 to 9999")),
        ({"at": 1_772_000_000_000}, ("1772000000000", "not milliseconds")),
        ({"valid_from": "soon"}, ("valid_from='soon'", "ISO 8601")),
        ({"valid_from": "2026-03-02", "valid_to": "2026-03-01"}, ("valid_to=2026-03-01", "Swap")),
        ({"turn": -1}, ("turn=-1", "whole number")),
        ({"turn": 1.5}, ("turn=1.5", "whole number")),
        ({"turn": 1 << 31}, ("turn=2147483648", "whole number")),
        ({"quality": 1.1}, ("quality=1.1", "0 to 1")),
        ({"quality": "good"}, ("quality='good'", "0 to 1")),
        ({"confidence": -0.1}, ("confidence=-0.1", "0 to 1")),
        ({"confidence": math.nan}, ("confidence=nan", "0 to 1")),
        ({"reinforced": -1}, ("reinforced=-1", "whole number")),
        ({"tags": "family"}, ("tags='family'", "tags=")),
        ({"tags": [7]}, ("int",)),
        ({"tags": 7}, ("tags=7",)),
        ({"tags": ["x" * 201]}, ("200 characters",)),
        ({"tags": [f"t{n}" for n in range(101)]}, ("101 tags", "At most 100")),
        ({"views": {"soul": "x"}}, ("soul", "personal_info")),
        ({"views": {"user": 7}}, ("int",)),
        ({"views": "user"}, ("views", "table")),
        ({"metadata": {"x": object()}}, ("metadata", "JSON")),
        ({"metadata": {"x": math.nan}}, ("metadata", "JSON")),
        ({"metadata": {"x": {1, 2}}}, ("metadata", "JSON")),
        ({"metadata": {(1, 2): 3}}, ("metadata", "JSON")),
        ({"metadata": ["x"]}, ("metadata", "table")),
        ({"metadata": {"x": "y" * 100_001}}, ("metadata", "100,000")),
        ({"id": "x" * 10_000}, ("id='xxx", "at most 200")),
        ({"id": 7}, ("id=7", "text")),
        ({"id": "a\nb"}, ("id=", "printable")),
        ({"session": "a\x00b"}, ("session=", "printable")),
        ({"session": 7}, ("session=7", "text")),
        ({"speaker": "\u202egnp"}, ("speaker=", "printable")),
        ({"source": ["x"]}, ("source=", "text")),
        ({"supersedes": "nobody"}, ("nobody",)),
        ({"supersedes": 7}, ("7",)),
        ({"id": "me", "supersedes": "me"}, ("me",)),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_what_is_said_about_a_record(memory, about, said):
    with refused(RecollectError, *said) as caught:
        memory.remember("Pune", **about)
    assert isinstance(caught.value, (InvalidRecord, UnknownRecord)) and len(str(caught.value)) < 600


BAD_VECTORS = {
    "NaN": [1.0, math.nan, 0, 0], "infinity": [1.0, math.inf, 0, 0], "zero": [0.0] * 4, "empty": [], "words": ["a", "b"],
    "text": "abcd", "a number": 7, "two rows": [[1, 0, 0, 0]] * 2, "ragged": [[1], [1, 2]], "nothing": None, "huge": [1e308] * 4,
    "objects": [object()], "complex": [1j, 0, 0, 0],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow", "ignore:Casting complex")
@pytest.mark.parametrize("numbers", BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_vectors_that_are_none(memory, numbers):
    with refused(InvalidVector):
        memory.remember("Pune", vectors={"full": numbers})
    if numbers is not None:
        with refused(InvalidVector):
            memory.recall("Goa", vectors=numbers)
    with refused(InvalidVector):
        memory.recall("Goa", vectors={"full": numbers})


def test_vectors_for_no_view(memory):
    with refused(InvalidRecord, "soul", "full"):
        memory.remember("Pune", vectors={"soul": ASK})


def test_a_vector_of_another_length_without_an_embedder_is_another_space(memory):
    """Nothing is compared that can't be: vectors of your own live in a space for each length."""
    answer = memory.recall("Goa", vectors=[1.0, 0.0])
    assert names(answer) == ["goa"] and set(answer[0].routes) == {"lexical"}


def test_a_vector_of_the_wrong_length_beside_an_embedder(open_memory):
    memory = open_memory(embedder=Toy({"Goa": ASK}))
    memory.remember("Goa", id="goa", vectors={"full": ASK})
    with refused(InvalidVector, "2 numbers", "toy", "4", "same model"):
        memory.remember("Pune", vectors={"full": [1.0, 0.0]})
    with refused(InvalidVector, "2"):
        memory.recall("Goa", vectors=[1.0, 0.0])
    assert names(memory.list()) == ["goa"] == names(memory.recall("Goa"))


def test_a_batch_is_refused_whole(memory):
    with refused(InvalidRecord, "quality=7"):
        memory.remember_many([{"text": "Pune"}, {"text": "Delhi", "quality": 7}])
    with refused(DuplicateRecord, "goa"):
        memory.remember_many([{"text": "Pune"}, {"text": "Delhi", "id": "goa"}])


def test_the_id_of_another_record(memory):
    with refused(DuplicateRecord, "goa"):
        memory.remember("Delhi", id="goa")


@pytest.mark.parametrize("items", [[7], [None], [b"Goa"], ["ok", 7], [["text", "Goa"]], 7, None])
def test_many_of_what_are_not_memories(memory, items):
    with refused(InvalidRecord):
        memory.remember_many(items)


@pytest.mark.parametrize("id", ["nobody", "", "x" * 10_000, None, 7, "'; DROP TABLE records; --", "\x00", "\ud800"])
def test_ids_nobody_has(memory, id):
    for use in (memory.get, memory.forget, memory.promote, lambda id: memory.amend(id, text="x"), memory.history):
        with refused(UnknownRecord) as caught:
            use(id)
        assert len(str(caught.value)) < 300


BAD_FIELDS = ({"text": ""}, {"kind": "memory"}, {"quality": 2}, {"color": "red"}, {"owner": "bob"}, {"at": "soon"})


@pytest.mark.parametrize("fields", BAD_FIELDS, ids=str)
def test_amending_to_what_can_t_be(memory, fields):
    before = memory.get("goa")
    with refused(InvalidRecord):
        memory.amend("goa", **fields)
    assert memory.get("goa") == before


# What looks bad and is taken as it is meant


def test_a_megabyte_of_text(open_memory):
    memory = open_memory(embedder=Toy(max_chars=100))
    text = "word " * 200_000 + "needle"
    record = memory.remember(text)
    assert memory.get(record).text == text and names(memory.recall("needle")) == [record.id]
    assert memory.flush(10) == 0 and len(memory.context("needle")) <= 2000


def test_controls_and_half_characters_are_cleaned_and_the_rest_is_kept(open_memory):
    memory = open_memory()
    assert memory.remember("Goa\x00 in\x07 March\r\nnext").text == "Goa in March\nnext"
    assert memory.remember("half \ud83d face").text == "half \ufffd face"
    assert memory.remember("whole \ud83d\ude00 face").text == "whole \U0001f600 face"
    assert memory.remember("tag", tags=["a\x00b", "a\x00b"], views={"user": "x\x00y"}).tags == ("ab",)
    assert memory.recall("Goa\x00 \ud800 March")[0].text == "Goa in March\nnext"


def test_times_without_a_zone_are_utc(open_memory):
    memory = open_memory()
    whens = ("2026-03-01T09:00", "2026-03-01 09:00Z", "2026-03-01T10:00+01:00", 1_772_355_600, 1_772_355_600.0)
    for when in (datetime(2026, 3, 1, 9), *whens):
        assert memory.remember("Goa", at=when).at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert memory.remember("Goa", at="2026-03-01").at == datetime(2026, 3, 1, tzinfo=UTC)
    assert memory.remember("Goa", at="ageless").at is None


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"])
def test_beyond_the_ends_of_time(memory, at):
    with refused(InvalidRecord, "at=", "years 1 to 9999"):
        memory.remember("x", at=at)
    with refused(InvalidQuery, "as_of=", "years 1 to 9999"):
        memory.recall("x", as_of=at)


def test_metadata_too_deep_for_json(memory):
    deep: list = []
    for _ in range(50_000):
        deep = [deep]
    with refused(InvalidRecord, "metadata can't be written as JSON"):
        memory.remember("x", metadata={"deep": deep})


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "0001-01-01", datetime.max, datetime.min.replace(tzinfo=UTC)])
def test_the_ends_of_time(open_memory, at):
    memory = open_memory(recipe="annie")
    memory.remember("Goa", at=at)
    (hit,) = memory.recall("Goa")
    assert 0 <= hit.explain["decay"] <= 1 and hit.explain["age_days"] >= 0


def test_what_is_still_to_come_has_no_age(open_memory):
    memory = open_memory(recipe="annie")
    memory.remember("Goa", at=datetime(2030, 1, 1, tzinfo=UTC))
    assert memory.recall("Goa")[0].explain["age_days"] == 0 and memory.recall("Goa")[0].explain["decay"] == 1


def test_an_empty_name_is_no_name(open_memory):
    record = open_memory().remember("Goa", session="", speaker=None, tags=None, metadata=None, views=None, turn=None, at=None)
    assert record.session is None and record.tags == () and dict(record.metadata) == {}


def test_words_of_query_languages_are_words(open_memory):
    memory = open_memory(recipe="annie")
    memory.remember("NEAR AND OR NOT", id="m1")
    assert names(memory.recall('NEAR("a" b)')) == ["m1"]


# Recall


@pytest.mark.parametrize("question", [None, 7, b"Goa", ["Goa"], {"q": "Goa"}])
def test_a_question_that_is_not_text(memory, question):
    for ask in (memory.recall, memory.explain, memory.context):
        with refused(InvalidQuery, type(question).__name__, "text"):
            ask(question)


@pytest.mark.parametrize("limit", [0, -1, 1001, 1 << 70, 2.5, "5", True, math.nan])
def test_limits(memory, limit):
    with refused(InvalidQuery, "limit=", "1 to 1,000"):
        memory.recall("Goa", limit=limit)
    if limit != 1001:
        with refused(InvalidQuery, "limit=", "100,000"):
            memory.list(limit=limit)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"colour": "red"}, ("colour",)),
        ({"owner": "bob"}, ("owner",)),
        ({"kinds": ["memory"]}, ("memory", "semantic")),
        ({"kinds": "memory"}, ("memory", "semantic")),
        ({"kinds": [7]}, ("kinds=",)),
        ({"kinds": 7}, ("kinds=7",)),
        ({"roles": ["boss"]}, ("boss", "note")),
        ({"sessions": [7]}, ("sessions=",)),
        ({"sessions": 7}, ("sessions=7",)),
        ({"projects": {"a": 1, "b": object}.values()}, ("projects=",)),
        ({"exclude": 7}, ("exclude=7",)),
        ({"exclude": [7]}, ("exclude=",)),
        ({"as_of": "once"}, ("as_of='once'", "ISO 8601")),
        ({"since": "once"}, ("since='once'", "ISO 8601")),
        ({"since": [1]}, ("since=",)),
        ({"agent": 7}, ("agent=7",)),
        ({"session": 7}, ("session=7",)),
        ({"timeless": "yes"}, ("timeless=",)),
        ({"tenant": "globex"}, ("tenant",)),
    ],
    ids=str,
)
def test_filters(memory, asked, said):
    with refused(InvalidQuery, *said):
        memory.recall("Goa", **asked)


def test_a_long_question_is_cut_and_answered(memory):
    assert names(memory.recall("Goa " * 100_000)) == ["goa"]
    assert names(memory.recall("Goa " + "".join(map(chr, range(1, 0xD800)))[:19_000])) == ["goa"]


def test_questions_of_nothing(memory):
    for question in ("", " ", "?", "\x00", "\ud800", "the", "🙂"):
        assert isinstance(names(memory.recall(question)), list)


@pytest.mark.parametrize("order", ["best", "", None, 7])
def test_orders(memory, order):
    with refused(InvalidQuery, "order=", "newest"):
        memory.list(order=order)


@pytest.mark.parametrize("after", ["nobody", "\x00", "\ud800"])
def test_going_on_after_a_record_that_is_not_there(memory, after):
    with refused(UnknownRecord):
        memory.list(after=after)
    assert memory.explain("Goa", expect=after).gate == "out of scope"


def test_what_is_no_name_of_a_record(memory):
    with refused(UnknownRecord):
        memory.list(after=7)
    with refused(InvalidQuery, "expect=7", "name"):
        memory.explain("Goa", expect=7)


@pytest.mark.parametrize("budget", [-1, 2.5, "many"])
def test_budgets(memory, budget):
    with refused(InvalidQuery, "max_chars"):
        memory.context("Goa", max_chars=budget)


# Recipes and settings


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("anie", ("anie", "annie")),
        ("", ("recipe",)),
        ("annie(", ()),
        ("annie(rrf_k=-1)", ("rrf_k", "-1", "0 to 1000")),
        ("annie(limit=0)", ("limit",)),
        ("annie)@5; DROP TABLE", ()),
        ("annie(weights={lexical: 6})", ("weight", "6", "0 to 5")),
        ("recipe(routes=[telepathy])", ("telepathy",)),
        ({"base": "annie", "rrf_k": "many"}, ("rrf_k", "many")),
        ({"base": "nobody"}, ("nobody",)),
        (7, ()),
        (["annie"], ()),
    ],
)
def test_recipes(memory, recipe, said):
    with refused(InvalidRecipe, *said):
        memory.recall("Goa", recipe=recipe)
    with refused(InvalidRecipe, *said):
        Memory.open("memory:", owner="alice", recipe=recipe, embedder="none", settings=Settings())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, ("colour",)),
        ({"rrf_kk": 5}, ("rrf_kk", "rrf_k")),
        ({"name": "x"}, ("name",)),
        ({"rrf_k": -1}, ("rrf_k", "-1", "0 to 1000")),
        ({"weights": {"lexical": 6}}, ("weight", "6", "0 to 5")),
        ({"weights": {"lexical": -1}}, ("weight", "-1", "0 to 5")),
        ({"weights": {"telepathy": 1}}, ("telepathy", "lexical")),
        ({"weights": {"lexical": "high"}}, ("weight", "high")),
        ({"weights": 7}, ("weights",)),
        ({"recipe": "nobody"}, ("nobody",)),
        ({"limit": 0}, ("limit", "0")),
        ({"mmr": math.nan}, ("mmr",)),
        ({"rrf_k": object()}, ("rrf_k",)),
    ],
    ids=str,
)
def test_settings(memory, change, said):
    before = memory.settings()
    with refused(RecollectError, *said) as caught:
        memory.update_settings(**change)
    assert isinstance(caught.value, (InvalidSetting, InvalidRecipe)) and memory.settings() == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"db = 5", ("db=5", "text")),
        (b"vector = 1", ("vector=1", "text")),
        (b"models = 3", ("models=3", "text")),
        (b'openai_api_key = ["k"]', ("openai_api_key=['k']", "text")),
        (b"owner = 7", ("owner=7", "text")),
        (b"recipe = 7", ("recipe", "int")),
        (b"deadline = true", ("deadline=True", "seconds")),
        (b'busy = "soon"', ("busy='soon'", "seconds")),
        (b"deadline = nan", ("deadline=nan", "seconds")),
        (b"chat_budget = 1.5", ("chat_budget='1.5'", "tokens")),
        (b'traces = "loud"', ("traces='loud'", "spans")),
        (b'ownr = "alice"', ("ownr", "owner")),
        (b'owner = "\xff"', ("mine.toml", "utf-8")),
        (b"owner =", ("mine.toml", "Invalid value")),
    ],
    ids=lambda value: str(value) if isinstance(value, bytes) else "",
)
def test_settings_files(tmp_path, line, said):
    (tmp_path / "mine.toml").write_bytes(line)
    with refused(RecollectError, *said):
        Memory.open("memory:", owner="alice", settings=load({}, str(tmp_path / "mine.toml")))


# Opening


@pytest.mark.parametrize(
    "owner", ["", None, "a//b", "/a", "a/", "/", " ", " a", "a\nb", "a\x00b", "a/\x7f", "x" * 401, 7, ["alice"], b"alice"]
)
def test_owners(owner, tmp_path):
    with refused(ScopeRequired):
        Memory.open(str(tmp_path / "m.db"), owner=owner, embedder="none", settings=Settings())
    with refused(ScopeRequired):
        Scope(owner=owner)
    assert not (tmp_path / "m.db").exists(), "nothing is made for nobody"


def test_a_folder_that_is_not_there(tmp_path):
    with refused(StoreUnavailable, "no folder", "mkdir"):
        Memory.open(str(tmp_path / "no" / "m.db"), owner="alice", embedder="none", settings=Settings())


def test_a_folder_in_place_of_a_file(tmp_path):
    with refused(StoreUnavailable, "can't be opened"):
        Memory.open(str(tmp_path), owner="alice", embedder="none", settings=Settings())


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs a /proc, where nobody can make a file")
def test_a_place_where_nothing_can_be_written():
    with refused(StoreUnavailable, "/proc/m.db"):
        Memory.open("/proc/m.db", owner="alice", embedder="none", settings=Settings())


def test_a_file_that_may_not_be_written(tmp_path):
    path = tmp_path / "m.db"
    with Memory.open(str(path), owner="alice", embedder="none", settings=Settings()) as memory:
        memory.remember("Goa")
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with powerless(tmp_path), refused(StoreReadOnly, "can't be written"):
            Memory.open(str(path), owner="alice", embedder="none", settings=Settings()).remember("Lisbon")
    finally:
        tmp_path.chmod(0o755)
    with Memory.open(str(path), owner="alice", embedder="none", settings=Settings()) as memory:
        assert [record.text for record in memory.list()] == ["Goa"]


@contextmanager
def powerless(folder: Path):
    """Permissions don't bind root: be somebody else for a while, who may enter the folders on the way."""
    if os.geteuid():
        yield
        return
    ways = {way: way.stat().st_mode for way in folder.parents}
    for way, mode in ways.items():
        way.chmod(mode | 0o111)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for way, mode in ways.items():
            way.chmod(mode)


@pytest.mark.parametrize(
    "content", [b"This is a letter, not a database.\n" * 100, b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 4000]
)
def test_a_file_that_is_no_database(tmp_path, content):
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    with refused(NotADatabase, "letter.txt", "another file"):
        Memory.open(str(path), owner="alice", embedder="none", settings=Settings())
    assert path.read_bytes() == content, "what is not ours is left alone"


def test_backups_where_none_can_be(tmp_path):
    url = str(tmp_path / "m.db")
    (tmp_path / "letter.txt").write_text("Dear sir, " * 100)
    with Memory.open(url, owner="alice", embedder="none", settings=Settings()) as memory:
        memory.remember("Goa", id="goa")
        for target, said in (("no/x.db", "x.db can't be opened"), ("letter.txt", "letter.txt is not"), ("m.db", "another file")):
            with refused(StoreUnavailable if target != "letter.txt" else NotADatabase, said):
                memory.backup(str(tmp_path / target))
        with refused(StoreUnavailable, "without a name"):
            memory.backup("")
        assert names(memory.list()) == ["goa"] and (tmp_path / "letter.txt").read_text().startswith("Dear sir")


def test_a_database_of_another_program(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE letters (text)")
        other.execute("INSERT INTO letters VALUES ('dear')")
    other.close()
    before = path.read_bytes()
    with refused(NotADatabase, "other.db", "another program"):
        Memory.open(str(path), owner="alice", embedder="none", settings=Settings())
    assert path.read_bytes() == before


@pytest.mark.parametrize("harm", ["letters", "pages"])
def test_a_damaged_database(tmp_path, harm):
    path = tmp_path / "m.db"
    with Memory.open(path, owner="alice", embedder="none", settings=Settings()) as memory:
        memory.remember_many(f"Goa in March {number}, and no other place" for number in range(500))
        memory.upkeep()
    content = path.read_bytes()
    pages = content[: 4 * 8192] + b"\xa5" * (len(content) - 4 * 8192)
    path.write_bytes(content.replace(b"Goa in March 7", b"\xff\xfe in March 7") if harm == "letters" else pages)
    with refused(NotADatabase, "m.db is damaged", "restore"), Memory.open(
        path, owner="alice", embedder="none", settings=Settings()
    ) as memory:
        memory.list(limit=1000)


def test_a_database_of_a_newer_recollect(tmp_path):
    path = tmp_path / "newer.db"
    with Memory.open(str(path), owner="alice", embedder="none", settings=Settings()) as memory:
        memory.remember("Goa", id="goa")
    with sqlite3.connect(path) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        file.execute("PRAGMA user_version = 999")
    with refused(NewerSchema, "999", "Upgrade"):
        Memory.open(str(path), owner="alice", embedder="none", settings=Settings())
    file.execute(f"PRAGMA user_version = {version}")
    file.close()
    with Memory.open(str(path), owner="alice", embedder="none", settings=Settings()) as memory:
        assert names(memory.list()) == ["goa"]


def test_an_empty_file_is_a_new_memory(tmp_path):
    path = tmp_path / "new.db"
    path.touch()
    with Memory.open(str(path), owner="alice", embedder="none", settings=Settings()) as memory:
        memory.remember("Goa", id="goa")
        assert names(memory.recall("Goa")) == ["goa"]


@pytest.mark.parametrize("url", ["mongodb://x", "http://x/m.db", "redis:///0"])
def test_urls_nobody_speaks(url):
    with refused(StoreUnavailable, url.split(":")[0], "sqlite"):
        Memory.open(url, owner="alice", embedder="none", settings=Settings())


@pytest.mark.parametrize("url", ["", "sqlite:///", "sqlite:m.db", 5, b"m.db", "a\0b"])
def test_urls_that_name_nothing(url):
    with refused(StoreUnavailable, "names no", "sqlite:///memory.db"):
        Memory.open(url, owner="alice", embedder="none", settings=Settings())


@pytest.mark.parametrize("embedder", ["telepathy", "hashing:x", "hashing:1", ""])
def test_embedders_nobody_knows(tmp_path, embedder):
    with refused(UnknownEmbedder):
        Memory.open("memory:", owner="alice", embedder=embedder, settings=Settings())


def test_a_clock_that_tells_no_time(open_memory):
    memory = open_memory(clock=lambda: "noon")
    with refused(RecollectError, "clock", "noon"):
        memory.remember("Goa")


def test_numbers_of_numpy_are_numbers(open_memory):
    memory = open_memory(recipe="annie")
    memory.remember("Goa", id="goa", vectors={"full": np.array(near(0.9), np.float32)})
    assert names(memory.recall("Goa", vectors=np.array(ASK))) == ["goa"]
    assert timedelta(0) == memory.get("goa").at - memory.get("goa").recorded_at
