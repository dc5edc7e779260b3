// Elements from plain values. Text is only ever set as text: a memory can say anything, and stays a memory.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

export function element(name, about = {}, ...children) {
  return furnished(document.createElement(name), about, children);
}

export function drawing(name, about = {}, ...children) {
  return furnished(document.createElementNS(SVG, name), about, children);
}

function furnished(node, about, children) {
  for (const [name, value] of Object.entries(about)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...there(children));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...there(children));
}

// A thing that is drawn, used as a button: by pointer and by keyboard.
export const pressed = (act) => ({
  onclick: act,
  onkeydown: (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); act(); } },
});

const there = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined);

export const short = (text, most) => (text.length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);
export const digits = (number) => Number(number.toPrecision(4)).toString();

export function day(at) {
  return at ? new Date(at).toISOString().slice(0, 10) : "ageless";
}
