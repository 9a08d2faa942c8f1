// Each answer: what was done, above what was heard, from the end of the caller's sound on. One scale for all.

import { add, colourOf, isVoice, lanesOf, minutes, some, took } from "./data.js";

/**
 * @typedef {import("./data.js").Call} Call
 * @typedef {import("./data.js").Reply} Reply
 */

const MOST_WAITS = 150;
/** Waits from which on a scale is for most of them. */
const MANY = 20;

/** @param {Reply} r */
const until = (r) => r.first_answer ?? r.first_audio ?? r.ended;

/** @param {Element} page @param {Call} call @param {(at: number) => void} seek */
export function waits(page, call, seek) {
  const shown = call.replies.filter((r) => r.origin !== "application");
  if (!shown.length) return;
  const card = add(page, "section", { class: "card" });
  const row = add(card, "div", { class: "row" });
  add(row, "h2", {}, "Where the time went");
  legend(row, call, shown);
  // One wait of a minute among a hundred short ones would leave nothing of these to be seen.
  const lengths = shown.map((r) => until(r) - r.waiting_since).sort((a, b) => a - b);
  const usual = lengths[Math.floor((lengths.length - 1) * 0.95)] * 3;
  const longest = lengths[lengths.length - 1];
  const horizon = 1.12 * Math.max(0.05, shown.length > MANY ? Math.min(longest, Math.max(usual, 2)) : longest);
  const step = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60].find((s) => horizon / s <= 6) || 120;
  const head = add(card, "div", { class: "took", style: "padding: 0" });
  add(head, "span");
  const axis = add(head, "div", { class: "axis" });
  /** @type {number[]} */
  const ticks = [];
  for (let t = 0; t < horizon * 0.97; t += step) ticks.push(t);
  for (const t of ticks) add(axis, "span", { style: `left: ${(100 * t) / horizon}%` }, t === 0 ? "0" : step < 1 ? Math.round(t * 1000) + " ms" : t + " s");
  const list = add(card, "div");
  some(shown, MOST_WAITS, card, (reply) => wait(list, call, reply, horizon, ticks, seek));
}

/** @param {Element} row @param {Call} call @param {Reply[]} shown */
function legend(row, call, shown) {
  const box = add(row, "div", { class: "legend" });
  /** @param {string} name @param {Record<string, string>} look */
  const key = (name, look) => {
    const item = add(box, "span");
    add(item, "i", look);
    item.append(name);
  };
  /** By kind what the figures call it: they own the names. @type {Map<string, string>} */
  const names = new Map();
  for (const stage of shown.flatMap((r) => r.stages)) {
    if (stage.ended - stage.started > 0.005) names.set(stage.kind, stage.kind === "tool" ? "tool" : stage.name);
  }
  for (const [kind, name] of names) key(name, { style: "background: " + colourOf(kind) });
  if (!isVoice(call)) return;
  key("the answer", { style: "background: var(--agent)" });
  if (shown.some((r) => (r.first_answer ?? 0) - (r.first_audio ?? 0) > 0.001)) key("words before it", { style: "background: var(--bridge)" });
  key("dead air", { class: "dash" });
}

/** @param {Element} list @param {Call} call @param {Reply} reply @param {number} horizon @param {number[]} ticks @param {(at: number) => void} seek */
function wait(list, call, reply, horizon, ticks, seek) {
  const row = add(list, "div", { class: "took" });
  const at = add(row, "button", { class: "at", type: "button", title: "Play from here" }, minutes(reply.waiting_since));
  at.addEventListener("click", () => seek(reply.waiting_since));
  const middle = add(row, "div");
  add(middle, "div", { class: "words" }, wordsBefore(call, reply));
  const told = reply.path.map((stage) => stage.name + " " + took(stage.ended - stage.started)).join(", ");
  const bars = add(middle, "div", { class: isVoice(call) ? "bars" : "bars mute", role: "img", "aria-label": told });
  draw(bars, reply, horizon, ticks);
  const spent = add(middle, "div", { class: "spent" });
  for (const stage of reply.path) {
    const item = add(spent, "span");
    add(item, "i", { style: "background: " + colourOf(stage.kind) });
    item.append(stage.name + " ");
    add(item, "b", {}, took(stage.ended - stage.started));
  }
  sums(row, reply);
}

