// Push to talk: the button, and the space bar wherever it is not wanted for something else.

import { one } from "./dom.js";

/** Elements that have a use of their own for the space bar. */
const TAKES_SPACE = "input, textarea, select, button, summary, a, audio";

/** @param {import("../call.js").Call} call @returns {HTMLButtonElement} */
export function pushToTalk(call) {
  const button = one("push", HTMLButtonElement);
  button.addEventListener("pointerdown", (event) => {
    // A finger that slips off still holds.
    button.setPointerCapture(event.pointerId);
    call.push(true);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    button.addEventListener(end, () => call.push(false));
  }
  // A long press on a phone is no wish for a menu.
  button.addEventListener("contextmenu", (event) => event.preventDefault());

  /** @param {KeyboardEvent} event @returns {boolean} */
  const ours = ({ code, target }) => {
    if (code !== "Space" || !call.manner.pushToTalk || call.phase.name !== "live") return false;
    return target === button || !(target instanceof Element && target.closest(TAKES_SPACE));
  };
  document.addEventListener("keydown", (event) => {
    if (!ours(event)) return;
    event.preventDefault();
    if (!event.repeat) call.push(true);
  });
  document.addEventListener("keyup", (event) => {
    if (event.code !== "Space" || !(call.pushed || ours(event))) return;
    event.preventDefault();
    call.push(false);
  });
  // A key that is let go while another window has the keyboard is not heard of.
  addEventListener("blur", () => call.push(false));
  return button;
}
