// The page on which a rater rates: one answer at a time.
const {texts, dimensions, link} = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const EMPTY = {values: {}, cannot_judge: {}, comment: "", confidence: null, spans: []};
const IDLE = 60_000, AUTOSAVE = 3_000;

let item = null, changed = false, timer = 0, busy = false, lastRated = 0;
let active = 0, lastSign = 0;
// Time counts while the rater does something at least once a minute and looks at the page.
const noteActivity = () => {
  const now = performance.now();
  if (lastSign && now - lastSign < IDLE && document.visibilityState === "visible") active += now - lastSign;
  lastSign = now;
};
for (const sign of ["pointermove", "pointerdown", "keydown", "scroll", "touchstart"]) addEventListener(sign, noteActivity, {passive: true});

const queue = new Queue(link, ({waiting, saved, problem, token}) => {
  const banner = $("banner");
  banner.classList.toggle("alarm", waiting > 0 || Boolean(problem));
  banner.textContent = problem === 401 ? texts.enter_failed
    : problem ? fill(texts.refused, {message: problem})
    : waiting ? fill(texts.waiting, {count: waiting}) : saved ? texts.saved : "";
  if (saved) showProgress(saved.progress);
  if (saved?.feedback && item?.token === token) item.feedback = saved.feedback;
});
const text = new MarkedText($("response"), {
  changed: () => { showMarks(); onChange(); },
  describe: (words) => { $("banner").textContent = words; },
  missed: () => { $("problem").textContent = texts.select_first; },
});
const scales = new Scales($("ratings"), dimensions, texts, () => onChange());

const readEntry = () => {
  const chosen = document.querySelector("#confidence input:checked");
  return {...scales.read(), comment: $("comment").value, confidence: chosen ? Number(chosen.value) : null, spans: text.spans};
};

function onChange() {
  if (!item) return;
  changed = true;
  $("problem").textContent = "";
  writeDraft();
  clearTimeout(timer);
  timer = setTimeout(() => { if (changed) submit(); }, AUTOSAVE);
}

// With the ids of all entries that the server may have when the draft is read again: of those made on this page, any may
// be saved, wait or be refused by then. With another one, a newer rating was saved on another device.
function writeDraft() {
  drafts.write(item.token, {...readEntry(), known: item.known});
}

// A draft without `known` is an entry that was refused, or was written by the page before it had `known`.
function readDraft() {
  const draft = drafts.read(item.token);
  return !draft?.known || draft.known.includes(item.entry?.client_id ?? null) ? draft : null;
}

async function submit() {
  clearTimeout(timer);
  if (!item || !changed) return queue.send();
  noteActivity();
  const {token, known} = item;
  const entry = {...readEntry(), seconds: Math.round(active / 100) / 10, client_id: makeId()};
  [changed, active] = [false, 0];
  known.push(entry.client_id);
  const sent = queue.add(token, entry);
  drafts.remove(token);
  const outcome = await sent;
  if (outcome === "refused" && item?.token === token) changed = true;
  return outcome;
}

// Returns null where the server refuses it, and undefined where it is to be tried again.
async function ask(path) {
  try {
    const response = await fetch(path, {headers: {"Imapeval-Link": link}});
    if (response.status === 401) { $("banner").textContent = texts.enter_failed; $("banner").classList.add("alarm"); }
    if (response.status === 429 || response.status >= 500) return undefined;
    return response.ok ? await response.json() : null;
  } catch { return undefined; }
}

// Until the next item is there, nothing can be entered: it would go to the item that is left.
function wait(yes) {
  busy = yes;
  $("work").inert = yes;
}

// Shows an item once all that was entered is saved; without a connection, it is tried again.
async function open(path) {
  wait(true);
  const sent = await queue.send() !== "waiting";
  const found = sent ? await ask(path) : undefined;
  if (found === undefined) {
    if (sent) {
      $("banner").classList.add("alarm");
      $("banner").textContent = fill(texts.waiting, {count: queue.waiting});
    }
    setTimeout(() => open(path), Math.max(2000, queue.delay));
    return;
  }
  wait(false);
  if (found) show(found);
  // Once the study has been stopped, there may be nothing behind an item that is changed.
  else if (path !== "/api/next") open("/api/next");
}

