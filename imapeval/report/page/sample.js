// One answer: texts with their values marked, the matches, the scores.
const ORDER = Object.keys(KINDS);
const SIDES = ["reference", "response"];

// Values may overlap, so the text is cut at every start and end; each piece knows all values it belongs to.
function markText(source, pairs, side) {
  const cuts = new Set([0, source.length]);
  const placed = pairs.map(([, value, start, end, kind, , labels], number) => ({ value, start, end, kind, number, labels })).filter((pair) => pair.start >= 0);
  for (const { start, end } of placed) cuts.add(start).add(end);
  const at = [...cuts].sort((a, b) => a - b);
  const pieces = [];
  for (let n = 0; n + 1 < at.length; n += 1) {
    const piece = source.slice(at[n], at[n + 1]);
    const here = placed.filter((pair) => pair.start <= at[n] && pair.end >= at[n + 1]);
    if (!here.length) { pieces.push(piece); continue; }
    here.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    const title = here.map((pair) => [`${KINDS[pair.kind][1]}: ${text(pair.value)}`, ...pair.labels.map(([, said]) => text(said))].join(", ")).join("\n");
    pieces.push(make("mark", { class: here[0].kind, title, "data-values": here.map((pair) => `${side}-${pair.number}`).join(" ") }, piece));
  }
  return pieces;
}

function drawText(title, source, { lang, pairs, side, choices }) {
  const content = source === "" ? [make("span", { class: "empty" }, "empty")] : markText(source, pairs ?? [], side);
  return make("div", null, make("h3", null, title, choices), make("p", { class: "text box", lang }, content));
}

function drawPairs(title, pairs, lang) {
  const items = pairs.map(([term, value, labels]) => make("li", { lang },
    make("span", { class: "term" }, text(term)), text(value) === "?" ? "" : ` ${text(value)}`, drawLabels(labels)));
  return make("div", null, make("h3", null, title),
    items.length ? make("ul", { class: "pairs" }, items) : make("p", { class: "note" }, "Nothing was found."));
}

const AGAINST = "contradiction";
const COLUMNS = ["Reference", "Response", "Relation", "Credit", "Similarity", "Decided by", "Evidence"];

function matchRows(imap) {
  const rows = imap.matches.map(([reference, response, kind, credit, similarity, decider, why, best, path]) =>
    ({ term: imap.reference[reference][0], reference, response, kind, credit, similarity, decider, why: text(why), best, path }));
  // Values that nothing was compared with, or nothing is like: they have a row, too.
  for (const side of SIDES) {
    const key = (number) => imap[side][number].slice(0, 2).join("/");
    const seen = new Set(rows.filter((row) => row.best && row[side] !== undefined).map((row) => key(row[side])));
    imap[side].forEach(([term, , , , kind], number) => {
      if (seen.has(key(number))) return;
      seen.add(key(number));
      const other = side === "reference" ? "response" : "reference";
      const why = imap[other].length ? `nothing in the ${other} comes close` : `the ${other} states no fact`;
      rows.push({ term, [side]: number, kind, credit: 0, similarity: null, decider: "", why, best: 1 });
    });
  }
  // What contradicts stands together and before all terms.
  for (const row of rows) row.group = row.kind === AGAINST ? AGAINST : row.term;
  const groups = [AGAINST, ...new Set(rows.map((row) => row.term))];
  return rows.sort((a, b) => groups.indexOf(a.group) - groups.indexOf(b.group) ||
    (a.reference ?? 1e9) - (b.reference ?? 1e9) || b.credit - a.credit);
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
  const way = make("details", { class: "way" }, make("summary", null, "in the graph"), make("ol", { class: "path" }, steps));
  // Opening it is not a click on its row, which takes Enter and the mouse for its own.
  for (const name of ["click", "keydown"]) way.addEventListener(name, (event) => event.stopPropagation());
  return way;
}

function drawMatch(row, imap, lang) {
  // The term, where the heading above does not say it: a match may join facts of two terms.
  const showFact = (side) => {
    if (row[side] === undefined) return "\u2013";
    const [term, value, , , , , labels] = imap[side][row[side]];
    const named = term === row.group ? null : make("span", { class: "term" }, `${text(term)}: `);
    return make("div", null, named, text(value), drawLabels(labels));
  };
  const cells = [
    [{ lang }, showFact("reference")],
    [{ lang }, showFact("response")],
    [{}, tag(row.kind)],
    [{ class: "number" }, row.credit.toFixed(2)],
    [{ class: "number" }, row.similarity === null ? "\u2013" : row.similarity.toFixed(2)],
    [{}, row.decider || "\u2013"],
    [{ class: "why" }, make("div", null, row.why, drawPath(row.path))],
  ];
  return make("tr", {
    tabindex: "0",
    class: row.best ? null : "aside",
    hidden: !row.best,
    "data-values": SIDES.filter((side) => row[side] !== undefined).map((side) => `${side}-${row[side]}`).join(" "),
  }, cells.map(([attributes, content], index) => make("td", { ...attributes, "data-label": COLUMNS[index] }, content)));
}

