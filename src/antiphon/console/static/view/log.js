// The conversation as a list: one item an entry, kept at its end unless the reader went back.

import { bar } from "./latency.js";
import { clock, make, one, put, some } from "./dom.js";
import { card, refresh } from "./tool.js";

/**
 * @typedef {import("../conversation.js").Entry} Entry
 * @typedef {import("../conversation.js").Words} Words
 * @typedef {import("../conversation.js").Conversation} Conversation
 */

/** Items that stay on the page. The rest of a long call is in its report. */
const MOST = 300;
/** Pixels from the end that count as the end. */
const NEAR_END = 48;

/** @param {Conversation} conversation @param {import("./tool.js").Answer} answer a button of a read-back was pressed */
export function showLog(conversation, answer) {
  const list = one("log", HTMLOListElement);
  const scroll = some("scroll");
  const latest = some("latest");
  const earlier = some("earlier");
  /** @type {Map<Entry, HTMLLIElement>} */
  const items = new Map();
  let removed = 0;
  let following = true;
  let top = 0;

  const toEnd = () => {
    scroll.scrollTop = scroll.scrollHeight;
  };
  scroll.addEventListener("scroll", () => {
    // Only a reader goes back; what grows or is drawn late moves nothing upwards.
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_END;
    if (atEnd) following = true;
    else if (scroll.scrollTop < top) following = false;
    top = scroll.scrollTop;
    if (following) latest.hidden = true;
  });
  latest.addEventListener("click", () => {
    following = true;
    latest.hidden = true;
    toEnd();
  });
  const growth = new ResizeObserver(() => following && toEnd());
  growth.observe(scroll);
  growth.observe(list);

  const grown = () => {
    if (following) toEnd();
    else latest.hidden = false;
  };

  conversation.added.listen((entry) => {
    some("welcome").hidden = true;
    const item = draw(entry, answer);
    items.set(entry, item);
    list.append(item);
    if (items.size > MOST) {
      const [oldest, gone] = /** @type {[Entry, HTMLLIElement]} */ (items.entries().next().value);
      items.delete(oldest);
      gone.remove();
      removed += 1;
      earlier.hidden = false;
      put(earlier, `${removed} earlier entries are in the report of the call.`);
    }
    grown();
  });
  conversation.changed.listen((entry) => {
    const item = items.get(entry);
    if (!item) return;
    redraw(entry, item);
    grown();
  });

  return {
    clear() {
      list.replaceChildren();
      items.clear();
      removed = 0;
      earlier.hidden = true;
      following = true;
    },
    /** Clocks of running tools. */
    tick() {
      for (const entry of conversation.running) {
        const item = items.get(entry);
        if (item) refresh(item, entry, conversation.now());
      }
    },
  };
}

/** @param {Entry} entry @param {import("./tool.js").Answer} answer @returns {HTMLLIElement} */
function draw(entry, answer) {
  const item = make("li", { class: entry.kind });
  item.append(make("time", { class: "at" }, clock(entry.at)));
  if (entry.kind === "note") {
    item.classList.toggle("bad", entry.bad);
    item.append(make("p", { class: "note" }, entry.text));
  } else if (entry.kind === "work") {
    item.append(card(entry, answer));
    refresh(item, entry, entry.began);
  } else {
    item.classList.add(entry.role);
    const who = make("b", {}, entry.role === "user" ? "You" : "Agent");
    const said = make("p", { class: "said" }, make("span", { class: "heard" }), make("span", { class: "interim" }));
    item.append(make("div", { class: "what" }, make("div", { class: "who" }, who), said));
    redraw(entry, item);
  }
  return item;
}

/** @param {Entry} entry @param {HTMLLIElement} item */
function redraw(entry, item) {
  if (entry.kind === "work") refresh(item, entry, entry.began);
  else if (entry.kind === "words") rewrite(entry, item);
}

/** @param {Words} words @param {HTMLLIElement} item */
function rewrite(words, item) {
  item.classList.toggle("open", !words.settled);
  const what = /** @type {HTMLElement} */ (item.querySelector(".what"));
  const who = /** @type {HTMLElement} */ (item.querySelector(".who"));
  const said = /** @type {HTMLElement} */ (item.querySelector(".said"));
  const heard = /** @type {HTMLElement} */ (item.querySelector(".heard"));
  const interim = /** @type {HTMLElement} */ (item.querySelector(".interim"));
  caption(heard, words.text, words.role === "assistant" && !words.settled);
  put(interim, words.interim && words.text ? " " + words.interim : words.interim);
  item.classList.toggle("aside", words.aside);
  if (words.role === "assistant" && words.name) put(/** @type {HTMLElement} */ (who.querySelector("b")), words.name);
  if (words.aside && !who.querySelector(".bridge")) {
    who.append(make("span", { class: "bridge", title: "It bridged a wait: the history does not have it" }, "filler"));
  }
  if (words.claims && !who.querySelector(".claim")) {
    const title = "No tool has done what this claims";
    who.append(make("span", { class: "claim", title }, `claims “${words.claims}”, and no tool has done it`));
  }
  if (words.typed && !who.querySelector(".typed")) who.append(make("span", { class: "typed" }, "typed"));
  if (words.cut && !who.querySelector(".cut")) {
    who.append(make("span", { class: "cut" }, "cut by you"));
    const unheard = make("s", { class: "unheard", title: "You did not hear this" }, words.unheard);
    const stop = make("span", { class: "stop", "aria-hidden": "true" }, "—");
    said.append(" ", words.unheard ? unheard : stop);
  }
  if (words.timing && !what.querySelector(".timing")) what.append(bar(words.timing));
}

/**
 * Words that sound now come in softly, one after another; those that stand are left alone.
 * @param {HTMLElement} node
 * @param {string} text
 * @param {boolean} softly
 */
function caption(node, text, softly) {
  const shown = node.textContent ?? "";
  if (text === shown) return;
  if (softly && text.startsWith(shown)) node.append(make("span", { class: "fresh" }, text.slice(shown.length)));
  else node.textContent = text;
}
