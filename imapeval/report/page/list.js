// The answers found, as a list or as a matrix of questions and systems. Only the rows in view are drawn: with 10,000
// answers, all of them would take seconds.
const SPARE = 8; // Rows drawn above and below the view.

// Rows of one height in `holder`, which stands in `scroller`: `draw` makes one of item and place.
function makeRows(scroller, holder, body, draw) {
  let items = [];
  let height = 0;
  let drawn = "";
  const render = () => {
    const top = height ? Math.max(0, Math.floor(scroller.scrollTop / height) - SPARE) : 0;
    const count = height ? Math.ceil(scroller.clientHeight / height) + 2 * SPARE : 2 * SPARE;
    const first = Math.max(0, Math.min(top, items.length - count));
    const last = Math.min(items.length, first + count);
    if (drawn === `${first} ${last}`) return;
    drawn = `${first} ${last}`;
    const focused = body.contains(document.activeElement);
    body.replaceChildren(...items.slice(first, last).map((item, n) => draw(item, first + n)));
    holder.style.paddingTop = `${first * height}px`;
    holder.style.paddingBottom = `${(items.length - last) * height}px`;
    if (focused) body.querySelector("[aria-current]")?.focus({ preventScroll: true });
    if (!height && measure()) redraw();
    markWords();
  };
  const measure = () => {
    height = body.firstElementChild?.getBoundingClientRect().height || height;
    return height;
  };
  const redraw = () => { drawn = ""; render(); };
  scroller.addEventListener("scroll", render, { passive: true });
  new ResizeObserver(() => { measure(); redraw(); }).observe(scroller);
  return {
    show(given) { items = given; redraw(); },
    reveal(place) {
      const above = body.tagName === "TBODY" ? body.previousElementSibling.offsetHeight : 0;
      const top = place * height;
      const hidden = top < scroller.scrollTop || top + height > scroller.scrollTop + scroller.clientHeight - above;
      if (hidden) scroller.scrollTop = top - (scroller.clientHeight - above - height) / 2;
      redraw();
    },
  };
}

const showValue = (value) => (value === null ? "\u2013" : show(value));

function drawListRow(index, place) {
  const sample = data.samples[index];
  const number = numbers[state.number];
  const value = number ? number.of(sample) : null;
  const said = number ? `${number.name}: ${value === null ? "none" : show(value)}` : null;
  return make("li", { "aria-setsize": found.length, "aria-posinset": place + 1 },
    make("a", { href: makeAddress({ sample: sample.id }), "aria-current": index === current ? "true" : null },
      make("span", { class: "line" },
        make("span", { class: "who" }, [sample.id, sample.system].filter(Boolean).join(" \u00b7 ")),
        make("span", { class: value === null ? "value none" : "value", title: said }, showValue(value))),
      make("span", { class: "asked", lang: sample.lang }, text(sample.question).slice(0, 400)),
      number && drawMeter(value, number.axis)));
}

function drawMatrixRow({ question, cells }, place) {
  const number = numbers[state.number];
  const { lang } = data.samples[cells.flat()[0]];
  return make("tr", { "aria-rowindex": place + 2 },
    make("th", { scope: "row", lang }, make("span", { class: "asked", title: text(question) }, text(question).slice(0, 200))),
    cells.map((indexes) => make("td", null, indexes.map((index) => {
      const sample = data.samples[index];
      const value = number ? number.of(sample) : null;
      return make("a", {
        href: makeAddress({ sample: sample.id }),
        class: value === null ? "none" : shadeOf(value, number.axis),
        "aria-current": index === current ? "true" : null,
        "aria-label": `${sample.id}: ${value === null ? "no score" : show(value)}`,
      }, showValue(value));
    }))));
}

let found = [];
let sequence = []; // The order of Previous and Next.
let placeInRows = new Map(); // The row of each answer.
let rows = null;

function drawView() {
  const matrix = state.view === "matrix";
  const view = byId("view");
  byId("explorer").classList.toggle("with-matrix", matrix);
  const scroller = make("div", { class: "scroller" });
  if (matrix) {
    const body = make("tbody");
    const heads = systems.map((system) => make("th", { scope: "col" }, system || "(no system)"));
    const holder = make("div", null, make("table", { class: "matrix", id: "matrix" },
      make("thead", null, make("tr", { "aria-rowindex": 1 }, make("th", { scope: "col" }, "question"), heads)), body));
    scroller.append(holder);
    view.replaceChildren(scroller);
    rows = makeRows(scroller, holder, body, drawMatrixRow);
  } else {
    const items = make("ol", { class: "list", id: "list", "aria-label": "Answers found" });
    scroller.append(items);
    view.replaceChildren(scroller);
    rows = makeRows(scroller, items, items, drawListRow);
  }
  for (const button of byId("views").children) button.setAttribute("aria-pressed", String(button.value === state.view));
}

