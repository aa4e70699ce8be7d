"use strict";
// Makes a page of geco.pages answer: sorting, hiding, reading values, themes. Without it all is shown, and nothing moves.

const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const make = (name, className = "", words = "") => {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.textContent = words;
  return node;
};

// What the reader has chosen; it outlives a reload of the page, so that a page that refreshes stays as it is.
const place = "geco:" + location.pathname;
const store = (kind) => { try { return window[kind + "Storage"]; } catch { return null; } };
const read = (kind, name) => { try { return JSON.parse(store(kind).getItem(name)); } catch { return null; } };
const write = (kind, name, value) => { try { store(kind).setItem(name, JSON.stringify(value)); } catch { /* private */ } };
const chosen = { off: [], tabs: {}, sorts: {}, open: {}, ...read("session", place) };
const keep = () => write("session", place, chosen);

function themes() {
  const button = document.querySelector(".theme"), names = ["system", "light", "dark"];
  let now = read("local", "geco:theme") ?? "system";
  const show = () => {
    button.textContent = `Theme: ${now}`;
    if (now === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
  };
  button.onclick = () => {
    now = names[(names.indexOf(now) + 1) % names.length];
    write("local", "geco:theme", now);
    show();
  };
  show();
}

// Tables: a press on a heading sorts by it, numbers with the largest first; what is unknown goes last.
function sortable(table, number) {
  const heads = all("thead th", table), body = table.tBodies[0], before = [...body.rows];
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const sort = (column, direction) => {
    const head = table.tHead.rows[0].cells[column], sign = direction === "ascending" ? 1 : -1;
    const numbers = head.classList.contains("number");
    const unknown = (v) => numbers && typeof v !== "number";
    const order = before.map((row) => [value(row, column), row]).sort(([a], [b]) => {
      if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
      return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    });
    body.append(...order.map(([, row]) => row));
    for (const other of heads) other.setAttribute("aria-sort", other === head ? direction : "none");
    chosen.sorts[number] = [column, direction];
  };
  for (const head of heads) {
    const button = head.querySelector("button");
    if (!button) continue;
    button.onclick = () => {
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      sort(head.cellIndex, head.getAttribute("aria-sort") === first ? second : first);
      keep();
    };
  }
  const last = chosen.sorts[number];
  if (last && heads.length && table.tHead.rows[0].cells[last[0]]) sort(...last);
}

// Tabs, with the arrow keys as everywhere.
function tabs(box, number) {
  const buttons = all(":scope > [role=tablist] > [role=tab]", box), panels = all(":scope > [role=tabpanel]", box);
  const choose = (index) => {
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === index));
      button.tabIndex = i === index ? 0 : -1;
      panels[i].hidden = i !== index;
    });
    chosen.tabs[number] = index;
  };
  buttons.forEach((button, index) => {
    button.onclick = () => { choose(index); keep(); };
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const to = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : index + (step ?? NaN);
      if (Number.isNaN(to)) return;
      event.preventDefault();
      const next = (to + buttons.length) % buttons.length;
      buttons[next].focus();
      buttons[next].click();
    };
  });
  choose(Math.min(chosen.tabs[number] ?? 0, buttons.length - 1));
}

// Legends: a series is hidden in all charts of the page at once, and its row in a table fades.
function apply() {
  const off = new Set(chosen.off);
  for (const node of all("[data-series]")) {
    const gone = off.has(node.dataset.series);
    if (node.matches("button")) node.setAttribute("aria-pressed", String(!gone));
    else node.classList.toggle("off", gone);
  }
}

function legend(list) {
  const switches = all("button", list), names = switches.map((button) => button.dataset.series);
  const press = (off) => { chosen.off = off; apply(); keep(); };
  const others = () => chosen.off.filter((name) => !names.includes(name));
  for (const button of switches) {
    const name = button.dataset.series;
    button.onclick = () => press(chosen.off.includes(name) ? chosen.off.filter((n) => n !== name) : [...chosen.off, name]);
    button.ondblclick = () => press([...others(), ...names.filter((n) => n !== name)]);
    button.title = "Press to hide or show, twice to show only this one";
  }
  if (names.length < 4) return;
  for (const [words, off] of [["Show all", () => others()], ["Hide all", () => [...others(), ...names]]]) {
    const item = make("li"), button = make("button", "all", words);
    button.type = "button";
    button.onclick = () => press(off());
    item.append(button);
    list.append(item);
  }
}

