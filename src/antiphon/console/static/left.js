// A call that its page went away from in the middle: kept for the moment in which the page is loaded anew.
//
// It lies in this tab's own storage, from the page's going until its coming back, and not longer.

const KEY = "antiphon-left";
/** Entries that are kept; the rest of a long call is in its report. */
const MOST = 200;

/**
 * @typedef {import("./call.js").Left} Left
 * @typedef {import("./conversation.js").Entry} Entry
 */

/** @param {Left | null} call @param {Entry[]} entries */
export function leave(call, entries) {
  try {
    if (call === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ call, entries: entries.slice(-MOST) }));
  } catch {
    // Storage may be forbidden, or full: then the call is not come back to.
  }
}

/** @returns {{call: Left, entries: Entry[]} | null} what was left; it can be taken once */
export function takeLeft() {
  try {
    const kept = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return kept === null ? null : JSON.parse(kept);
  } catch {
    return null;
  }
}
