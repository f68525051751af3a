// Building blocks. Text only ever enters the page through text nodes and attributes, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const text = (number) => data.texts[number];
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function show(number) {
  if (Math.abs(number) >= 10) return number.toFixed(1);
  return number.toFixed(3).replace("-", "\u2212");
}

const KINDS = {
  exact: ["=", "exact", "the same meaning"],
  containment: ["\u2193", "containment", "the response is more specific"],
  belonging: ["\u2191", "belonging", "the response is more general"],
  soft: ["\u2248", "soft", "similar, no relation found"],
  unmatched: ["\u00d7", "unmatched", "nothing like it on the other side"],
  missing: ["\u2205", "term absent", "the other side says nothing of the term"],
};

function tag(kind) {
  const [sign, name, meaning] = KINDS[kind];
  return make("span", { class: `tag ${kind}`, title: meaning }, `${sign} ${name}`);
}
