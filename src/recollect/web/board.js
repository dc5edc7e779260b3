// The board: a column for every route with what it brought, the answer beside them, and a line from each place to where it ended.

import { day, digits, drawing, element, fill, short } from "./dom.js";
import { caption } from "./ways.js";

const FEW = 8, LOST = 5;
const opened = new Set(); // columns that show all they have

export function board(node, found, choose) {
  const routes = found.diagnostics.routes;
  const colours = new Map(routes.map((route, number) => [route.name, `r${number % 8}`]));
  const columns = routes.filter((route) => route.weight > 0).map((route) => column(route, found, colours, choose, node));
  fill(node, lines(), ...columns, answer(found, colours, choose, node));
  draw(node);
}

function column(route, found, colours, choose, node) {
  const brought = found.candidates.filter((one) => route.name in one.routes);
  brought.sort((a, b) => a.routes[route.name].rank - b.routes[route.name].rank);
  const [shown, more] = folded(route.name, brought, FEW, () => board(node, found, choose));
  return element("div", { class: `column ${colours.get(route.name)}`, "data-route": route.name },
    element("header", {}, element("h3", {}, route.name), element("p", {}, caption(route.name)), element("p", {}, told(route))),
    element("ol", {}, shown.map((one) => element("li", {}, card(one, {
      rank: one.routes[route.name].rank, note: `${raw(route.name)} ${digits(one.routes[route.name].raw)}`, choose, route: route.name,
    })))),
    more);
}

// The first few of a list, and the button that shows the rest.
function folded(name, list, few, again) {
  const all = opened.has(name);
  const unfold = () => {
    all ? opened.delete(name) : opened.add(name);
    again();
  };
  const more = list.length > few ? element("button", { type: "button", class: "rest", onclick: unfold },
    all ? "Show fewer" : `and ${list.length - few} more`) : null;
  return [all ? list : list.slice(0, few), more];
}

function told(route) {
  if (route.status !== "ran") return `${route.status.replace("_", " ")}: ${route.reason}`;
  const many = route.candidates === 1 ? "1 memory" : `${route.candidates} memories`;
  return `${many} in ${route.ms.toFixed(2)} ms, weight ${digits(route.weight)}${route.reason ? ` · ${route.reason}` : ""}`;
}

function raw(name) {
  if (name.startsWith("lexical")) return "BM25";
  return /^(vec|facet|vector)/.test(name) ? "cosine" : "score";
}

function answer(found, colours, choose, node) {
  const most = Math.max(1e-9, ...found.hits.map((hit) => widest(parts(hit))));
  const [lost, more] = folded("", found.candidates.filter((one) => one.rank === null), LOST, () => board(node, found, choose));
  return element("div", { class: "column answer" },
    element("header", {}, element("h3", {}, "The answer"), element("p", {}, "Best first, with what each score is made of"),
      element("p", {}, `${found.hits.length} of ${found.candidates.length} candidates, ${found.diagnostics.ms.toFixed(2)} ms`)),
    element("ol", { id: "hits" }, found.hits.map((hit) => element("li", {}, card(hit, {
      rank: hit.rank, note: `${digits(hit.score)} · ${day(hit.at)}`, choose, shown: true, bar: bar(hit, most, colours),
    })))),
    key(found, colours),
    lost.length ? element("p", { class: "cut" }, "Nearly: what was found and left out, and why") : null,
    element("ol", { class: "lost" }, lost.map((one) => element("li", {}, card(one, {
      rank: "–", note: one.reason ? `${one.gate}: ${one.reason}` : one.gate, choose, out: true,
    })))), more);
}

function card(one, { rank, note, choose, route, bar, shown, out }) {
  const speaker = one.speaker ? `${one.speaker}: ` : "";
  return element("button", {
    type: "button", class: `memory${shown ? " shown" : ""}${out ? " out" : ""}`, "data-id": one.id, "data-route": route,
    "aria-pressed": "false", onclick: () => choose(one.id),
    onpointerenter: () => light(one.id), onpointerleave: () => light(null), onfocus: () => light(one.id), onblur: () => light(null),
  },
  element("span", { class: "rank" }, String(rank)), element("span", { class: "text" }, speaker + short(one.text, 240)), bar,
  element("small", {}, note));
}

