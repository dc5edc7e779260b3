"""Random operations on the oracle and on each other store: the same receipts, errors, answers, order and scores.

The worlds are tiny on purpose: few words, few moments and few vectors, so that ties are the rule. A file is opened twice and
every step takes one of the two handles, so that what one wrote the other must see. About 20 seconds.
"""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack, contextmanager, nullcontext
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import all_on_the_server, server

from recollect import stores
from recollect.errors import RecollectError
from recollect.ports import Add, Amend, Forget, Learn
from recollect.query import Where
from recollect.records import Entity, Link, Record, Span, micros, moment
from recollect.stores.inmemory import InMemoryStore

BACKENDS = {"sqlite": "sqlite:///{folder}/memory.db", "postgres": "{postgres}", "postgres, served": "{postgres}&hnsw=1"}
BOUNDS = {
    "postings.TAIL": 2, "postings.SUMMED": 40, "postings.DENSE": 1, "postings.FEWER": 2, "writing.KEPT_CHANGES": 2,
    "shelves.SHELVES_BYTES": 1,
}  # fmt: skip
NOW = micros("2026-03-10T00:00Z")
DAY = 86_400_000_000
MOMENTS = [moment(NOW + days * DAY) for days in (0, -1, -2, 1)]
OWNERS = ("acme/alice", "acme", "acme/bob")
IDS = ("m5", "m1", "m9", "M3", "m10", "é", "m2", "m7", "a1")
PLACES_IN_SESSIONS = [(session, number) for session in ("s1", "s2", "s3") for number in range(4)]
PLACES = (("toy", "full"), ("toy", "user"), ("other", "full"))
VECTORS = {"toy": ((1, 0, 0), (0, 1, 0), (0.6, 0.8, 0), (0.6, 0, 0.8), (-1, 0, 0)), "other": ((1, 0), (0, 1))}

words = st.sampled_from(["goa", "beach", "Goas", "the", "running", "café", "東京", "京都", "3.14", "hotels", "playing"])
sentences = st.sampled_from(["los niños de la playa que están con la goa", "Пляжи и отели", "to be or not to be", "goa " * 300])
texts = st.one_of(st.lists(words, min_size=1, max_size=5).map(" ".join), sentences)
moments = st.sampled_from(MOMENTS)
maybe_moments = st.one_of(st.none(), moments)
sessions = st.sampled_from([None, "s1", "s2"])
kinds = st.sampled_from(["semantic", "identity", "fact"])
roles = st.sampled_from(["note", "turn", "derived"])
sources = st.sampled_from([None, "record:m1", "record:m5"])
NAMES = ["Priya", "Mom", "Priya Shah", "Goa", "東京", "Rajesh", "and"]
ENTITIES = [
    (), (Entity(name="Priya Shah", type="person", aliases=("Mom",)),), (Entity(name="東京"), Entity(name="Goa", type="place")),
    (Entity(name="Rajesh", type="person", aliases=("Mom", "goa")),), (Entity(name="Mom", aliases=("Priya",)), Entity(name="and")),
    (Entity(name="PRIYA", type="person", aliases=("mom",)),),
]  # fmt: skip
LINKS = [
    (), (Link(subject="Priya", predicate="likes", object="Goa"),),
    (Link(subject="Mom", predicate="knows", object="Priya Shah", weight=0.5, valid_to=MOMENTS[1], record="m9"),
     Link(subject="Goa", predicate="near", object="beach")),
    (Link(subject="Rajesh", predicate="likes", object="Rajesh"), Link(subject="priya shah", predicate="Likes", object="東京"),
     Link(subject="…", predicate="is", object="Goa", valid_from=MOMENTS[3])),
]  # fmt: skip
DATES = [(), (Span(start=MOMENTS[2], end=MOMENTS[1], text="then"),)]

