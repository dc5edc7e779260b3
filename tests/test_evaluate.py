"""recollect eval on tiny worlds: what is read, what exists when, what is found, what is said, and how bad data is refused."""

from __future__ import annotations

import json
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from recollect.embedders import open_embedder
from recollect.errors import InvalidDataset
from recollect.evaluate.ablation import ablation, parts
from recollect.evaluate.against import as_table, changes
from recollect.evaluate.baselines import BASELINES, RRF_K
from recollect.evaluate.chats import read_chats
from recollect.evaluate.datasets import Item, Question, exists, moment_of, read_all, read_folder, steps
from recollect.evaluate.kept import Kept
from recollect.evaluate.page import page, plots
from recollect.evaluate.report import ablated, markdown, result, tables
from recollect.evaluate.run import Measured, Theatre, run
from recollect.recipes import as_recipe
from recollect.records import micros

ANN = [
    ("a1", "Ann", "2026-01-05", "The cellar key hangs behind the clock."),
    ("a2", "Bo", "2026-02-05", "I moved the cellar key to the shed."),
    ("a3", "Ann", "2026-03-05", "Marmalade sits on the upper shelf."),
]
CORPUS = [
    *(
        {"id": id, "scope": "ann", "seq": number, "speaker": speaker, "timestamp": day, "text": text}
        for number, (id, speaker, day, text) in enumerate(ANN, 1)
    ),
    {"id": "b1", "scope": "bea", "text": "The cellar key is lost."},
]
SHELF = {"text": "And the marmalade?", "context": "We looked at the shelf.", "category": "thing"}
QUERIES = [
    {"id": "q2", "scope": "ann", "max_seq": 2, "text": "Where is the cellar key?", "category": "place"},
    {"id": "q1", "scope": "ann", "max_seq": 1, "text": "Where is the cellar key?", "category": "place"},
    {"id": "q3", "scope": "ann", "max_seq": 3, **SHELF},
    {"id": "q4", "scope": "bea", "text": "cellar key", "category": "place"},
    {"id": "q5", "scope": "bea", "text": "Nobody knows.", "category": "place"},
]
GRADES = "q2\ta2\t2\nq2\ta1\t1\nq1\ta1\t1\nq3\ta3\t1\nq4\tb1\t1\nq5\tb1\t0\n"
RECIPE = as_recipe("balanced")


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path) -> Path:
    home = tmp_path / "keys"
    home.mkdir()
    (home / "corpus.jsonl").write_text(lines(CORPUS))
    (home / "queries.jsonl").write_text(lines(QUERIES))
    (home / "qrels.tsv").write_text(GRADES)
    return home


@pytest.fixture
def kept():
    return Kept(open_embedder("hashing"), None)


def test_a_folder_is_read(folder):
    data = read_folder(folder)
    assert (data.name, len(data.items), [q.id for q in data.questions]) == ("keys", 4, ["q2", "q1", "q3", "q4"])
    assert data.notes == ("1 questions without an answer left out",)
    assert data.questions[0].grades == {"a2": 2.0, "a1": 1.0}
    assert data.questions[2].text == "We looked at the shelf.\nAnd the marmalade?"
    assert data.without(["thing"]).notes[-1] == "1 questions of thing left out"
    assert read_folder(folder).digest == data.digest


def test_a_beir_folder_is_read(tmp_path):
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": "d1", "title": "Quince", "text": "A fruit."}, {"_id": "d2", "text": "x"}]
    (tmp_path / "corpus.jsonl").write_text(lines(corpus))
    (tmp_path / "queries.jsonl").write_text(lines([{"_id": "1", "text": "fruit"}, {"_id": "2", "text": "of the training part"}]))
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    (data,) = read_all([tmp_path])
    assert data.items[0].text == "Quince\nA fruit." and [q.id for q in data.questions] == ["1"]


