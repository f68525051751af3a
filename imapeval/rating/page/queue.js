// What has been entered waits on this device until the server has said that it is saved: no connection, a reload or a
// closed page loses nothing. An entry has an id of its own, so that one that is sent twice is saved once.
const QUEUE = "imapeval-queue", DRAFT = "imapeval-draft:";

const readQueue = () => { try { return JSON.parse(localStorage.getItem(QUEUE)) ?? []; } catch { return []; } };
const writeQueue = (queue) => localStorage.setItem(QUEUE, JSON.stringify(queue));
const makeId = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => (byte % 36).toString(36)).join("");

class Queue {
  // tell({waiting, problem, saved, item}) is called whenever something has changed.
  constructor(tell) {
    this.tell = tell;
    this.sending = null;
    this.delay = 1000;
    addEventListener("online", () => this.send());
    addEventListener("storage", (event) => { if (event.key === QUEUE) this.tell({waiting: readQueue().length}); });
  }

  add(token, entry) {
    writeQueue([...readQueue(), {token, entry: {...entry, client_id: makeId()}}]);
    return this.send();
  }

  get waiting() { return readQueue().length; }

  send() {
    this.sending ??= this.sendAll().finally(() => { this.sending = null; });
    return this.sending;
  }

  async sendAll() {
    clearTimeout(this.timer);
    for (let queue = readQueue(); queue.length; queue = readQueue()) {
      const [{token, entry}] = queue;
      let response;
      try {
        response = await fetch(`/api/items/${encodeURIComponent(token)}`, {
          method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(entry), credentials: "same-origin",
        });
      } catch { response = null; }
      if (!response || response.status === 429 || response.status === 408 || response.status >= 500) {
        this.tell({waiting: queue.length});
        this.timer = setTimeout(() => this.send(), this.delay);
        this.delay = Math.min(15000, this.delay * 2);
        return false;
      }
      this.delay = 1000;
      if (response.status === 401) { this.tell({waiting: queue.length, problem: 401}); return false; }
      const content = await response.json().catch(() => ({}));
      // Another tab may have added or sent something meanwhile.
      writeQueue(readQueue().filter((one) => one.entry.client_id !== entry.client_id));
      if (response.ok) this.tell({waiting: this.waiting, saved: content, token});
      else this.tell({waiting: this.waiting, problem: content.error?.message ?? String(response.status)});
      if (!response.ok) return false;
    }
    return true;
  }
}

const drafts = {
  read(token) { try { return JSON.parse(localStorage.getItem(DRAFT + token)); } catch { return null; } },
  write(token, draft) { localStorage.setItem(DRAFT + token, JSON.stringify(draft)); },
  remove(token) { localStorage.removeItem(DRAFT + token); },
};
