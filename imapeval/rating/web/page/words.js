// The response, in which words are marked as wrong or dangerous, by mouse or by keyboard. Places are counted in Unicode
// code points, as the server counts them.
class MarkedText {
  constructor(element, {changed, describe, missed}) {
    Object.assign(this, {element, changed, describe, missed, points: [], words: [], spans: [], facts: [], from: 0, to: 0, focused: false});
    element.addEventListener("keydown", (event) => this.onKey(event));
    // Drawing anew would take away what the mouse is about to select.
    const showCaret = (shown) => { if (shown !== this.focused) { this.focused = shown; this.render(); } };
    element.addEventListener("focus", () => showCaret(element.matches(":focus-visible")));
    element.addEventListener("blur", () => showCaret(false));
  }

  show(text, lang, spans, facts) {
    this.points = Array.from(text);
    this.words = splitWords(text, lang);
    this.facts = facts;
    this.spans = spans;
    this.from = this.to = 0;
    this.render();
  }

  get placed() { return this.spans.filter((span) => span.start !== null); }

  // [start, end) of what is selected, by mouse or by keyboard; null for nothing.
  selection() {
    const selected = getSelection(), isInside = (node) => this.element.contains(node);
    // All of the page (Ctrl+A) is not meant as all of the answer: that would replace every mark in it.
    if (selected?.rangeCount && !selected.isCollapsed && [selected.anchorNode, selected.focusNode].some(isInside)) {
      // A triple click, or a drag that ends below, selects more than the element.
      const range = selected.getRangeAt(0), inside = document.createRange(), before = document.createRange();
      inside.selectNodeContents(this.element);
      before.selectNodeContents(this.element);
      if (range.compareBoundaryPoints(Range.START_TO_START, inside) > 0) inside.setStart(range.startContainer, range.startOffset);
      if (range.compareBoundaryPoints(Range.END_TO_END, inside) < 0) inside.setEnd(range.endContainer, range.endOffset);
      before.setEnd(inside.startContainer, inside.startOffset);
      const start = Array.from(before.toString()).length, end = start + Array.from(inside.toString()).length;
      if (end > start) return [start, end];
    }
    if (!this.focused || !this.words.length) return null;
    const [first, last] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
    return [this.words[first][0], this.words[last][1]];
  }

  mark(kind) {
    const [start, end] = this.selection() ?? [0, 0], text = this.points.slice(start, end).join("");
    if (!text.trim()) return this.missed();
    this.spans = [...this.spans.filter((span) => span.start === null || span.end <= start || span.start >= end), {kind, start, end, text}];
    getSelection()?.removeAllRanges();
    this.render();
    this.changed();
  }

  addMissing(text) {
    this.spans = [...this.spans, {kind: "missing", start: null, end: null, text}];
    this.changed();
  }

  remove(span) {
    this.spans = this.spans.filter((other) => other !== span);
    this.render();
    this.changed();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.words.length) return;
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step) {
      // After a click, there is no caret yet, and what is selected by mouse would hide it.
      this.focused = true;
      getSelection()?.removeAllRanges();
      this.to = Math.max(0, Math.min(this.words.length - 1, this.to + step));
      if (!event.shiftKey) this.from = this.to;
      this.render();
      this.describe(this.points.slice(...this.selection()).join(""));
    } else if (/^[wd]$/i.test(event.key)) this.mark(event.key.toLowerCase() === "w" ? "wrong" : "dangerous");
    else if (event.key === "Delete") {
      const [start, end] = this.selection() ?? [0, 0];
      const hit = this.placed.find((span) => span.start < end && start < span.end);
      if (hit) this.remove(hit);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  render() {
    const place = this.focused && getSelection()?.isCollapsed !== false ? this.selection() : null;
    const edges = new Set([0, this.points.length]);
    for (const {start, end} of [...this.placed, ...this.facts]) edges.add(start).add(end);
    if (place) place.forEach((edge) => edges.add(edge));
    const sorted = [...edges].sort((a, b) => a - b);
    this.element.replaceChildren(...sorted.slice(1).map((end, index) => {
      const start = sorted[index], inside = (one) => one.start <= start && end <= one.end;
      const span = this.placed.find(inside), fact = this.facts.find(inside);
      const part = document.createElement(span ? "mark" : "span");
      part.textContent = this.points.slice(start, end).join("");
      if (span) part.classList.add(span.kind);
      if (fact) { part.classList.add("fact"); part.title = fact.term; }
      if (place && place[0] <= start && end <= place[1]) part.classList.add("caret");
      return part;
    }));
  }
}

function splitWords(text, lang) {
  const words = [];
  const pieces = Intl.Segmenter
    ? [...new Intl.Segmenter(lang, {granularity: "word"}).segment(text)].filter((one) => one.isWordLike)
    : [...text.matchAll(/\S+/g)].map((match) => ({index: match.index, segment: match[0]}));
  let unit = 0, point = 0;
  for (const {index, segment} of pieces) {
    point += Array.from(text.slice(unit, index)).length;
    const end = point + Array.from(segment).length;
    words.push([point, end]);
    [unit, point] = [index + segment.length, end];
  }
  return words;
}