// Finds and draws the answers anew; the list begins at its top.
function refresh() {
  found = find();
  const groups = state.view === "matrix" ? groupByQuestion(found) : null;
  sequence = groups ? groups.flatMap(({ cells }) => cells.flat()) : found;
  placeInRows = new Map(groups
    ? groups.flatMap(({ cells }, place) => cells.flat().map((index) => [index, place]))
    : found.map((index, place) => [index, place]));
  byId("view").firstElementChild.scrollTop = 0;
  if (groups) byId("matrix").setAttribute("aria-rowcount", groups.length + 1);
  rows.show(groups ?? found);
  const of = data.samples.length.toLocaleString("en");
  const count = found.length === data.samples.length ? `${of} ${of === "1" ? "answer" : "answers"}` : `${found.length.toLocaleString("en")} of ${of} answers`;
  byId("count").textContent = [count, numbers.length ? `the number is ${numbers[state.number].name}` : ""].filter(Boolean).join("; ");
}

// The words of the search, marked wherever they are shown; browsers without the CSS Custom Highlight API show no marks.
function markWords() {
  if (!CSS.highlights) return;
  const words = wordsOf(state.search);
  const highlight = new Highlight();
  for (const root of words.length ? [byId("view"), byId("sample")] : []) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const said = node.data.toLowerCase();
      if (said.length !== node.data.length) continue; // Letters that change their length have no place to mark.
      for (const word of words) {
        for (let at = said.indexOf(word); at >= 0; at = said.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          highlight.add(range);
        }
      }
    }
  }
  CSS.highlights.set("search", highlight);
}

// Changes what is looked for. The answer shown stays if it is still among those found; else the first of them is shown.
function change(changes) {
  Object.assign(state, changes);
  if (changes.view) drawView();
  refresh();
  if (!placeInRows.has(current) && sequence.length) state.sample = data.samples[sequence[0]].id;
  history.replaceState(null, "", makeAddress({}));
  showSample();
}

function only(name, value) {
  const { [name]: _, ...others } = state.only;
  change({ only: value ? { ...others, [name]: value } : others });
}

function drawFilter(filter) {
  const { name, kind, values } = filter;
  const given = state.only[name] ?? "";
  if (kind === "select") {
    const select = make("select", null, make("option", { value: "" }, "all"),
      values.map((value) => make("option", { value, selected: value === given }, value)));
    select.addEventListener("change", () => only(name, select.value));
    return make("label", null, name, select);
  }
  if (kind === "text") {
    const input = make("input", { type: "search", value: given, autocomplete: "off" });
    input.addEventListener("input", () => only(name, input.value));
    return make("label", null, name, input);
  }
  const [from, to] = given.split(",");
  const ends = [["from", from], ["to", to]].map(([end, value]) =>
    make("input", { type: "number", step: "any", value, placeholder: end, "aria-label": `${name} ${end}` }));
  for (const input of ends) {
    input.addEventListener("input", () => only(name, ends.some((end) => end.value) ? ends.map((end) => end.value).join(",") : ""));
  }
  return make("fieldset", null, make("legend", null, name), ends);
}

function drawControls() {
  const chosen = (label, options, given, changed) => {
    const select = make("select", null, options.map(([value, name]) => make("option", { value, selected: value === given }, name)));
    select.addEventListener("change", () => changed(select.value));
    return make("label", null, label, select);
  };
  byId("filters").replaceChildren(...filters.main.map(drawFilter),
    chosen("number", numbers.map(({ name }, n) => [n, name]), state.number, (value) => change({ number: Number(value) })),
    chosen("order", [["", "as in the data"], ["lowest", "lowest first"], ["highest", "highest first"]], state.order, (value) => change({ order: value })));
  byId("more").hidden = !filters.more.length;
  byId("more").open ||= filters.more.some(({ name }) => state.only[name]);
  byId("more-filters").replaceChildren(...filters.more.map(drawFilter));
  byId("search").value = state.search;
  byId("views").hidden = systems.length < 2;
}
