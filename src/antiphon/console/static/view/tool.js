// A tool call as a card: what it was given, how long it runs, what came of it.

import { running } from "../conversation.js";
import { lasted, make, put } from "./dom.js";

/** @typedef {import("../conversation.js").Work} Work */

/** Results longer than this are folded. Characters, and lines. */
const LONG = 240;
const LINES = 5;

/** @type {Record<Work["status"], string>} */
const SAYS = {
  started: "running",
  updated: "running",
  done: "done",
  error: "failed",
  cancelled: "cancelled",
  dropped: "dropped: you spoke over it",
  adopted: "goes on for an identical call",
  unknown: "outcome unknown",
};

/** @param {Work} work @returns {HTMLElement} */
export function card(work) {
  const given = make("dl");
  for (const [name, value] of Object.entries(work.arguments)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    given.append(make("dt", {}, name), make("dd", {}, make("code", {}, text)));
  }
  const who = make("div", { class: "who" });
  who.append(make("b", {}, work.name), make("span", { class: "status" }), make("span", { class: "took" }));
  return make("div", { class: "what" }, who, given);
}

/** Draw what changed. @param {HTMLElement} item @param {Work} work @param {number} now */
export function refresh(item, work, now) {
  item.dataset.status = work.status;
  item.classList.toggle("bad", ["error", "cancelled", "unknown"].includes(work.status));
  item.classList.toggle("running", running(work));
  const took = work.seconds ?? Math.max(0, now - work.at);
  put(/** @type {HTMLElement} */ (item.querySelector(".status")), SAYS[work.status] ?? work.status);
  put(/** @type {HTMLElement} */ (item.querySelector(".took")), running(work) ? took.toFixed(1) + " s" : lasted(took));
  const what = /** @type {HTMLElement} */ (item.querySelector(".what"));
  if (running(work)) progress(what, work.progress);
  else if (work.result !== null && what.dataset.result !== work.result) {
    what.dataset.result = work.result;
    what.querySelector(".progress")?.remove();
    what.querySelector(".result")?.remove();
    what.append(result(work.result));
  }
}

/** @param {HTMLElement} what @param {string} text */
function progress(what, text) {
  if (!text) return;
  const line = what.querySelector(".progress") ?? what.appendChild(make("p", { class: "progress" }));
  put(line, text);
}

/** @param {string} text @returns {HTMLElement} */
function result(text) {
  const code = make("code", {}, text || "(nothing)");
  if (text.length <= LONG && text.split("\n").length <= LINES) {
    return make("div", { class: "result" }, make("span", { "aria-hidden": "true" }, "→"), code);
  }
  const first = text.slice(0, 80).split("\n")[0] + " …";
  const summary = make("summary", {}, make("code", {}, first), ` ${text.length.toLocaleString("en")} characters`);
  return make("details", { class: "result" }, summary, code);
}
