// The board: a column for every route with what it brought, the answer beside them, and a line from each place to where it ended.

import { day, digits, drawing, element, fill, find, short } from "./dom.js";
import { bar, key, widest } from "./pieces.js";
import { caption, title } from "./ways.js";

const FEW = 8, LOST = 5;
const opened = new Set(); // columns that show all they have

export function board(node, found, choose) {
  const ways = [...found.diagnostics.routes, ...reread(found)];
  const colours = new Map(ways.map((route, number) => [route.name, `r${number % 8}`]));
  const running = ways.filter((route) => route.weight > 0), brought = (route) => found.candidates.some((one) => place(one, route));
  const columns = running.filter(brought).map((route) => column(route, found, colours, choose, node));
  fill(node, lines(), ...columns, answer(found, colours, choose, node));
  fill(find("nothing"), running.filter((route) => !brought(route)).map((route) => element("li", { "data-route": route.name },
    element("b", {}, title(route.name)), " ", element("code", {}, route.name), ` brought nothing: ${told(route)}`)));
  draw(node);
}

// Reading the best again, as one more column.
function reread(found) {
  const read = found.diagnostics.rerank;
  return read && read.status === "ran" ? [{ ...read, name: "rerank", by: read.name, weight: found.dials.rerank_weight }] : [];
}

const place = (one, route) => (route.by ? one.reread && { rank: one.reread.rank, raw: one.reread.relevance } : one.routes[route.name]);

function column(route, found, colours, choose, node) {
  const brought = found.candidates.filter((one) => place(one, route)).sort((a, b) => place(a, route).rank - place(b, route).rank);
  const [shown, more] = folded(route.name, brought, FEW, () => board(node, found, choose));
  return element("div", { class: `column ${colours.get(route.name)}`, "data-route": route.name },
    element("header", {}, element("h3", {}, title(route.name), " ", element("code", {}, route.by || route.name)), element("p", {}, caption(route.name)), element("p", {}, told(route))),
    element("ol", {}, shown.map((one) => element("li", {}, card(one, {
      rank: place(one, route).rank, note: `${raw(route.name)} ${digits(place(one, route).raw)}`, choose, route: route.name,
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
  if (route.by) return `${route.candidates} memories in ${route.ms.toFixed(2)} ms, counts ${Math.round(100 * route.weight)} %`;
  const many = route.candidates === 1 ? "1 memory" : `${route.candidates} memories`;
  return `${many} in ${route.ms.toFixed(2)} ms, weight ${digits(route.weight)}${route.reason ? ` · ${route.reason}` : ""}`;
}

function raw(name) {
  if (name.startsWith("lexical")) return "BM25";
  if (name === "rerank") return "relevance";
  return /^(vec|facet|vector)/.test(name) ? "cosine" : "score";
}

function answer(found, colours, choose, node) {
  const most = widest(found), left = found.candidates.filter((one) => one.rank === null);
  const nearest = left.sort((a, b) => (a.final_rank ?? Infinity) - (b.final_rank ?? Infinity) || a.fused_rank - b.fused_rank);
  const [lost, more] = folded("", nearest, LOST, () => board(node, found, choose));
  return element("div", { class: "column answer" },
    element("header", {}, element("h3", {}, "The answer"), element("p", {}, "Best first; the bar is its score"),
      element("p", {}, `${found.hits.length} of ${found.candidates.length} candidates, ${found.diagnostics.ms.toFixed(2)} ms`)),
    element("ol", { id: "hits" }, found.hits.map((hit) => element("li", {}, card(hit, {
      rank: hit.rank, note: `${digits(hit.score)} · ${day(hit.at)}`, choose, shown: true, bar: bar(found, hit, most, colours),
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
