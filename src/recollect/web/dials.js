// The dials: weights and the numbers of the recipe that are asked about most. Turning one asks the memory again.

import { digits, element, fill } from "./dom.js";

const DIALS = [
  { name: "limit", label: "hits", low: 1, high: 30, step: 1 },
  { name: "rrf_k", label: "k of the ranks", low: 0, high: 100, step: 1 },
  { name: "half_life", label: "half-life, days", low: 1, high: 365, step: 1, needs: "decay", on: "half-life" },
  { name: "alpha", label: "quality (alpha)", low: 0, high: 1, step: 0.01 },
  { name: "mmr", label: "novelty (λ)", low: 0, high: 1, step: 0.01, needs: "mmr", on: 0.7 },
];

// `turned` is called with what differs from the recipe, as a table of recipe fields.
export function dials(node, held, changes, turned, routes) {
  const worth = new Map(routes.map((route) => [route.name, route.weight]));
  const change = (more) => turned({ ...changes, ...more });
  const weights = Object.entries(held.weights).map(([route, weight]) => slider(route, weight, 0, 5, 0.05, (value) =>
    change({ weights: { ...changes.weights, [route]: value } }), null, false, weight && worth.has(route) ? worth.get(route) / weight : 1));
  fill(node, ...weights, ...DIALS.map((dial) => own(dial, held, change)));
}

function own(dial, held, change) {
  const off = dial.needs && held[dial.needs] === "none";
  const value = off || held[dial.name] === "none" ? (dial.needs === dial.name ? dial.on : 30) : days(held[dial.name]);
  const box = dial.needs ? element("input", {
    type: "checkbox", checked: !off, "aria-label": `${dial.label}: on`,
    onchange: (event) => change({ [dial.needs]: event.target.checked ? dial.on : "none" }),
  }) : null;
  return slider(dial.label, value, dial.low, dial.high, dial.step, (now) =>
    change({ [dial.name]: now, ...(off ? { [dial.needs]: dial.needs === dial.name ? now : dial.on } : {}) }), box, off);
}

function slider(label, value, low, high, step, turn, box = null, off = false, times = 1) {
  const said = (now) => (Math.abs(times - 1) < 1e-6 || !now ? digits(now) : `${digits(now)} × ${digits(times)}`); // the model's own worth
  const shown = element("output", {}, off ? "off" : said(value));
  const input = element("input", {
    type: "range", min: low, max: Math.max(high, value), step, value, "aria-label": label, "data-dial": label,
    oninput: (event) => {
      shown.textContent = said(Number(event.target.value));
      turn(Number(event.target.value));
    },
  });
  return element("div", { class: "dial" }, element("span", { class: "name" }, box, label), input, shown);
}

function days(value) {
  const found = /^([\d.]+)(d|h)?$/.exec(String(value));
  return found ? Number(found[1]) / (found[2] === "h" ? 24 : 1) : Number(value);
}
