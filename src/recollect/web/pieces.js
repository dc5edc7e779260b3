// What a score is made of: the pieces the engine tells, as a bar, its key, and a sum in words.

import { digits, element } from "./dom.js";
import { piece } from "./ways.js";

const ROOM = 85; // per cent of a card for the largest score; the rest is for what repeats another hit

export function pieces(found, hit) {
  const routes = found.diagnostics.routes.map((route) => route.name);
  const told = found.pieces[hit.id].map((one) => ({ ...one, said: piece(one.what, routes) }));
  const repeated = hit.explain.diversity ? hit.explain.diversity.redundancy : 0;
  const penalty = { what: "penalty", said: `repeats another by ${Math.round(100 * repeated)} %`, share: repeated, lost: true };
  return repeated > 0.005 ? [...told, penalty] : told;
}

const wide = (found) => found.reduce((sum, one) => sum + Math.max(0, one.value || 0), 0);

export const widest = (found) => Math.max(1e-9, ...found.hits.map((hit) => wide(pieces(found, hit))));

export function bar(found, hit, most, colours) {
  const parts = pieces(found, hit).sort((a, b) => a.lost - b.lost);
  const said = parts.map((one) => (one.share === undefined ? `${one.said} ${digits(one.value)}` : one.said)).join(", ");
  const node = element("span", { class: "bar", role: "img", "aria-label": said, title: said });
  for (const one of parts) {
    const part = element("span", { class: look(one, colours) });
    part.style.width = `${one.share === undefined ? (ROOM * Math.max(0, one.value)) / most : (100 - ROOM) * one.share}%`;
    node.append(part);
  }
  return node;
}

export function key(found, colours) {
  const routes = found.diagnostics.routes.map((route) => route.name), seen = new Map();
  for (const one of found.hits.flatMap((hit) => pieces(found, hit))) seen.set(piece(one.what, routes), look(one, colours));
  return element("ul", { class: "key" }, [...seen].map(([said, kind]) => element("li", {}, element("span", { class: kind }), said)));
}

const look = (one, colours) => (one.what === "penalty" ? "penalty" : one.lost ? "faded" : colours.get(one.what) || one.what);

export function sum(found, hit) {
  const parts = pieces(found, hit), kept = parts.filter((one) => !one.lost), lost = parts.filter((one) => one.lost);
  const shown = kept.map((one, number) => [number ? " + " : "", one.said, " ", element("b", {}, digits(one.value))]);
  return [
    element("span", { class: "sum" }, shown, kept.length > 1 ? [" = ", element("b", {}, digits(hit.score))] : ""), ".",
    lost.map((one) => (one.share === undefined ? ` ${digits(one.value)} ${one.said.replace("lost", "was lost")}.` : ` It ${one.said}.`)),
  ];
}
