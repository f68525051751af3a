// The facts of an answer: what contradicts and what is missing first; each beside the fact that counted for it, with
// the pairs that did not count folded.
const COLUMNS = ["Reference", "Response", "Relation", "Credit", "Why"];
const GROUPS = {
  contradiction: "Contradictions",
  asked: "Missing, and asked for",
  missing: "Missing",
  found: "Found",
  added: "Only in the response",
};

// A row for each fact of the reference with the fact that matches it best, or alone; then the other facts of the response.
function factRows(imap) {
  const matches = imap.matches.map(([reference, response, kind, credit, similarity, decider, why, best, path]) =>
    ({ reference, response, kind, credit, similarity, decider, why: text(why), best, path }));
  const asked = new Set(imap.query.map(([term]) => term));
  const rows = matches.filter(({ best, kind }) => best && kind !== "unmatched").map((match) =>
    ({ ...match, group: match.kind === "contradiction" ? "contradiction" : "found", others: [] }));
  for (const side of SIDES) {
    const factOf = (number) => imap[side][number].slice(0, 2).join("/");
    const shown = new Set(rows.filter((row) => row[side] !== undefined).map((row) => factOf(row[side])));
    imap[side].forEach(([term], number) => {
      if (shown.has(factOf(number))) return;
      shown.add(factOf(number));
      const other = side === "reference" ? "response" : "reference";
      const nearest = matches.filter((match) => match[side] === number).sort((a, b) => b.credit - a.credit)[0];
      const group = side === "response" ? "added" : asked.has(term) ? "asked" : "missing";
      // As in `imapeval.explain.facts.is_near`.
      const near = nearest && nearest.similarity >= 0.3 && nearest.credit >= 0.3 ? nearest : null;
      const why = near ? near.why : imap[other].length ? `nothing in the ${other} comes close` : `the ${other} states no fact`;
      const { decider, similarity } = near ?? {};
      rows.push({ [side]: number, kind: "unmatched", credit: nearest?.credit ?? 0, decider, similarity, why, group, others: [], nearest: near?.[other] });
    });
  }
  const counted = new Set(rows.map(({ reference, response }) => `${reference} ${response}`));
  for (const match of matches) {
    if (counted.has(`${match.reference} ${match.response}`)) continue;
    const row = rows.find(({ reference }) => reference === match.reference) ?? rows.find(({ response }) => response === match.response);
    row.others.push(match);
  }
  const order = Object.keys(GROUPS);
  return rows.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group) ||
    (a.reference ?? 1e9) - (b.reference ?? 1e9) || b.credit - a.credit);
}

// Opening what is folded is not a click on its row, which takes Enter and the mouse for its own.
function fold(attributes, summary, ...content) {
  const details = make("details", attributes, make("summary", null, summary), ...content);
  for (const name of ["click", "keydown"]) details.addEventListener(name, (event) => event.stopPropagation());
  return details;
}

// The concepts of the two values in the graph, and the way from the one to the other.
function drawPath(path) {
  if (!path?.length) return null;
  const steps = path.map((step) => {
    const [id, label, chinese, whose, joint] = step.map(text);
    return make("li", null,
      make("span", { class: `concept ${whose}`.trim() },
        whose ? make("small", null, whose.replace(" ", " and ")) : null,
        make("b", null, label), chinese ? make("span", { lang: "zh" }, chinese) : null, make("code", null, id)),
      joint ? make("span", { class: "joint" }, joint) : null);
  });
  return fold({ class: "way" }, "in the graph", make("ol", { class: "path" }, steps));
}

function drawFact(imap, side, number, nearest) {
  if (number === undefined) return nearest === undefined ? "\u2013" : make("small", null, `nearest: ${text(imap[side][nearest][1])}`);
  const [term, value, , , , , labels] = imap[side][number];
  return make("div", null, make("span", { class: "term" }, `${text(term)}: `), text(value), drawLabels(labels));
}

// Who decided, and how alike the values are.
function describeMatch({ decider, similarity, why }) {
  const alike = similarity === undefined ? "" : `similarity ${similarity.toFixed(2)}`;
  return [why, [decider, alike].filter(Boolean).join(", ")].filter(Boolean).join(" \u2014 ");
}

function drawOthers(others, imap) {
  if (!others.length) return null;
  others.sort((a, b) => b.credit - a.credit);
  const items = others.map((match) => make("li", null, tag(match.kind), " ",
    text(imap.reference[match.reference][1]), " \u2194 ", text(imap.response[match.response][1]),
    make("small", null, ` ${match.credit.toFixed(2)}; ${describeMatch(match)}`)));
  return fold({ class: "others" }, `${others.length} other ${others.length === 1 ? "pair" : "pairs"} compared`, make("ul", null, items));
}

function drawFactRow(row, imap, lang) {
  const cells = [
    [{ lang }, drawFact(imap, "reference", row.reference, row.nearest)],
    [{ lang }, drawFact(imap, "response", row.response, row.nearest)],
    [{}, tag(row.kind)],
    [{ class: "number" }, row.credit.toFixed(2)],
    [{ class: "why" }, make("div", null, describeMatch(row), drawPath(row.path), drawOthers(row.others, imap), drawCorrect(imap, row))],
  ];
  return make("tr", {
    tabindex: "0",
    "data-values": SIDES.filter((side) => row[side] !== undefined).map((side) => `${side}-${row[side]}`).join(" "),
  }, cells.map(([attributes, content], index) => make("td", { ...attributes, "data-label": COLUMNS[index] }, content)));
}

function drawFacts(imap, lang, light) {
  const rows = factRows(imap);
  if (!rows.length) return make("p", { class: "note" }, "Neither text states a fact.");
  const lines = rows.map((row) => drawFactRow(row, imap, lang));
  light(lines);
  const bodies = Object.entries(GROUPS).filter(([group]) => rows.some((row) => row.group === group)).map(([group, title]) => {
    const own = lines.filter((_, index) => rows[index].group === group);
    return make("tbody", null,
      make("tr", { class: "head" }, make("th", { scope: "rowgroup", colspan: COLUMNS.length }, `${title} (${own.length})`)), own);
  });
  const heads = COLUMNS.map((name) => make("th", { scope: "col", class: name === "Credit" ? "number" : null }, name));
  return make("div", { class: "wide-table" },
    make("table", { class: "matches stack" }, make("thead", null, make("tr", null, heads)), bodies));
}

// Rows and marked values light up together; a click, or Enter, keeps them lit and brings them into view.
function lighting(root) {
  let pinned = null;
  const lit = (values) => {
    const wanted = values ? values.split(" ") : [];
    for (const element of root.querySelectorAll("[data-values]")) {
      element.classList.toggle("lit", element.dataset.values.split(" ").some((value) => wanted.includes(value)));
    }
  };
  const pin = (element) => {
    pinned?.classList.remove("pinned");
    pinned = pinned === element ? null : element;
    pinned?.classList.add("pinned");
    lit(pinned?.dataset.values);
    const target = pinned?.matches("tr") ? "mark.lit" : "tr.lit";
    if (pinned) root.querySelector(target)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  return (elements) => elements.forEach((element) => {
    const preview = () => lit(element.dataset.values);
    const leave = () => lit(pinned?.dataset.values);
    for (const [name, action] of [["mouseenter", preview], ["mouseleave", leave], ["focus", preview], ["blur", leave]]) element.addEventListener(name, action);
    element.addEventListener("click", () => pin(element));
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pin(element);
    });
  });
}

