// The rows of ratings, one for each dimension: a scale, or "cannot judge" with a reason.
class Scales {
  constructor(form, dimensions, texts, changed) {
    Object.assign(this, {form, dimensions, texts, changed, current: 0, rows: []});
    form.addEventListener("submit", (event) => event.preventDefault());
    form.replaceChildren(...dimensions.map((dimension, index) => this.makeRow(dimension, index)));
  }

  makeRow(dimension, index) {
    const {name, low, high, step} = dimension, texts = this.texts;
    const row = make("fieldset", {className: "row"});
    const hint = texts.scale_hint.replace("{low}", low).replace("{high}", high);
    row.append(make("legend", {}, name, " ", make("small", {}, hint)));
    const values = step ? Array.from({length: Math.floor((high - low) / step + 1e-6) + 1}, (_, n) => Number((low + n * step).toFixed(6))) : [];
    const few = values.length > 0 && values.length <= 21;
    const options = make("div", {className: "options"});
    const inputs = new Map();
    if (few) {
      for (const value of values) {
        const input = make("input", {type: "radio", name: `rating-${index}`, value: String(value)});
        inputs.set(value, input);
        options.append(make("label", {className: "option"}, input, make("span", {}, String(value))));
      }
    }
    const number = few ? null : make("input", {type: "number", min: low, max: high, step: step ?? "any"});
    if (number) { number.setAttribute("aria-label", name); options.append(number); }
    const cannot = make("input", {type: few ? "radio" : "checkbox", name: `rating-${index}`, value: "cannot"});
    options.append(make("label", {className: "option"}, cannot, make("span", {}, texts.cannot)));
    const reason = make("input", {maxLength: 1000});
    const why = make("p", {className: "why", hidden: true}, make("label", {}, texts.reason, " ", reason));
    row.append(options, why);
    const state = {row, inputs, number, cannot, reason, why};
    row.addEventListener("focusin", () => this.select(index, false));
    row.addEventListener("input", () => {
      if (number && document.activeElement === number) cannot.checked = false;
      why.hidden = !cannot.checked;
      this.changed();
    });
    this.rows.push(state);
    return row;
  }

  show(entry) {
    this.dimensions.forEach(({name}, index) => {
      const {inputs, number, cannot, reason, why} = this.rows[index], value = entry.values[name];
      for (const [one, input] of inputs) input.checked = one === value;
      if (number) number.value = value ?? "";
      cannot.checked = name in entry.cannot_judge;
      reason.value = entry.cannot_judge[name] ?? "";
      why.hidden = !cannot.checked;
    });
    this.select(0, false);
  }

  read() {
    const values = {}, cannot_judge = {};
    this.dimensions.forEach(({name}, index) => {
      const {inputs, number, cannot, reason} = this.rows[index];
      if (cannot.checked) { cannot_judge[name] = reason.value; return; }
      const chosen = [...inputs].find(([, input]) => input.checked)?.[0] ?? (number && number.value !== "" ? Number(number.value) : undefined);
      if (chosen !== undefined) values[name] = chosen;
    });
    return {values, cannot_judge};
  }

  get open() {
    const {values, cannot_judge} = this.read();
    return this.dimensions.filter(({name}) => !(name in values) && !(name in cannot_judge)).map(({name}) => name);
  }

  select(index, focus = true) {
    this.current = Math.max(0, Math.min(this.rows.length - 1, index));
    this.rows.forEach(({row}, n) => {
      row.classList.toggle("current", n === this.current);
      if (n === this.current) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
    });
    if (!focus) return;
    const {inputs, number, cannot} = this.rows[this.current];
    const target = number ?? [...inputs.values(), cannot].find((input) => input.checked) ?? [...inputs.values()][0];
    target.focus();
  }

  // Gives the current row the value that a key stands for, if there is such a value.
  rate(value) {
    const {inputs, number, cannot, why} = this.rows[this.current], {high} = this.dimensions[this.current];
    if (number) {
      // Less than the lowest rating may be the first digit of one.
      if (value > high) return;
      number.focus();
      number.value = value;
      cannot.checked = false;
    } else {
      const input = inputs.get(value);
      if (!input) return;
      input.checked = true;
      input.focus();
    }
    why.hidden = true;
    this.changed();
  }

  addHalf() {
    const value = this.read().values[this.dimensions[this.current].name];
    if (value !== undefined) this.rate(value + 0.5);
  }

  refuseToJudge() {
    const {cannot, why, reason} = this.rows[this.current];
    cannot.checked = true;
    why.hidden = false;
    reason.focus();
    this.changed();
  }
}

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}