changeable = {
    "kind": kinds, "role": roles, "session": sessions, "project": sessions, "agent": sessions, "source": sources,
    "turn": st.sampled_from([None, 0, 1, 2]), "recorded_at": moments, "valid_from": maybe_moments,
    "valid_to": maybe_moments, "superseded_by": st.sampled_from([None, "m1"]), "superseded_at": maybe_moments,
    "quality": st.sampled_from([0.5, 0.65, 1.0]), "reinforced": st.integers(0, 3), "speaker": st.sampled_from([None, "Priya"]),
    "tags": st.sampled_from([(), ("beach",), ("goa", "family")]), "views": st.dictionaries(st.just("user"), words),
    "metadata": st.sampled_from([{}, {"x": 1}]), "entities": st.sampled_from(ENTITIES), "links": st.sampled_from(LINKS),
    "dates": st.sampled_from(DATES), "confidence": st.sampled_from([1.0, 0.5]),
}  # fmt: skip


def some_of(choices: dict, most: int) -> st.SearchStrategy[dict]:
    """A few of the keys: worlds in which every field is odd show nothing to anybody."""
    return st.lists(st.one_of(*(st.tuples(st.just(k), v) for k, v in choices.items())), max_size=most).map(dict)


places = st.lists(st.sampled_from(PLACES), max_size=2, unique=True)
held = st.dictionaries(st.sampled_from(PLACES), st.integers(0, 4), max_size=3)
fields = st.builds(lambda at, more: {"at": at, **more}, maybe_moments, some_of(changeable, 3))
edits = st.one_of(st.fixed_dictionaries({"text": texts}), some_of({**changeable, "text": texts, "at": maybe_moments}, 3))
foreign = st.fixed_dictionaries({"owner": st.sampled_from(OWNERS), "kind": kinds})
adds = st.tuples(st.just("add"), st.sampled_from(IDS), texts, fields, held, places)
others = st.tuples(st.just("add"), st.sampled_from(IDS), texts, foreign, held, places)
amends = st.tuples(st.just("amend"), st.integers(0, 8), edits, places, st.one_of(st.just({}), held))
forgets = st.tuples(st.just("forget"), st.integers(0, 8))
learns = st.tuples(
    st.just("learn"), st.integers(0, 8), st.booleans(), some_of({name: changeable[name] for name in ("entities", "links")}, 2),
    st.lists(st.sampled_from(IDS), max_size=2), st.integers(0, 8),
)  # fmt: skip
strangers = st.sampled_from(
    [("forget", "nobody"), ("amend", "nobody", {}, []), ("forget", "m1"), ("amend", "m1", {"quality": 0}, [])]
)
owners = st.sampled_from((OWNERS[0], OWNERS[0], *OWNERS))
shelves = st.tuples(st.just("write"), owners, st.lists(adds, min_size=3, max_size=8))
changes = st.lists(st.one_of(adds, amends, amends, forgets, learns), min_size=1, max_size=3)
risky = st.lists(st.one_of(adds, others, strangers), min_size=1, max_size=2)
writes = st.tuples(st.just("write"), owners, changes)
risks = st.tuples(st.just("risk"), owners, risky)
works = st.tuples(
    st.just("work"), st.sampled_from((None, OWNERS[0])), st.sampled_from(["toy", "other"]), st.integers(1, 3),
    st.sampled_from([0, 1, 2]), st.sampled_from(["settle", "postpone", "leave"]),
)  # fmt: skip
some = st.sampled_from
wheres = some_of(
    {
        "tenant": st.just("acme"), "agent": sessions, "projects": st.just(("s1",)), "roles": st.just(("turn",)),
        "sessions": some([("s1", "s2"), ("x",)]), "kinds": some([("identity",), ("semantic", "fact")]),
        "since": st.just(NOW - DAY), "exclude": st.just(frozenset({"m1", "m5"})),
        "now": some([NOW + DAY, NOW - DAY]), "as_of": some([NOW, NOW - DAY, NOW + DAY]),
    },
    2,
)  # fmt: skip
limits = st.sampled_from([50, 1, 2, 3, 0])
queries = st.one_of(
    st.tuples(st.just("words"), texts, limits, some(["any", "all", "relax"])),
    st.tuples(st.just("tokens"), texts, limits, some([0.33, 0.5, 1.0]), some([None, (2, 0.4)])),
    st.tuples(st.just("substring"), some(["goa", "GOA  ", "oa b", "京", "É", ""]), limits),
    st.tuples(
        st.just("nearest"), some(PLACES), st.integers(0, 4), limits, some([None, 0.6, 0.5, 1.0]), some([None, "toy", "other"])
    ),
    st.tuples(st.just("select"), some(["newest", "oldest", "turns", "latest"]), limits, some([None, 0, 1])),
    st.tuples(st.just("resolve"), st.lists(some(IDS), max_size=3)),
    st.tuples(st.just("within"), some([-9, -2, -1, 0]), some([-1, 0, 1, 9]), limits),
    st.tuples(
        st.just("walk"), st.lists(some(NAMES), min_size=1, max_size=3).map(" likes ".join), limits, some([1, 2, 5]), st.booleans()
    ),
    st.tuples(st.just("entities"), limits),
    st.tuples(st.just("neighborhood"), some(NAMES), some([0, 1, 2]), limits),
    st.tuples(st.just("about"), some(NAMES), some(["likes", "knows", "x"])),
)
asks = st.tuples(st.just("ask"), owners, wheres, st.lists(queries, min_size=1, max_size=3))
drops = st.tuples(st.just("drop"), owners, st.sampled_from(["toy", "other"]))
step = st.one_of(writes, writes, risks, asks, asks, works, drops, st.just(("reopen",)))
steps = st.builds(
    lambda first, second, rest: [(0, first), (1, second), *rest],
    shelves, shelves, st.lists(st.tuples(st.integers(0, 1), step), min_size=4, max_size=12),
)  # fmt: skip


