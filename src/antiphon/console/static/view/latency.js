// Where the time of a turn went, as a bar and in figures.

import { make, ms } from "./dom.js";

/** The bar's whole width, in seconds; a longer turn fills it. */
const SCALE = 2;

/** Seconds of silence beyond the wait itself that are told: less says nothing that the wait does not. */
export const WORTH_TELLING = 0.1;
/** Seconds below which a stretch is seen in the bar, and not worth a figure. */
const WORTH_A_FIGURE = 0.0015;

/** @param {import("../metrics.js").Timing} timing @returns {HTMLElement} */
export function bar({ stretches, total, deadAir, sounded }) {
  const scale = Math.max(SCALE, total);
  const strip = make("div", { class: "strip", "aria-hidden": "true" });
  /** @type {Map<string, {kind: string, seconds: number}>} */
  const sums = new Map();
  let at = 0;
  for (const { kind, name: label, from, to } of stretches) {
    const piece = make("i", { class: kind, title: `${label}: ${ms(to - from)}, until ${ms(to)}` });
    piece.style.marginLeft = (100 * (from - at)) / scale + "%";
    piece.style.width = (100 * (to - from)) / scale + "%";
    at = to;
    strip.append(piece);
    sums.set(label, { kind, seconds: to - from + (sums.get(label)?.seconds ?? 0) });
  }
  const list = make("ul", { class: "figures", "aria-label": "Where the time went" });
  for (const [label, { kind, seconds }] of sums) {
    if (seconds < WORTH_A_FIGURE && kind !== "tool") continue;
    list.append(make("li", { class: kind }, label + " ", make("b", {}, ms(seconds))));
  }
  if (deadAir - total > WORTH_TELLING) list.append(make("li", { class: "dead" }, "dead air ", make("b", {}, ms(deadAir))));
  const title = sounded ? "From your last sound to the agent's first" : "From your turn to the answer";
  const head = make("span", { class: "total", title }, ms(total));
  return make("div", { class: "timing" }, make("div", { class: "row" }, head, strip), list);
}
