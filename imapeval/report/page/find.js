// What is looked for stands in the address: it can be linked to, survives a reload, and is gone back to. After the #,
// `sample` is the answer shown, `search` the words, `number` and `order` what is sorted by and how, `view` is "matrix",
// `only.NAME` the filters.
const FEW = 20; // Different values up to which a filter is a list to choose from.

const numbers = [
  ...data.metrics.map((name, n) => ({ name, axis: data.axes[n], of: (sample) => sample.scores[n]?.[0] ?? null })),
  ...[...new Set(data.samples.flatMap((sample) => Object.keys(sample.ratings)))]
    .map((name) => ({ name: `rating: ${name}`, axis: null, of: (sample) => sample.ratings[name] ?? null })),
];

function outcomesOf(sample) {
  const found = [];
  if (sample.scores.every((score) => score && score[0] !== null)) found.push("scored");
  if (sample.scores.some((score) => score && score[0] === null)) found.push("no score");
  if (sample.scores.some((score) => !score)) found.push("not scored yet");
  if (sample.imaps.some((imap) => imap.matches.some((match) => match[2] === "contradiction"))) found.push("contradictions");
  return found;
}

const asNumber = (value) => (value === "" || value === null || !Number.isFinite(Number(value)) ? null : Number(value));

// A filter by what `of` says of an answer: one of few values ("select"), numbers from and to ("range"), or words ("text").
function makeFilter(name, of, kind) {
  if (kind === "range") {
    const found = data.samples.map(of);
    return found.some((value) => value !== found[0]) ? { name, of, kind, values: [] } : null;
  }
  const values = new Set();
  for (const sample of data.samples) for (const value of [of(sample)].flat()) values.add(value ?? "");
  if (values.size < 2) return null;
  const given = [...values].filter((value) => value !== "");
  const numeric = given.every((value) => asNumber(value) !== null);
  const order = numeric ? (a, b) => a - b : (a, b) => String(a).localeCompare(String(b));
  kind ??= values.size <= FEW ? "select" : numeric ? "range" : "text";
  return { name, of, kind, values: kind === "select" ? given.sort(order).map(String) : [] };
}

const main = [
  makeFilter("system", (sample) => sample.system, "select"),
  makeFilter("language", (sample) => sample.lang, "select"),
  makeFilter("outcome", outcomesOf, "select"),
];
const reserved = ["system", "language", "outcome", ...numbers.map(({ name }) => name)];
const columns = data.columns.map((name, n) =>
  makeFilter(reserved.includes(name) ? `${name} (column)` : name, (sample) => sample.columns[n]));
const isTask = (filter) => filter?.name === "task";
const filters = {
  main: [...main, ...columns.filter(isTask)].filter(Boolean),
  more: [...columns.filter((filter) => !isTask(filter)),
    ...numbers.map(({ name, of }) => makeFilter(name, of, "range"))].filter(Boolean),
};
const allFilters = [...filters.main, ...filters.more];

const state = { sample: "", search: "", number: 0, order: "", view: "list", only: {} };

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = numbers.findIndex(({ name }) => name === given.get("number"));
  Object.assign(state, {
    sample: given.get("sample") ?? "",
    search: given.get("search") ?? "",
    number: Math.max(0, number),
    order: given.get("order") ?? "",
    view: given.get("view") === "matrix" && systems.length > 1 ? "matrix" : "list",
    only: {},
  });
  for (const [key, value] of given) {
    if (key.startsWith("only.") && value) state.only[key.slice("only.".length)] = value;
  }
}

function makeAddress(changes) {
  const { sample, search, number, order, view, only } = { ...state, ...changes };
  const said = new URLSearchParams();
  if (search) said.set("search", search);
  if (number) said.set("number", numbers[number].name);
  if (order) said.set("order", order);
  if (view !== "list") said.set("view", view);
  for (const [name, value] of Object.entries(only)) said.set(`only.${name}`, value);
  if (sample) said.set("sample", sample);
  return `#${said}`;
}

const wordsOf = (search) => search.toLowerCase().split(/\s+/).filter(Boolean);

let searchable = null;
function searchText(index) {
  searchable ??= data.samples.map((sample) =>
    [sample.id, text(sample.question), ...sample.references.map(text), text(sample.response)].join("\n").toLowerCase());
  return searchable[index];
}

function makeTest({ name, of, kind }) {
  const wanted = state.only[name];
  if (wanted === undefined) return null;
  if (kind === "select") return (sample) => [of(sample)].flat().some((value) => String(value ?? "") === wanted);
  if (kind === "text") return (sample) => String(of(sample) ?? "").toLowerCase().includes(wanted.toLowerCase());
  const [from, to] = wanted.split(",").map((end) => asNumber(end ?? ""));
  return (sample) => {
    const value = asNumber(of(sample));
    return value !== null && (from === null || value >= from) && (to === null || value <= to);
  };
}

const systems = [...new Set(data.samples.map((sample) => sample.system))];
const systemNumber = new Map(systems.map((system, n) => [system, n]));

// The numbers of the answers found, in the order of Previous and Next; in the matrix, those to one question together.
function find() {
  const tests = allFilters.map(makeTest).filter(Boolean);
  const words = wordsOf(state.search);
  const found = [];
  data.samples.forEach((sample, index) => {
    if (tests.every((test) => test(sample)) && words.every((word) => searchText(index).includes(word))) found.push(index);
  });
  if (!state.order || !numbers.length) return found;
  const values = data.samples.map(numbers[state.number].of);
  const sign = state.order === "highest" ? -1 : 1;
  // Answers without the number come last, whichever way the list is sorted.
  return [
    ...found.filter((index) => values[index] !== null).sort((a, b) => sign * (values[a] - values[b]) || a - b),
    ...found.filter((index) => values[index] === null),
  ];
}

// The answers by question, in the order of the first answer to each: [{question, cells: per system a list of answers}].
function groupByQuestion(found) {
  const rows = new Map();
  for (const index of found) {
    const { question, system } = data.samples[index];
    if (!rows.has(question)) rows.set(question, { question, cells: systems.map(() => []) });
    rows.get(question).cells[systemNumber.get(system)].push(index);
  }
  return [...rows.values()];
}
