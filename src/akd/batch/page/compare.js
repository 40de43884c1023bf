"use strict";
// Blind pairs: which side is which is in the sealed entry, which this page only copies into the file of votes.
const {id, pairs, questions, sealed} = JSON.parse(document.getElementById("rows").textContent);
const at = (name) => document.getElementById(name);
const KEY = "akd-votes-" + id;
const ANSWERS = [["left", "left"], ["same", "no difference"], ["right", "right"]];
let now = 0, urls = [];
let state = {votes: {}, judge: ""};
try {
  state = Object.assign(state, JSON.parse(localStorage.getItem(KEY) || "{}"));
} catch (error) { /* a browser that keeps nothing still saves the file */ }

function keep() {
  try { localStorage.setItem(KEY, JSON.stringify(state)); } catch (error) { /* as above */ }
}

function film(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], {type: "video/mp4"}));
  urls.push(url);
  return url;
}

function replay() {
  for (const side of ["left", "right"]) {
    at(side).currentTime = 0;
    at(side).play().catch(() => {});
  }
}

function show() {
  urls.forEach((url) => URL.revokeObjectURL(url));
  urls = [];
  at("sentence").textContent = pairs[now].prompt;
  at("left").src = film(pairs[now].films[0]);
  at("right").src = film(pairs[now].films[1]);
  replay();
  mark();
}

function mark() {
  const given = state.votes[now] || {};
  for (const button of document.querySelectorAll("[data-question]")) {
    button.setAttribute("aria-pressed", String(given[button.dataset.question] === button.dataset.answer));
  }
  const whole = Object.values(state.votes).filter((votes) => Object.keys(votes).length === Object.keys(questions).length).length;
  at("position").textContent = "pair " + (now + 1) + " of " + pairs.length + ", " + whole + " answered";
  at("back").disabled = now === 0;
  at("next").disabled = now === pairs.length - 1;
}

for (const [name, text] of Object.entries(questions)) {
  const line = document.createElement("div"), group = document.createElement("span");
  line.className = "question";
  line.append(text, group);
  for (const [answer, label] of ANSWERS) {
    const button = document.createElement("button");
    Object.assign(button, {type: "button", textContent: label});
    Object.assign(button.dataset, {question: name, answer});
    button.addEventListener("click", () => {
      state.votes[now] = Object.assign({}, state.votes[now], {[name]: answer});
      keep();
      mark();
    });
    group.append(button);
  }
  at("questions").append(line);
}

function go(step) {
  now = Math.min(Math.max(now + step, 0), pairs.length - 1);
  show();
}

at("back").addEventListener("click", () => go(-1));
at("next").addEventListener("click", () => go(1));
at("replay").addEventListener("click", replay);
at("judge").value = state.judge;
at("judge").addEventListener("input", () => { state.judge = at("judge").value; keep(); });
at("save").addEventListener("click", () => {
  const link = document.createElement("a");
  const content = JSON.stringify({page: id, judge: state.judge, saved: new Date().toISOString(), sealed, votes: state.votes}, null, 1);
  link.href = URL.createObjectURL(new Blob([content], {type: "application/json"}));
  link.download = "votes-" + id + (state.judge ? "-" + state.judge.replace(/[^A-Za-z0-9]+/g, "-") : "") + ".json";
  link.click();
});
show();