function showProgress({done, total}) {
  $("bar").max = Math.max(1, total);
  $("bar").value = done;
  $("progress").textContent = fill(texts.progress, {done, total});
}

function show({item: next, progress}) {
  item = next;
  showProgress(progress);
  $("work").hidden = !item;
  $("end").hidden = Boolean(item);
  $("feedback").hidden = true;
  $("problem").textContent = kept.works ? "" : texts.no_storage;
  if (!item) {
    $("end-text").textContent = progress.stopped && progress.done < progress.total ? texts.stopped : texts.finished;
    lastRated = progress.open.length ? progress.open[0] - 1 : progress.total;
    $("last").hidden = !lastRated;
    $("end-text").focus();
    return;
  }
  if (item.position > 1 && $("instructions")) $("instructions").open = false;
  item.known = [item.entry?.client_id ?? null];
  const draft = readDraft(), entry = draft ?? item.entry ?? EMPTY;
  $("note").textContent = item.training ? fill(texts.training, {position: item.position, total: progress.training_total}) : item.adjudication ? texts.adjudication : "";
  $("question").textContent = item.question;
  $("question").lang = $("response").lang = item.lang;
  $("references").hidden = !item.references.length;
  $("reference").replaceChildren(...item.references.map((one) => make("p", {className: "text", lang: item.lang}, one)));
  text.show(item.response, item.lang, entry.spans, item.facts);
  scales.show(entry);
  $("comment").value = entry.comment;
  $("missing").value = "";
  document.querySelectorAll("#confidence input").forEach((input) => { input.checked = Number(input.value) === entry.confidence; });
  $("back").disabled = item.position === 1;
  $("history").open = false;
  showMarks();
  showEarlier();
  changed = Boolean(draft);
  [active, lastSign] = [0, performance.now()];
  scrollTo(0, 0);
  $("question-title").focus();
}

const names = {wrong: texts.wrong, dangerous: texts.dangerous, missing: texts.missing_kind};
const sureness = {1: texts.unsure, 2: texts.fairly, 3: texts.sure};

function showMarks() {
  $("marks").replaceChildren(...text.spans.map((span) => {
    const button = make("button", {type: "button"}, texts.remove);
    button.setAttribute("aria-label", `${texts.remove}: ${span.text}`);
    button.addEventListener("click", () => { text.remove(span); $("response").focus(); });
    return make("li", {}, `${names[span.kind]}: ${span.text} `, button);
  }));
  if (!text.spans.length) $("marks").append(make("li", {}, texts.no_marks));
}

