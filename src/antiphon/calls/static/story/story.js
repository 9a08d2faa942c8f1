// The story of one call: figures, time line, what should be mended, waits, steps of the model, words, what was stored.
//
// The report of a call has these files in it, and the studio loads them: the same call looks the same in both.

import { add, isVoice } from "./data.js";
import { figures, found, head, stored } from "./figures.js";
import { steps } from "./steps.js";
import { Timeline } from "./timeline.js";
import { transcript } from "./transcript.js";
import { waits } from "./waits.js";

/** Turns and calls of tools. */
const LONG = 400;

/**
 * @param {Element} page @param {import("./data.js").Call} call
 * @param {((number: number) => Promise<import("./data.js").Request | null>) | null} [ask] for the input of a step
 */
export function story(page, call, ask = null) {
  /** @type {HTMLAudioElement | null} */
  let player = null;
  /** @type {import("./transcript.js").Heard[]} */
  let heard = [];
  /** @type {Timeline | null} */
  let line = null;
  /** @param {string} id */
  const go = (id) => {
    const node = document.getElementById(id);
    if (!node) return;
    if (node instanceof HTMLDetailsElement) node.open = true;
    node.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "center" });
    node.querySelector("button, summary")?.dispatchEvent(new Event("shown"));
    /** @type {HTMLElement | null} */ (node.querySelector("summary, button"))?.focus({ preventScroll: true });
  };
  /** To hear that moment; without its sound, to read it. @param {number} at */
  const seek = (at) => {
    if (player && !player.error) {
      player.currentTime = Math.max(0, at - 0.15);
      player.play().catch(() => {});
    } else {
      const last = heard.findLast((one) => one.from <= at + 0.05) ?? heard[0];
      last?.node.scrollIntoView({ block: "center" });
    }
  };
  const follow = () => {
    if (!player || !line) return;
    const at = player.currentTime;
    line.follow(at);
    for (const { node, from, to } of heard) node.classList.toggle("now", !player.paused && from <= at && at < to);
  };

  head(page, call);
  figures(page, call);
  if (call.peaks || call.steps) {
    const card = add(page, "section", { class: "card" });
    line = new Timeline(card, call, seek, go);
    player = sound(line.slot, call);
  }
  const below = () => {
    found(page, call, seek);
    waits(page, call, seek);
    steps(page, call, seek, ask);
    heard = transcript(page, call, seek);
    stored(page, call);
  };
  // Of a long call the time line is seen before the rest of it is there.
  if (call.turns.length + call.tools.length > LONG) requestAnimationFrame(() => setTimeout(below));
  else below();
  if (!player) return;
  const playing = player;
  const tick = () => {
    follow();
    if (!playing.paused && playing.isConnected) requestAnimationFrame(tick);
  };
  playing.addEventListener("play", tick);
  playing.addEventListener("seeked", follow);
}

/** The recording, or why there is none. @param {Element} card @param {import("./data.js").Call} call @returns {HTMLAudioElement | null} */
function sound(card, call) {
  if (!call.audio) {
    if (call.silent && isVoice(call)) add(card, "p", { class: "sub silent" }, call.silent);
    return null;
  }
  const player = add(card, "audio", { controls: "", preload: "metadata", src: call.audio, "aria-label": "Recording of the call" });
  player.addEventListener("error", () => {
    player.hidden = true;
    add(card, "p", { class: "sub silent" }, "The recording cannot be played: it is gone, or broken.");
  });
  return player;
}
