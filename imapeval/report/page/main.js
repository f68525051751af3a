// Which answer is shown stands in the address (#sample=ID), so that it can be linked to and gone back to.
let current = -1;

function select(index) {
  current = index;
  const place = list.found.findIndex((entry) => entry.index === index);
  const steps = [["Previous", -1], ["Next", 1]].map(([name, by]) => {
    const target = place < 0 ? undefined : list.found[place + by];
    const button = make("button", { type: "button", disabled: !target }, name);
    button.addEventListener("click", () => { location.hash = `sample=${encodeURIComponent(target.sample.id)}`; });
    return button;
  });
  if (place >= 0) list.page = Math.floor(place / PAGE);
  drawSample(data.samples[index], steps);
  drawList();
  const rows = byId("list");
  const row = rows.querySelector("[aria-current]")?.parentElement;
  const hidden = row && (row.offsetTop < rows.scrollTop || row.offsetTop + row.offsetHeight > rows.scrollTop + rows.clientHeight);
  if (hidden) rows.scrollTop = row.offsetTop - (rows.clientHeight - row.offsetHeight) / 2;
}

function fromAddress() {
  if (!location.hash.startsWith("#sample=")) return -1;
  let id = location.hash.slice("#sample=".length);
  try { id = decodeURIComponent(id); } catch { /* An id with a bare % is taken as it is. */ }
  return data.samples.findIndex((sample) => sample.id === id);
}

function follow() {
  const index = fromAddress();
  if (index < 0) return;
  select(index);
  const view = byId("sample");
  view.focus({ preventScroll: true });
  const top = view.getBoundingClientRect().top;
  if (top < 0 || top > 0.6 * window.innerHeight) view.scrollIntoView({ block: "start" });
}

if (data.samples.length) {
  byId("explorer").hidden = false;
  drawControls();
  find();
  select(0);
  follow();
  window.addEventListener("hashchange", follow);
}
