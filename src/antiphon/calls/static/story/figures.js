// The figures of a call, and what in it should be mended. A latency is that of the replies: `response_delay`.

import { add, answered, cutsOf, exact, isBad, isVoice, minutes, onPress, some, took } from "./data.js";

/** @typedef {import("./data.js").Call} Call */

const MOST_FINDINGS = 30;

/** @param {Element} page @param {Call} call */
export function head(page, call) {
  const header = add(page, "header");
  add(header, "h1", {}, call.title);
  add(header, "span", { class: "sub" }, [call.when, minutes(call.duration) + (call.duration < 3600 ? " min" : " h"), call.models].filter(Boolean).join(" · "));
}

/** @param {Element} page @param {Call} call */
export function figures(page, call) {
  const box = add(add(page, "section", { class: "card", "aria-label": "Figures" }), "div", { class: "figures" });
  /** @param {string} value @param {string} name */
  const figure = (value, name) => {
    const one = add(box, "div", { class: "figure" });
    add(one, "b", {}, value);
    add(one, "span", {}, name);
  };
  /** @param {number} n @param {string} name */
  const many = (n, name) => figure(n.toLocaleString("en"), n === 1 ? name : name + "s");
  const { metrics, replies } = call;
  if (typeof metrics.median_response_delay === "number") {
    figure(took(metrics.median_response_delay), "answer, median");
    if (answered(call).length > 1) figure(took(metrics.p95_response_delay), "95th percentile");
  }
  // Where all silence was the wait for answers, their time says it already.
  const waited = replies.reduce((sum, r) => sum + ((r.first_audio ?? r.ended) - r.waiting_since), 0);
  if (isVoice(call) && metrics.dead_air - waited > 0.1) {
    figure(took(metrics.dead_air), "dead air in all");
    figure(took(metrics.longest_silence), "longest silence");
  }
  many(call.turns.filter((turn) => turn.role === "user").length, "caller turn");
  many(call.tools.length, "tool call");
  const failed = call.tools.filter(isBad).length;
  if (failed) many(failed, "failed call");
  if (isVoice(call)) many(cutsOf(call).length, "interruption");
  const tokens = call.usage?.tokens ?? (metrics.prompt_tokens ?? 0) + (metrics.completion_tokens ?? 0);
  if (tokens) figure(tokens.toLocaleString("en"), "tokens");
  if (call.cost) figure(call.cost.total.toPrecision(3), "cost, in your prices' currency");
}

/** @param {Element} page @param {Call} call @param {(at: number) => void} seek */
export function found(page, call, seek) {
  const all = call.findings ?? [];
  if (!all.length) return;
  const card = add(page, "section", { class: "card findings" });
  add(card, "h2", {}, "To be mended");
  const list = add(card, "div");
  some(all, MOST_FINDINGS, card, (one) => {
    const line = add(list, "div", { class: "finding" });
    const at = add(line, "button", { class: "at", type: "button", title: "Go there" }, exact(one.at));
    onPress(at, () => seek(one.at));
    const what = add(line, "p");
    add(what, "b", {}, one.finding);
    add(what, "span", { class: "sub" }, " (" + one.kind + ")  ");
    what.append(one.text);
    add(what, "br");
    add(what, "span", { class: "sub" }, one.remedy);
  });
}

/** @param {Element} page @param {Call} call */
export function stored(page, call) {
  const must = call.must_hear ?? [];
  const missing = call.missing ?? [];
  const untold = call.unheard ?? [];
  const answered = call.answered ?? [];
  if (call.userdata === null && ![call.errors, must, missing, untold, answered].some((all) => all.length)) return;
  const card = add(page, "section", { class: "card stored" });
  if (answered.length) {
    add(card, "h2", {}, "Who answered");
    const list = add(card, "ul");
    for (const { at, who, sign } of answered) {
      add(list, "li", {}, `${at.toFixed(1)} s: ${who}${sign ? ", by “" + sign + "”" : ""}`);
    }
    const left = call.message_left;
    if (left) {
      const how = left.whole ? "left a message, heard whole" : left.text ? `the message was cut: “${left.text}”` : "left no message";
      add(list, "li", left.whole ? {} : { class: "cut" }, `${left.at.toFixed(1)} s: ${how}${left.after_tone ? ", behind the tone" : ""}`);
    }
  }
  if (must.length) {
    add(card, "h2", {}, "What the caller had to hear");
    const list = add(card, "ul");
    for (const line of must) {
      const said = line.begun === 1 ? "begun once" : `begun ${line.begun} times`;
      const heard = line.heard_at ? "heard whole at " + line.heard_at : "not heard";
      add(list, "li", line.heard_at ? {} : { class: "cut" }, `“${line.text}” ${heard}, ${said}`);
    }
  }
  if (untold.length) {
    add(card, "h2", {}, "What was done, and the caller was not told");
    add(add(card, "pre", { tabindex: 0 }), "code", {}, untold.map((one) => one.name ?? JSON.stringify(one)).join("\n"));
  }
  if (call.userdata !== null) {
    add(card, "h2", {}, "What the tools stored (userdata)");
    add(add(card, "pre", { tabindex: 0 }), "code", {}, JSON.stringify(call.userdata, null, 2));
  }
  if (call.errors.length) {
    add(card, "h2", {}, "What failed");
    add(add(card, "pre", { class: "cut", tabindex: 0 }), "code", {}, call.errors.join("\n"));
  }
  if (missing.length) {
    add(card, "h2", {}, "Not in this record");
    add(add(card, "pre", { tabindex: 0 }), "code", {}, missing.join("\n"));
  }
}
