// The ways of searching, and the stages after them, in words.

const WAYS = [
  [/^lexical/, "Words", "its words", "Share words with the question"],
  [/^(vector|vec|facet)/, "Meaning", "its meaning", "Mean something alike"],
  [/^graph/, "Names", "the names it is linked to", "Linked to a name in the question"],
  [/^temporal/, "Time", "the time it speaks of", "Of the time that is asked about"],
  [/^tokens/, "Words shared", "the words they share", "Share enough words with the question"],
  [/^substring/, "Letters", "its letters", "Hold the question's very letters"],
  [/^rerank$/, "Read again", "reading it again", "Read together with the question"],
];
const STAGES = {
  kin: "its session", turn_support: "support of its turns", quality: "quality", rerank: "read again",
  decay: "lost to age", toll: "lost to length", penalty: "repeats another hit (MMR)",
};

const way = (route) => WAYS.find(([name]) => name.test(route)) || [null, route, route, ""];

export const title = (route) => way(route)[1];
export const caption = (route) => way(route)[3];

// What a piece of a score, or a line of a sentence, is called: in words, where only one route of the recipe goes by them.
export const piece = (what, routes) => STAGES[what] || named(what, routes, title(what).toLowerCase());
export const subject = (route, routes) => named(route, routes, way(route)[2]);

const named = (route, routes, words) => (routes.filter((one) => title(one) === title(route)).length > 1 ? route : words);

// How places become one order, in a paragraph: what this recipe does, and no other.
export function told(found) {
  const { dials, diagnostics } = found, read = diagnostics.rerank;
  const worth = dials.fuse === "scores"
    ? "The best of a column counts as much as the column's weight, the others in proportion to their scores"
    : `A rank is worth weight / (${dials.rrf_k} + rank)`;
  return [
    `A column is one way of searching, best first. ${worth}; the lines show where that is added up.`,
    dials.kin ? "A memory gains from the best one of its session." : "",
    read && read.status === "ran" ? `Then the reranker ${read.name} read the best ${read.candidates} again; its word counts ${share(dials)}.` : "",
    "The bar under each memory of the answer is what its score is made of.",
  ].filter(Boolean).join(" ");
}

const share = (dials) => `${Math.round(100 * dials.rerank_weight)} %`;

export function path(found) {
  const joined = found.dials.fuse === "scores" ? "their scores added up" : "joined by rank";
  const said = {
    hybrid_rrf: `Words and meaning, ${joined}`, token_recall: "Words alone", vector_recall: "Meaning alone",
    token_recall_after_embed_error: "Words alone: the embedder failed", skipped_empty_store: "Nothing to search", nothing_ran: "No route ran",
  };
  const { retrieval_path, degraded, notes, rerank } = found.diagnostics;
  const unread = rerank && rerank.status !== "ran" ? `not read again: ${rerank.reason || rerank.status}` : null;
  return [said[retrieval_path] || retrieval_path, degraded ? "degraded: a part failed" : null, unread, ...notes].filter(Boolean).join(" · ");
}