function drawMatches(imap, lang, light) {
  const rows = matchRows(imap);
  const lines = rows.map((row) => drawMatch(row, imap, lang));
  light(lines);
  const bodies = [...new Set(rows.map((row) => row.group))].map((group) => make("tbody", null,
    make("tr", { class: "head" }, make("th", { scope: "rowgroup", colspan: COLUMNS.length, lang: group === AGAINST ? null : lang },
      group === AGAINST ? "Contradictions" : text(group))),
    lines.filter((_, index) => rows[index].group === group)));
  const heads = COLUMNS.map((name, index) => make("th", { scope: "col", class: [3, 4].includes(index) ? "number" : null }, name));
  const table = make("div", { class: "wide-table" },
    make("table", { class: "matches stack" }, make("thead", null, make("tr", null, heads)), bodies));
  const hidden = lines.filter((line) => line.hidden);
  if (!hidden.length) return [table];
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => hidden.forEach((line) => { line.hidden = !box.checked; }));
  return [table, make("label", { class: "switch" }, box, `Show also pairs that are the best match of neither value (${hidden.length})`)];
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
    const target = pinned?.matches("tr") ? "mark.lit" : "tr.lit:not([hidden])";
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

function drawFigures(sample) {
  const figures = data.metrics.map((name, index) => {
    const [value] = sample.scores[index] ?? [null];
    return make("div", { class: value === null ? "none" : null }, make("dt", null, name), make("dd", null, value === null ? "no score" : show(value)));
  });
  for (const [name, value] of Object.entries(sample.ratings)) {
    figures.push(make("div", { class: "rating" }, make("dt", null, `rating: ${name}`), make("dd", null, String(value))));
  }
  return make("dl", { class: "figures" }, figures);
}

function drawRaw(number) {
  if (number === null) return null;
  return make("details", { class: "raw" }, make("summary", null, "The text that could not be used"), make("pre", null, text(number)));
}

function drawScores(sample) {
  const rows = data.metrics.map((name, index) => {
    const score = sample.scores[index];
    let said = [make("span", { class: "failure" }, "not scored yet")];
    if (score && score[0] === null) said = [make("span", { class: "failure" }, `${score[1]}/${score[2]}: ${text(score[3])}`), drawRaw(score[4])];
    else if (score) said = Object.entries(score[1]).flatMap(([part, value]) => [`${part} `, make("b", null, show(value)), "   "]);
    return make("tr", null, make("td", { "data-label": "Metric" }, name),
      make("td", { class: "number", "data-label": "Score" }, score && score[0] !== null ? show(score[0]) : "\u2013"),
      make("td", { class: "parts", "data-label": "Parts" }, make("div", null, said)));
  });
  return make("table", { class: "stack" },
    make("thead", null, make("tr", null, make("th", { scope: "col" }, "Metric"), make("th", { scope: "col", class: "number" }, "Score"), make("th", { scope: "col" }, "Parts, or why there is no score"))),
    make("tbody", null, rows));
}

// The reference that gave the best score, where the sample has several: the metrics note it among their parts. Others
// have a part of that name which is no index, such as the reference's length.
function bestReference(sample) {
  for (const score of sample.scores) if (score && score[0] !== null && score[1].reference in sample.references) return score[1].reference;
  return 0;
}

function drawSample(sample, steps, chosen = bestReference(sample)) {
  const root = byId("sample");
  const light = lighting(root);
  const imap = sample.imaps.find((candidate) => candidate.ref === chosen);
  const { lang } = sample;
  const choices = sample.references.length > 1 ? make("span", { class: "choice" }, sample.references.map((_, index) => {
    const button = make("button", { type: "button", "aria-pressed": String(index === chosen) }, `${index + 1}${index === bestReference(sample) ? " (counts)" : ""}`);
    button.addEventListener("click", () => drawSample(sample, steps, index));
    return button;
  })) : null;
  const legend = Object.entries(KINDS).map(([kind, [, , meaning]]) => make("li", null, tag(kind), ` ${meaning}`));
  const guessed = imap && SIDES.some((side) => imap[side].some((pair) => pair[2] >= 0 && !pair[5]));
  const facts = imap ? [
    make("ul", { class: "legend", "aria-label": "How values are marked" }, legend),
    guessed ? make("p", { class: "note" }, "Some values came without their place in the text; they are marked where the same words first stand.") : null,
    make("div", { class: "beside" }, drawPairs("What is asked", imap.query, lang), drawPairs("What is given", imap.constraint, lang)),
    make("h3", null, "Matches"), ...drawMatches(imap, lang, light),
  ] : [make("p", { class: "note" }, "No facts were taken from these texts in this run.")];
  root.replaceChildren(
    make("header", null,
      make("div", null, make("h3", { class: "id" }, sample.id), make("p", { class: "of" }, [sample.system, sample.task, lang].filter(Boolean).join(" \u00b7 "))),
      make("div", { class: "steps" }, steps)),
    drawFigures(sample),
    drawText("Question", text(sample.question), { lang }),
    make("div", { class: "texts" },
      sample.references.length ? drawText("Reference", text(sample.references[chosen]), { lang, pairs: imap?.reference, side: "reference", choices }) : null,
      drawText("Response", text(sample.response), { lang, pairs: imap?.response, side: "response" })),
    ...facts.filter(Boolean),
    make("h3", null, "Scores"), drawScores(sample),
    make("a", { class: "back", href: "#explorer" }, "Back to the list"));
  light([...root.querySelectorAll("mark")]);
}
