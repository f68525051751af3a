// What has been entered waits on this device until the server has said that it is saved: no connection, a reload or a
// closed page loses nothing. An entry has an id of its own, so that one that is sent twice is saved once. Every rater has
// a queue of their own, and the server is told whose entry it is: cookies are those of the link that was opened last.
const DRAFT = "imapeval-draft:";

// Where the browser keeps nothing (site data blocked, no space left), entries live as long as the page does.
const kept = {
  memory: new Map(), works: true,
  read(key) {
    try { if (this.works) return JSON.parse(localStorage.getItem(key)); } catch { this.works = false; }
    return this.memory.get(key) ?? null;
  },
  write(key, content) {
    this.memory.set(key, content);
    try { localStorage.setItem(key, JSON.stringify(content)); } catch { this.works = false; }
  },
  remove(key) {
    this.memory.delete(key);
    try { localStorage.removeItem(key); } catch { this.works = false; }
  },
};
const makeId = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => (byte % 36).toString(36)).join("");

const drafts = {
  read: (token) => kept.read(DRAFT + token),
  write: (token, draft) => kept.write(DRAFT + token, draft),
  remove: (token) => kept.remove(DRAFT + token),
};

class Queue {
  // tell({waiting, problem, saved, token}) is called whenever something has changed.
  constructor(link, tell) {
    this.key = `imapeval-queue:${link}`;
    this.link = link;
    this.tell = tell;
    this.sending = null;
    this.delay = 1000;
    addEventListener("online", () => this.send());
    addEventListener("storage", (event) => { if (event.key === this.key) this.tell({waiting: this.waiting}); });
  }

  read() { return kept.read(this.key) ?? []; }
  write(entries) { kept.write(this.key, entries); }
  get waiting() { return this.read().length; }

  add(token, entry) {
    this.write([...this.read(), {token, entry}]);
    return this.send();
  }

  // Returns "saved" once nothing waits, "waiting" if the server could not be reached or did not admit the rater,
  // "refused" if it rejected an entry, and "gone" if the rater no longer has the item. An entry that is rejected becomes
  // the item's draft.
  send() {
    this.sending ??= this.sendAll().finally(() => { this.sending = null; });
    return this.sending;
  }

  async sendAll() {
    clearTimeout(this.timer);
    let [outcome, refused] = ["saved", null];
    for (let entries = this.read(); entries.length; entries = this.read()) {
      const [{token, entry}] = entries;
      let response = null, content = null;
      try {
        response = await fetch(`/api/items/${encodeURIComponent(token)}`, {
          method: "POST", headers: {"Content-Type": "application/json", "Imapeval-Link": this.link}, body: JSON.stringify(entry),
        });
        content = await response.json();
      } catch { if (response?.ok) response = null; } // Cut off, or not from the study's server.
      const status = response?.status ?? 0, message = content?.error?.message ?? String(status);
      if (!status || [401, 403, 408, 429].includes(status) || status >= 500) {
        this.tell({waiting: entries.length, problem: status === 401 ? 401 : status === 403 ? message : null});
        this.timer = setTimeout(() => this.send(), this.delay);
        this.delay = Math.min(15000, this.delay * 2);
        return "waiting";
      }
      this.delay = 1000;
      // This page or another tab may have added or sent something meanwhile.
      const left = this.read().filter((one) => one.entry.client_id !== entry.client_id);
      if (response.ok) this.tell({waiting: left.length, saved: content, token});
      else {
        [outcome, refused] = [status === 404 ? "gone" : "refused", message];
        if (!drafts.read(token) && !left.some((one) => one.token === token)) drafts.write(token, entry);
      }
      this.write(left);
    }
    if (refused) this.tell({waiting: 0, problem: refused});
    return outcome;
  }
}
