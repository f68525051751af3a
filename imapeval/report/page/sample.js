// One answer: why it has its score, the texts with their values marked, the facts, all scores.
const ORDER = Object.keys(KINDS);
const SIDES = ["reference", "response"];
const MAX_RIVALS = 12;

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

// Recall and precision of imapScore, or of the first metric that has them.
function drawParts(sample) {
  const scored = (n) => sample.scores[n] && sample.scores[n][0] !== null;
  const has = (n) => scored(n) && ["recall", "precision"].every((part) => part in sample.scores[n][1]);
  const all = data.metrics.map((_, n) => n).filter(has);
  const chosen = all.find((n) => data.metrics[n].startsWith("imapscore")) ?? all[0];
  if (chosen === undefined) return null;
  const parts = sample.scores[chosen][1];
  return make("dl", { class: "parts-of", "aria-label": `Parts of ${data.metrics[chosen]}` },
    [["recall", "how much of the reference is in the response"], ["precision", "how much of the response is in the reference"]].map(([part, said]) =>
      make("div", null, make("dt", null, make("b", null, part), ` ${said}`),
        make("dd", null, show(parts[part]), drawMeter(parts[part], [0, 1, 0])))));
}

function drawFigures(sample) {
  const figures = data.metrics.map((name, n) => {
    const value = sample.scores[n]?.[0] ?? null;
    return make("div", { class: value === null ? "none" : null }, make("dt", null, name),
      make("dd", null, value === null ? "no score" : show(value), drawMeter(value, data.axes[n])));
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
  const lines = data.metrics.map((name, index) => {
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
    make("tbody", null, lines));
}

// The reference that gave the best score, where the sample has several: the metrics note it among their parts. Others
// have a part of that name which is no index, such as the reference's length.
function bestReference(sample) {
  for (const score of sample.scores) if (score && score[0] !== null && score[1].reference in sample.references) return score[1].reference;
  return null;
}

// The answers of other systems to the same question, with the number that the list shows.
function drawRivals(sample) {
  const number = numbers[state.number];
  const rivals = data.samples.filter((other) => other.question === sample.question && other.id !== sample.id);
  if (!rivals.length || !number) return null;
  const more = rivals.length - MAX_RIVALS;
  return make("p", { class: "rivals" }, "Other answers to this question: ", rivals.slice(0, MAX_RIVALS).map((other) => {
    const value = number.of(other);
    return make("a", { href: makeAddress({ sample: other.id }), class: value === null ? "none" : shadeOf(value, number.axis) },
      `${other.system || other.id} ${value === null ? "no score" : show(value)}`);
  }), more > 0 ? `and ${more} more` : null);
}

function drawSteps() {
  const place = sequence.indexOf(current);
  const buttons = [["Previous", -1, "k"], ["Next", 1, "j"]].map(([name, by, key]) => {
    const button = make("button", { type: "button", disabled: sequence[place + by] === undefined, title: `Key ${key}`, "aria-keyshortcuts": key }, name);
    button.addEventListener("click", () => step(by));
    return button;
  });
  const said = `${(place + 1).toLocaleString("en")} of ${sequence.length.toLocaleString("en")}`;
  return make("div", { class: "steps" }, make("span", null, said), buttons);
}

// Not a link: its address would take the place of the one that says what is looked for.
function drawBack() {
  const button = make("button", { type: "button", class: "back" }, "Back to the list");
  button.addEventListener("click", () => {
    byId("explorer").scrollIntoView();
    byId("view").querySelector("[aria-current]")?.focus({ preventScroll: true });
  });
  return button;
}

// Brings what depends on the list up to date, without drawing the answer anew.
function updateSample(sample) {
  const root = byId("sample");
  root.querySelector(".steps").replaceWith(drawSteps());
  root.querySelector(".rivals")?.replaceWith(drawRivals(sample));
}

function drawSample(sample, chosen = bestReference(sample) ?? 0) {
  const root = byId("sample");
  // The focus goes to the button that replaces the one that was pressed: Next after Next.
  const pressed = root.contains(document.activeElement) ? document.activeElement.textContent : null;
  const light = lighting(root);
  const imap = sample.imaps.find((candidate) => candidate.ref === chosen);
  const { lang } = sample;
  const choices = sample.references.length > 1 ? make("span", { class: "choice" }, sample.references.map((_, index) => {
    const button = make("button", { type: "button", "aria-pressed": String(index === chosen) }, `${index + 1}${index === bestReference(sample) ? " (counts)" : ""}`);
    button.addEventListener("click", () => { drawSample(sample, index); markWords(); });
    return button;
  })) : null;
  const task = sample.columns[data.columns.indexOf("task")];
  const legend = Object.entries(KINDS).map(([kind, [, , meaning]]) => make("li", null, tag(kind), ` ${meaning}`));
  const guessed = imap && SIDES.some((side) => imap[side].some((pair) => pair[2] >= 0 && !pair[5]));
  const facts = imap ? [
    make("h3", null, "Facts"), drawReview(sample, imap), drawFacts(imap, lang, light),
    make("ul", { class: "legend", "aria-label": "How values are marked" }, legend),
    guessed ? make("p", { class: "note" }, "Some values came without their place in the text; they are marked where the same words first stand.") : null,
    make("div", { class: "beside" }, drawPairs("What is asked", imap.query, lang), drawPairs("What is given", imap.constraint, lang)),
  ] : [make("p", { class: "note" }, "No facts were taken from these texts in this run.")];
  const cells = data.columns.map((name, n) => [name, sample.columns[n]]).filter(([, value]) => value !== null && value !== "");
  const unscored = sample.scores.some((score) => !score || score[0] === null);
  root.replaceChildren(...[
    make("header", null,
      make("div", null, make("h3", { class: "id" }, sample.id), make("p", { class: "of" }, [sample.system, task, lang].filter(Boolean).join(" \u00b7 "))),
      drawSteps()),
    drawFigures(sample),
    drawParts(sample),
    make("p", { class: "reason", lang: "en" }, text(sample.reason)),
    drawRivals(sample),
    drawText("Question", text(sample.question), { lang }),
    make("div", { class: "texts" },
      sample.references.length ? drawText("Reference", text(sample.references[chosen]), { lang, pairs: imap?.reference, side: "reference", choices }) : null,
      drawText("Response", text(sample.response), { lang, pairs: imap?.response, side: "response" })),
    ...facts,
    make("details", { open: unscored }, make("summary", null, "All scores and their parts"), drawScores(sample)),
    cells.length ? make("details", null, make("summary", null, "Other columns of the data"),
      make("dl", { class: "settings" }, cells.flatMap(([name, value]) => [make("dt", null, name), make("dd", null, String(value))]))) : null,
    drawBack(),
  ].filter(Boolean));
  light([...root.querySelectorAll("mark")]);
  const buttons = [...root.querySelectorAll("button:enabled")];
  if (pressed !== null) (buttons.find((button) => button.textContent === pressed) ?? root).focus({ preventScroll: true });
}
