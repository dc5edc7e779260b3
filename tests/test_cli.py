"""The command line: what it prints for a person, a program and as JSON; its exit statuses; that its page tells the truth."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect import Memory
from recollect.cli import main
from recollect.cli.line import COMMANDS, EVERYWHERE, command_line
from recollect.cli.pages import page
from recollect.cli.terminal import Bar, Screen, cut, safe, width

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = [sys.executable, "-m", "recollect"]
EVIL = "red \x1b[31malert\x07 \u202egnirts\u202c zero\u200bwidth \u009b2J tag\U000e0041 half\x00"


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and nothing configured but an owner and an embedder that needs no file."""
    for name in [name for name in os.environ if name.startswith(("RECOLLECT_", "OPENAI_", "OLLAMA_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), "RECOLLECT_OWNER": "alice", "RECOLLECT_EMBEDDER": "hashing"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, capsys, monkeypatch):
    """Run a command in this process, as in a pipe."""

    def run(*words: str, stdin: str | bytes = "") -> Ran:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            status = main(words)
        except SystemExit as ended:
            status = ended.code or 0
        return Ran(status, *capsys.readouterr())

    return run


@pytest.fixture
def goa(run):
    """Three records."""
    run("remember", "Priya's parents live in Goa.", "--id", "m1", "--tag", "family", "--at", "2026-03-01T09:00Z")
    run("remember", "The landlord repairs accordions.", "--id", "m2", "--session", "s1", "--turn", "1", "--speaker", "Nora")
    run("remember", "Likes window seats.", "--id", "m3", "--kind", "preference", "--quality", "0.9")
    return run


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def seen(here, monkeypatch):
    """What a command writes when its output is a terminal."""

    def seen(*words: str, **env: str) -> str:
        terminal = Tty()
        with monkeypatch.context() as patch:
            for name, value in {"TERM": "xterm", **env}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", terminal)
            patch.setattr(sys, "stderr", terminal)
            assert main(words) == 0
        return terminal.getvalue()

    return seen


def on_a_real_terminal(*words: str, **env: str) -> str:
    """The same with a process of its own and a terminal that the system vouches for."""
    child, terminal = pty.openpty()
    process = subprocess.Popen([*COMMAND, *words], stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm", **env})
    os.close(terminal)
    read = b""
    try:
        while chunk := os.read(child, 65536):
            read += chunk
    except OSError:
        pass  # Linux's way to say that the other end has closed
    os.close(child)
    assert process.wait(20) == 0
    return read.decode()


# What commands do ----------------------------------------------------------------------------------------------------


def test_remember_prints_the_id_and_recall_a_line_a_hit(run):
    id = run("remember", "Priya's parents live in Goa.", "--tag", "family").out.strip()
    rank, score, found, text = run("recall", "Where do Priya's parents live?").out.rstrip("\n").split("\t")
    assert (rank, found, text) == ("1", id, "Priya's parents live in Goa.")
    assert float(score) > 0


def test_remember_takes_every_field(run):
    record = run(
        "remember", "-", "--json", "--id", "x", "--kind", "fact", "--role", "turn", "--at", "2026-01-02T03:04Z", "--tag", "a",
        "--tag", "b", "--speaker", "Nora", "--session", "s", "--turn", "3", "--project", "p", "--agent", "g", "--quality", "0.25",
        "--confidence", "0.5", "--valid-from", "2026-01-01", "--valid-to", "2027-01-01", "--source", "mail", "--view",
        "user=Only hers.", "--meta", "page=7", stdin="From a pipe.\n",
    ).json  # fmt: skip
    assert record | {"recorded_at": None} == {
        "id": "x", "owner": "alice", "text": "From a pipe.", "kind": "fact", "role": "turn", "agent": "g", "project": "p",
        "session": "s", "turn": 3, "speaker": "Nora", "at": "2026-01-02T03:04:00Z", "recorded_at": None,
        "valid_from": "2026-01-01T00:00:00Z", "valid_to": "2027-01-01T00:00:00Z", "superseded_by": None, "superseded_at": None,
        "tags": ["a", "b"], "quality": 0.25, "confidence": 0.5, "reinforced": 0, "source": "mail",
        "views": {"user": "Only hers."}, "metadata": {"page": "7"}, "entities": [], "links": [], "dates": [],
    }  # fmt: skip


def test_recall_prints_the_object_of_every_door(goa, here):
    shown = goa("recall", "Who repairs accordions?", "--recipe", "memsense(rrf_k=20)@2", "--json").json
    with Memory.open("memory.db") as memory:
        answer = memory.recall("Who repairs accordions?", recipe="memsense(rrf_k=20)@2").to_dict()

    def timeless(shown):
        diagnostics = {**shown["diagnostics"], "ms": 0, "routes": [{**r, "ms": 0} for r in shown["diagnostics"]["routes"]]}
        return json.loads(json.dumps({**shown, "diagnostics": diagnostics}))

    assert timeless(shown) == timeless(answer)
    assert set(shown) >= {"query", "recipe", "hits", "diagnostics"}
    assert shown["hits"][0]["id"] == "m2"


def test_recall_is_narrowed(goa):
    def ids(*words):
        return {line.split("\t")[2] for line in goa("recall", "live window accordions", *words).out.splitlines()}

    assert ids() == {"m1", "m2", "m3"}
    assert ids("--kind", "preference") == {"m3"}
    assert ids("--session", "s1") == {"m2"}
    assert ids("--exclude", "m1", "--exclude", "m3") == {"m2"}
    assert ids("--as-of", "2001-01-01") == set()
    assert len(ids("--limit", "1")) == 1


def test_explain_says_why_and_why_not(goa):
    why = goa("recall", "accordions", "--explain").out
    assert "final_score" in why and "lexical" in why
    assert "final_score" in goa("explain", "accordions").out
    not_there = goa("explain", "accordions", "--expect", "m1", "--kind", "preference", "--json").json
    assert (not_there["expected"], not_there["gate"]) == ("m1", "filtered")
    assert "explanation" in goa("recall", "accordions", "--explain", "--json").json


def test_context_is_the_safe_block(goa):
    block = goa("context", "accordions", "--ids").out
    assert block.startswith("<memory>\n") and block.endswith("</memory>\n") and "[m2]" in block
    short = goa("context", "window accordions Goa", "--max-chars", "220", "--json").json
    assert len(short["memory"]) <= 220 and short["dropped"] and short["chars"] == len(short["memory"])
    assert goa("--owner", "bob", "context", "accordions") == Ran(0, "", "")


def test_forget_and_history(goa):
    goa("remember", "Her parents moved to Pune.", "--id", "m4", "--supersedes", "m1")
    assert [line.split("\t")[0] for line in goa("history", "m4").out.splitlines()] == ["m1", "m4"]
    assert [version["id"] for version in goa("history", "m1", "--json").json["versions"]] == ["m1", "m4"]
    assert goa("forget", "m2", "--json").json["removed"] == {"records": 1, "vectors": 1, "jobs": 0}
    gone = goa("forget", "m2")
    assert (gone.status, gone.out) == (1, "") and "m2" in gone.err


def test_list_pages_in_an_order(goa):
    assert goa("list", "--order", "oldest").out.startswith("m1\t")
    assert len(goa("list", "--limit", "2").out.splitlines()) == 2
    assert [record["id"] for record in goa("list", "--kind", "preference", "--json").json["records"]] == ["m3"]
    first, *rest = [record["id"] for record in goa("list", "--order", "oldest", "--json").json["records"]]
    assert [record["id"] for record in goa("list", "--order", "oldest", "--after", first, "--json").json["records"]] == rest


def test_export_and_import_carry_every_field_and_repeat_harmlessly(goa, here):
    goa("remember", "They moved to Pune.", "--id", "m4", "--supersedes", "m1", "--at", "ageless", "--meta", "a=b")
    assert goa("export", "out.jsonl").out == "Exported 5 to out.jsonl.\n"
    assert goa("export", "out.jsonl").status == 1, "a file is not replaced unasked"
    assert goa("--db", "other.db", "import", "out.jsonl", "--json").json == {
        "added": 5, "unchanged": 0, "differing": 0, "waiting": 0,
    }  # fmt: skip
    assert goa("--db", "other.db", "import", "out.jsonl", "--json").json["unchanged"] == 5
    assert goa("--db", "other.db", "export").out == (here / "out.jsonl").read_text()
    assert [line.split("\t")[0] for line in goa("--db", "other.db", "history", "m4").out.splitlines()] == ["m1", "m4"]
    assert goa("--db", "other.db", "recall", "accordions").out.split("\t")[2] == "m2"
    assert goa("--owner", "bob", "import", "-", "--json", stdin=(here / "out.jsonl").read_text()).json["added"] == 5
    assert {record["owner"] for record in goa("--owner", "bob", "list", "--json").json["records"]} == {"bob"}


def test_import_names_the_line_that_is_no_record(run):
    assert run("import", "-", stdin='{"text": "one"}\n\n{"text": "two"}\n').out.startswith("Remembered 2;")
    assert "Line 2: " in run("import", "-", stdin='{"text": "ok"}\nnonsense\n').err
    assert "Line 1: " in run("import", "-", stdin='{"text": "ok", "colour": "red"}\n').err
    assert "not UTF-8" in run("import", "-", stdin=b'{"text": "\xff"}\n').err
    assert run("import", "nowhere.jsonl").status == 1


def test_settings_are_live_and_go_back(goa):
    changed = goa("settings", "recipe=nexus", "weights.lexical=0.5", "rrf_k=20", "decay=none", "--json").json
    assert changed["weights"] == {"vector(full)": 1.0, "lexical": 0.5}
    assert changed["set"] == {"recipe": "nexus", "weights": {"lexical": 0.5}, "rrf_k": 20, "decay": "none"}
    assert goa("recall", "Goa", "--json").json["recipe"] == "nexus(weights={lexical: 0.5}, rrf_k=20)"
    back = goa("settings", "recipe=", "weights.lexical=", "rrf_k=", "decay=", "--json").json
    assert back["set"] == {} and back["recipe"] == "balanced"
    for wrong in ("weights.lexical=6", "rrf=20", "weights.lexcal=1", "rrf_k", "recipe=nexuss", "rrf_k=[1", "=1"):
        assert goa("settings", wrong).status == 1
    assert goa("settings", "--json").json["set"] == {}


def test_bench_measures_what_is_made_up_and_what_is_ones_own(run, here):
    found = run("--json", "bench", "--records", "30", "--questions", "3", "--recipe", "annie@2").json
    assert (found["records"], found["embedder"]) == (30, "hashing") and set(found["question_ms"]) == {"p50", "p95", "p99"}
    assert found["question_ms"]["p50"] > 0 and found["bytes"] > 4096 and list(here.iterdir()) == []
    assert "a question" in run("bench", "--records", "3", "--questions", "1").out
    refused = run("bench", "--own")
    assert refused.status == 1 and "no records to ask for" in refused.err
    run("remember", "Priya's parents live in Goa.", "--id", "m1")
    own = run("--json", "bench", "--own", "--questions", "2").json
    assert own["records"] == 1 and "written_per_s" not in own and len(run("--json", "list").json["records"]) == 1
    assert run("bench", "--questions", "0").status == 1


def test_recipes_are_listed_and_shown_in_full(run):
    assert {line.split("\t")[0] for line in run("recipes").out.splitlines()} >= {"balanced", "annie", "memsense"}
    one = run("recipes", "annie(half_life=45d)@3", "--json").json
    assert (one["text"], one["limit"]) == ("annie(half_life=45d)@3", 3)
    assert {field["name"]: field["value"] for field in one["fields"]}["half_life"] == "45d"
    assert run("recipes", "annee").status == 1


def test_reembed_gives_every_record_a_vector_of_the_present_model(run, monkeypatch):
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    for number in range(5):
        run("remember", f"Note {number} about kilns.")
    assert run("status", "--json").json["vectors"] == []
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing")
    assert run("reembed", "--dry-run", "--json").json["lacking"] == 5
    assert run("status", "--json").json["vectors"] == []
    assert run("reembed", "--json").json["embedded"] == 5
    (lane,) = run("status", "--json").json["vectors"]
    assert lane["count"] == 5
    assert run("reembed").out == "Nothing lacks a vector.\n"
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hashing:64")
    assert run("reembed", "--json").json["embedded"] == 5 and len(run("status", "--json").json["vectors"]) == 2
    assert run("reembed", "--drop-old", "--dry-run").out.endswith("To be dropped: 5 vectors of hashing:words-1:256.\n")
    assert run("reembed", "--drop-old").out.endswith("Dropped: 5 vectors of hashing:words-1:256.\n")
    assert [lane["space"] for lane in run("status", "--json").json["vectors"]] == ["hashing:words-1:64"]


def test_backup_and_restore(goa, here):
    assert goa("backup", "copy.db").status == 0
    assert goa("backup", "copy.db").status == 1, "a backup is not replaced unasked"
    assert goa("backup", "memory.db", "--force").status == 1
    goa("forget", "m1")
    refused = goa("restore", "copy.db")
    assert refused.status == 1 and "--force" in refused.err
    assert goa("restore", "copy.db", "--force").status == 0
    assert {record["id"] for record in goa("list", "--json").json["records"]} == {"m1", "m2", "m3"}
    assert goa("recall", "Goa", "--db", "copy.db").out.split("\t")[2] == "m1"
    assert sorted(path.name for path in here.iterdir() if not path.name.startswith(("memory.db", "copy.db"))) == []


def test_restore_checks_the_backup_and_leaves_the_memory_alone(goa, here):
    (here / "broken.db").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    (here / "text.db").write_text("not a database")
    for name in ("broken.db", "text.db", "nowhere.db"):
        failed = goa("restore", name, "--force")
        assert failed.status == 1 and name in failed.err
    assert len(goa("list").out.splitlines()) == 3


def test_restore_refuses_while_another_has_it_open(goa, here):
    goa("backup", "copy.db")
    with Memory.open("memory.db") as memory:
        memory.recall("Goa")
        refused = goa("restore", "copy.db", "--force")
        assert refused.status == 1 and "open" in refused.err
        memory.remember("Still here.", id="m9")
    assert "m9" in goa("list").out


def test_restore_over_a_damaged_file(goa, here):
    goa("backup", "copy.db")
    (here / "memory.db").write_text("overwritten by accident")
    assert goa("list").status == 1
    assert goa("restore", "copy.db", "--force").status == 0
    assert len(goa("list").out.splitlines()) == 3


def test_upkeep_status_doctor_models_version(goa, here):
    steps = goa("upkeep", "--json").json
    assert steps["ok"] and [step["name"] for step in steps["steps"]][-3:] == ["embed", "check", "checkpoint"]
    assert goa("upkeep", "--dry-run", "--json").json["dry_run"]
    status = goa("status", "--json").json
    assert (status["records"], status["by_kind"], status["waiting"]) == (3, {"preference": 1, "semantic": 2}, 0)
    health = goa("doctor", "--json")
    assert health.status == 0 and health.json["ok"]
    looked_at = {check["name"] for check in health.json["checks"]}
    assert looked_at >= {"python", "sqlite", "numpy", "embedder", "reranker", "integrity", "waiting"}
    assert {model["name"]: model["installed"] for model in goa("models", "--json").json["models"]}["arctic-embed-s"] is False
    assert goa("models", "verify", "arctic-embed-s").status == 1
    assert goa("models", "install").status == 1
    assert goa("version").out.startswith("recollect ")
    assert goa("--version").out == goa("version").out


def test_doctor_finds_a_reranker_without_its_key(run, monkeypatch):
    monkeypatch.setenv("RECOLLECT_RERANKER", "cohere")
    sick = run("doctor", "--json")
    judge = next(check for check in sick.json["checks"] if check["name"] == "reranker")
    assert sick.status == 1 and judge["state"] == "wrong" and "API key" in str(judge)


def test_doctor_finds_what_is_wrong(run, here):
    (here / "memory.db").write_text("not a database at all, whatever its name says")
    sick = run("doctor", "--json")
    assert sick.status == 1 and not sick.json["ok"]
    assert next(check for check in sick.json["checks"] if check["name"] == "memory")["state"] == "wrong"


def test_the_settings_file_and_the_environment_are_heard(run, here, monkeypatch):
    (here / "recollect.toml").write_text('owner = "from-file"\ndb = "file.db"\nrecipe = "annie@3"\n')
    monkeypatch.delenv("RECOLLECT_OWNER")
    run("remember", "In the file's memory.")
    assert (here / "file.db").exists()
    assert run("status", "--json").json["owner"] == "from-file"
    assert run("recall", "memory", "--json").json["recipe"] == "annie@3"
    monkeypatch.setenv("RECOLLECT_DB", "env.db")
    run("remember", "In the environment's.")
    assert (here / "env.db").exists()
    assert run("recall", "file", "--db", "file.db").out


# Statuses ------------------------------------------------------------------------------------------------------------


def test_a_failure_is_one_line_on_standard_error(run, monkeypatch):
    monkeypatch.delenv("RECOLLECT_OWNER")
    failures = (
        ("remember", "x"), ("recall", "x", "--owner", "a//b"), ("recall", "x", "--owner", "a", "--recipe", "ann\x1bie"),
        ("recall", "x", "--owner", "a", "--limit", "-1"), ("recall", "x", "--owner", "a", "--limit", "0"),
        ("remember", " ", "--owner", "a"),
        ("list", "--owner", "a", "--as-of", "soon"), ("remember", "x", "--owner", "a", "--db", "no/such/folder/memory.db"),
        ("remember", "x", "--owner", "a", "--quality", "7"),
        ("recall", "x", "--owner", "a", "--db", "postgresql://nowhere/x"), ("context", "x", "--owner", "a", "--max-chars", "0"),
    )  # fmt: skip
    for words in failures:
        ran = run(*words)
        assert (ran.status, ran.out) == (1, ""), words
        assert ran.err.startswith("recollect: ") and ran.err.count("\n") == 1 and "\x1b" not in ran.err, words


def test_wrong_usage_is_2(run):
    for words in ((), ("remembre", "x"), ("recall",), ("recall", "x", "--limit", "many"), ("remember", "x", "--kind", "odd"),
                  ("recall", "x", "--colour")):  # fmt: skip
        ran = run(*words)
        assert (ran.status, ran.out) == (2, "") and "usage: recollect" in ran.err, words


def test_reading_makes_no_file(run, here):
    for words in (("recall", "x"), ("list",), ("status",), ("export",), ("context", "x"), ("reembed",), ("upkeep",), ("doctor",)):
        ran = run(*words)
        assert ran.status == 0, words
    assert run("backup", "copy.db").status == 1
    assert "nothing is remembered" in run("recall", "x").err
    assert run("recall", "x", "--json").json["hits"] == []
    assert list(here.iterdir()) == []


def test_options_stand_before_the_command_or_after_it(goa):
    assert goa("--json", "--db", "memory.db", "list").json == goa("list", "--db", "memory.db", "--json").json
    assert goa("--owner", "bob", "list").out == "" == goa("list", "--owner", "bob").out


def test_whoever_stops_reading_hears_no_complaint(goa):
    goa("import", "-", stdin="".join(json.dumps({"text": f"{number} " + "long " * 4000}) + "\n" for number in range(20)))
    process = subprocess.Popen([*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(10) == 141
    process.stderr.close()


def test_an_interrupt_is_quiet(here):
    process = subprocess.Popen([*COMMAND, "import", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(200):
        if (here / "memory.db").exists():
            break
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, b"", b"")


# Terminals -----------------------------------------------------------------------------------------------------------


def test_nothing_remembered_commands_the_terminal(goa, seen):
    with Memory.open("memory.db") as memory:
        memory.remember(EVIL, id="evil", speaker="Eve", session="s9", tags=["t\u202e"])
        kept = memory.get("evil").text
    assert "\u202e" in kept
    for words in (("recall", "red alert"), ("list",), ("explain", "red alert"), ("history", "evil"), ("context", "red alert"),
                  ("recall", "red \x1b[31m alert", "--json")):  # fmt: skip
        assert is_harmless(seen(*words, NO_COLOR="1")), words
    assert is_harmless(on_a_real_terminal("export", NO_COLOR="1"))
    assert is_harmless(goa("list").out) and "\\u202e" in goa("list").out
    assert goa("list", "--json").json["records"][0]["text"] == kept, "JSON says what is there, in escapes"


def is_harmless(shown: str) -> bool:
    return "alert" in shown and not set(shown) & set("\x1b\x07\u202e\u202c\u200b\u009b\U000e0041\x00")


def test_colour_is_for_terminals_that_have_it(goa, seen):
    assert "\x1b[" in on_a_real_terminal("recall", "Goa") and "\x1b[" in seen("recall", "Goa")
    assert "\x1b[" not in seen("recall", "Goa", NO_COLOR="1")
    assert "\x1b[" not in seen("recall", "Goa", TERM="dumb")
    assert "\x1b[" not in goa("recall", "Goa").out
    assert "text" in seen("list", NO_COLOR="1").splitlines()[0], "a table has a head where a person looks"
    assert goa("list").out.count("\n") == 3


def test_a_progress_bar_comes_late_and_leaves_no_trace(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("recollect.cli.terminal.monotonic", lambda: now[0])
    terminal = Tty()
    with Screen(err=terminal).progress("embedding", 100) as bar:
        bar.step(1)
        assert terminal.getvalue() == "", "nothing is drawn for what is over at once"
        now[0] = 10.0
        bar.step(50)
        bar.step(51)
    assert terminal.getvalue().count("embedding") == 1
    assert " 50%" in terminal.getvalue() and "50 of 100" in terminal.getvalue() and "10 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")
    silent = io.StringIO()
    piped = Bar(silent, "embedding", 100)
    now[0] = 60.0
    piped.step(99)
    piped.wipe()
    assert silent.getvalue() == ""


def test_text_fits_its_columns():
    assert (width("añ漢字"), width("e\u0301")) == (6, 1)
    assert cut("漢字漢字", 5) == "漢字…" and cut("short", 5) == "short"
    assert safe("one\n\n  two\tthree\r\n") == "one ⏎ two three"
    assert safe("👩\u200d🍳 നല്\u200dല") == "👩\u200d🍳 നല്\u200dല", "joiners that make an emoji or a letter stay"


def test_a_narrow_encoding_is_no_obstacle(goa):
    goa("remember", "Grüße — 漢字", "--id", "u")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    plain = subprocess.run([*COMMAND, "list"], env=env, capture_output=True, check=True, timeout=20).stdout
    assert b"Gr\\xfc\\xdfe" in plain
    shown = subprocess.run([*COMMAND, "list", "--json"], env=env, capture_output=True, check=True, timeout=20).stdout
    assert json.loads(shown)["records"][0]["text"] == "Grüße — 漢字"


# Start and documentation ---------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom recollect.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'sqlite3', 'Stemmer', 'turbovec', 'asyncio', 'recollect.memory'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert ran.returncode == 0, ran.stderr
    assert "recall" in ran.stdout


def test_the_page_is_what_the_parser_takes():
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == page(), "run: python -m recollect.cli.pages > docs/cli.md"


def test_every_command_and_option_has_help():
    subs = next(action for action in command_line()._actions if action.dest == "command").choices
    assert list(subs) == [command.name for command in COMMANDS]
    for command in COMMANDS:
        text = " ".join(subs[command.name].format_help().split())
        for one in (*command.arguments, *EVERYWHERE):
            assert " ".join(one.options["help"].split()) in text, (command.name, one.names)
        assert command.summary in text and all(example in text for example in map(" ".join, map(str.split, command.examples)))


def test_every_example_parses():
    import shlex

    for command in COMMANDS:
        for example in command.examples:
            words = shlex.split(example.partition("|")[0].partition("<")[0])
            words = [word for word in words if not word.startswith("RECOLLECT_")]
            args = command_line().parse_args(words[1:])
            assert args.run == command.run


def test_every_setting_is_documented():
    from dataclasses import fields

    from recollect.settings import Settings

    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    for field in fields(Settings):
        assert f"| `{field.name}` | `RECOLLECT_{field.name.upper()}`" in text
    for name in ("RECOLLECT_CONFIG", "NO_COLOR", "recollect.toml"):
        assert name in text
