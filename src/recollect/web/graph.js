// Who and what the memories are about: the names most often mentioned, and around the chosen one what it is linked to.

import { ask } from "./server.js";
import { drawing, element, fill, pressed, short } from "./dom.js";

const WIDTH = 1200, HEIGHT = 420, STEPS = 220;

export async function graph(chips, canvas, choose) {
  const named = (await ask("/v1/entities?limit=24")).entities;
  fill(chips);
  if (!named.length) return fill(canvas, element("p", { class: "note" }, "No names are known yet. Memories that come with entities and links are drawn here."));
  const pick = async (name) => {
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.name === name));
    const around = await ask(`/v1/neighborhood?entity=${encodeURIComponent(name)}&hops=2&limit=40`);
    fill(canvas, drawn(around, pick, choose), types(around.nodes));
    canvas.scrollLeft = (canvas.scrollWidth - canvas.clientWidth) / 2; // the chosen name is drawn in the middle
  };
  fill(chips, named.map((one) => element("button", {
    type: "button", "data-name": one.name, "aria-pressed": "false", onclick: () => pick(one.name),
  }, `${one.name} ${one.mentions}`)));
  await pick(named[0].name);
}

// What the colours say.
function types(nodes) {
  const seen = [...new Set(nodes.map((node) => node.type))].sort();
  return nodes.length > 1 ? element("ul", { class: "key" }, seen.map((type) => element("li", { class: type }, element("span"), type))) : null;
}

function drawn({ nodes, edges }, pick, choose) {
  if (!edges.length && nodes.length < 2) return element("p", { class: "note" }, "No link leads from here yet.");
  const places = settled(nodes, edges), high = [...places.values()].map((place) => place.y);
  const top = Math.min(...high) - 30, bottom = Math.max(...high) + 42; // no room for nothing
  const svg = drawing("svg", { viewBox: `0 ${top} ${WIDTH} ${bottom - top}`, role: "group", "aria-label": `What ${nodes[0].name} is linked to` });
  const told = new Map(), words = []; // told: how many edges two have between them so far; each further one's words stand a line higher
  for (const edge of edges) {
    const from = places.get(edge.subject), to = places.get(edge.object), pair = [edge.subject, edge.object].sort().join("\n");
    const line = told.get(pair) ?? 0;
    told.set(pair, line + 1);
    if (!from || !to) continue;
    svg.append(drawing("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y }));
    words.push(
      drawing("text", {
        class: "edge", x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 - 3 - 14 * line, tabindex: 0, role: "button",
        "aria-label": `${edge.subject} ${edge.predicate.replaceAll("_", " ")} ${edge.object}: the memory that says so`, ...pressed(() => choose(edge.record)),
      }, short(edge.predicate.replaceAll("_", " "), 24)));
  }
  svg.append(...words);
  for (const node of nodes) {
    const { x, y } = places.get(node.name), said = `${node.name}, ${node.type}, ${node.mentions} mentions`;
    svg.append(drawing("g", {
      class: `node ${node.type}`, tabindex: 0, role: "button", "aria-label": said, ...pressed(() => pick(node.name)),
    }, drawing("circle", { cx: x, cy: y, r: 6 + Math.min(10, 2 * Math.sqrt(node.mentions)) }, drawing("title", {}, said)), drawing("text", { x, y: y + 28 }, short(node.name, 24))));
  }
  return svg;
}

// Springs and repulsion from a fixed start, so that the same graph is always drawn alike.
function settled(nodes, edges) {
  const places = new Map(nodes.map((node, n) => [node.name, {
    x: WIDTH / 2 + (n ? 300 * Math.cos(2.4 * n) : 0), y: HEIGHT / 2 + (n ? 120 * Math.sin(2.4 * n) : 0),
  }]));
  const all = [...places.values()], bound = edges.map((edge) => [places.get(edge.subject), places.get(edge.object)]).filter(([a, b]) => a && b && a !== b);
  for (let step = 0; step < STEPS; step++) {
    const heat = 12 * (1 - step / STEPS), pull = new Map(all.map((place) => [place, { x: (WIDTH / 2 - place.x) / 90, y: (HEIGHT / 2 - place.y) / 30 }]));
    for (const one of all) for (const other of all) {
      if (one === other) continue;
      const dx = one.x - other.x, dy = 2 * (one.y - other.y), far = Math.max(1, dx * dx + dy * dy);
      pull.get(one).x += (9000 * dx) / far / 10;
      pull.get(one).y += (9000 * dy) / far / 8;
    }
    for (const [a, b] of bound) {
      const dx = (b.x - a.x) / 25, dy = (b.y - a.y) / 12;
      pull.get(a).x += dx; pull.get(a).y += dy; pull.get(b).x -= dx; pull.get(b).y -= dy;
    }
    for (const [place, force] of pull) {
      const strong = Math.hypot(force.x, force.y) || 1, move = Math.min(heat, strong);
      place.x = Math.min(WIDTH - 70, Math.max(70, place.x + (move * force.x) / strong));
      place.y = Math.min(HEIGHT - 40, Math.max(25, place.y + (move * force.y) / strong));
    }
  }
  return places;
}
