// The list: calls that go on, a search, and calls that have ended. It looks again while somebody looks at it.

import { minutes, took } from "../story/data.js";
import { make, put } from "../view/dom.js";
import { Refusal, ask } from "./server.js";

/**
 * @typedef {import("./server.js").Listed} Listed
 * @typedef {import("./server.js").Ended} Ended
 * @typedef {import("./server.js").Live} Live
 */

/** Milliseconds between two looks. */
const PACE = 2000;
const PAGE = 100;

/** What can be looked for. @type {[name: string, label: string, kind: string][]} */
const FIELDS = [
  ["said", "Words that were said", "words"],
  ["tool", "Tool", "tools"],
  ["finding", "To be mended", "findings"],
  ["slower", "Slower than, seconds", "number"],
  ["since", "Since", "time"],
];
/** @type {[name: string, label: string, kind: string][]} */
const MORE = [
  ["until", "Before", "time"],
  ["outcome", "Outcome of a tool", "outcomes"],
  ["agent", "Agent", "agents"],
  ["caller", "Caller", "text"],
  ["id", "Call id begins with", "text"],
  ["error", "Error with these words", "text"],
];

/** @param {number} seconds of the epoch @returns {string} */
export function when(seconds) {
  const at = new Date(seconds * 1000);
  /** @param {number} n */
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** @param {string} hash @returns {Record<string, string>} what is looked for, as the address has it */
export function wanted(hash) {
  const query = new URLSearchParams(hash.split("?")[1] ?? "");
  return Object.fromEntries([...query].filter(([, value]) => value));
}

/** @param {Record<string, string>} query @returns {string} */
const asHash = (query) => {
  const text = new URLSearchParams(query).toString();
  return text ? "?" + text : "";
};

/**
 * The form of a search. Each change is a new address, so that going back goes back.
 * @param {string} page "#/" or "#/figures" @param {Record<string, string>} query @returns {HTMLFormElement}
 */
export function searchForm(page, query) {
  const form = make("form", { class: "card search", role: "search", "aria-label": "Search calls", autocomplete: "off" });
  /** @param {[string, string, string]} field */
  const field = ([name, label, kind]) => {
    const isChoice = ["tools", "findings", "outcomes", "agents"].includes(kind);
    const input = isChoice ? make("select", { name }, make("option", { value: "" }, "any or none")) : make("input", { name, type: kind === "words" ? "search" : "text", value: query[name] ?? "" });
    if (kind === "number") input.setAttribute("inputmode", "decimal");
    if (kind === "time") input.setAttribute("placeholder", "2h, 3d, or a date");
    if (isChoice && query[name]) input.append(make("option", { value: query[name], selected: "" }, query[name]));
    return make("label", kind === "words" ? { class: "words" } : {}, label, input);
  };
  form.append(...FIELDS.map(field));
  const cut = make("input", { type: "checkbox", name: "cut", value: "1" });
  cut.checked = Boolean(query.cut);
  form.append(make("label", { class: "check" }, cut, "Caller cut a reply"));
  const go = make("button", { type: "submit" }, "Search");
  form.append(go);
  const more = make("details", {}, make("summary", {}, "More"), make("div", { class: "fold" }, ...MORE.map(field)));
  more.open = MORE.some(([name]) => query[name]);
  form.append(more);
  const search = () => {
    /** @type {Record<string, string>} */
    const found = {};
    for (const [name, value] of new FormData(form)) if (typeof value === "string" && value.trim()) found[name] = value.trim();
    location.hash = page + asHash(found);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  form.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement || event.target === cut) search();
  });
  void choices(form, query);
  return form;
}

/** What may be chosen, by name. @param {HTMLFormElement} form @param {Record<string, string>} query */
async function choices(form, query) {
  /** @type {import("./server.js").Words} */
  let words = {};
  try {
    words = await ask("words");
  } catch {
    return; // the list says what is wrong
  }
  /** @type {Record<string, string[]>} */
  const by = { tool: words.tools ?? [], finding: words.findings?.length ? ["any", ...words.findings] : [], outcome: words.outcomes ?? [], agent: words.agents ?? [] };
  for (const [name, all] of Object.entries(by)) {
    const select = form.elements.namedItem(name);
    if (!(select instanceof HTMLSelectElement)) continue;
    for (const one of all) {
      if (one !== query[name]) select.append(make("option", { value: one }, one === "any" ? "anything" : one));
    }
  }
}

/** @param {number} n @param {string} one @param {string} [many] */
const counted = (n, one, many = one + "s") => (n ? `${n.toLocaleString("en")} ${n === 1 ? one : many}` : "");

/** @param {Ended} call @returns {HTMLElement} */
function line(call) {
  const what = [counted(call.turns, "turn"), counted(call.tools, "tool call"), counted(call.errors, "error"), counted(call.cut, "cut"), counted(call.unknown, "unknown", "unknown")];
  const mended = Object.entries(call.findings).map(([name, times]) => (times === 1 ? name : `${times} ${name}`));
  const who = make("span", { class: "who" }, call.caller || call.agents || "no agent", " ", make("span", { class: "id" }, call.id.slice(0, 12)));
  return make("a", { href: "#/call/" + encodeURIComponent(call.name) },
    make("span", { class: "when" }, when(call.began)),
    who,
    make("span", { class: "lasted", title: "How long it lasted" }, minutes(call.duration ?? 0)),
    make("span", { class: "slow", title: "The longest wait for an answer" }, call.worst === null ? "" : took(call.worst)),
    make("span", { class: "did" }, what.filter(Boolean).join(", ")),
    make("span", { class: "mended", title: mended.join(", ") }, mended.join(", ")),
  );
}

