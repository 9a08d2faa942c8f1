// A telephone's keys, folded away until somebody wants them.

import { make, one, some } from "./dom.js";

/** @type {[digit: string, letters: string][]} */
const KEYS = [
  ["1", ""],
  ["2", "abc"],
  ["3", "def"],
  ["4", "ghi"],
  ["5", "jkl"],
  ["6", "mno"],
  ["7", "pqrs"],
  ["8", "tuv"],
  ["9", "wxyz"],
  ["*", ""],
  ["0", ""],
  ["#", ""],
];

/** @param {import("../call.js").Call} call @returns {HTMLButtonElement} the button that unfolds it */
export function keypad(call) {
  const button = one("keypad", HTMLButtonElement);
  const pad = some("keys-pad");
  /** @param {boolean} open */
  const fold = (open) => {
    pad.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  for (const [digit, letters] of KEYS) {
    const key = make("button", { type: "button", "aria-label": digit }, make("b", {}, digit), make("small", {}, letters));
    key.addEventListener("click", () => call.press(digit));
    pad.append(key);
  }
  button.addEventListener("click", () => fold(pad.hidden !== false));
  call.changed.listen((phase) => {
    if (phase.name !== "live") fold(false);
  });
  return button;
}
