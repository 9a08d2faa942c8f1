// A tool call as a card: what it was given, how long it runs, what came of it.

import { pending, running } from "../conversation.js";
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
  asking: "asks first",
  declined: "not done",
};

/** How a decision is told. @type {Record<string, string>} */
const DECIDED = {
  yes: "yes",
  no: "no",
  change: "something else was wanted",
  question: "a question came first",
  unclear: "not clear",
  unanswered: "nobody answered",
  unheard: "it was not heard",
  interrupted: "it was cut short",
  handed_over: "another agent took over",
  ending: "the call ended",
};
/** @type {Record<string, string>} */
const BY = { words: "by what was said", judge: "by the judge", key: "by a key or a button", time: "by time", session: "by the session" };

/**
 * What the caller is asked before it, and what they said.
 * @param {Work} work
 * @param {Answer} answer
 * @returns {HTMLElement}
 */
function gate(work, answer) {
  const yes = make("button", { type: "button", class: "yes" }, "Yes");
  const no = make("button", { type: "button" }, "No");
  yes.addEventListener("click", () => answer(work.id, true));
  no.addEventListener("click", () => answer(work.id, false));
  const hint = make("small", {}, "A yes counts once all of it was heard");
  const buttons = make("div", { class: "answer", role: "group", "aria-label": `Answer for ${work.name}` }, yes, no, hint);
  return make("div", { class: "gate" }, make("q", { class: "asked" }), make("p", { class: "decided" }), buttons);
}

/** @param {HTMLElement} what @param {Work} work */
function decided(what, { asked, status }) {
  const box = /** @type {HTMLElement | null} */ (what.querySelector(".gate"));
  if (box === null || asked === null) return;
  const line = /** @type {HTMLElement} */ (box.querySelector(".decided"));
  put(/** @type {HTMLElement} */ (box.querySelector(".asked")), asked.text);
  /** @type {HTMLElement} */ (box.querySelector(".answer")).hidden = status !== "asking" || asked.decision !== "";
  line.hidden = asked.decision === "";
  line.dataset.yes = String(asked.decision === "yes");
  const said = asked.heard ? `heard “${asked.heard}”` : "";
  const often = asked.times > 1 ? `asked ${asked.times} times` : "";
  const how = `${DECIDED[asked.decision] ?? asked.decision} (decided ${BY[asked.by] ?? asked.by})`;
  put(line, [said, how, often].filter(Boolean).join(" · "));
}

/** @typedef {(call: string, yes: boolean) => void} Answer  of a button */

/** @param {Work} work @param {Answer} answer @returns {HTMLElement} */
export function card(work, answer) {
  const given = make("dl");
  for (const [name, value] of Object.entries(work.arguments)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    given.append(make("dt", {}, name), make("dd", {}, make("code", {}, text)));
  }
  const who = make("div", { class: "who" });
  who.append(make("b", {}, work.name), make("span", { class: "status" }), make("span", { class: "took" }));
  const what = make("div", { class: "what" }, who, given);
  if (work.asked !== null) what.append(gate(work, answer));
  return what;
}

/** Draw what changed. @param {HTMLElement} item @param {Work} work @param {number} now */
export function refresh(item, work, now) {
  item.dataset.status = work.status;
  item.classList.toggle("bad", ["error", "cancelled", "unknown"].includes(work.status));
  item.classList.toggle("running", running(work));
  const took = work.seconds ?? Math.max(0, now - work.began);
  put(/** @type {HTMLElement} */ (item.querySelector(".status")), SAYS[work.status] ?? work.status);
  const time = running(work) ? took.toFixed(1) + " s" : lasted(took);
  put(/** @type {HTMLElement} */ (item.querySelector(".took")), pending(work) || work.status === "declined" ? "" : time);
  const what = /** @type {HTMLElement} */ (item.querySelector(".what"));
  decided(what, work);
  promise(what, work.guarantee);
  if (pending(work)) return;
  if (running(work)) progress(what, work.progress);
  else if (work.result !== null && what.dataset.result !== work.result) {
    what.dataset.result = work.result;
    what.querySelector(".progress")?.remove();
    what.querySelector(".result")?.remove();
    what.append(result(work.result));
  }
}

/** @type {Record<string, string>} */
export const PROMISES = {
  "exactly once": "It settles in the transaction of what it writes",
  "effectively once": "Its backend does the same key once, or can be asked",
  "at most once": "It is started once. Where nobody knows whether it happened, that is said",
};

/** @param {HTMLElement} what @param {string | null} guarantee */
function promise(what, guarantee) {
  if (!guarantee || what.querySelector(".guarantee")) return;
  const tag = make("span", { class: "guarantee", title: PROMISES[guarantee] ?? "" }, guarantee);
  /** @type {HTMLElement} */ (what.querySelector(".who")).append(tag);
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