@pytest.fixture(scope="module", params=["as it is", "with tiny bounds"])
def bounds(request):
    """What only many records would reach (merged runs, pruned logs, evicted shelves) is reached by few."""
    with ExitStack() as patched:
        for name, value in BOUNDS.items() if request.param != "as it is" else ():
            patched.enter_context(patch(f"recollect.stores.{name}", value))
        yield


calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.usefixtures("bounds")
@settings(calm, max_examples=80)
@given(steps=steps)
def test_random_operations_agree_on_sqlite(steps):
    follow("sqlite", steps)


@pytest.mark.usefixtures("bounds")
@settings(calm, max_examples=8)
@given(steps=steps)
def test_random_operations_agree_on_postgres(steps):
    """Fewer: each takes some two thousand questions to a server."""
    follow("postgres", steps)


@pytest.mark.usefixtures("bounds")
@settings(calm, max_examples=4)
@given(steps=steps)
def test_random_operations_agree_where_postgres_searches_vectors(steps):
    follow("postgres, served", steps)


def follow(name: str, steps: list[tuple]) -> None:
    oracle = InMemoryStore()
    with handles(name) as pair:
        take(pair, oracle, steps[:2])
        agree(pair, oracle)  # both handles have seen everything, and must now notice what changes
        take(pair, oracle, steps[2:])
        agree(pair, oracle)


def take(pair: Handles, oracle: InMemoryStore, steps: list[tuple]) -> None:
    """Every step on one of the pair and on the oracle, with the same outcome."""
    for number, (handle, step) in enumerate(steps):
        if step[0] == "reopen":
            pair.reopen(handle)
            continue
        step = concrete(oracle, step)
        assert outcome(pair[handle], step) == outcome(oracle, step), (number, step)


def agree(pair: Handles, oracle: InMemoryStore) -> None:
    for step in battery():
        expected = outcome(oracle, step)
        assert [outcome(store, step) for store in pair] == [expected, expected], step


@pytest.mark.usefixtures("bounds")
@pytest.mark.parametrize("name", BACKENDS)
def test_a_larger_shelf_agrees(name):
    """Enough records for runs of postings to merge and blocks of vectors to grow; some amended, some forgotten."""
    pick = random.Random(7)
    oracle = InMemoryStore()
    with handles(name) as pair:
        for start in range(0, 2400, 600):
            names = range(start, start + 600)
            odd = [f"m{number}" for number in names if number % 29 == 0]
            edits = [("amend", f"m{number}", {"text": sentence(pick), "quality": 0.9}, []) for number in range(1, start, 29)]
            for changes in ([many(pick, number) for number in names], edits, [("forget", name) for name in odd]):
                handle = pick.randrange(2)
                assert outcome(pair[handle], ("write", OWNERS[0], changes)) == outcome(oracle, ("write", OWNERS[0], changes))
            for step in questions(pick, 6):
                handle = pick.randrange(2)
                assert outcome(pair[handle], step) == outcome(oracle, step), step