function showEarlier() {
  $("earlier").hidden = !item.earlier.length;
  const titles = [texts.rater, ...dimensions.map(({name}) => name), texts.marks, texts.confidence, texts.comments];
  const rating = ({values, cannot_judge: reasons}, name) => String(values[name] ?? (reasons[name] ? `${texts.cannot}: ${reasons[name]}` : texts.cannot));
  const rows = item.earlier.map((one, n) => [
    ...dimensions.map(({name}) => rating(one, name)),
    one.spans.map((span) => `${names[span.kind]}: ${span.text}`).join("; "),
    sureness[one.confidence] ?? "", one.comment,
  ].reduce((row, cell) => { row.append(make("td", {}, cell)); return row; }, make("tr", {}, make("th", {scope: "row"}, String(n + 1)))));
  $("earlier-table").replaceChildren(
    make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", {scope: "col"}, title)))), make("tbody", {}, ...rows));
}

function showFeedback({expected, explanation}) {
  const {values} = readEntry();
  $("feedback-list").replaceChildren(...Object.entries(expected).map(([name, value]) =>
    make("li", {}, `${name}: ${texts.expected} ${value}, ${texts.yours} ${values[name] ?? texts.cannot}`)));
  $("explanation").textContent = explanation;
  $("feedback").hidden = false;
  $("feedback-title").focus();
}

async function goOn() {
  $("add-missing").click();
  const open_rows = scales.open;
  if (open_rows.length) {
    $("problem").textContent = fill(texts.missing_values, {names: open_rows.join(", ")});
    scales.select(dimensions.findIndex(({name}) => name === open_rows[0]));
    return;
  }
  // An entry of this page that is now the draft was refused; other drafts may be those of another tab.
  changed ||= !item.complete || item.known.includes(drafts.read(item.token)?.client_id);
  wait(true);
  const outcome = await submit();
  wait(false);
  if (outcome === "refused") return;
  if (item.training && outcome === "saved" && item.feedback) showFeedback(item.feedback);
  else leave();
}

// What comes next: after an item that had been rated before, the one behind it.
function leave() {
  const path = item.complete && item.position < item.total ? `/api/at/${item.position + 1}` : "/api/next";
  return open(path);
}

$("next").addEventListener("click", goOn);
$("continue").addEventListener("click", () => open("/api/next"));
$("back").addEventListener("click", async () => { $("add-missing").click(); wait(true); await submit(); open(`/api/at/${item.position - 1}`); });
$("last").addEventListener("click", () => open(`/api/at/${lastRated}`));
for (const kind of ["wrong", "dangerous"]) {
  const button = $(`mark-${kind}`);
  // Taking the focus would lose what is selected by keyboard.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => text.mark(kind));
}
$("add-missing").addEventListener("click", () => {
  const words = $("missing").value.trim();
  if (words) { $("missing").value = ""; text.addMissing(words); }
});
$("comment").addEventListener("input", onChange);
$("confidence").addEventListener("input", onChange);
$("history").addEventListener("toggle", async () => {
  if (!$("history").open || !item) return;
  const entries = await ask(`/api/history/${encodeURIComponent(item.token)}`) ?? [];
  $("history-list").replaceChildren(...entries.map((one) =>
    make("li", {}, `${new Date(one.saved_at).toLocaleString()}: ${Object.entries(one.values).map(([name, value]) => `${name} ${value}`).join(", ")}`)));
});

addEventListener("keydown", (event) => {
  // An input method takes the keys of a word that is being composed; Safari says so by the code alone.
  if (event.isComposing || event.keyCode === 229) return;
  if (event.ctrlKey || event.metaKey || event.altKey || busy || event.defaultPrevented) return;
  if (!item) {
    if (event.key === "Backspace" && lastRated) { event.preventDefault(); $("last").click(); }
    return;
  }
  const field = event.target.closest?.("textarea, input:not([type=radio]):not([type=checkbox]), button, a, summary");
  if (!$("feedback").hidden) {
    if (event.key === "Enter" && !field) { event.preventDefault(); $("continue").click(); }
    return;
  }
  if (field) {
    if (field.id === "missing" && event.key === "Enter") { event.preventDefault(); $("add-missing").click(); }
    else if (event.key === "Enter" && field.matches("input")) { event.preventDefault(); advance(); }
    else if (field.type === "number" && event.key.toLowerCase() === "c") { event.preventDefault(); scales.refuseToJudge(); }
    return;
  }
  if (/^\d$/.test(event.key)) scales.rate(Number(event.key));
  else if (event.key === ".") scales.addHalf();
  else if (event.key.toLowerCase() === "c") scales.refuseToJudge();
  else if (event.key === "Enter") advance();
  else if (event.key === "Backspace") { if (scales.current > 0) scales.select(scales.current - 1); else if (!$("back").disabled) $("back").click(); }
  else return;
  event.preventDefault();
});

function advance() {
  if (scales.current < dimensions.length - 1) scales.select(scales.current + 1);
  else goOn();
}

addEventListener("beforeunload", () => { if (item && changed) writeDraft(); });
open("/api/next");
