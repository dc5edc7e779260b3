// The dials: weights and the numbers of the recipe that are asked about most. Turning one asks the memory again.

import { digits, element, fill } from "./dom.js";
import { title } from "./ways.js";

// `needs`: the field that switches it, and what that says when on; `start`: where it stands when it was off.
const DIALS = [
  { name: "limit", label: "hits", low: 1, high: 30, step: 1 },
  { name: "rrf_k", label: "k of the ranks", low: 0, high: 100, step: 1, unless: (held) => held.fuse === "scores" && held.rerank_by !== "rank" },
  { name: "kin", label: "session (kin)", low: 0, high: 2, step: 0.05 },
  { name: "rerank_weight", label: "read again", low: 0, high: 1, step: 0.01, needs: "rerank", on: "late", start: 0.5 },
  { name: "half_life", label: "half-life, days", low: 1, high: 365, step: 1, needs: "decay", on: "half-life", start: 30 },
  { name: "alpha", label: "quality (alpha)", low: 0, high: 1, step: 0.01 },
  { name: "mmr", label: "novelty (λ)", low: 0, high: 1, step: 0.01, needs: "mmr", start: 0.7 },
];

// `turn` is called with what a dial changes, as a table of recipe fields.
export function dials(node, held, turn, routes) {
  const worth = new Map(routes.map((route) => [route.name, route.weight]));
  const weights = Object.entries(held.weights).map(([route, weight]) => slider({
    label: route, name: [title(route), " ", element("code", {}, route)], value: weight, low: 0, high: 5, step: 0.05,
    times: weight && worth.has(route) ? worth.get(route) / weight : 1, turn: (value) => turn({ weights: { [route]: value } }),
  }));
  fill(node, ...weights, ...DIALS.filter((dial) => !dial.unless?.(held)).map((dial) => own(dial, held, turn)));
}

function own(dial, held, turn) {
  const off = Boolean(dial.needs) && held[dial.needs] === "none";
  const value = off ? dial.start : days(held[dial.name]);
  return slider({
    ...dial, name: dial.label, value, off: dial.needs ? off : null,
    turn: (now) => turn({ ...(dial.needs ? { [dial.needs]: held[dial.needs] === "none" ? dial.on : held[dial.needs] } : {}), [dial.name]: now }),
    stop: () => turn({ [dial.needs]: "none", ...(dial.name === dial.needs ? {} : { [dial.name]: undefined }) }),
  });
}

// One dial. With `off` true or false it has a switch as well, which turning it puts on.
function slider({ label, name, value, low, high, step, turn, stop, off = null, times = 1 }) {
  const said = (now) => (Math.abs(times - 1) < 1e-6 || !now ? digits(now) : `${digits(now)} × ${digits(times)}`); // the model's own worth
  const shown = element("output", {}, off ? "off" : said(value));
  const box = off === null ? null : element("input", { type: "checkbox", checked: !off, "aria-label": `${label}: on`, onchange: () => (box.checked ? moved() : stopped()) });
  const input = element("input", {
    type: "range", min: low, max: Math.max(high, value), step, value, "aria-label": label, "data-dial": label, oninput: () => moved(),
  });
  const moved = () => {
    if (box) box.checked = true;
    shown.textContent = said(Number(input.value));
    turn(Number(input.value));
  };
  const stopped = () => {
    shown.textContent = "off";
    stop();
  };
  return element("div", { class: "dial" }, element("span", { class: "name" }, box, name), input, shown);
}

function days(value) {
  const found = /^([\d.]+)(d|h)?$/.exec(String(value));
  return found ? Number(found[1]) / (found[2] === "h" ? 24 : 1) : Number(value);
}
