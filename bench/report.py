"""The tables, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from . import models
from .clients import LEAST

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
# What the project promises itself, in ms of p50: shown beside what was measured.
ALL_MS, SMALL_MS = {10_000: 0.35, 100_000: 0.8, 1_000_000: 4.0}, 0.3


def tables(found: dict) -> str:
    """What was measured, each part that was."""
    parts = [_machine(found)]
    if "one" in found:
        parts += [_speed(found), _stages(found["one"])]
    if "models" in found:
        parts += [_models(found["models"])]
    parts += [_rest(found)]
    if found.get("peers"):
        parts += [_peers(found)]
    if "postgres" in found:
        parts += [_postgres(found["postgres"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def into(page: Path, text: str) -> None:
    """Put the tables between the page's two markers."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _machine(found: dict) -> str:
    here, asked = found["machine"], found["options"]
    versions = ", ".join(f"{name} {here[name]}" for name in ("python", "sqlite", "numpy", "turbovec", "PyStemmer"))
    return (
        f"{here['date']}: {here['cpu']}, {here['cores']} cores, {here['system']}; {versions}; recollect {here['recollect']}. "
        f"{asked['questions']} questions after {asked['warm']} others to warm up; text: {asked['text']}; "
        f"vectors: 384 dimensions, {asked['vectors']}; recipe `{asked['recipe']}`, limit 10; one thread."
    )


def _speed(found: dict) -> str:
    rows = []
    for size, one in _sized(found["one"]):
        rows.append((f"{size:,}", *_ms(one["all"]), _goal(ALL_MS.get(size)), one["text_overlap"], one["vector_recall"]))
        rows.append((f"{one['small']:,} beside {size:,}", *_ms(one["owner"]), _goal(SMALL_MS), "", ""))
    if many := found.get("many"):
        rows.append((f"1,000, of {many['owners']:,} owners", *_ms(many["owner"]), _goal(SMALL_MS), "", ""))
    heads = ("records of the owner", "p50 ms", "p95 ms", "promised p50", "exact text top 50", "vector recall@10")
    return "**A question, text and vector, ten hits**\n\n" + table(heads, rows)


def _stages(one: dict) -> str:
    sized = list(_sized(one))
    names = list(dict.fromkeys(name for _, each in sized for name in each["stages"]))
    rows = [(name, *(each["stages"].get(name, "") for _, each in sized)) for name in names]
    rows.append(("text alone, p50 of the call", *(each["text_only"]["p50"] for _, each in sized)))
    rows.append(("vector alone, p50 of the call", *(each["vector_only"]["p50"] for _, each in sized)))
    for name in dict.fromkeys(name for _, each in sized for name in each.get("presets", ())):
        rows.append((f"`{name}`, p50 of the call", *(each["presets"][name]["p50"] for _, each in sized)))
    heads = ("median ms", *(f"{size:,}" for size, _ in sized))
    return "**Where the time goes**\n\n" + table(heads, rows)


def _models(found: dict) -> str:
    rows = [(f"`{name}`", *_ms(times), _goal(models.PROMISED.get(name))) for name, times in found["presets"].items()]
    said = (
        f"{found['when']}, {found['records']:,} records of one owner, embedder `{found['embedder']}`; remembering them with "
        f"their vectors took {found['build_s']:g} s, and the process holds {found['rss_mb']:,.0f} MB."
    )
    heads = "preset", "p50 ms", "p95 ms", "promised p50"
    return f"**The presets with the models installed**\n\n{said}\n\n" + table(heads, rows)


def _rest(found: dict) -> str:
    rows = []
    if loaded := found.get("import"):
        numpy = "with" if loaded["recollect_has_numpy"] else "without"
        what = f"`import recollect` ({numpy} numpy, which alone takes {loaded['numpy_ms']} ms)"
        rows.append((what, f"{loaded['recollect_ms']} ms", "≤ 60 ms"))
    if written := found.get("writes"):
        rows += [
            ("writing in batches, without vectors", f"{written['batch_per_s']:,} records/s", "≥ 20,000"),
            ("writing in batches, with vectors", f"{written['batch_vectors_per_s']:,} records/s", ""),
            ("writing one by one, each durable, and read for facts", f"{written['single_per_s']:,} records/s", "≥ 2,000"),
            ("the same with `extractor=none`", f"{written['unread_per_s']:,} records/s", ""),
        ]
    for size, one in _sized(found.get("one", {})):
        rows.append((f"{size:,} of one owner: open to first answer, fresh process", f"{one['open']['first_ms']} ms", ""))
        rows.append((f"{size:,} of one owner: memory · file · build", _held(one), ""))
    if many := found.get("many"):
        what = f"{many['owners']:,} owners: open to first answer of one, fresh process"
        rows.append((what, f"{many['open']['first_ms']} ms", "≤ 100 ms"))
        rows.append((f"{many['owners']:,} owners: the same, modules loaded", f"{many['open']['again_ms']} ms", ""))
        rows.append((f"{many['owners']:,} owners: memory · file · build", _held(many), ""))
    return "**Everything else**\n\n" + table(("", "measured", "promised"), rows) if rows else ""