// Charts: the values where one points, or where the arrow keys have gone.
const nice = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
};
const nearest = (values, target, from = (v) => v) => {
  let best = -1, gap = Infinity;
  values.forEach((value, i) => {
    const off = value === null ? Infinity : Math.abs(from(value) - target);
    if (off < gap) [best, gap] = [i, off];
  });
  return best;
};

class Reading {
  constructor(figure, facts) {
    Object.assign(this, { figure, facts, plot: figure.querySelector(".plot") });
    this.said = make("div", "unseen");
    this.said.setAttribute("aria-live", "polite");
    figure.append(this.said);
    this.box = make("div", "readout");
    this.box.hidden = true;
    this.box.setAttribute("aria-hidden", "true");
    this.plot.append(this.box);
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "group");
    const title = figure.querySelector("figcaption").textContent;
    this.plot.setAttribute("aria-label", `${title}: values, read with the arrow keys`);
    this.plot.onpointermove = this.plot.onpointerdown = (event) => {
      const box = this.plot.getBoundingClientRect();
      this.point((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    };
    this.plot.onpointerleave = this.plot.onblur = () => this.hide();
    this.plot.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
      if (event.key === "Escape") this.hide();
      if (step === undefined) return;
      event.preventDefault();
      this.step(step);
      this.said.textContent = all("strong, div", this.box).map((line) => line.textContent).join("; ");
    };
  }
  get shown() { return this.facts.series.filter((series) => !chosen.off.includes(series.name)); }
  hide() { this.box.hidden = true; this.cursor?.remove(); }
  at(share) {
    if (!this.cursor) {
      this.cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
      this.cursor.classList.add("cursor");
    }
    const along = `${100 * share}%`;
    for (const [name, value] of Object.entries({ x1: along, x2: along, y1: "0%", y2: "100%" })) {
      this.cursor.setAttribute(name, value);
    }
    this.plot.querySelector(".drawing").append(this.cursor);
  }
  show(share, heading, lines) {
    this.at(share);
    this.box.replaceChildren(make("strong", "", heading), ...lines.slice(0, 16).map(([series, words]) => {
      const line = make("div"), key = all(".key", this.figure).find((k) => k.classList.contains(`c${series.look % 7}`)
        && k.classList.contains(`d${series.look % 5}`));
      if (key) line.append(key.cloneNode(true));
      line.append(make("span", "name", series.name), make("span", "", words));
      return line;
    }), ...(lines.length > 16 ? [make("div", "", `and ${lines.length - 16} more`)] : []));
    this.box.hidden = false;
    const side = share > 0.5;
    this.box.style.left = side ? "auto" : `calc(${100 * share}% + 12px)`;
    this.box.style.right = side ? `calc(${100 * (1 - share)}% + 12px)` : "auto";
  }
}

