// The list: search, filters, order, pages.
const PAGE = 50;
const all = data.samples.map((sample, index) => ({ sample, index }));
const ratingNames = [...new Set(data.samples.flatMap((sample) => Object.keys(sample.ratings)))];
const orders = [
  ...data.metrics.map((name, index) => ({ name, of: (sample) => sample.scores[index]?.[0] ?? null })),
  ...ratingNames.map((name) => ({ name: `rating: ${name}`, of: (sample) => sample.ratings[name] ?? null })),
];
const filters = [
  ["system", "System", (sample) => sample.system],
  ["lang", "Language", (sample) => sample.lang],
  ["task", "Task", (sample) => sample.task],
  ["outcome", "Outcome", (sample) => (sample.scores.every((score) => score && score[0] !== null) ? "all scored" : "with failures")],
];
const list = { words: [], chosen: {}, shown: 0, order: null, down: false, page: 0, found: all };
let searchable = null;

function searchText(index) {
  searchable ??= data.samples.map((sample) =>
    [sample.id, text(sample.question), ...sample.references.map(text), text(sample.response)].join("\n").toLowerCase());
  return searchable[index];
}

function find() {
  list.found = all.filter(({ sample, index }) =>
    filters.every(([key, , of]) => !list.chosen[key] || of(sample) === list.chosen[key]) &&
    (!list.words.length || list.words.every((word) => searchText(index).includes(word))));
  if (list.order !== null) {
    const { of } = orders[list.order];
    const sign = list.down ? -1 : 1;
    // Answers without the number come last, whichever way the list is sorted.
    list.found.sort((a, b) => {
      const [x, y] = [of(a.sample), of(b.sample)];
      if (x === null || y === null) return (x === null) - (y === null) || a.index - b.index;
      return sign * (x - y) || a.index - b.index;
    });
  }
}

function drawList() {
  const pages = Math.max(1, Math.ceil(list.found.length / PAGE));
  list.page = Math.min(list.page, pages - 1);
  const order = orders[list.shown];
  const highest = order ? Math.max(...data.samples.map((sample) => order.of(sample) ?? 0)) : 0;
  const rows = list.found.slice(list.page * PAGE, (list.page + 1) * PAGE).map(({ sample, index }) => {
    const value = order?.of(sample) ?? null;
    const meter = make("i");
    if (value !== null && highest > 0) meter.style.width = `${Math.max(0, (100 * value) / highest)}%`;
    const name = order ? `${order.name}: ${value === null ? "none" : show(value)}` : "";
    return make("li", null,
      make("a", { href: `#sample=${encodeURIComponent(sample.id)}`, "aria-current": index === current ? "true" : null },
        make("span", { class: "line" },
          make("span", null, [sample.id, sample.system].filter(Boolean).join(" \u00b7 ")),
          make("span", { class: value === null ? "value none" : "value", title: name }, value === null ? "\u2013" : show(value))),
        make("span", { class: "asked", lang: sample.lang }, text(sample.question).slice(0, 400)),
        make("span", { class: "meter", "aria-hidden": "true" }, meter)));
  });
  byId("list").replaceChildren(...rows);
  byId("count").textContent = list.found.length === all.length
    ? `${all.length.toLocaleString("en")} answers`
    : `${list.found.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} answers`;
  if (order) byId("count").textContent += `; the number is ${order.name}`;
  byId("page").textContent = `${list.page + 1} of ${pages}`;
  byId("pager").hidden = pages === 1;
  byId("earlier").disabled = list.page === 0;
  byId("later").disabled = list.page === pages - 1;
}

function refresh() {
  list.page = 0;
  find();
  drawList();
  byId("list").scrollTop = 0;
}

function turn(by) {
  list.page += by;
  drawList();
  byId("list").scrollTop = 0;
}

function choice(label, options, changed) {
  const select = make("select", null, options.map(([value, name]) => make("option", { value }, name)));
  select.addEventListener("change", () => { changed(select.value); refresh(); });
  return make("label", null, label, select);
}

function drawControls() {
  const controls = [];
  for (const [key, label, of] of filters) {
    const values = [...new Set(data.samples.map(of))].filter(Boolean).sort();
    if (values.length > 1) {
      controls.push(choice(label, [["", "all"], ...values.map((value) => [value, value])], (value) => { list.chosen[key] = value; }));
    }
  }
  controls.push(choice("Order", [["", "as in the data"], ...orders.map((order, index) => [index, order.name])], (value) => {
    list.order = value === "" ? null : Number(value);
    list.shown = list.order ?? 0;
  }));
  controls.push(choice("First", [["", "lowest"], ["down", "highest"]], (value) => { list.down = value === "down"; }));
  byId("filters").replaceChildren(...controls);
  let waiting = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      list.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      refresh();
    }, 150);
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("earlier").addEventListener("click", () => turn(-1));
  byId("later").addEventListener("click", () => turn(1));
}
