"use strict";
// Strips of all jobs. Cards are made as they come into view: a batch may have thousands.
const {rows, measures} = JSON.parse(document.getElementById("rows").textContent);
const CHUNK = 60;
const at = (id) => document.getElementById(id);
const state = {verdict: "all", search: "", measure: "row", up: true};
let shown = [], drawn = 0;

function part(tag, text, kind) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function asText(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value);
}

function card(row) {
  const element = document.createElement(row.report ? "a" : "div");
  element.className = "card";
  if (row.report) element.href = row.report;
  if (row.strip) {
    const strip = new Image();
    strip.loading = "lazy";
    strip.alt = "";
    strip.src = row.strip;
    element.append(strip);
  }
  const text = document.createElement("div"), line = part("p", "", "line"), title = part("h2", row.title);
  line.append(part("span", row.verdict, "verdict " + row.verdict.replaceAll(" ", "-")), part("span", label(row), "number"));
  text.append(title, part("p", row.about, "soft"), line, part("p", row.sentence, "soft"));
  element.append(text);
  return element;
}

const label = (row) => state.measure === "row" ? "row " + row.row : state.measure.replaceAll("_", " ") + " " + asText(row.numbers[state.measure]);
const value = (row) => state.measure === "row" ? row.row : row.numbers[state.measure];

function compare(a, b) {
  const [x, y] = [value(a), value(b)];
  const missing = (x === null || x === undefined) - (y === null || y === undefined); // rows without the number stay last
  return missing || (x - y) * (state.up ? 1 : -1) || a.row - b.row;
}

function draw() {
  const next = shown.slice(drawn, drawn + CHUNK);
  drawn += next.length;
  at("cards").append(...next.map(card));
}

function choose() {
  const words = state.search.toLowerCase();
  shown = rows.filter((row) => (state.verdict === "all" || row.verdict === state.verdict)
    && (!words || (row.title + " " + row.about + " " + row.sentence).toLowerCase().includes(words)));
  shown.sort(compare);
  at("shown").textContent = shown.length + " of " + rows.length;
  at("cards").replaceChildren();
  drawn = 0;
  draw();
}

const counts = new Map([["all", rows.length]]);
for (const row of rows) counts.set(row.verdict, (counts.get(row.verdict) || 0) + 1);
for (const [verdict, count] of counts) {
  const button = part("button", verdict + " " + count);
  button.type = "button";
  button.dataset.verdict = verdict;
  button.setAttribute("aria-pressed", String(verdict === "all"));
  button.addEventListener("click", () => {
    state.verdict = verdict;
    for (const other of at("verdicts").children) other.setAttribute("aria-pressed", String(other === button));
    choose();
  });
  at("verdicts").append(button, " ");
}
for (const name of ["row", ...measures]) {
  const option = part("option", name.replaceAll("_", " "));
  option.value = name;
  at("measure").append(option);
}
at("measure").addEventListener("change", () => { state.measure = at("measure").value; choose(); });
at("search").addEventListener("input", () => { state.search = at("search").value; choose(); });
at("direction").addEventListener("click", () => {
  state.up = !state.up;
  at("direction").textContent = state.up ? "↑" : "↓";
  choose();
});
new IntersectionObserver((seen) => { if (seen[0].isIntersecting && drawn < shown.length) draw(); }, {rootMargin: "800px"}).observe(at("more"));
choose();
