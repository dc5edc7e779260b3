// When it happened: every memory a dot, a lane a session, the hits filled and numbered.

import { day, drawing, element, fill, pressed, short } from "./dom.js";
import { light } from "./board.js";

const WIDTH = 1200, LANE = 26, LEFT = 150, LANES = 9, APART = 130;

export function timeline(node, records, hits, choose) {
  const dated = records.filter((record) => record.at && record.role !== "derived");
  if (!dated.length) return fill(node, element("p", { class: "note" }, "Nothing is remembered yet."));
  const lanes = names(dated), ranks = new Map(hits.map((hit) => [hit.id, hit.rank]));
  const times = dated.map((record) => Date.parse(record.at)), first = Math.min(...times), last = Math.max(...times);
  const x = (at) => LEFT + 14 + ((WIDTH - LEFT - 30 - APART) * (Date.parse(at) - first)) / Math.max(1, last - first);
  const y = (record) => 16 + LANE * lanes.indexOf(lane(record, lanes));
  const height = 20 + LANE * lanes.length + 14;
  const svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Timeline of memories" });
  lanes.forEach((name, number) => svg.append(
    drawing("text", { x: 8, y: 20 + LANE * number }, short(name, 22)),
    drawing("line", { class: "lane", x1: LEFT, x2: WIDTH - 10, y1: 16 + LANE * number, y2: 16 + LANE * number })));
  for (const at of ticks(first, last)) svg.append(drawing("text", { x: x(at), y: height - 5, "text-anchor": "middle" }, day(at)));
  const later = (record) => ranks.has(record.id); // the hits last, so that they lie on top
  const places = apart(dated, (record) => x(record.at), y, later);
  for (const record of [...dated].sort((a, b) => later(a) - later(b))) svg.append(...dot(record, places.get(record.id), y(record), ranks.get(record.id), choose));
  fill(node, svg);
  const shown = hits.find((hit) => places.has(hit.id)); // on a narrow screen: the first hit, in the middle
  if (shown) node.scrollLeft = (places.get(shown.id) * node.scrollWidth) / WIDTH - node.clientWidth / 2;
}

// What was said in one hour would lie on one spot: moved apart within its lane, in its order, but never far from its time.
function apart(records, x, y, large) {
  const places = new Map(), ends = new Map(), edge = WIDTH - 14;
  const turns = [...records].sort((a, b) => x(a) - x(b) || (a.turn ?? 0) - (b.turn ?? 0));
  for (const record of turns) {
    const half = large(record) ? 8.5 : 4.75, at = x(record), end = ends.get(y(record)) ?? -Infinity;
    const place = Math.min(Math.max(at, end + half), at + APART);
    places.set(record.id, place);
    ends.set(y(record), place + half);
  }
  for (const record of turns) places.set(record.id, places.get(record.id) - Math.max(0, ends.get(y(record)) - edge));
  return places;
}

function dot(record, x, y, rank, choose) {
  const past = record.superseded_by !== null || (record.valid_to !== null && Date.parse(record.valid_to) < Date.now());
  const said = `${day(record.at)} ${record.speaker ? `${record.speaker}: ` : ""}${short(record.text, 160)}${past ? " (no longer holds)" : ""}`;
  const node = drawing("circle", {
    class: `dot${rank ? " hit" : ""}${past ? " past" : ""}`, cx: x, cy: y, r: rank ? 8 : 4.5, "data-id": record.id, role: "button",
    tabindex: rank ? 0 : -1, "aria-label": said, ...pressed(() => choose(record.id)), onpointerenter: () => light(record.id), onpointerleave: () => light(null),
  }, drawing("title", {}, said));
  return rank ? [node, drawing("text", { class: "number", x, y: y + 3 }, String(rank))] : [node];
}

function names(records) {
  const counts = new Map();
  for (const record of records) counts.set(record.session || "notes", (counts.get(record.session || "notes") || 0) + 1);
  const all = [...counts.keys()];
  if (all.length <= LANES) return all.reverse();
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, LANES - 1).map(([name]) => name);
  return [...all.filter((name) => kept.includes(name)).reverse(), "other sessions"];
}

const lane = (record, lanes) => (lanes.includes(record.session || "notes") ? record.session || "notes" : "other sessions");

function ticks(first, last) {
  const count = last - first < 86_400_000 ? 1 : 6;
  return Array.from({ length: count }, (_, n) => new Date(first + ((last - first) * n) / Math.max(1, count - 1)).toISOString());
}
