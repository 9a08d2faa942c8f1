// The studio: which page the address names, and how it stands with the server.

import { put, some } from "../view/dom.js";
import { showCall, showLive } from "./call.js";
import { showCalls, wanted } from "./calls.js";
import { showFigures } from "./figures.js";

let over = new AbortController();
/** The list that one came from, with its search. */
let back = "#/";

const main = some("main");

/** @param {boolean} first the page has just been opened */
function open(first) {
  over.abort();
  over = new AbortController();
  const hash = location.hash || "#/";
  const path = hash.split("?")[0];
  const [, kind, ...rest] = path.split("/");
  const name = decodeURIComponent(rest.join("/"));
  document.title = "Calls · Antiphon";
  for (const [id, page] of [["to-calls", "figures" !== kind], ["to-figures", "figures" === kind]]) {
    if (page) some(String(id)).setAttribute("aria-current", "page");
    else some(String(id)).removeAttribute("aria-current");
  }
  if (!first) {
    scrollTo({ top: 0 });
    main.focus({ preventScroll: true });
  }
  if (kind === "call") return void showCall(main, name, back, over.signal);
  if (kind === "live") return void showLive(main, name, back, over.signal);
  if (kind === "figures") return void showFigures(main, wanted(hash), over.signal);
  back = hash;
  showCalls(main, wanted(hash), over.signal, (listed, refusal) => {
    put(some("server"), refusal && refusal.status === 0 ? "No server" : "");
    if (listed) put(some("place"), listed.place ?? "");
  });
}

addEventListener("hashchange", () => open(false));
open(true);