def _peers(found: dict) -> str:
    rows, setups = [], {}
    for size, engines in _sized(found["peers"]):
        ours = dict(_sized(found.get("one", {}))).get(size)
        for engine in ([{**ours, "name": "**recollect**"}] if ours else []) + list(engines.values()):
            setups[engine["name"]] = engine.get("setup", "")
            last = f"{engine['build_s']:g}", _mb(engine), engine["when"]
            for one in filter(None, (engine, engine.get("sure"))):
                name = engine["name"] if one is engine else f"the same, ef={one['ef']}"
                both = [text for key in ("all", "owner") for text in _ms(one[key])]
                rows.append((name, f"{size:,}", *both, one["vector_recall"], *(last if one is engine else ("", "", ""))))
    times = "all p50", "p95", "small owner p50", "p95"
    heads = "engine", "records", *times, "vector recall@10", "build s", "memory · file MB", "measured"
    notes = "\n".join(f"- {name}: {setup}." for name, setup in setups.items() if setup)
    return f"**Beside others, ms**\n\n{table(heads, rows)}\n\n{notes}"


def _postgres(found: dict) -> str:
    rows, best = [], {}
    for cell in sorted(found["cells"], key=lambda cell: (cell["records"], cell["clients"])):
        shares = cell["vector_recall"], cell["own"]
        times = f"{cell['p50']:.3f}", f"{cell['p99']:.3f}", f"{cell['per_s']:,.0f}"
        rest = f"{cell['first_ms']:,.0f}", f"{cell['rss_mb']:,.0f}"
        rows.append((f"{cell['records']:,}", cell["clients"], cell["name"], *times, *shares, *rest))
        worse = cell["p50"], cell["p99"], -cell["per_s"], *(-share for share in shares)
        best.setdefault((cell["records"], cell["clients"]), {})[cell["name"]] = worse
    pairs = [(both["recollect"], both["plain SQL"]) for both in best.values() if len({"recollect", "plain SQL"} & set(both)) == 2]
    won = sum(all(a <= b for a, b in zip(*pair, strict=True)) for pair in pairs)
    times = "p50 ms", "p99 ms", "answers/s"
    heads = "owner's records", "clients", "", *times, "vector recall@10", "own record", "first ms", "client MB"
    rates = ((name, one.get("many_per_s"), one["single_per_s"]) for name, one in found["ingest"].items())
    wrote = [(name, "" if many is None else f"{many:,}", f"{single:,}") for name, many, single in rates]
    settings = ", ".join(f"{name} {value}" for name, value in found["settings"].items())
    index = f" The HNSW index took {found['index_s']:,} s to make, after everything was written." if "index_s" in found else ""
    return (
        f"**PostgreSQL**\n\n{found['when']}: {found['server']}; {settings}, else as it comes. Clients are processes of their own "
        f"on the same machine, {found['seconds']:g} s a row and {LEAST} questions each at least.\n\n{table(heads, rows)}\n\n"
        f"recollect is quicker than the plain SQL, answers more, and finds no less in {won} of {len(pairs)} pairs of rows."
        f"{index}\n\n"
        + table(("records/s with vectors", "in batches of 2,000", "one by one, each durable"), wrote)
    )


def _sized(found: dict) -> Iterable[tuple[int, dict]]:
    return sorted((int(size), one) for size, one in found.items())


def _ms(times: dict) -> tuple[str, str]:
    return f"{times['p50']:.3f}", f"{times['p95']:.3f}"


def _goal(ms: float | None) -> str:
    return f"≤ {ms:g}" if ms else ""


def _mb(one: dict) -> str:
    return f"{one['rss_mb']:,.0f} · {one['disk_mb']:,.0f}"


def _held(one: dict) -> str:
    return f"{one['rss_mb']:,.0f} MB · {one['disk_mb']:,.0f} MB · {one['build_s']:g} s"


def table(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
