// The ways of searching, in words.

const WAYS = [
  [/^lexical/, "its words", "Memories that share words with the question"],
  [/^(vector|vec|facet)/, "its meaning", "Memories that mean something alike"],
  [/^graph/, "the names it is linked to", "Memories linked to a name in the question"],
  [/^temporal/, "the time it speaks of", "Memories of the time that is asked about"],
  [/^tokens/, "the words they share", "Memories that share enough words with the question"],
  [/^substring/, "its letters", "Memories that hold the question's very letters"],
];

export const way = (route) => WAYS.find(([name]) => name.test(route)) || [null, route, ""];

export const caption = (route) => way(route)[2];
