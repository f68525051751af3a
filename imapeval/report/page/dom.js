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
  contradiction: ["\u2260", "contradiction", "both speak of the same thing and cannot both hold"],
  exact: ["=", "exact", "the same meaning"],
  containment: ["\u2193", "containment", "the response is more specific"],
  belonging: ["\u2191", "belonging", "the response is more general"],
  soft: ["\u2248", "soft", "similar, no relation found"],
  unmatched: ["\u00d7", "unmatched", "nothing like it on the other side"],
};

function tag(kind) {
  const [sign, name, meaning] = KINDS[kind];
  return make("span", { class: `tag ${kind}`, title: meaning }, `${sign} ${name}`);
}

// What qualifies a fact: that it is denied, how sure it is, its condition, its amounts.
const LABELS = {
  denied: "the value denies something or advises against it",
  possible: "the text takes it for possible only",
  unlikely: "the text takes it for unlikely",
  condition: "it holds under this condition alone",
  amount: "an amount in it",
};

function drawLabels(labels) {
  return labels.map(([kind, said]) => make("span", { class: `label ${kind}`, title: LABELS[kind] }, text(said)));
}