@pytest.mark.parametrize("name", BACKENDS)
def test_a_reader_that_slept_through_many_changes_agrees(name):
    """More changes than a store may keep a log of."""
    pick = random.Random(3)
    oracle = InMemoryStore()
    asks = [("ask", OWNERS[0], {}, [("words", "w1 w2", 50, "any"), ("nearest", ("wide", "full"), 3, 50, None)])]
    with patch("recollect.stores.writing.KEPT_CHANGES", 50), handles(name) as pair:
        write = ("write", OWNERS[0], [many(pick, number) for number in range(40)])
        assert outcome(pair[0], write) == outcome(oracle, write)
        for burst in (20, 300, 600) if name == "sqlite" else (20, 70):
            assert [outcome(pair[1], step) for step in asks] == [outcome(oracle, step) for step in asks]
            for _ in range(burst):
                write = ("write", OWNERS[0], [("amend", f"m{pick.randrange(40)}", {"text": sentence(pick)}, [])])
                assert outcome(pair[0], write) == outcome(oracle, write)
        assert [outcome(pair[1], step) for step in asks] == [outcome(oracle, step) for step in asks]


@pytest.mark.parametrize("name", BACKENDS)
def test_the_languages_of_a_shelf_are_those_of_its_records(name):
    """With Spanish on the shelf `playas` is also asked for as `play`; without it no longer."""
    spanish = ("add", "m1", "los niños de la casa que están con la abuela", {}, {}, [])
    english = ("add", "m2", "the children are playing", {}, {}, [])
    ask = ("ask", OWNERS[0], {}, [("words", "playas", 50, "any")])
    oracle = InMemoryStore()
    with handles(name) as pair:
        for changes, found in (([spanish, english], ["m2"]), ([("forget", "m1")], []), ([spanish], ["m2"])):
            for store in (oracle, pair[0]):
                outcome(store, ("write", OWNERS[0], changes))
            for store in (oracle, *pair):
                assert [name for _, name in outcome(store, ask)[0][0]] == found


def many(pick: random.Random, number: int) -> tuple:
    fields = {"at": moment(NOW - pick.randrange(40) * DAY), "kind": pick.choice(["semantic", "fact"])}
    return ("add", f"m{number}", sentence(pick), fields, {("wide", "full"): number}, [])


def sentence(pick: random.Random) -> str:
    return " ".join(f"w{min(int(pick.paretovariate(0.6)), 900)}" for _ in range(pick.randrange(3, 15)))


def questions(pick: random.Random, count: int):
    for number in range(count):
        where = pick.choice([{}, {"kinds": ("fact",)}, {"since": NOW - 9 * DAY}])
        words = "words", sentence(pick), pick.choice([5, 50, 5000]), pick.choice(["any", "relax"])
        nearest = "nearest", ("wide", "full"), number, pick.choice([10, 50]), pick.choice([None, 0.2])
        yield "ask", OWNERS[0], where, [words, nearest, ("tokens", sentence(pick), 20, 0.33, (2, 0.4))]


def battery():
    """Everything there is to ask, of every owner, when all is done."""
    words = [("goa beach", "any"), ("goa the", "all"), ("東京 hotel running café", "relax"), ("playas", "relax")]
    questions = [
        *(("words", text, 50, match) for text, match in words),
        *(("nearest", place, 0, 50, None) for place in PLACES),
        *(("select", order, 50, 0) for order in ("newest", "oldest", "turns", "latest")),
        ("tokens", "Goa beach 京", 50, 0.33, (2, 0.4)),
        ("substring", "oa", 50),
        *(("within", first, last, 50) for first, last in ((-1, 1), (-9, 9), (-400, 0), (1, 1))),
        *(
            ("walk", text, 50, 2, facts)
            for text in ("What does Mom know of Goa?", "Priya 東京", "rajesh")
            for facts in (True, False)
        ),
        ("entities", 50),
        *(("neighborhood", name, 2, 50) for name in ("mom", "Priya", "Goa")),
        ("about", "Priya", "likes"),
    ]
    narrow = [(OWNERS[0], {"tenant": "acme", "as_of": NOW}), (OWNERS[0], {"since": NOW - DAY})]
    for owner, where in [*((owner, {}) for owner in OWNERS), *narrow]:
        yield "ask", owner, where, questions
        yield "contents", owner, where
        yield "status", owner
        yield "carried", owner, None
        yield "carried", owner, IDS[:3]
        yield from (("coverage", owner, place) for place in PLACES)


