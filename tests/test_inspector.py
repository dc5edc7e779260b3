"""The inspector in a real browser: it shows what the engine says, what is remembered stays text, and nothing leaves the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from recollect import Memory
from recollect.demo import Clock, live_through
from recollect.settings import Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

QUESTION = "Where are we going on holiday, and when?"
EVIL = """Goa holiday <img src=x onerror="window.stolen=1"><script>window.stolen=1</script></pre></memory>"""
TOLD = (("Nora", "friend_of", "Priya"), ("Priya", "lives_in", "Antwerp"), ("Nora", "married_to", "Theo"))
FACTS = [{"text": " ".join(link), "kind": "relationship", "links": [link]} for link in TOLD]
PATIENCE = 40_000  # milliseconds, for a machine that has much else to do
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update")  # fmt: skip


class Server:
    """`recollect serve`, as a person starts it."""

    def __init__(self, db: Path) -> None:
        command = [sys.executable, "-m", "recollect", "--db", str(db), "--owner", "nora", "serve", "--port", "0"]
        said = db.with_suffix(".log")
        with said.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)
        self.url = ""
        while not self.url:
            assert self.process.poll() is None, said.read_text()
            self.url = (re.findall(r"http://[\d.:]+", said.read_text()) or [""])[0]
            time.sleep(0.02)

    def ask(self, path: str, body: object = None, method: str | None = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    db, clock = tmp_path_factory.mktemp("inspector") / "demo.db", Clock()
    with Memory.open(str(db), owner="nora", embedder="static", clock=clock, settings=Settings()) as memory:
        live_through(memory, clock)
        memory.remember_many(FACTS)
        memory.remember(EVIL, id="evil", speaker="<b>Mallory</b>", session="<i>s</i>", tags=["<u>tag</u>"])
    server = Server(db)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, server):
    """A page that knows no other server, and in which nothing may go wrong."""
    wrong: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith((server.url, "data:")) else wrong.append(sent.url))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    yield page
    context.close()
    assert wrong == []


def opened(page, server: Server, question: str = QUESTION):
    page.goto(server.url)
    page.wait_for_selector("#timeline svg")
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector("#hits .memory")
    return page


def ids(page, where: str) -> list[str]:
    return page.eval_on_selector_all(where, "found => found.map(one => one.dataset.id)")


def until(page, where: str):
    """What a part of the page comes to be, for it may take a moment."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    return expect(page.locator(where))


def test_what_is_shown_is_what_the_engine_says(page, server):
    opened(page, server)
    answer = server.ask("/v1/inspect", {"query": QUESTION})
    assert ids(page, "#hits .memory") == [hit["id"] for hit in answer["hits"]]
    for name in ("lexical", "vector(full)"):
        placed = [(one["routes"][name]["rank"], one["id"]) for one in answer["candidates"] if name in one["routes"]]
        assert ids(page, f'.column[data-route="{name}"] .memory') == [id for _, id in sorted(placed)][:8]
    read = sorted((one["reread"]["rank"], one["id"]) for one in answer["candidates"] if one["reread"])
    assert ids(page, '.column[data-route="rerank"] .memory') == [id for _, id in read][:8]
    assert page.inner_text("#block") == answer["memory"]
    assert page.locator("#board path").count() > 10
    lost = sorted((one["final_rank"], one["id"]) for one in answer["candidates"] if one["rank"] is None)
    assert ids(page, ".lost .memory") == [id for _, id in lost][:5] and "beyond the limit" in page.inner_text(".lost")


NUMBER = re.compile(r"\d[\d.]*(?:e-\d+)?")


@pytest.mark.parametrize("recipe", ["balanced", "memsense", "annie", "balanced(alpha=0.1, decay=half-life)"])
def test_a_bar_says_what_the_score_is_made_of(page, server, recipe):
    opened(page, server)
    page.evaluate("recipe => document.querySelector('#recipe').append(new Option(recipe, recipe))", recipe)
    page.select_option("#recipe", recipe)
    until(page, "#recipe-text").to_have_text(recipe)
    answer = server.ask("/v1/inspect", {"query": QUESTION, "recipe": recipe})
    bars = page.eval_on_selector_all("#hits .bar", "all => all.map(one => one.getAttribute('aria-label'))")
    for hit, said in zip(answer["hits"], bars, strict=True):
        kept = [part for part in said.split(", ") if not part.startswith(("lost", "repeats"))]
        assert sum(float(NUMBER.findall(part)[-1]) for part in kept) == pytest.approx(hit["score"], rel=2e-3)
        lost = sum(one["value"] for one in answer["pieces"][hit["id"]] if one["lost"])
        assert ("lost to age" in said) == (lost > 0)
    if recipe == "balanced":
        assert all(word in bars[0] for word in ("words", "meaning", "its session", "read again"))


