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
  let digits = Math.abs(number) >= 10 ? 1 : 3;
  // As in `imapeval.study.number_format`, only 0, 1 and -1 are written as such.
  const isEnd = (end) => Number(number.toFixed(digits)) === end && Math.abs(number - end) > 5e-10;
  while (digits < 9 && [-1, 0, 1].some(isEnd)) digits += 1;
  return number.toFixed(digits).replace("-", "\u2212");
}

// The place of a score on the axis of its metric, 0..1; null for a number without an axis.
function placeOf(value, axis) {
  if (value === null || !axis) return null;
  const [low, high] = axis;
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}

// A bar of a score, from zero. Without a score there is none.
function drawMeter(value, axis) {
  const place = placeOf(value, axis);
  if (place === null) return null;
  const zero = placeOf(0, axis);
  const bar = make("i");
  bar.style.marginLeft = `${100 * Math.min(zero, place)}%`;
  bar.style.width = `${100 * Math.abs(place - zero)}%`;
  return make("span", { class: "meter", "aria-hidden": "true" }, bar);
}

const SHADES = 5;

// The class of a score's colour, from shade-0 (bad) to shade-4 (good).
function shadeOf(value, axis) {
  const place = placeOf(value, axis);
  if (place === null) return "";
  const shade = Math.min(SHADES - 1, Math.floor(SHADES * place));
  return `shade-${axis[2] ? SHADES - 1 - shade : shade}`;
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
  weight: "how much it counts in the score: its importance to the question",
};

function drawLabels(labels) {
  return labels.flatMap(([kind, said]) => [" ", make("span", { class: `label ${kind}`, title: LABELS[kind] }, text(said))]);
}
