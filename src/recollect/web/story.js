// Why, in a sentence: which ways of searching found a memory, where each put it, and what that adds up to.

import { parts } from "./board.js";
import { digits, element, fill, short } from "./dom.js";
import { way } from "./ways.js";

export function story(node, id, found) {
  const one = found.candidates.find((candidate) => candidate.id === id), hit = found.hits.find((each) => each.id === id);
  if (!one && !hit) return fill(node);
  const routes = new Map(found.diagnostics.routes.map((route) => [route.name, route.candidates]));
  const places = Object.entries((hit || one).routes).map(([route, place]) => `${way(route)[1]} put it ${ordinal(place.rank)} of ${routes.get(route) ?? "?"}`);
  const said = element("q", {}, short((hit || one).text, 90));
  fill(node, said, hit ? ` is ${ordinal(hit.rank)}: ` : " was found and left out: ", joined(places) || "it came with another memory",
    hit ? sum(hit) : `; then ${one.reason ? `${one.gate}: ${one.reason}` : one.gate}.`.replace(/\.\.$/, "."));
}

// What the score adds up to, with the colours of the routes left to the bars.
function sum(hit) {
  const found = parts(hit), pieces = found.filter((one) => one.value !== undefined && one.kind !== "faded");
  const shown = pieces.map((one, number) => `${one.value < 0 ? "− " : number ? "+ " : ""}${digits(Math.abs(one.value))}`).join(" ");
  const faded = found.find((one) => one.kind === "faded"), repeated = found.find((one) => one.kind === "penalty");
  return [
    ". ", element("span", { class: "sum" }, pieces.length > 1 ? `${shown} = ${digits(hit.score)}` : digits(hit.score)), ".",
    faded ? ` Age took ${digits(faded.value)}.` : "", repeated ? ` It ${repeated.what}.` : "",
  ];
}

const joined = (list) => (list.length > 1 ? `${list.slice(0, -1).join(", ")} and ${list.at(-1)}` : list.join(""));

function ordinal(number) {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[number % 10];
  return `${number}${ending && ![11, 12, 13].includes(number % 100) ? ending : "th"}`;
}
