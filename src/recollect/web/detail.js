// One memory in full: what it says, what is known of it, and the tree its score comes from; or the gate that kept it out.

import { ask } from "./server.js";
import { day, digits, element, fill } from "./dom.js";

export async function detail(node, id, asked, found) {
  const hit = found.hits.find((one) => one.id === id);
  const [record, why] = await Promise.all([ask(`/v1/memories/${encodeURIComponent(id)}`), hit ? null : ask("/v1/explain", { ...asked, expect: id })]);
  const tree = hit && found.explanation.hits.find((one) => one.id === id).tree;
  fill(node, element("blockquote", {}, record.text), facts(record),
    tree ? [element("h3", {}, `Rank ${hit.rank}: where ${digits(hit.score)} comes from`), element("ul", { class: "tree" }, branch(tree))] : verdict(why));
}

function facts(record) {
  const told = {
    said: record.speaker ? `by ${record.speaker}` : null, at: day(record.at), kind: `${record.kind}, ${record.role}`, session: record.session,
    tags: record.tags.join(", "), quality: digits(record.quality), source: record.source, "replaced by": record.superseded_by,
    "about": (record.entities || []).map((one) => one.name).join(", "), id: record.id,
  };
  const rows = Object.entries(told).filter(([, value]) => value !== null && value !== "" && value !== undefined);
  return element("dl", {}, rows.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

const SIGNS = { sum: "sum of", product: "product of", ratio: "ratio of", least: "least of" };

function branch(tree) {
  const said = [element("b", {}, digits(tree.value)), ` ${tree.name}`, tree.op && tree.children ? ` = ${SIGNS[tree.op] || tree.op}` : "", tree.note ? ` (${tree.note})` : ""];
  return element("li", {}, said, tree.children ? element("ul", {}, tree.children.map(branch)) : null);
}

export function verdict(why) {
  const found = why.gate === "found";
  return [
    element("p", { class: `verdict ${found ? "found" : "lost"}` }, `${why.gate}. ${why.reason}`),
    element("ul", {}, Object.entries(why.details || {}).map(([route, said]) => element("li", {}, `${route}: ${said}`))),
  ];
}
