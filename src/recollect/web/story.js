// Why, in a sentence: which ways of searching found a memory, where each put it, and what that adds up to.

import { element, fill, short } from "./dom.js";
import { sum } from "./pieces.js";
import { subject } from "./ways.js";

const TOLD = 3; // ways in one sentence

export function story(node, id, found) {
  const one = found.candidates.find((candidate) => candidate.id === id), hit = found.hits.find((each) => each.id === id);
  if (!one && !hit) return fill(node);
  fill(node, element("q", {}, short((hit || one).text, 90)), hit ? ` is ${ordinal(hit.rank)}: ` : " was found and left out: ",
    ways(hit || one, one, found), hit ? [". Its score: ", sum(found, hit)] : `; then ${one.reason ? `${one.gate}: ${one.reason}` : one.gate}.`.replace(/\.\.$/, "."));
}

function ways(hit, standing, found) {
  const { routes, rerank } = found.diagnostics, many = new Map(routes.map((route) => [route.name, route.candidates])), names = [...many.keys()];
  const places = Object.entries(hit.routes).sort(([, a], [, b]) => b.contribution - a.contribution)
    .map(([route, place]) => `${subject(route, names)} put it ${ordinal(place.rank)} of ${many.get(route) ?? "?"}`);
  const more = places.length > TOLD ? [`${places.length - TOLD} more found it`] : [];
  const read = standing && standing.reread ? [`reading it again put it ${ordinal(standing.reread.rank)} of ${rerank.candidates}`] : [];
  return joined([...places.slice(0, TOLD), ...more, ...read]) || "it came with another memory";
}

const joined = (list) => (list.length > 1 ? `${list.slice(0, -1).join(", ")} and ${list.at(-1)}` : list.join(""));

function ordinal(number) {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[number % 10];
  return `${number}${ending && ![11, 12, 13].includes(number % 100) ? ending : "th"}`;
}
