// What is left of a call: figures, the recording, the report.

import { withToken } from "../wire.js";
import { WORTH_TELLING } from "./latency.js";
import { make, ms, put, some } from "./dom.js";

/**
 * @typedef {import("../conversation.js").Conversation} Conversation
 * @typedef {import("../wire.js").Ended} Ended
 */

/** @param {number[]} values @returns {number | null} */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Figures of the call so far.
 * @param {Conversation} conversation
 * @param {number} underruns
 * @returns {[name: string, value: string][]}
 */
function figures(conversation, underruns) {
  const words = conversation.entries.filter((entry) => entry.kind === "words");
  const work = conversation.entries.filter((entry) => entry.kind === "work");
  const timings = words.flatMap((entry) => entry.timing ?? []);
  const answer = median(timings.filter((timing) => timing.sounded).map((timing) => timing.total));
  const deadAir = timings.reduce((sum, timing) => sum + timing.deadAir, 0);
  const turns = words.filter((entry) => entry.role === "user").length;
  const failed = work.filter((entry) => entry.status === "error" || entry.status === "unknown").length;
  /** @type {[string, string][]} */
  const list = [
    [turns === 1 ? "turn" : "turns", String(turns)],
    [work.length === 1 ? "tool call" : "tool calls", failed ? `${work.length}, ${failed} failed` : String(work.length)],
    ["median answer", answer === null ? "–" : ms(answer)],
  ];
  // Where all silence was the wait for an answer, the answers' time says it already.
  if (deadAir - timings.reduce((sum, timing) => sum + timing.total, 0) > WORTH_TELLING) {
    list.push(["dead air", deadAir.toFixed(1) + " s"]);
  }
  if (underruns) list.push([underruns === 1 ? "gap in the sound" : "gaps in the sound", String(underruns)]);
  return list;
}

/** @param {Conversation} conversation */
export function showSummary(conversation) {
  const card = some("summary");
  const sums = make("dl", { class: "sums" });
  /** @param {number} underruns */
  const refresh = (underruns) => {
    const rows = figures(conversation, underruns);
    while (sums.children.length > rows.length) sums.lastElementChild?.remove();
    rows.forEach(([name, value], i) => {
      const row = sums.children[i] ?? sums.appendChild(make("div", {}, make("dt"), make("dd")));
      put(row.children[0], name);
      put(row.children[1], value);
    });
  };
  return {
    refresh,
    begin() {
      card.replaceChildren(sums);
      refresh(0);
    },
    /** @param {Ended} ended @param {number} underruns */
    end({ recording, report }, underruns) {
      refresh(underruns);
      if (recording) {
        const src = withToken(recording);
        card.append(make("audio", { controls: "", preload: "metadata", src, "aria-label": "Recording of the call" }));
      }
      if (!report) return;
      const href = withToken(report);
      card.append(make("a", { class: "act", href, target: "_blank", rel: "noopener" }, "Open the report"));
    },
  };
}