/** @param {Element} row @param {Reply} reply */
function sums(row, reply) {
  const end = until(reply);
  const total = add(row, "div", { class: "total" });
  add(total, "b", {}, took((reply.first_audio ?? end) - reply.waiting_since));
  if (reply.first_audio === null) add(total, "span", {}, reply.interrupted_at === null ? "in all" : "until cut");
  else if (end - reply.first_audio > 0.05) add(total, "span", {}, "answer " + took(end - reply.waiting_since));
  const heard = reply.first_audio ?? end;
  if (reply.dead_air - (end - reply.waiting_since) > 0.1 || (end - heard > 0.05 && reply.dead_air)) add(total, "span", {}, "silent " + took(reply.dead_air));
}

/** @param {Element} bars @param {Reply} reply @param {number} horizon @param {number[]} ticks */
function draw(bars, reply, horizon, ticks) {
  /** @param {number} s */
  const left = (s) => (100 * Math.max(0, s - reply.waiting_since)) / horizon;
  /** @param {number} from @param {number} to */
  const place = (from, to) => `left: ${left(from).toFixed(3)}%; width: ${Math.max(0, Math.min(100, left(to)) - left(from)).toFixed(3)}%`;
  /** @param {number} s */
  const since = (s) => took(Math.max(0, s - reply.waiting_since));
  for (const t of ticks.slice(1)) add(bars, "div", { class: "tick", style: `left: ${(100 * t) / horizon}%` });
  // Tools that run side by side, and what is made ahead of the end of the turn, lie on top of one another.
  const tools = reply.stages.filter((stage) => stage.kind === "tool");
  const lanes = lanesOf(tools, 0, reply.ended);
  /** @param {import("./data.js").Stage} stage @param {number} from @param {number} to @param {number} lane @param {number} count */
  const block = (stage, from, to, lane, count) => {
    if (left(from) >= 100 || to <= from) return;
    const height = 16 / count;
    const gap = lane + 1 < count ? 1 : 0;
    const style = place(from, to) + `; top: ${4 + lane * height}px; height: ${height - gap}px; background: ${colourOf(stage.kind)}`;
    add(bars, "div", { class: "stage", style, title: `${stage.name}: ${took(stage.ended - stage.started)}\nfrom ${since(stage.started)} to ${since(stage.ended)}` });
  };
  for (const stage of reply.stages.filter((one) => one.kind !== "tool")) {
    const decided = stage.kind === "turn_end" ? stage.started : Math.max(stage.started, Math.min(stage.ended, reply.decided ?? stage.started));
    block(stage, Math.max(stage.started, reply.waiting_since), decided, 1, 2);
    block(stage, decided, stage.ended, 0, 1);
  }
  tools.forEach((tool, i) => {
    const beside = tools.flatMap((other, j) => (other.started < tool.ended && tool.started < other.ended ? [lanes.of[j]] : []));
    block(tool, tool.started, tool.ended, lanes.of[i], Math.max(lanes.of[i], ...beside) + 1);
  });
  for (const silence of reply.silences) {
    if (left(silence.started) < 100) add(bars, "div", { class: "silence", style: place(silence.started, silence.ended), title: `dead air: ${took(silence.ended - silence.started)}` });
  }
  const end = until(reply);
  const parts = reply.sound.flatMap(({ started, ended }) => (started < end && end < ended ? [{ started, ended: end }, { started: end, ended }] : [{ started, ended }]));
  for (const sound of parts) {
    if (left(sound.started) >= 100) continue;
    const bridge = sound.ended <= end + 0.001;
    const title = `${bridge ? "bridged" : "answer"}: ${took(sound.ended - sound.started)}\nfrom ${since(sound.started)} on`;
    add(bars, "div", { class: "sound" + (bridge ? " bridge" : "") + (left(sound.ended) > 100 ? " goes-on" : ""), style: place(sound.started, sound.ended), title });
  }
  if (reply.interrupted_at !== null && left(reply.interrupted_at) < 100) add(bars, "div", { class: "cutoff", style: `left: ${left(reply.interrupted_at)}%`, title: "cut by the caller" });
}

/** @param {Call} call @param {Reply} reply @returns {string} */
function wordsBefore(call, reply) {
  if (reply.origin === "results") return "Results from the background, told unasked";
  const said = call.turns.filter((turn) => turn.role === "user");
  return said[reply.turn - 1] ? "“" + said[reply.turn - 1].text + "”" : "";
}
