// Which answer is shown, what the address says, and the keys.
let current = -1; // -1: none.

// At once, and not when the browser tells of the new address: keys may come faster than that.
function go(index) {
  state.sample = data.samples[index].id;
  history.pushState(null, "", makeAddress({}));
  showSample();
  comeForward();
}

function step(by) {
  const place = sequence.indexOf(current);
  const target = sequence[place < 0 ? 0 : place + by];
  if (target !== undefined) go(target);
}

// To the answer of another system to the same question.
function turn(by) {
  const others = sequence.filter((index) => data.samples[index].question === data.samples[current].question);
  others.sort((a, b) => systemNumber.get(data.samples[a].system) - systemNumber.get(data.samples[b].system) || a - b);
  const target = others[others.indexOf(current) + by];
  if (target !== undefined) go(target);
}

// Shows the answer that `state` names.
function showSample() {
  const index = sequence.length ? indexOf.get(state.sample) ?? sequence[0] : -1;
  const same = index === current;
  current = index;
  if (index < 0) {
    byId("sample").replaceChildren(make("p", { class: "note" }, "No answer is like this. Take a filter away, or search for other words."));
  } else if (same) {
    updateSample(data.samples[index]);
  } else {
    state.sample = data.samples[index].id;
    drawSample(data.samples[index]);
  }
  rows.reveal(placeInRows.get(index) ?? 0);
}

// Whether the address says what is looked for, and not only names a section of the page.
const isLookedFor = () => [...new URLSearchParams(location.hash.slice(1)).keys()].some((key) => key in state || key.startsWith("only."));

// Takes the address for what is wanted. An answer that the filters hide is shown among all answers.
function follow() {
  const before = makeAddress({ sample: "" });
  const view = state.view;
  readAddress();
  if (makeAddress({ sample: "" }) !== before || !rows) {
    drawControls();
    if (!rows || view !== state.view) drawView();
    refresh();
  }
  if (indexOf.has(state.sample) && !placeInRows.has(indexOf.get(state.sample))) {
    Object.assign(state, { search: "", only: {} });
    drawControls();
    refresh();
  }
  showSample();
}

const indexOf = new Map(data.samples.map((sample, index) => [sample.id, index]).reverse());

// Brings the answer into view where it stands below the list, or the reader has come from another section.
function comeForward() {
  const target = byId(location.hash.includes("sample=") ? "sample" : "explorer");
  const { top } = target.getBoundingClientRect();
  if (top >= 0 && top <= 0.6 * window.innerHeight) return;
  target.scrollIntoView({ block: "start" });
  if (byId("sample").contains(document.activeElement)) return;
  if (!byId("view").contains(document.activeElement) || matchMedia("(max-width: 62rem)").matches) {
    byId("sample").focus({ preventScroll: true });
  }
}

// So that the first search is as quick as the next.
function prepareSearch(deadline) {
  if (deadline.timeRemaining() > 5 || deadline.didTimeout) searchText(0);
  else requestIdleCallback(prepareSearch);
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  "/": () => byId("search").focus(),
};
const ARROWS = { ArrowDown: () => step(1), ArrowUp: () => step(-1), ArrowRight: () => turn(1), ArrowLeft: () => turn(-1) };

function press(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  // Arrows are for the list and the matrix; elsewhere they scroll.
  const action = KEYS[event.key] ?? (byId("view").contains(event.target) ? ARROWS[event.key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
}

function listen() {
  byId("search").addEventListener("input", (event) => change({ search: event.target.value }));
  byId("search").addEventListener("keydown", (event) => { if (event.key === "Escape") event.target.blur(); });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("views").addEventListener("click", (event) => { if (event.target.value) change({ view: event.target.value }); });
  document.addEventListener("keydown", press);
  window.addEventListener("hashchange", () => {
    // Without any, it is that of the page as it was opened.
    if (location.hash && !isLookedFor()) return;
    follow();
    if (location.hash) comeForward();
  });
}

if (data.samples.length) {
  byId("explorer").hidden = false;
  listen();
  follow();
  globalThis.requestIdleCallback?.(prepareSearch, { timeout: 1000 });
  const [{ type }] = performance.getEntriesByType("navigation");
  if (type !== "reload" && isLookedFor()) comeForward();
}

// While the run goes on, its file is written anew; a page from a file can be renewed only by loading it again.
const live = byId("live");
if (live) {
  live.hidden = false;
  const box = live.querySelector("input");
  setInterval(() => {
    const typing = document.activeElement.closest("input:not([type=checkbox]), select");
    if (box.checked && !typing && !document.hidden) location.reload();
  }, 1000 * Number(live.dataset.seconds));
}
