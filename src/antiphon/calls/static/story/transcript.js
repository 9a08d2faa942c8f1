// The words of a call, and its tools where they were called: arguments, consent, what the ledger has, the result.

import { add, answered, exact, isBad, minutes, some, took } from "./data.js";

/**
 * @typedef {import("./data.js").Call} Call
 * @typedef {import("./data.js").Turn} Turn
 * @typedef {import("./data.js").Tool} Tool
 * @typedef {{node: Element, from: number, to: number}} Heard  an entry, and when it sounds
 */

const MOST_ENTRIES = 600;

/** @param {string} text @returns {string} */
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** @param {Element} page @param {Call} call @param {(at: number) => void} seek @returns {Heard[]} */
export function transcript(page, call, seek) {
  const card = add(page, "section", { class: "card" });
  add(add(card, "div", { class: "row" }), "h2", {}, "Transcript");
  const list = add(card, "ol", { class: "said" });
  const speakers = new Set(call.turns.filter((turn) => turn.role === "assistant").map((turn) => turn.agent));
  const delays = delaysOf(call);
  /** @type {Heard[]} */
  const heard = [];
  /** @type {{at: number, show: (node: Element, what: Element) => void}[]} */
  const all = [
    ...call.turns.map((turn) => ({ at: turn.started, show: (/** @type {Element} */ node, /** @type {Element} */ what) => {
      heard.push({ node, from: turn.started, to: turn.ended });
      showTurn(node, what, turn, call, speakers, delays.get(turn) ?? null);
    } })),
    ...call.tools.map((tool, i) => ({ at: tool.started, show: (/** @type {Element} */ node, /** @type {Element} */ what) => {
      node.id = "tool" + i;
      showTool(node, what, tool, call);
    } })),
    ...(call.handoffs ?? []).map(({ at, agent }) => ({ at, show: (/** @type {Element} */ node, /** @type {Element} */ what) => {
      node.className = "note";
      what.textContent = "Handed over to " + agent;
    } })),
  ];
  all.sort((a, b) => a.at - b.at);
  if (all.length > 200) list.classList.add("long"); // what is not seen is not laid out
  some(all, MOST_ENTRIES, card, ({ at, show }) => {
    const node = add(list, "li");
    const time = add(node, "button", { class: "at", type: "button", title: call.audio ? "Play from here" : exact(at) }, minutes(at));
    time.addEventListener("click", () => seek(at));
    show(node, add(node, "div", { class: "what" }));
  });
  return heard;
}

/** Which turn is the first sound of which answer. @param {Call} call @returns {Map<Turn, number>} */
function delaysOf(call) {
  /** @type {Map<Turn, number>} */
  const found = new Map();
  const spoken = call.turns.filter((turn) => turn.role === "assistant");
  let i = 0;
  for (const reply of answered(call)) {
    // What sounds last of a reply ends with it; its first words began no earlier than the wait for it.
    while (i < spoken.length && spoken[i].ended <= reply.waiting_since) i++;
    if (i < spoken.length && spoken[i].started <= reply.ended) found.set(spoken[i++], reply.response_delay ?? 0);
  }
  return found;
}

/** @param {Element} node @param {Element} what @param {Turn} turn @param {Call} call @param {Set<string>} speakers @param {number | null} delay */
function showTurn(node, what, turn, call, speakers, delay) {
  node.className = turn.role;
  const who = add(what, "div", { class: "who" });
  add(who, "b", {}, turn.role === "user" ? "Caller" : (speakers.size > 1 && turn.agent) || "Agent");
  if (turn.aside) {
    node.classList.add("aside");
    add(who, "span", { title: "It bridged a wait: the history does not have it" }, "filler");
  }
  const claims = turn.role === "user" ? [] : call.claims.filter((claim) => plain(turn.text).includes(plain(claim.sentence)));
  for (const claim of claims) add(who, "span", { class: "cut" }, `claims “${claim.done}”, and no tool has done it`);
  if (delay !== null) add(who, "span", {}, "after " + took(delay));
  if (turn.interrupted) add(who, "span", { class: turn.overtaken ? "" : "cut" }, turn.overtaken ? "cut short" : "cut by the caller");
  const text = add(what, "div", {}, turn.text || (turn.interrupted ? "" : "(nothing)"));
  if (turn.unheard) add(text, "span", { class: "unheard", title: "not heard" }, " " + turn.unheard);
  else if (turn.interrupted) text.append(" —");
}

/** @param {Element} node @param {Element} what @param {Tool} tool @param {Call} call */
function showTool(node, what, tool, call) {
  node.className = isBad(tool) ? "tool bad" : "tool";
  const who = add(what, "div", { class: "who" });
  add(who, "b", {}, tool.name);
  add(who, "span", {}, tool.status + (tool.ended === null ? "" : ", " + took(tool.ended - tool.started)));
  if (tool.guarantee) add(who, "span", {}, tool.guarantee);
  const given = add(what, "dl");
  for (const [name, value] of Object.entries(tool.arguments)) {
    add(given, "dt", {}, name);
    add(add(given, "dd"), "code", {}, typeof value === "string" ? value : JSON.stringify(value));
  }
  if (tool.consent) {
    const { asked, times, heard, decision, by } = tool.consent;
    add(given, "dt", {}, "asked" + (times > 1 ? " " + times + " times" : ""));
    add(given, "dd", {}, asked);
    add(given, "dt", {}, "heard");
    add(given, "dd", {}, heard || "(nothing)");
    add(given, "dt", {}, "decided");
    add(given, "dd", {}, (decision || "open") + (by ? ", by " + by : ""));
  }
  add(given, "dt", {}, "→");
  add(add(given, "dd"), "code", {}, tool.output || "(nothing)");
  for (const row of (call.ledger ?? []).filter((one) => one.call_id === tool.call_id)) {
    add(given, "dt", {}, "ledger");
    const tried = row.attempt > 1 ? `, tried ${row.attempt} times` : "";
    add(given, "dd", {}, `${row.state}${tried}; the caller was ${row.told ? "told" : "not told"}`);
  }
}
