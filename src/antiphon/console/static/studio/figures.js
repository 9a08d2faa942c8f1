// Latency and cost over calls: how long callers waited, which tools are slow, and how often arguments were wrong.

import { minutes, took as lasted } from "../story/data.js";
import { make } from "../view/dom.js";
import { searchForm } from "./calls.js";
import { Refusal, ask } from "./server.js";

/** @typedef {import("./server.js").Figures} Figures */

/** Seconds of a wait beyond which a caller asks whether somebody is there. */
const LATE = 1.5;

/** @param {number | null} seconds */
const took = (seconds) => (seconds === null ? "–" : lasted(seconds));
/** @param {number} share */
const percent = (share) => (share === 0 ? "0 %" : share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
/** @param {number | null} cost */
const money = (cost) => (cost === null ? "–" : cost.toPrecision(3));

/** @param {HTMLElement} main @param {Record<string, string>} query @param {AbortSignal} over */
export async function showFigures(main, query, over) {
  const box = make("div", {}, make("p", { class: "soft", role: "status" }, "…"));
  main.replaceChildren(make("h1", {}, "Latency and cost"), searchForm("#/figures", query), box);
  /** @type {Figures} */
  let told;
  try {
    told = await ask("figures", query, over);
  } catch (error) {
    if (over.aborted) return;
    const { status, message } = /** @type {Refusal} */ (error);
    box.replaceChildren(make("section", { class: "card notice" }, make("p", {}, status === 404 ? "No records are kept here." : message)));
    return;
  }
  if (over.aborted) return;
  if (!told.calls) {
    box.replaceChildren(make("p", { class: "soft" }, told.whole ? "No such calls." : "Records are being read …"));
    return;
  }
  box.replaceChildren(sums(told), make("div", { class: "two" }, waits(told), found(told)), tools(told));
}

/** @param {[value: string, name: string][]} all */
const big = (all) => make("div", { class: "big" }, ...all.map(([value, name]) => make("div", {}, make("b", {}, value), make("span", {}, name))));

/** @param {Figures} told @returns {HTMLElement} */
function sums(told) {
  const { waits: waited } = told;
  /** @type {[string, string][]} */
  const all = [
    [told.calls.toLocaleString("en"), told.calls === 1 ? "call" : "calls"],
    [minutes(told.seconds), "of calls"],
    [told.turns.toLocaleString("en"), "caller turns"],
    [told.tools.toLocaleString("en"), "tool calls"],
    [told.errors.toLocaleString("en"), "errors"],
    [told.cut.toLocaleString("en"), "replies cut by callers"],
    [took(waited.p50), "answer, median"],
    [took(waited.p95), "95th percentile"],
    [told.tokens.toLocaleString("en"), "tokens"],
  ];
  if (told.cost !== null) {
    all.push([money(told.cost), "cost, in your prices' currency"], [money(told.cost_of_a_call.p50), "of a call, median"]);
    if (told.priced < told.calls) all.push([(told.calls - told.priced).toLocaleString("en"), "calls without a price"]);
  }
  const card = make("section", { class: "card", "aria-label": "Sums" }, big(all));
  if (told.cost === null) card.append(make("p", { class: "soft" }, "No prices were known when these calls were recorded: Records(prices=)."));
  if (!told.whole) card.append(make("p", { class: "soft" }, "Records are being read: there are more."));
  return card;
}

/** @param {Figures} told @returns {HTMLElement} */
function waits({ waits: waited }) {
  const card = make("section", { class: "card" }, make("h2", {}, "How long callers waited for the first sound"));
  if (!waited.count) {
    card.append(make("p", { class: "soft" }, "No reply was measured: calls in text alone, or records without metrics."));
    return card;
  }
  card.append(big([[took(waited.p50), "median"], [took(waited.p90), "90th percentile"], [took(waited.p95), "95th"], [took(waited.p99), "99th"], [took(waited.max), "the longest"]]));
  const most = Math.max(...waited.counts);
  const bars = make("div", { class: "bars-of", role: "img", "aria-label": "How many replies took how long" });
  bars.style.marginTop = "14px";
  waited.counts.forEach((many, i) => {
    const from = i ? waited.bounds[i - 1] : 0;
    const to = waited.bounds[i];
    const bar = make("i", from >= LATE ? { class: "late" } : {});
    bar.style.width = `${(100 * many) / most}%`;
    if (!many) bar.style.visibility = "hidden";
    bars.append(make("span", { class: "soft" }, to === undefined ? `from ${from} s` : `${from}–${to} s`), bar, make("span", {}, many.toLocaleString("en")));
  });
  card.append(bars);
  const rows = waited.slowest.map((one) => [make("a", { href: "#/call/" + encodeURIComponent(one.name) }, one.id.slice(0, 16)), minutes(one.at), lasted(one.delay)]);
  const heading = make("h2", {}, "The slowest");
  heading.style.marginTop = "18px";
  card.append(heading, table(["Call", "At", "Waited"], rows, [1, 2]));
  return card;
}

/** @param {Figures} told @returns {HTMLElement} */
function found(told) {
  const card = make("section", { class: "card" }, make("h2", {}, "To be mended"));
  if (!told.found.length) card.append(make("p", { class: "soft" }, "Nothing was found in these calls."));
  else {
    const rows = told.found.map((one) => [make("a", { href: "#/?finding=" + encodeURIComponent(one.finding) }, one.finding), one.kind, String(one.times), String(one.calls)]);
    card.append(table(["What", "Kind", "Times", "Calls"], rows, [2, 3]));
  }
  return card;
}

/** @param {Figures} told @returns {HTMLElement} */
function tools({ by_tool: all }) {
  const card = make("section", { class: "card" }, make("h2", {}, "Tools, the slowest first"));
  if (!all.length) {
    card.append(make("p", { class: "soft" }, "No tool was called."));
    return card;
  }
  const rows = all.map((one) => {
    const { p50, p95, max } = one.seconds;
    const wrong = make("span", {}, one.wrong ? `${percent(one.wrong_rate)} (${one.wrong})` : "0 %");
    return [make("a", { href: "#/?tool=" + encodeURIComponent(one.tool) }, one.tool), one.calls.toLocaleString("en"), took(p50), took(p95), took(max), one.failed ? percent(one.failed / one.calls) : "0 %", wrong, String(one.unknown)];
  });
  card.append(table(["Tool", "Calls", "Median", "95th", "Longest", "Failed", "Wrong arguments", "Unknown"], rows, [1, 2, 3, 4, 5, 6, 7]));
  return card;
}

/** @param {string[]} heads @param {(string | HTMLElement)[][]} rows @param {number[]} numbers columns of figures */
function table(heads, rows, numbers) {
  /** @param {number} i @returns {Record<string, string>} */
  const look = (i) => (numbers.includes(i) ? { class: "n" } : {});
  const head = make("tr", {}, ...heads.map((text, i) => make("th", { scope: "col", ...look(i) }, text)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, i) => (i ? make("td", look(i), cell) : make("th", { scope: "row" }, cell)))));
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": heads[0] });
  box.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  return box;
}
