// The inspector: asks the memory, and hands what it says to the parts that draw it. The engine computes, the page only shows.

import { board, draw, light, press } from "./board.js";
import { detail, verdict } from "./detail.js";
import { dials } from "./dials.js";
import { element, fill, find, short } from "./dom.js";
import { graph } from "./graph.js";
import { ask, Refused, who } from "./server.js";
import { story } from "./story.js";
import { timeline } from "./timeline.js";
import { path, told } from "./ways.js";

const RECORDS = 1000, PAUSE = 90;
const now = { changes: {}, found: null, records: [], chosen: null, turn: 0, hash: location.hash };

function asked() {
  const query = find("question").value.trim(), recipe = find("recipe").value, as_of = find("as-of").value;
  const changed = Object.keys(now.changes).length > 0;
  return { query, ...(changed ? { recipe: { base: recipe, ...now.changes } } : recipe ? { recipe } : {}), ...(as_of ? { as_of: `${as_of}T23:59:59Z` } : {}) };
}

async function inspect({ keepDials = false } = {}) {
  const question = asked();
  if (!question.query) return;
  const turn = ++now.turn;
  try {
    const found = await ask("/v1/inspect", question);
    if (turn !== now.turn) return; // a later question was asked meanwhile
    now.found = found;
    show(found, keepDials);
    say("");
  } catch (error) {
    say(error);
  }
}

function show(found, keepDials) {
  for (const id of ["answer", "below", "more"]) find(id).hidden = false;
  find("welcome").hidden = true;
  find("path").textContent = path(found);
  find("how").textContent = told(found);
  board(find("board"), found, choose);
  if (!keepDials) dials(find("dials"), found.dials, turned, found.diagnostics.routes);
  find("recipe-text").textContent = found.recipe;
  find("block").textContent = found.memory || "(nothing: there is no hit)";
  find("dropped").textContent = found.dropped.map((one) => `${one.id}: ${one.reason}`).join(" · ");
  timeline(find("timeline"), now.records, found.hits, visit);
  const chosen = found.candidates.some((one) => one.id === now.chosen) ? now.chosen : found.hits[0]?.id;
  if (chosen) return choose(chosen);
  fill(find("story"));
  fill(find("detail"), element("p", { class: "note" }, "Nothing was recalled."));
}

async function choose(id) {
  now.chosen = id;
  press(id);
  if (now.found) story(find("story"), id, now.found);
  try {
    await detail(find("detail"), id, asked(), now.found);
  } catch (error) {
    fill(find("detail"), element("p", { class: "lost" }, error.message));
  }
}

let waiting = 0;
function turned({ weights, ...more }) {
  Object.assign(now.changes, more, weights ? { weights: { ...now.changes.weights, ...weights } } : {});
  clearTimeout(waiting);
  waiting = setTimeout(() => inspect({ keepDials: true }), PAUSE);
}

async function whyNot(event) {
  event.preventDefault();
  const wanted = find("expected").value.trim().toLowerCase();
  if (!wanted || !now.found) return;
  const matching = now.records.filter((record) => record.id.toLowerCase() === wanted || record.text.toLowerCase().includes(wanted)).slice(0, 6);
  if (matching.length > 1 && matching[0].id.toLowerCase() !== wanted) {
    fill(find("verdict"), element("p", { class: "note" }, "Which of these?"),
      element("ul", {}, matching.map((record) => element("li", {}, element("button", { type: "button", class: "rest", onclick: () => judge(record.id) }, short(record.text, 90))))));
    return;
  }
  await judge(matching.length ? matching[0].id : find("expected").value.trim());
}

async function judge(id) {
  try {
    const why = await ask("/v1/explain", { ...asked(), expect: id });
    const record = now.records.find((one) => one.id === id);
    fill(find("verdict"), record ? element("p", {}, `“${short(record.text, 200)}”`) : null, ...verdict(why));
  } catch (error) {
    fill(find("verdict"), element("p", { class: "lost" }, error.message));
  }
}