# Doing one step on one store ------------------------------------------------------------------------------------------


class Handles(list):
    """Two openings of one store."""

    def __init__(self, url: str) -> None:
        super().__init__(stores.open_store(url) for _ in range(2))
        self.url = url

    def reopen(self, number: int) -> None:
        self[number].close()
        self[number] = stores.open_store(self.url)


@contextmanager
def handles(name: str):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        if "served" in name:
            closing.enter_context(all_on_the_server())
        pair = Handles(BACKENDS[name].format(folder=folder, postgres=server().empty() if name != "sqlite" else ""))
        closing.callback(lambda: [store.close() for store in pair])
        yield pair


def concrete(oracle: InMemoryStore, step: tuple) -> tuple:
    """A write that will mostly succeed: numbers become ids that are there, an add whose id is taken is left out."""
    if step[0] == "risk":
        return "write", *step[1:]
    if step[0] != "write":
        return step
    texts = {record.id: record.text for record in oracle.records(range(999)) if record.owner == step[1]}
    ids, changes = sorted(texts), []
    for verb, name, *rest in step[2]:
        if verb == "learn":
            name = ids[name % len(ids)] if ids else "m1"
            changes.append((verb, name, texts.get(name, "") if rest[0] else "other", *rest[1:-1], IDS[rest[-1]]))
        elif verb != "add" and ids:
            name = ids[name % len(ids)]
            changes.append((verb, name, *rest))
        elif verb == "add" and name not in ids:
            changes.append((verb, name, *rest))
        if (verb == "forget" and ids) or (verb == "add" and name not in ids):
            ids = sorted(set(ids) ^ {name})
    return "write", step[1], changes


def outcome(store, step: tuple):
    """What the step gives on this store, in words that do not depend on its keys; or which error.

    Of several wrong changes in one write any may be named: that is not promised.
    """
    try:
        return DO[step[0]](store, *step[1:])
    except RecollectError as error:
        return "refused" if step[0] == "write" and len(step[2]) > 1 else type(error).__name__


def write(store, owner: str, changes: list[tuple]):
    receipt = store.write(owner, [change_of(owner, *change) for change in changes])
    removed = [receipt.removed.get(table, 0) for table in ("records", "derived", "vectors", "jobs")]
    return receipt.added, receipt.amended, receipt.unchanged, removed


def change_of(owner: str, verb: str, name: str, *rest):
    if verb == "forget":
        return Forget(id=name)
    if verb == "amend":
        return Amend(id=name, fields=rest[0], pending=rest[1], vectors=vectors_of(*rest[2:]))
    if verb == "learn":
        text, fields, ids, older = rest
        common = {"owner": owner, "role": "derived", "source": f"record:{name}", "recorded_at": MOMENTS[0]}
        facts = [Record(id=id, text=f"{name} says", links=LINKS[1], **common) for id in ids]
        return Learn(id=name, text=text, fields=fields, facts=facts, amends=[Amend(id=older, fields={"quality": 0.1})])
    text, fields, numbers, pending = rest
    record = Record(**{"id": name, "owner": owner, "text": text, "recorded_at": MOMENTS[0], **fields})
    return Add(record=record, vectors=vectors_of(numbers), pending=pending)


def vectors_of(numbers: dict | None = None) -> dict | None:
    return {place: vector(place[0], number) for place, number in numbers.items()} if numbers else None


def vector(space: str, number: int) -> np.ndarray:
    if space == "wide":
        numbers = np.random.default_rng(number).standard_normal(64)
        return (numbers / np.linalg.norm(numbers)).astype(np.float32)
    return np.array(VECTORS[space][number % len(VECTORS[space])], np.float32)