def test_a_record_without_a_text_is_left_out_and_found_by_nobody(folder):
    with (folder / "corpus.jsonl").open("a") as stream:
        stream.write('{"id": "a9", "scope": "ann", "text": " "}\n')
    with (folder / "qrels.tsv").open("a") as stream:
        stream.write("q1\ta9\t1\n")
    data = read_folder(folder)
    assert len(data.items) == 4 and data.notes[-1] == "1 records without a text left out"
    assert data.questions[1].grades == {"a1": 1.0, "a9": 1.0}


def test_a_folder_of_sets_is_all_of_them(folder, tmp_path):
    other = tmp_path / "more" / "keys"
    other.mkdir(parents=True)
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    assert [one.name for one in read_all([tmp_path, other])] == [f"{tmp_path.name}/keys", "more/keys"]


LOCOMO = [{
    "sample_id": "c1",
    "conversation": {
        "speaker_a": "Ann", "speaker_b": "Bo",
        "session_2_date_time": "9:05 am on 12 June, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Good morning."}],
        "session_1_date_time": "12:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a heron"},
                      {"speaker": "Bo", "dia_id": "D1:02", "text": "Oh."}],
    },
    "qa": [{"question": "What did Ann show?", "answer": "a heron", "evidence": ["D1:1; D:2:1"], "category": 4},
           {"question": "When?", "answer": 2023, "evidence": ["D9:9"], "category": 2},
           {"question": "Why did Ann leave?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5}],
}]  # fmt: skip
ASKED = {"question_date": "2023/05/30 (Tue) 23:40"}
LONGMEMEVAL = [
    {"question_id": "e1", "question_type": "multi-session", "question": "What do I sail?", **ASKED,
     "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 00:51"], "haystack_session_ids": ["s1", "s2"],
     "haystack_sessions": [[{"role": "user", "content": "I sail a dinghy.", "has_answer": True},
                            {"role": "assistant", "content": "Nice."}],
                           [{"role": "user", "content": "Soup?"}]],
     "answer_session_ids": ["s1"], "answer": "a dinghy"},
    {"question_id": "e2_abs", "question_type": "multi-session", "question": "What do I fly?", **ASKED,
     "haystack_dates": ["2023/05/20 (Sat) 02:21"], "haystack_session_ids": ["s3"],
     "haystack_sessions": [[{"role": "user", "content": "I sail."}]], "answer_session_ids": ["s3"], "answer": "nothing"},
]  # fmt: skip


def test_locomo_is_read(tmp_path):
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps(LOCOMO))
    data = read_chats(file)
    assert [(item.id, item.turn) for item in data.items] == [("c1:D1:1", 0), ("c1:D1:02", 1), ("c1:D2:1", 0)]
    assert data.items[0].text == "Look! [shares a photo: a heron]" and data.items[0].at == 1683550560000000
    assert [(q.category, dict(q.grades)) for q in data.questions] == [
        ("single-hop", {"c1:D1:1": 1.0, "c1:D2:1": 1.0}), ("adversarial", {"c1:D1:1": 1.0}),
    ]  # fmt: skip
    whole = read_chats(file, whole=True)
    assert [item.id for item in whole.items] == ["c1:session_1", "c1:session_2"]
    assert whole.items[0].text.startswith("Ann: Look!") and dict(whole.questions[1].grades) == {"c1:session_1": 1.0}


def test_longmemeval_is_read(tmp_path):
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(LONGMEMEVAL))
    (data,) = read_all([file])
    assert len(data.items) == 4 and {item.scope for item in data.items} == {"e1", "e2_abs"}
    assert [(q.id, dict(q.grades)) for q in data.questions] == [("e1", {"e1:0:0": 1.0})]
    assert data.items[0].at < data.items[2].at < data.questions[0].at
    (whole,) = read_all([tmp_path], whole=True)
    assert dict(whole.questions[0].grades) == {"e1:0:s1": 1.0}