/** @param {Live} call @returns {HTMLElement} */
function liveLine(call) {
  const who = make("span", { class: "who" }, call.caller || call.agents || "Call", " ", make("span", { class: "id" }, call.id.slice(0, 12)));
  const did = [counted(call.turns ?? 0, "turn"), counted(call.tools ?? 0, "tool call"), call.last ? `“${call.last}”` : ""];
  return make("a", { href: "#/live/" + encodeURIComponent(call.id) },
    make("span", { class: "when" }, when(call.began)),
    who,
    make("span", { class: call.state === "goes on" ? "state" : "state off" }, call.state),
    make("span", { class: "last did" }, did.filter(Boolean).join(", ")),
  );
}

/**
 * @param {HTMLElement} main @param {Record<string, string>} query @param {AbortSignal} over somebody looks elsewhere
 * @param {(listed: Listed | null, refusal: Refusal | null) => void} told
 */
export function showCalls(main, query, over, told) {
  const live = make("section", { class: "card live", "aria-labelledby": "live" }, make("h2", { id: "live" }, "Going on"));
  const going = make("ul", { class: "calls" });
  live.append(going);
  live.hidden = true;
  const notice = make("section", { class: "card notice", "aria-label": "What is wrong" });
  notice.hidden = true;
  const count = make("p", { class: "count", role: "status" }, "…");
  const list = make("ul", { class: "calls", id: "ended" });
  const more = make("button", { class: "act", type: "button" }, "Show more");
  more.hidden = true;
  main.replaceChildren(make("h1", {}, "Calls"), notice, live, searchForm("#/", query), make("section", { class: "card", "aria-label": "Calls that have ended" }, count, list, more));
  let most = PAGE;
  let shown = "";
  let shownLive = "";
  const look = async () => {
    /** @type {Listed} */
    let listed;
    try {
      listed = await ask("calls", { ...query, most: String(most) }, over);
    } catch (error) {
      if (over.aborted) return;
      const refusal = /** @type {Refusal} */ (error);
      told(null, refusal);
      if (refusal.status) {
        notice.hidden = false;
        notice.replaceChildren(make("p", {}, refusal.message));
        put(count, "");
      }
      return;
    }
    if (over.aborted) return;
    told(listed, null);
    warn(notice, listed);
    const now = JSON.stringify(listed.calls);
    if (now !== shown) {
      shown = now;
      keepingFocus(list, () => list.replaceChildren(...listed.calls.map((call) => make("li", {}, line(call)))));
    }
    const nowLive = JSON.stringify(listed.live);
    if (nowLive !== shownLive) {
      shownLive = nowLive;
      keepingFocus(going, () => going.replaceChildren(...listed.live.map((call) => make("li", {}, liveLine(call)))));
    }
    live.hidden = listed.live.length === 0;
    put(count, summed(listed, query));
    more.hidden = listed.calls.length >= listed.count;
  };
  more.addEventListener("click", () => {
    most += 400;
    void look();
  });
  void repeat(look, over);
}

/** Look, and again, as long as somebody sees it. @param {() => Promise<void>} look @param {AbortSignal} over */
export async function repeat(look, over) {
  while (!over.aborted) {
    if (!document.hidden) await look();
    await new Promise((done) => setTimeout(done, PACE));
  }
}

/** A list that is drawn anew leaves the keyboard where it was. @param {HTMLElement} list @param {() => void} draw */
function keepingFocus(list, draw) {
  const href = list.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
  draw();
  if (href) for (const one of list.querySelectorAll("a")) if (one.getAttribute("href") === href) one.focus({ preventScroll: true });
}

/** @param {Listed} listed @param {Record<string, string>} query @returns {string} */
function summed({ count, all, whole, place }, query) {
  const found = Object.keys(query).length ? `${count.toLocaleString("en")} of ${counted(all, "call")}` : counted(count, "call");
  if (!whole) return `${found || "No calls"} so far: records are being read …`;
  if (place === null) return "No records are kept here.";
  if (all === 0) return "No calls have ended yet.";
  return count === 0 ? "No such calls." : found;
}

/** @param {HTMLElement} notice @param {Listed} listed */
function warn(notice, { broken, trouble }) {
  notice.hidden = broken.length === 0 && !trouble;
  if (notice.hidden) return;
  const parts = [];
  if (trouble) parts.push(make("p", {}, "Calls that go on elsewhere are not listed: " + trouble));
  if (broken.length) {
    const list = make("ul", {}, ...broken.slice(0, 20).map(({ why }) => make("li", {}, why)));
    parts.push(make("p", {}, `${counted(broken.length, "record")} cannot be read:`), list);
  }
  notice.replaceChildren(...parts);
}