def ask(store, owner: str, where: dict, questions: list[tuple]):
    with store.steady(owner) if hasattr(store, "steady") else nullcontext():
        return [answer(store, Where(**{"owner": owner, "now": NOW, **where}), *question) for question in questions]


def answer(store, where: Where, verb: str, *rest):
    if verb == "select":
        order, limit, after = rest
        keys = store.select(where, order=order, limit=50)
        last = keys[after] if after is not None and after < len(keys) else None
        turns = store.turns(where, PLACES_IN_SESSIONS)
        told = {place: names(store, [key]) for place, key in turns.items()}
        return names(store, keys), names(store, store.select(where, order=order, limit=limit, after=last)), told
    if verb in ("entities", "neighborhood"):
        return getattr(store.graph, verb)(where, *rest)
    if verb == "about":
        return names(store, store.graph.about(where, *rest))
    if verb == "walk":
        found = store.graph.walk(where, *rest[:-1], facts=rest[-1])
        assert set(found.reasons) == set(found.keys)
        return names(store, found.keys), list(found.scores), bool(found.note)
    if verb == "resolve":
        return {name: names(store, [key]) for name, key in store.resolve(where, rest[0]).items()}
    if verb == "nearest":
        (space, view), number, limit, threshold, *beside = rest
        found = store.vector.nearest(
            where, space, view, vector(space, number), limit, threshold, beside=beside[0] if beside else None
        )
    elif verb == "within":
        first, after, limit = rest
        found = store.temporal.within(where, NOW + first * DAY, NOW + after * DAY, limit)
    else:
        found = getattr(store.lexical, verb)(where, *rest)
        shares = store.lexical.shares(rest[0], found.keys)
        return names(store, found.keys), list(found.scores), found.relaxed, [shares.get(key) for key in found.keys]
    return names(store, found.keys), list(found.scores), found.relaxed


def work(store, owner: str | None, space: str, limit: int, when: int, then: str):
    jobs = store.outbox.claim(owner, space, limit, NOW + when, 2)
    if then == "settle":
        done = store.outbox.settle(space, [(job, vector(space, len(job.text))) for job in jobs])
    else:
        done = store.outbox.postpone(jobs, NOW + 1, "down") if then == "postpone" else None
    told = [(names(store, [job.key]), job.view, job.text, job.attempts) for job in jobs]
    return told, done, store.outbox.waiting(owner), store.outbox.waiting(None, space)


def contents(store, owner: str, where: dict):
    """The records themselves, their facts, their vectors."""
    keys = store.select(Where(owner=owner, now=NOW, **where), order="newest", limit=50)
    records = store.records(keys)
    vectors = [{keys.index(key): v.tolist() for key, v in store.vector.vectors(*place, keys).items()} for place in PLACES]
    known = {text: v.tolist() for text, v in store.outbox.known("toy", [record.text for record in records]).items()}
    facts = store.facts(keys)
    return records, [facts[key] for key in keys], vectors, sorted(known)


def status(store, owner: str):
    found = store.status(owner)
    return [found[name] for name in ("records", "by_kind", "derived", "waiting")], sorted(
        str(lane) for lane in found["vectors"] if lane["count"]
    )


def coverage(store, owner: str, place: tuple[str, str]):
    where = Where(owner=owner, now=NOW)
    return tuple(store.vector.coverage(where, *place)), dict(store.vector.elsewhere(where, *place))


def drop(store, owner: str, space: str):
    return store.vector.drop(owner, space)


def carried(store, owner: str, ids):
    """What is held, record by record, and who has anything."""
    held = [(h.record, {p: v.tolist() for p, v in h.vectors.items()}, h.waiting) for h in store.holdings(owner, ids)]
    return held, store.owners()


def names(store, keys) -> list[tuple[str, str]]:
    return [(record.owner, record.id) for record in store.records(keys)]


DO = {
    "write": write,
    "ask": ask,
    "work": work,
    "contents": contents,
    "status": status,
    "coverage": coverage,
    "drop": drop,
    "carried": carried,
}