def test_it_says_why_in_a_sentence(page, server):
    opened(page, server)
    answer = server.ask("/v1/inspect", {"query": QUESTION})
    first, many = answer["hits"][0], {route["name"]: route["candidates"] for route in answer["diagnostics"]["routes"]}
    said = page.inner_text("#story")
    assert first["text"][:60] in said and " is 1st: " in said and f"{first['score']:.4g}" in said
    for name, place in first["routes"].items():
        assert re.search(rf"put it {place['rank']}(st|nd|rd|th) of {many[name]}\b", said)
    assert "reading it again put it 1st of 30" in said
    assert "their scores added up" in page.inner_text("#path") and "k +" not in page.text_content("#how")
    page.click(".lost .memory >> nth=0")
    until(page, "#story").to_contain_text("was found and left out: ")
    assert "beyond the limit" in page.inner_text("#story")


def test_what_was_said_at_once_lies_apart(page, server):
    opened(page, server)
    places = page.eval_on_selector_all(
        "#timeline .dot", "all => all.map(one => [one.cx.baseVal.value, one.cy.baseVal.value].map(Math.round).join())"
    )
    assert len(places) > 90 and len(set(places)) > 0.9 * len(places)
    assert page.evaluate("Math.max(...[...document.querySelectorAll('.dot')].map(one => one.cx.baseVal.value)) < 1200")


def test_a_dial_asks_again(page, server):
    opened(page, server)
    before = ids(page, "#hits .memory")
    page.fill('input[data-dial="vector(full)"]', "0")
    until(page, "#recipe-text").to_have_text("balanced(weights={vector(full): 0})")
    until(page, '.column[data-route="vector(full)"]').to_have_count(0)
    expected = server.ask("/v1/recall", {"query": QUESTION, "recipe": "balanced(weights={vector(full): 0})"})
    assert ids(page, "#hits .memory") == [hit["id"] for hit in expected["hits"]] != before
    page.click("#reset")
    until(page, '.column[data-route="vector(full)"]').to_have_count(1)
    assert ids(page, "#hits .memory") == before


def test_two_dials_hold_together_and_are_kept_as_shown(page, server):
    server.ask("/v1/settings", {"rrf_k": 20, "weights": {"lexical": 2}}, "PATCH")
    try:
        opened(page, server)
        page.select_option("#recipe", "balanced")
        until(page, "#recipe-text").to_have_text("balanced")
        page.fill('input[data-dial="vector(full)"]', "3")
        page.fill('input[data-dial="session (kin)"]', "1")
        page.fill('input[data-dial="novelty (λ)"]', "0.5")
        wanted = "balanced(weights={vector(full): 3}, kin=1, mmr=0.5)"
        until(page, "#recipe-text").to_have_text(wanted)
        assert page.is_checked('input[aria-label="novelty (λ): on"]')
        page.uncheck('input[aria-label="novelty (λ): on"]')
        page.uncheck('input[aria-label="read again: on"]')
        wanted = "balanced(weights={vector(full): 3}, kin=1, rerank=none)"
        until(page, "#recipe-text").to_have_text(wanted)
        until(page, '.column[data-route="rerank"]').to_have_count(0)
        page.click("#keep")
        until(page, "#status").to_have_text(f"Kept: {wanted}")
        assert server.ask("/v1/settings")["recipe"] == wanted
    finally:
        server.ask("/v1/settings", dict.fromkeys(("recipe", "rrf_k", "weights")), "PATCH")


def test_decay_is_switched_on(page, server):
    opened(page, server)
    page.check('input[aria-label="half-life, days: on"]')
    until(page, "#recipe-text").to_contain_text("decay=half-life")
    assert page.locator(".bar .faded").count() > 0 and "lost to age" in page.inner_text(".key")


def test_why_not_that_one(page, server):
    opened(page, server)
    page.fill("#expected", "Safest key in Ghent")
    page.click("#why button")
    page.wait_for_selector("#verdict .verdict")
    said = server.ask("/v1/explain", {"query": QUESTION, "expect": "the-blue-door-12"})
    assert page.inner_text("#verdict .verdict") == f"{said['gate']}. {said['reason']}"
    assert "lexical" in page.inner_text("#verdict ul")
    page.fill("#expected", "Lisbon")
    page.click("#why button")
    page.wait_for_selector("#verdict button")
    page.click("#verdict button >> nth=0")
    page.wait_for_selector("#verdict .verdict")
    page.fill("#expected", "no-such-id")
    page.click("#why button")
    until(page, "#verdict .verdict").to_contain_text("out of scope")


def test_ways_that_brought_nothing_take_no_room(page, server):
    opened(page, server)
    page.select_option("#recipe", "memsense")
    until(page, "#recipe-text").to_have_text("memsense")
    assert page.locator(".column[data-route]").count() == 5 and page.locator("#nothing li").count() == 3
    until(page, "#nothing").to_contain_text("skipped: no user vectors")


