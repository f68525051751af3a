// Corrections of facts and relations, on the page of `imapeval review` alone.
const RELATIONS = ["exact", "containment", "belonging", "unmatched", "contradiction"];

const factOf = (imap, side, number) => ({ term: text(imap[side][number][0]), value: text(imap[side][number][1]) });

// In the dialog if one is open: it covers the rest of the page.
function tell(...message) {
  (document.querySelector("dialog [role=status]") ?? byId("review-said"))?.replaceChildren(...message);
}

// Saves a change, and keeps the answer as it is scored then.
async function save(sample, imap, change) {
  const from = data.texts.length;
  const body = JSON.stringify({ id: sample.id, reference_index: imap.ref, reading: imap.reading, change, texts: from });
  let said;
  try {
    const reply = await fetch("corrections", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    said = await reply.json();
    if (!reply.ok) throw new Error(said.error?.message ?? "The server does not know this page. Open the address that it prints now.");
  } catch (error) {
    tell(`Not saved: ${error.message}`);
    return null;
  }
  // The reply to another change may have brought the same texts meanwhile.
  said.texts.forEach((one, n) => { data.texts[from + n] = one; });
  data.samples[indexOf.get(sample.id)] = said.sample;
  return said.sample;
}

// The other answers, with their imaps, whose reference was read from the same text in the same wrong way.
function findAlike(sample, imap, change) {
  if (change.kind !== "fact" || change.side !== "reference") return [];
  const holds = (other, fact) => other.reference.some((_, number) => {
    const { term, value } = factOf(other, "reference", number);
    return term === fact.term && value === fact.value;
  });
  const isWrong = (other) => other.ref === imap.ref && other.reading === imap.reading &&
    (!change.before || holds(other, change.before)) && !(change.after && holds(other, change.after));
  return data.samples.filter((other) => other.id !== sample.id && other.question === sample.question &&
    other.references[imap.ref] === sample.references[imap.ref]).flatMap((other) => other.imaps.filter(isWrong).map((own) => [other, own]));
}

const isShown = (sample) => data.samples[current]?.id === sample.id;

// Saves a change, and shows the answer as it is scored then, unless another one is shown by now.
async function correct(sample, imap, change) {
  const saved = await save(sample, imap, change);
  if (!saved) return false;
  refresh();
  if (isShown(sample)) drawSample(saved, imap.ref);
  const alike = findAlike(sample, imap, change);
  const same = alike.length === 1 ? "1 other answer has the same question and reference" : `${alike.length} other answers have the same question and reference`;
  if (!alike.length) tell(isShown(sample) ? "Saved." : `Saved for ${sample.id}.`);
  else tell(`Saved for ${isShown(sample) ? "this answer" : sample.id}. ${same}: `, button("Correct there, too", async () => {
    let saved = true;
    for (const [other, own] of alike) {
      if (!(saved = await save(other, own, change))) break;
      if (isShown(other)) drawSample(saved, imap.ref);
    }
    refresh();
    if (saved) tell("Saved for all of them.");
  }));
  return true;
}

function button(name, action) {
  const element = make("button", { type: "button" }, name);
  element.addEventListener("click", action);
  return element;
}

function drawField(name, value, options) {
  const field = options
    ? make("select", null, options.map(([key, label]) => make("option", { value: key, selected: key === value }, label)))
    : make("input", { value, maxlength: "1000", required: true });
  return [make("label", null, name, field), field];
}

// A dialog of groups of fields. Each action gives the change, or nothing if a field is empty.
function openDialog(title, groups, sample, imap) {
  const dialog = make("dialog", { class: "correction", "aria-label": title }, make("h3", null, title));
  for (const { legend, labels, actions } of groups) {
    const buttons = Object.entries(actions).map(([name, makeChange]) => button(name, async () => {
      const change = makeChange();
      if (!change) tell("Fill in term and value.");
      else if (await correct(sample, imap, change)) dialog.close();
    }));
    dialog.append(make("fieldset", null, make("legend", null, legend), labels, make("div", { class: "actions" }, buttons)));
  }
  dialog.append(button("Cancel", () => dialog.close()), make("p", { class: "note", role: "status" }));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  byId("sample").append(dialog);
  dialog.showModal();
}

function groupOfFact(imap, side, number) {
  const before = number === undefined ? null : factOf(imap, side, number);
  const [termLabel, term] = drawField("term", before?.term ?? (imap.query.length ? text(imap.query[0][0]) : ""));
  const [valueLabel, value] = drawField("value", before?.value ?? "");
  const change = () => {
    const after = { term: term.value.trim(), value: value.value.trim() };
    return after.term && after.value ? { kind: "fact", side, before, after } : null;
  };
  const actions = before ? { Change: change, Delete: () => ({ kind: "fact", side, before, after: null }) } : { Add: change };
  return { legend: before ? `Fact of the ${side}` : `A fact that the ${side} states`, labels: [termLabel, valueLabel], actions };
}

function groupOfRelation(imap, row) {
  const options = (side) => imap[side].map((_, number) => {
    const { term, value } = factOf(imap, side, number);
    return [String(number), `${term}: ${value}`];
  });
  const [referenceLabel, reference] = drawField("reference", String(row.reference ?? 0), options("reference"));
  const [responseLabel, response] = drawField("response", String(row.response ?? 0), options("response"));
  const known = () => imap.matches.find((match) => match[0] === Number(reference.value) && match[1] === Number(response.value));
  const before = () => { const kind = known()?.[2]; return RELATIONS.includes(kind) ? kind : "unmatched"; };
  const [relationLabel, relation] = drawField("relation", before(), RELATIONS.map((name) => [name, name]));
  for (const field of [reference, response]) field.addEventListener("change", () => { relation.value = before(); });
  const change = () => ({
    kind: "relation",
    reference: factOf(imap, "reference", Number(reference.value)),
    response: factOf(imap, "response", Number(response.value)),
    before: before(),
    after: relation.value,
  });
  return { legend: "Relation of two facts", labels: [referenceLabel, responseLabel, relationLabel], actions: { Set: change } };
}

// The button in a row of the facts; nothing on other pages.
function drawCorrect(imap, row) {
  if (!data.review) return null;
  const sample = data.samples[current];
  const place = make("span", { class: "correct" }, button("Correct", () => {
    const groups = SIDES.filter((side) => row[side] !== undefined).map((side) => groupOfFact(imap, side, row[side]));
    if (imap.reference.length && imap.response.length) groups.push(groupOfRelation(imap, row));
    openDialog("Correct", groups, sample, imap);
  }));
  // The row takes Enter and the mouse for its own.
  for (const name of ["click", "keydown"]) place.addEventListener(name, (event) => event.stopPropagation());
  return place;
}

// What was corrected in this imap, and what can be done besides; nothing on other pages.
function drawReview(sample, imap) {
  if (!data.review) return null;
  const { corrections, checked, problem } = imap.review;
  const said = [`${corrections} ${corrections === 1 ? "correction" : "corrections"}`, checked ? "checked" : "not checked yet"].join(", ");
  const add = (side) => button(`Add a fact to the ${side}`, () => openDialog(`Add a fact to the ${side}`, [groupOfFact(imap, side)], sample, imap));
  return make("div", { class: "review" },
    make("span", null, `${said}. `),
    SIDES.map(add),
    checked ? null : button("Mark as checked", () => correct(sample, imap, { kind: "checked" })),
    corrections || checked ? button("Withdraw corrections", () => correct(sample, imap, { kind: "reset" })) : null,
    problem ? make("p", { class: "note" }, `The corrections of this answer do not fit, and are not shown: ${problem}`) : null,
    make("p", { id: "review-said", role: "status", class: "note" }));
}
