// One call: its story, as the report of it tells it. One that goes on is told as far as it went, and then its end.

import { story } from "../story/story.js";
import { make } from "../view/dom.js";
import { when } from "./calls.js";
import { Refusal, address, ask } from "./server.js";

/** Milliseconds between two looks at a call that goes on. */
const PACE = 1000;

/** @param {any} told @param {string} back @returns {HTMLElement} */
function bar(told, back) {
  const state = told.state ? make("span", { class: told.state === "goes on" ? "state" : "state off" }, told.state) : make("span", { class: "soft" }, `ended: ${told.reason || "reason not known"}`);
  return make("p", { class: "back" }, make("a", { href: back }, "← All calls"), state, make("span", { class: "soft" }, when(told.began)), make("code", {}, told.id));
}

/**
 * @param {HTMLElement} main @param {string} name of its record @param {string} back the list that one came from
 * @param {AbortSignal} over
 */
export async function showCall(main, name, back, over) {
  main.replaceChildren(make("p", { class: "soft", role: "status" }, "…"));
  let told;
  try {
    told = await ask("call", { name }, over);
  } catch (error) {
    if (!over.aborted) refuse(main, /** @type {Refusal} */ (error), back);
    return;
  }
  if (over.aborted) return;
  if (told.sounds) told.audio = address("sound", { name });
  document.title = `${told.title} · Antiphon`;
  const page = make("div", { class: "story" });
  main.replaceChildren(bar(told, back), page);
  story(page, told, (number) => ask("step", { name, number: String(number) }, over).catch(() => null));
}

/** @param {HTMLElement} main @param {string} id @param {string} back @param {AbortSignal} over */
export async function showLive(main, id, back, over) {
  let shown = "";
  main.replaceChildren(make("p", { class: "soft", role: "status" }, "…"));
  while (!over.aborted) {
    let told;
    try {
      told = await ask("live", { id }, over);
    } catch (error) {
      if (over.aborted) return;
      if (/** @type {Refusal} */ (error).status) return refuse(main, /** @type {Refusal} */ (error), back);
    }
    if (over.aborted) return;
    if (told?.ended) {
      if (told.name) {
        location.replace("#/call/" + encodeURIComponent(told.name));
        return;
      }
      if (!main.querySelector(".over")) main.prepend(make("p", { class: "soft over", role: "status" }, "The call has ended. If it is recorded, it is shown here as soon as its record is written. "), make("a", { href: back }, "All calls"));
    } else if (told) {
      // Its length is no news.
      const now = JSON.stringify({ ...told, duration: 0 });
      if (now !== shown) {
        shown = now;
        const at = scrollY;
        const open = [...main.querySelectorAll("details[open]")].map((one) => one.id);
        const page = make("div", { class: "story" });
        main.replaceChildren(bar(told, back), page);
        story(page, told, (number) => ask("step", { id, number: String(number) }, over).catch(() => null));
        for (const one of open) if (one) document.getElementById(one)?.setAttribute("open", "");
        scrollTo({ top: at });
      }
    }
    await new Promise((done) => setTimeout(done, PACE));
  }
}

/** @param {HTMLElement} main @param {Refusal} refusal @param {string} back */
function refuse(main, refusal, back) {
  const title = refusal.status === 404 ? "There is no such call" : "This call cannot be shown";
  main.replaceChildren(make("h1", {}, title), make("section", { class: "card notice" }, make("p", {}, refusal.message), make("p", {}, make("a", { href: back }, "All calls"))));
}