async function keep() {
  try {
    const held = await ask("/v1/settings"), others = Object.fromEntries(Object.keys(held.set).map((name) => [name, null]));
    await ask("/v1/settings", { ...others, recipe: now.found.recipe }, "PATCH"); // what was set besides would change it once more
    say(`Kept: ${now.found.recipe}`);
  } catch (error) {
    say(error);
  }
}

function say(said) {
  const wrong = said instanceof Error, node = find("status");
  node.textContent = wrong ? said.message : said;
  node.classList.toggle("wrong", wrong);
  if (said instanceof Refused && said.status === 401) {
    find("token-field").hidden = false;
    find("token").focus();
  }
}

const hashed = () => new URLSearchParams(location.hash.slice(1)).get("q") || "";

// What is there, before anything is asked

async function look() {
  who.owner = find("owner").value.trim();
  who.token = find("token").value.trim();
  try {
    const [status, recipes, settings] = await Promise.all([ask("/v1/status"), ask("/v1/recipes"), ask("/v1/settings")]);
    offer(recipes.recipes, settings.recipe);
    now.records = await everything();
    who.owner = find("owner").value = status.owner;
    find("facts").textContent = `${status.records} memories of ${status.owner}, embedder ${status.embedder}${status.waiting ? `, ${status.waiting} texts wait for their vectors` : ""}`;
    timeline(find("timeline"), now.records, [], visit);
    suggest();
    await graph(find("entities"), find("graph"), visit);
    say("");
  } catch (error) {
    say(error);
  }
}

async function everything() {
  let records = [], next = null;
  do {
    const page = await ask(`/v1/memories?limit=500&all=true${next ? `&after=${encodeURIComponent(next)}` : ""}`);
    records = records.concat(page.records);
    next = page.next;
  } while (next && records.length < RECORDS);
  return records;
}

function offer(recipes, inForce) {
  const select = find("recipe"), held = select.value;
  const names = recipes.map((recipe) => recipe.name);
  fill(select, names.includes(inForce) ? null : element("option", { value: inForce }, short(inForce, 40)),
    names.map((name) => element("option", { value: name }, name)));
  select.value = names.includes(held) ? held : inForce;
}

function suggest() {
  const told = now.records.filter((record) => record.role !== "derived" && record.text.length > 25).slice(0, 3);
  const none = ["Nothing is remembered here yet: ", element("code", {}, `recollect --owner ${who.owner} remember "…"`), ", or choose another owner above."];
  if (!now.records.length) return fill(find("suggestions"), none);
  fill(find("suggestions"), told.length ? "Or look for what was said lately: " : null, told.map((record) => element("button", {
    type: "button", onclick: () => { find("question").value = record.text; inspect(); },
  }, short(record.text, 70))));
}

// Choose what stands further down the page: its details come into sight. Before any question, it is the question.
function visit(id) {
  if (now.found) {
    choose(id);
    return find("detail-title").scrollIntoView({ block: "center" });
  }
  const record = now.records.find((one) => one.id === id);
  if (!record) return;
  find("question").value = record.text;
  inspect();
}

find("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const other = find("owner").value.trim() !== who.owner || find("token").value.trim() !== who.token;
  if (other) await look();
  now.changes = {};
  fill(find("verdict"));
  now.hash = `#${new URLSearchParams({ q: find("question").value })}`;
  location.hash = now.hash;
  inspect();
});
find("recipe").addEventListener("change", () => { now.changes = {}; inspect(); });
find("as-of").addEventListener("change", () => inspect());
find("reset").addEventListener("click", () => { now.changes = {}; inspect(); });
find("keep").addEventListener("click", keep);
find("why").addEventListener("submit", whyNot);
addEventListener("resize", () => { if (now.found) draw(find("board")); });
addEventListener("hashchange", () => { // back and forth between questions; not what was asked just now
  if (location.hash === now.hash) return;
  now.hash = location.hash;
  find("question").value = hashed();
  inspect();
});
addEventListener("keydown", (event) => { if (event.key === "Escape") light(null); });

find("reading").open = matchMedia("(min-width: 701px)").matches;
find("question").value = hashed() || find("question").value;
await look();
if (!now.found) inspect();
