// What a screen reader says by itself: what is final, once. Interim words and clocks would be chatter.

import { make, some } from "./dom.js";

/** Announcements that stay in the page. */
const MOST = 20;

/** @param {import("../conversation.js").Conversation} conversation */
export function announce(conversation) {
  const region = some("announcer");
  /** @type {WeakMap<object, string>} */
  const told = new WeakMap();
  /** @param {string} text */
  const tell = (text) => {
    region.append(make("p", {}, text));
    while (region.children.length > MOST) region.firstElementChild?.remove();
  };
  /** @param {import("../conversation.js").Entry} entry */
  const consider = (entry) => {
    const words = worded(entry);
    if (words === null || told.get(entry) === words) return;
    told.set(entry, words);
    tell(words);
  };
  conversation.added.listen(consider);
  conversation.changed.listen(consider);
  return tell;
}

/** @param {import("../conversation.js").Entry} entry @returns {string | null} null where it is not final */
function worded(entry) {
  if (entry.kind === "note") return entry.text;
  if (entry.kind === "words") {
    if (!entry.settled) return null;
    return `${entry.role === "user" ? "You" : entry.name || "Agent"}: ${entry.text}${entry.cut ? ", cut" : ""}`;
  }
  if (entry.status === "started") return `Tool ${entry.name} runs`;
  if (entry.status === "updated") return null;
  if (entry.status === "asking") return `Before ${entry.name}: ${entry.asked?.text ?? ""}`;
  return `Tool ${entry.name}: ${entry.status}`;
}