BROKEN = {
    "corpus.jsonl": [
        ("{", r"corpus.jsonl:5: this is no JSON"), ("[1]", r"corpus.jsonl:5: this is no table but list"),
        ('{"text": "x"}', "corpus.jsonl:5: there is no id"), ('{"id": "x"}', "corpus.jsonl:5: text is empty"),
        ('{"id": "a1", "text": "x"}', "two lines have the id 'a1'"), ('{"id": "x", "text": 7}', "corpus.jsonl:5: text is 7"),
        ('{"id": "x", "text": "y", "timestamp": "yesterday"}', "corpus.jsonl:5: timestamp='yesterday' is not a date"),
        ('{"id": "x", "text": "y", "seq": "one"}', "corpus.jsonl:5: seq is 'one'"),
    ],
    "queries.jsonl": [
        ('{"id": "x", "text": ""}', "queries.jsonl:6: text is empty"), ('{"id": "q1", "text": "x"}', "the id 'q1'"),
    ],
    "qrels.tsv": [
        ("q1\tnowhere\t1", "qrels.tsv:7: there is no record 'nowhere'"), ("q9\ta1\t1", "qrels.tsv:7: there is no question 'q9'"),
        ("q1\ta1\tgood", "qrels.tsv:7: 'good' is not a grade"), ("q1\ta1", "qrels.tsv:7: 2 cells"),
        ("q1\tb1\t1", "qrels.tsv:7: record 'b1' is of another scope than question 'q1'"), ("q1\ta1\tnan", "is not a grade"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("file", "line", "said"), [(file, *case) for file, cases in BROKEN.items() for case in cases])
def test_a_broken_line_is_named(folder, file, line, said):
    with (folder / file).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(InvalidDataset, match=said.replace("[", r"\[")):
        read_folder(folder)


def test_a_missing_file_is_named(folder, tmp_path):
    with pytest.raises(InvalidDataset, match=r"There is no .*/nothing"):
        read_all([tmp_path / "nothing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidDataset, match=r"empty has no corpus\.jsonl"):
        read_all([tmp_path / "empty"])
    (folder / "qrels.tsv").unlink()
    with pytest.raises(InvalidDataset, match=r"keys has no qrels\.tsv"):
        read_all([folder])
    (folder / "qrels.tsv").write_text("")
    with pytest.raises(InvalidDataset, match="no question has a graded answer"):
        read_all([folder])


FORMS = [("{", "this is no JSON"), ("[]", "neither LoCoMo's"), ('[{"conversation": {}}]', "sample 0: KeyError")]


@pytest.mark.parametrize(("text", "said"), FORMS)
def test_json_of_no_known_form_is_refused(tmp_path, text, said):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InvalidDataset, match=said):
        read_all([tmp_path / "x.json"])


def test_the_world_only_grows_and_nothing_is_there_too_early(folder):
    data = read_folder(folder)
    there: dict[str, set[str]] = {}
    for step in steps(data):
        there.setdefault(step.world, set()).update(item.id for item in step.arriving)
        mine = {item.id for item in data.items if item.scope == step.question.scope and exists(item, step.question)}
        assert there[step.world] == mine
    assert [step.question.id for step in steps(data)] == ["q1", "q2", "q3", "q4"]


def test_a_day_is_over_when_its_question_is_asked(folder):
    asked = {"id": "q1", "scope": "ann", "timestamp": "2026-02-05", "text": "cellar key"}
    (folder / "queries.jsonl").write_text(lines([asked]))
    (folder / "qrels.tsv").write_text("q1\ta2\t1\n")
    (step,) = steps(read_folder(folder))
    assert [item.id for item in step.arriving] == ["a1", "a2"]


@pytest.mark.parametrize(("said", "first", "last"), [
    ("2023-05-30", "2023-05-30T00:00Z", "2023-05-30T23:59:59.999999Z"),
    ("2023/5/30", "2023-05-30T00:00Z", "2023-05-30T23:59:59.999999Z"),
    ("2023/05/30 (Tue) 23:40", "2023-05-30T23:40Z", None), ("2024年04月01日 周一 08:12", "2024-04-01T08:12Z", None),
    ("2023-05-30T23:40:05+02:00", "2023-05-30T21:40:05Z", None), (1685490000, "2023-05-30T23:40Z", None),
])  # fmt: skip
def test_times_are_read_as_data_sets_write_them(said, first, last):
    assert moment_of("here", said) == micros(first) and moment_of("here", said, last=True) == micros(last or first)


def test_what_does_not_exist_yet_is_never_found(folder, kept):
    data = read_folder(folder)
    found = run(data, [RECIPE, *BASELINES], kept)
    there = {q.id: {i.id for i in data.items if i.scope == q.scope and exists(i, q)} for q in data.questions}
    for one in found.measured:
        assert all(set(ids) <= there[question] for question, ids in one.found.items()), one.system
    by_name = {one.system: one for one in found.measured}
    assert [question.id for question in found.questions] == ["q1", "q2", "q3", "q4"]
    assert by_name["balanced"].found["q1"] == ["a1"]
    assert by_name["bm25"].scores["recall@10"] == [1.0] * 4 == by_name["balanced"].scores["recall@10"]
    assert by_name["balanced"].tokens and not by_name["bm25"].tokens
    assert by_name["balanced"].ms["total"][0] >= by_name["balanced"].ms["recall"][0]


def test_without_an_embedder_words_are_left(folder):
    found = run(read_folder(folder), [RECIPE, "dense", "rrf"], None)
    by_name = {one.system: one for one in found.measured}
    assert by_name["dense"].found["q1"] == [] and by_name["rrf"].found["q1"] == ["a1"] == by_name["balanced"].found["q1"]


KITES = ["The red kite.", "A kite, a kite!", "Nothing flies.", "kites kites kites and a red barn, and much more besides"]
ITEMS = [Item(id=f"d{number}", text=text) for number, text in enumerate(KITES)]


def test_baselines_are_what_their_names_say(kept):
    from recollect.embed import Embedding

    embedding = Embedding(kept, deadline=5, wall=lambda: 0.0)
    ranked = {}
    for name, make in BASELINES.items():
        baseline = make(embedding)
        assert baseline.ask("red kite", 10) == []
        baseline.arrive(ITEMS[:2])
        baseline.arrive(ITEMS[2:])
        ranked[name] = baseline.ask("red kite", 4)
    assert ranked["grep"] == ["d3", "d0", "d1"]  # both words are in two lines, the newer one first
    assert ranked["bm25"] == ["d0", "d3", "d1"]
    rows = kept.embed_documents([item.text for item in ITEMS])
    cosines = dict(zip(["d0", "d1", "d2", "d3"], rows @ kept.embed_queries(["red kite"])[0], strict=True))
    assert ranked["dense"] == sorted(cosines, key=lambda id: (-round(float(cosines[id]), 6), id))
    places = [{id: rank for rank, id in enumerate(ranked[name], 1)} for name in ("bm25", "dense")]
    fused = {id: sum(1 / (RRF_K + place[id]) for place in places if id in place) for id in places[1]}
    assert [fused[id] for id in ranked["rrf"]] == sorted(fused.values(), reverse=True)


class Counting:
    """An embedder that is not inline and counts what it is asked."""

    def __init__(self, inner):
        import dataclasses

        self.inner, self.asked = inner, []
        self.profile = dataclasses.replace(inner.profile, inline=False)

    def embed_queries(self, texts):
        self.asked += texts
        return self.inner.embed_queries(texts)

    embed_documents = embed_queries


def test_vectors_are_kept_between_runs(tmp_path):
    inner = Counting(open_embedder("hashing"))
    first = Kept(inner, tmp_path / "cache" / "vectors.db")
    rows = first.embed_documents(["kite", "barn", "kite"])
    assert inner.asked == ["kite", "barn"] and np.array_equal(rows[0], rows[2])
    asked = first.embed_queries(["kite"])  # a question's vector is another than a record's
    took = first.took("kite")
    first.close()
    again = Kept(inner, tmp_path / "cache" / "vectors.db")
    assert np.array_equal(again.embed_documents(["barn", "kite"]), rows[[1, 0]])
    assert np.array_equal(again.embed_queries(["kite"]), asked)
    assert inner.asked == ["kite", "barn", "kite"] and again.took("kite") == took > 0 == again.took("unasked")
    again.close()


@pytest.fixture
def found(folder, kept):
    return result([run(read_folder(folder), [RECIPE, "bm25"], kept)], {"name": "hashing"})


def test_a_result_is_plain_data_and_tables_say_it(found):
    assert json.loads(json.dumps(found)) == found
    made = tables(found)
    assert [table.title for table in made] == [
        "keys", "keys: nDCG@10 by category", "keys: milliseconds a stage", "balanced against the others: nDCG@10",
    ]  # fmt: skip
    assert all(len(row) == len(table.head) for table in made for row in table.rows)
    assert f"| bm25 | {made[0].rows[1][1]} |" in markdown(made)
    (pair,) = found["comparisons"]
    assert (pair["first"], pair["second"], pair["exact"]) == ("balanced", "bm25", True)


def test_the_page_needs_nothing_and_escapes_everything(found):
    found["sets"][0]["name"] = "<script>alert(1)</script>"
    text = page(found)
    assert "<script" not in text and text.count("http") == text.count("http://www.w3.org/2000/svg") == 2
    for plot in plots(found).values():
        assert ElementTree.fromstring(plot).tag.endswith("svg")


def test_the_gate_shuts_when_it_is_worse_and_only_then(found):
    assert not any(change.worse for change in changes(found, found))
    better, worse = json.loads(json.dumps(found)), json.loads(json.dumps(found))
    for one in (better, worse):
        one["sets"][0]["questions"] = [f"q{n}" for n in range(40)]
    for system in better["sets"][0]["systems"]:
        system["scores"] = {name: [0.9] * 40 for name in system["scores"]}
    for system in worse["sets"][0]["systems"]:
        system["scores"] = {name: [0.9] * 5 + [0.1] * 35 for name in system["scores"]}
    fallen = changes(worse, better)
    assert len(fallen) == 4 and all(change.worse for change in fallen)
    assert not any(change.worse for change in changes(better, worse))
    assert as_table(fallen).rows[0][-1] == "worse" and as_table(changes(better, better)).rows == []


def test_the_gate_compares_like_with_like(found):
    other = json.loads(json.dumps(found))
    other["sets"][0]["digest"] = "another"
    with pytest.raises(InvalidDataset, match="keys is not the data it was"):
        changes(found, other)
    other["sets"][0]["name"] = "locks"
    with pytest.raises(InvalidDataset, match="nothing in common"):
        changes(found, other)


def test_an_ablation_takes_every_part_away_and_adds_what_is_off(folder, kept):
    recipe = as_recipe("balanced(decay=half-life, weights={graph: 0, temporal: 0})")
    varied = parts(recipe)
    assert {"without lexical", "without vector(full)", "with graph", "with temporal", "decay=none"} <= set(varied)
    assert varied["without lexical"] == recipe.with_weights({"lexical": 0}) and varied["decay=none"].decay is None
    alone = as_recipe("recipe(routes=[lexical])")
    assert list(parts(alone)) == ["with superseded"], "without its only route a recipe is none"
    runs = [run(read_folder(folder), {"whole": recipe, **varied}, kept)]
    found = ablation(runs, "whole", list(varied))
    assert [row["on"] for row in found["rows"]] == ["keys", "keys: place", "keys: thing"]
    assert found["rows"][0]["questions"] == 4 and list(found["rows"][0]["parts"]) == list(varied)
    assert found["rows"][0]["parts"]["with superseded"]["mean"] == 0
    made = ablated(found)
    assert made.head[3:] == list(varied) and made.rows[0][-1] == "=" and json.loads(json.dumps(found)) == found


def test_superseded_records_are_let_in_when_asked_for(folder, kept):
    with tempfile.TemporaryDirectory() as home, Theatre(home, kept) as theatre:
        old = theatre.owner.remember("The key hangs in the hall.")
        theatre.owner.remember("The key hangs in the shed.", supersedes=old.id)
        question = Question(id="q", text="key in the hall", grades={old.id: 1.0})
        found = [Measured("now"), Measured("ever")]
        theatre.ask(question, RECIPE, found[0])
        theatre.ask(question, parts(RECIPE)["with superseded"], found[1])
    assert [one.scores["recall@10"] for one in found] == [[0.0], [1.0]]


# The command -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    for name, value in {"HOME": tmp_path, "XDG_CACHE_HOME": tmp_path / "cache", "RECOLLECT_EMBEDDER": "hashing"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)

    def run_it(*words):
        from recollect.cli import main

        status = main(["eval", *map(str, words)])
        return status, *capsys.readouterr()

    return run_it


def test_the_command_measures_saves_and_gates(command, folder, tmp_path):
    status, out, _ = command(folder, "--recipe", "balanced", "--recipe", "bm25", "--save", "before.json", "--html", "report.html")
    assert status == 0 and "\nbm25\t" in out and "<svg" in (tmp_path / "report.html").read_text()
    status, out, _ = command(folder, "--recipe", "balanced", "--against", "before.json", "--json")
    assert status == 0 and json.loads(out)["systems"] == ["balanced"]
    held = json.loads((tmp_path / "before.json").read_text())
    for one in held["sets"][0]["systems"]:
        one["scores"] = {name: [value + 1 for value in values] for name, values in one["scores"].items()}
    (tmp_path / "before.json").write_text(json.dumps(held))
    status, out, _ = command(folder, "--recipe", "bm25", "--against", "before.json", "--markdown")
    assert status == 0 and "| bm25 | keys | nDCG@10 | -1.000" in out  # four questions prove nothing: p = 2 / 16


def test_the_gate_ends_with_status_1(command, tmp_path):
    home = tmp_path / "towns"
    home.mkdir()
    towns = ["Goa", "Lima", "Oslo", "Rome", "Bern", "Kyiv", "Cork", "Pisa", "Riga", "Doha"]
    (home / "corpus.jsonl").write_text(lines({"id": town, "text": f"We went to {town}."} for town in towns))
    (home / "queries.jsonl").write_text(lines({"id": f"q{town}", "text": f"{town}?"} for town in towns))
    (home / "qrels.tsv").write_text("".join(f"q{town}\t{town}\t1\n" for town in towns))
    assert command(home, "--recipe", "bm25", "--recipe", "dense", "--save", "before.json", "--embedder", "static")[0] == 0
    status, _, err = command(home, "--recipe", "bm25", "--recipe", "dense", "--against", "before.json", "--embedder", "none")
    assert status == 1 and "Worse: dense on towns, nDCG@10" in err and "bm25" not in err


def test_the_command_measures_everything_when_nothing_is_named(command, folder):
    status, out, _ = command(folder, "--json", "--without", "thing", "--ablate")
    systems = json.loads(out)["systems"]
    assert status == 0 and {"balanced", "memsense", "annie", "nexus", "opencouch", "sci", *BASELINES} <= set(systems)
    assert len(json.loads(out)["sets"][0]["questions"]) == 3 and json.loads(out)["ablation"]["of"] == "balanced"


@pytest.mark.parametrize(("words", "said"), [
    (("nowhere",), "There is no nowhere"), (("keys", "--recipe", "bm52"), "There is no recipe bm52"),
    (("keys", "--against", "keys/qrels.tsv"), "this is no JSON"), (("keys", "--embedder", "psychic"), "No embedder named"),
    (("keys", "--against", "nowhere.json"), "nowhere.json"),
])  # fmt: skip
def test_the_command_says_what_is_wrong(command, folder, words, said):
    status, _, err = command(*words)
    assert status == 1 and said in err


def test_several_embedders_are_measured_side_by_side(command, folder):
    status, out, err = command(folder, "--recipe", "balanced", "--recipe", "dense", "--embedder", "static+hashing:64", "--json")
    found = json.loads(out)
    assert status == 0 and not err and found["embedder"]["name"] == "static+hashing"
    assert found["embedder"]["space"] == "static:potion-base-8m:256:int4-1+speaker + hashing:words-1:64"