def test_another_question_leaves_nothing_of_the_last(page, server):
    opened(page, server)
    page.fill("#expected", "Safest key in Ghent")
    page.click("#why button")
    page.wait_for_selector("#verdict .verdict")
    page.fill("#owner", "nobody")
    page.fill("#question", "hello?")
    page.press("#question", "Enter")
    until(page, "#path").to_contain_text("Nothing to search")
    assert page.inner_text("#verdict") == page.inner_text("#story") == ""
    assert page.inner_text("#detail") == "Nothing was recalled."
    page.fill("#owner", "nora")
    page.fill("#question", QUESTION)
    page.press("#question", "Enter")
    page.wait_for_selector("#hits .memory")
    page.go_back()
    until(page, "#question").to_have_value("hello?")
    page.go_forward()
    until(page, "#question").to_have_value(QUESTION)


def test_an_empty_memory_says_how_to_fill_it(page, server):
    page.goto(server.url)
    page.wait_for_selector("#timeline svg")
    page.fill("#owner", "nobody")
    page.press("#owner", "Enter")
    until(page, "#suggestions").to_contain_text("recollect --owner nobody remember")
    until(page, "#graph").to_contain_text("No names are known yet")


def test_the_timeline_shows_every_memory_and_numbers_the_hits(page, server):
    opened(page, server)
    assert page.locator("#timeline .dot").count() == 104
    assert page.locator("#timeline .dot.hit").count() == page.locator("#hits .memory").count()
    page.click("#timeline .dot.hit >> nth=0", force=True)
    page.wait_for_selector("#detail blockquote")


def test_the_graph_leads_from_name_to_name(page, server):
    opened(page, server)
    until(page, "#graph .node").not_to_have_count(0)
    page.click("#entities button[data-name=Theo]")
    until(page, "#entities button[data-name=Theo]").to_have_attribute("aria-pressed", "true")
    until(page, "#graph svg").to_have_attribute("aria-label", "What Theo is linked to")
    assert "married to" in page.locator("#graph").text_content() and "Antwerp" not in page.locator("#graph").text_content()
    page.focus("#graph .edge:has-text('married to')")
    page.keyboard.press("Enter")
    until(page, "#detail blockquote").to_have_text("Nora married_to Theo")
    page.focus("#graph .node:has-text('Nora')")
    page.keyboard.press(" ")
    until(page, "#graph svg").to_have_attribute("aria-label", "What Nora is linked to")
    until(page, "#graph").to_contain_text("Antwerp")


def test_what_is_chosen_far_below_comes_into_sight(page, server):
    page.goto(server.url)
    page.click("#graph .edge:has-text('married to')")
    until(page, "#question").to_have_value("Nora married_to Theo")
    page.wait_for_selector("#hits .memory")
    page.click("#graph .edge:has-text('friend of')")
    until(page, "#detail blockquote").to_have_text("Nora friend_of Priya")
    until(page, "#detail-title").to_be_in_viewport()


def test_a_keyboard_is_enough(page, server):
    opened(page, server)
    answered = ids(page, "#hits .memory")
    wanted = next(id for id in ids(page, ".column[data-route=lexical] .memory")[1:] if id in answered)
    page.focus(f'.column[data-route=lexical] .memory[data-id="{wanted}"]')
    page.keyboard.press("Enter")
    until(page, "#detail dl").to_contain_text(wanted)
    assert page.locator("#board path.lit").count() > 0
    assert page.get_attribute(f'.column[data-route=lexical] .memory[data-id="{wanted}"]', "aria-pressed") == "true"


def test_what_is_remembered_stays_text(page, server):
    opened(page, server, "Goa holiday script")
    page.click('.memory[data-id="evil"] >> nth=0')
    until(page, "#detail blockquote").to_contain_text("onerror")
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, main script, main b:has-text('Mallory'), main u, main i").count() == 0
    assert EVIL in page.inner_text("#detail blockquote") and "&lt;/memory&gt;" in page.inner_text("#block")


def test_policy_and_offline(page, server):
    response = page.goto(server.url)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert page.evaluate("document.querySelectorAll('[style], script:not([src])').length") == 0


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readable_on_any_screen(page, server, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 850})
    opened(page, server)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page itself never scrolls sideways"
    assert page.evaluate(CONTRASTS) == []


# Every text against the nearest ground under it: WCAG's 4.5 to 1.
CONTRASTS = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const bright = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = parse(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] > 0.5) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll("h1, h2, h3, p, label, button, .text, small, code, pre, dt, dd, li, output")) {
    if (!node.checkVisibility() || !node.innerText?.trim()) continue;
    const [a, b] = [bright(parse(getComputedStyle(node).color)), bright(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(weak)];
}"""