class Lines extends Reading {
  constructor(figure, facts) {
    super(figure, facts);
    for (const series of facts.series) series.x ??= facts.at;
    this.xs = [...new Set(facts.series.flatMap((series) => series.x))].sort((a, b) => a - b);
    this.index = -1;
    this.table();
  }
  share(x) {
    const f = this.facts.log ? Math.log10 : (v) => v, [low, high] = this.facts.ends.map(f);
    return (f(x) - low) / (high - low);
  }
  point(share) { this.reveal(nearest(this.xs, share, (x) => this.share(x))); }
  step(by) { this.reveal(Math.max(0, Math.min(this.xs.length - 1, this.index + by))); }
  reveal(index) {
    this.index = index;
    const x = this.xs[index], lines = [];
    for (const series of this.shown) {
      const i = series.x.indexOf(x);
      if (i < 0 || series.y[i] === null) continue;
      const band = series.low ? `  (${nice(series.low[i])} – ${nice(series.high[i])})` : "";
      const fewer = series.fewer?.[i] ? `, ${series.fewer[i]} of them` : "";
      const mark = series.marks?.filter((m) => m[0] === x).map((m) => `, ${m[2]}`).join("") ?? "";
      lines.push([series, nice(series.y[i]) + band + fewer + mark, series.y[i]]);
    }
    lines.sort((a, b) => b[2] - a[2]);
    this.show(this.share(x), `${this.facts.x} ${nice(x)}`, lines);
  }
  // All numbers of the chart as a table, made when it is opened.
  table() {
    const details = make("details", "values"), summary = make("summary", "", "Values as a table");
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector("table")) return;
      const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
      for (const name of [this.facts.x, ...this.facts.series.map((series) => series.name)]) {
        head.append(Object.assign(make("th", "", name), { scope: "col" }));
      }
      for (const x of this.xs) {
        const row = body.insertRow();
        row.append(Object.assign(make("th", "", nice(x)), { scope: "row" }));
        for (const series of this.facts.series) row.insertCell().textContent = nice(series.y[series.x.indexOf(x)]);
      }
      const wide = make("div", "wide");
      wide.tabIndex = 0;
      wide.setAttribute("role", "region");
      wide.setAttribute("aria-label", summary.textContent);
      wide.append(table);
      details.append(wide);
    });
    this.figure.append(details);
  }
}

class Dots extends Reading {
  share(value, axis) {
    const [low, high, log] = this.facts.ends[axis], f = log ? Math.log10 : (v) => v;
    return (f(value) - f(low)) / (f(high) - f(low));
  }
  points() {
    return this.shown.flatMap((series) => series.x.map((x, i) => [series, x, series.y[i], series.labels?.[i] ?? ""]))
      .filter(([, x, y]) => x !== null && y !== null);
  }
  point(across, down) {
    const box = this.plot.getBoundingClientRect(), points = this.points();
    const off = ([, x, y]) => Math.hypot((this.share(x, 0) - across) * box.width, (1 - this.share(y, 1) - down) * box.height);
    const index = nearest(points.map(off), 0);
    if (index >= 0 && off(points[index]) < 40) this.reveal(points[index]);
    else this.hide();
  }
  step(by) {
    const points = this.points().sort((a, b) => a[1] - b[1]);
    if (!points.length) return;
    this.index = Math.max(0, Math.min(points.length - 1, (this.index ?? -1) + by));
    this.reveal(points[this.index]);
  }
  reveal([series, x, y, label]) {
    this.show(this.share(x, 0), label || series.name, [
      [{ name: this.facts.x }, nice(x)], [{ name: this.facts.y }, nice(y)]]);
  }
}

// A page that is written again now and then looks for its newer self, but not under somebody's hands.
function refresh(seconds) {
  const button = document.querySelector(".pause");
  let busy = 0;
  const label = () => { button.textContent = chosen.paused ? "Resume updates" : "Pause updates"; };
  button.onclick = () => { chosen.paused = !chosen.paused; label(); keep(); };
  label();
  for (const name of ["pointermove", "keydown", "scroll"]) {
    addEventListener(name, () => { busy = Date.now(); }, { passive: true });
  }
  setInterval(() => {
    if (chosen.paused || document.hidden || Date.now() - busy < 3000) return;
    chosen.scroll = scrollY;
    keep();
    location.reload();
  }, 1000 * seconds);
}

document.documentElement.classList.add("scripted");
themes();
all(".table table").forEach((table, i) => { if (table.querySelector("thead button")) sortable(table, i); });
all(".tabs").forEach(tabs);
all(".legend").forEach(legend);
for (const figure of all("figure.lines, figure.scatter")) {
  const facts = figure.querySelector("script");
  if (facts) new (figure.dataset.kind === "lines" ? Lines : Dots)(figure, JSON.parse(facts.textContent));
}
apply();
all("details:not(.values)").forEach((details, i) => {
  if (chosen.open[i]) details.open = true;
  details.addEventListener("toggle", () => { chosen.open[i] = details.open; keep(); });
});
if (document.body.dataset.refresh) {
  refresh(Number(document.body.dataset.refresh));
  if (chosen.scroll) scrollTo(0, chosen.scroll);
}