// What a score is made of

export function parts(hit) {
  const about = hit.explain, fade = about.decay ?? 1;
  const voices = Object.entries(hit.routes).map(([route, place]) => ({ what: route, route, value: place.contribution * fade }));
  const support = about.turn_support || 0;
  if (support) voices.push({ what: "support of its turns", kind: "support", value: support * fade });
  const quality = (about.alpha || 0) * about.memory_score;
  if (quality) voices.push({ what: "quality", kind: "quality", value: quality });
  const left = hit.score - voices.reduce((sum, one) => sum + one.value, 0);
  if (Math.abs(left) > 1e-9) voices.push({ what: "other stages", kind: "other", value: left });
  const age = Object.values(hit.routes).reduce((sum, place) => sum + place.contribution, support) * (1 - fade);
  if (age > 1e-12) voices.push({ what: "lost to age", kind: "faded", value: age });
  const repeated = about.diversity ? about.diversity.redundancy : 0;
  if (repeated > 0.005) voices.push({ what: `repeats another by ${Math.round(100 * repeated)} %`, kind: "penalty", share: repeated });
  return voices;
}

const widest = (found) => found.reduce((sum, one) => sum + Math.max(0, one.value || 0), 0);

function bar(hit, most, colours) {
  const found = parts(hit);
  const said = found.map((one) => (one.value === undefined ? one.what : `${one.what} ${digits(one.value)}`)).join(", ");
  const node = element("span", { class: "bar", role: "img", "aria-label": said, title: said });
  for (const one of found) {
    const piece = element("span", { class: one.kind || colours.get(one.route) });
    piece.style.width = `${one.share === undefined ? (85 * Math.max(0, one.value)) / most : 15 * one.share}%`;
    node.append(piece);
  }
  return node;
}

function key(found, colours) {
  const seen = new Map();
  for (const one of found.hits.flatMap(parts)) {
    const what = one.kind === "penalty" ? "repeats another hit (MMR)" : one.what;
    seen.set(what, one.kind || colours.get(one.route));
  }
  return element("ul", { class: "key" }, [...seen].map(([what, kind]) => element("li", { class: kind }, element("span", { class: kind }), what)));
}

// Lines from every place on a route to the memory's place in the answer

function lines() {
  return drawing("svg", { "aria-hidden": "true" });
}

export function draw(node) {
  const svg = node.querySelector("svg"), home = node.getBoundingClientRect();
  svg.setAttribute("width", node.scrollWidth);
  svg.setAttribute("height", node.scrollHeight);
  const ends = new Map([...node.querySelectorAll(".answer .memory")].map((card) => [card.dataset.id, card]));
  const paths = [...node.querySelectorAll(".column:not(.answer) .memory")].filter((card) => ends.has(card.dataset.id)).map((card) => {
    const kept = ends.get(card.dataset.id).classList.contains("shown");
    const from = card.getBoundingClientRect(), to = ends.get(card.dataset.id).getBoundingClientRect();
    const x1 = from.right - home.left, y1 = (from.top + from.bottom) / 2 - home.top;
    const x2 = to.left - home.left, y2 = (to.top + to.bottom) / 2 - home.top, bend = Math.min(60, (x2 - x1) / 2);
    return drawing("path", {
      d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`, "data-id": card.dataset.id,
      class: `${card.closest(".column").className.replace("column", "").trim()}${kept ? "" : " faint"}`,
    });
  });
  fill(svg, paths);
}

export function light(id) {
  const node = document.getElementById("board");
  node.classList.toggle("choosing", id !== null);
  for (const one of document.querySelectorAll("[data-id]")) one.classList.toggle("lit", one.dataset.id === id);
}

export function press(id) {
  for (const one of document.querySelectorAll(".memory")) one.setAttribute("aria-pressed", String(one.dataset.id === id));
}
