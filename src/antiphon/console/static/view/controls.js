// What a person does: call, hang up, mute, hold to talk, press keys, type.

import { make, one, put, some } from "./dom.js";

/**
 * @typedef {import("../call.js").Call} Call
 * @typedef {import("../conversation.js").Conversation} Conversation
 */

const KEYS = [
  ["1", ""], ["2", "abc"], ["3", "def"],
  ["4", "ghi"], ["5", "jkl"], ["6", "mno"],
  ["7", "pqrs"], ["8", "tuv"], ["9", "wxyz"],
  ["*", ""], ["0", ""], ["#", ""],
]; // prettier-ignore

/**
 * @param {Call} call
 * @param {Conversation} conversation
 * @param {(voice: boolean) => void} begin
 */
export function showControls(call, conversation, begin) {
  const start = one("call", HTMLButtonElement);
  const mute = one("mute", HTMLButtonElement);
  const push = one("push", HTMLButtonElement);
  const hangUp = one("hang-up", HTMLButtonElement);
  const keypad = one("keypad", HTMLButtonElement);
  const pad = some("keys-pad");
  const core = some("core");
  const choice = one("push-to-talk", HTMLInputElement);
  const say = one("say", HTMLInputElement);

  /** The focus lies on "hang up" because there was nothing else while the call came about. */
  let carried = false;

  start.addEventListener("click", () => begin(true));
  some("type-only").addEventListener("click", () => begin(false));
  hangUp.addEventListener("click", () => call.hangUp());
  mute.addEventListener("click", () => call.mute(!call.muted));
  keypad.addEventListener("click", () => {
    pad.hidden = !pad.hidden;
    keypad.setAttribute("aria-expanded", String(!pad.hidden));
  });
  for (const [digit, letters] of KEYS) {
    const key = make("button", { type: "button", "aria-label": digit }, make("b", {}, digit), make("small", {}, letters));
    key.addEventListener("click", () => call.press(digit));
    pad.append(key);
  }
  holdToTalk(call, push);
  compose(call, conversation, say, begin);

  call.changed.listen((phase) => {
    const { on } = call;
    const live = phase.name === "live";
    const had = document.activeElement;
    document.documentElement.dataset.phase = phase.name;
    start.hidden = on || phase.name === "ending";
    core.hidden = !start.hidden;
    hangUp.hidden = !start.hidden;
    const naming = phase.name === "ending" ? "Hanging up" : live ? "Hang up" : "Cancel";
    put(/** @type {Element} */ (hangUp.querySelector("span")), naming);
    // They have their places before they can be used, so that nothing moves when they can.
    const { voice, pushToTalk } = call.manner;
    mute.hidden = !start.hidden || !voice || pushToTalk;
    push.hidden = !start.hidden || !voice || !pushToTalk;
    keypad.hidden = !start.hidden;
    for (const button of [mute, push, keypad]) button.disabled = !live;
    hangUp.setAttribute("aria-disabled", String(phase.name === "ending"));
    if (!live) {
      pad.hidden = true;
      keypad.setAttribute("aria-expanded", "false");
    }
    press(mute, call.muted, call.muted ? "Unmute" : "Mute", call.muted ? "#muted" : "#mic");
    press(push, call.pushed, call.pushed ? "Listening" : "Hold to talk", "#mic");
    put(/** @type {Element} */ (start.querySelector("span")), phase.name === "ended" ? "Call again" : "Call");
    say.placeholder = live ? "Type instead of talking" : "Type to call without voice";
    // A key that was pressed must not be gone under the finger: focus goes to what took its place. It does not stay
    // on "hang up", where a second press would end what the first began.
    const orphaned = had instanceof HTMLElement && had.closest("[hidden], :disabled") !== null;
    if (orphaned || (live && carried && had === hangUp)) {
      [push, mute, hangUp, start].find((node) => !node.hidden && !node.disabled)?.focus({ preventScroll: true });
    }
    carried = !live && on && (carried || orphaned);
  });
  choice.checked = new URLSearchParams(location.search).has("push_to_talk");
  return { get pushToTalk() { return choice.checked; }, focusTyping: () => say.focus() }; // prettier-ignore
}

/** @param {HTMLElement} button @param {boolean} down @param {string} name @param {string} picture */
function press(button, down, name, picture) {
  button.setAttribute("aria-pressed", String(down));
  put(/** @type {Element} */ (button.querySelector("span")), name);
  button.querySelector("use")?.setAttribute("href", picture);
}

/** The button and the space bar. @param {Call} call @param {HTMLElement} button */
function holdToTalk(call, button) {
  button.addEventListener("pointerdown", (event) => {
    button.setPointerCapture(event.pointerId);
    call.push(true);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    button.addEventListener(end, () => call.push(false));
  }
  // A long press on a phone is no wish for a menu.
  button.addEventListener("contextmenu", (event) => event.preventDefault());

  /** @param {KeyboardEvent} event @returns {boolean} */
  const ours = (event) => {
    if (event.code !== "Space" || !call.manner.pushToTalk || call.phase.name !== "live") return false;
    const { target } = event;
    if (!(target instanceof HTMLElement)) return true;
    return target === button || target.closest("input, textarea, select, button, summary, a, audio") === null;
  };
  document.addEventListener("keydown", (event) => {
    if (!ours(event)) return;
    event.preventDefault();
    if (!event.repeat) call.push(true);
  });
  document.addEventListener("keyup", (event) => {
    if (!ours(event) && !call.pushed) return;
    if (event.code !== "Space") return;
    event.preventDefault();
    call.push(false);
  });
  // A key that is let go while another window has the keyboard is not heard of.
  addEventListener("blur", () => call.push(false));
}

/**
 * @param {Call} call
 * @param {Conversation} conversation
 * @param {HTMLInputElement} say
 * @param {(voice: boolean) => void} begin
 */
function compose(call, conversation, say, begin) {
  /** Typed before the call was there. */
  let unsent = "";
  /** @param {string} text */
  const send = (text) => {
    conversation.typed(text);
    call.type(text);
  };
  some("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = say.value.trim();
    if (text === "" || unsent !== "") return;
    say.value = "";
    if (call.phase.name === "live") return send(text);
    unsent = text;
    if (!call.on) begin(false);
  });
  call.changed.listen((phase) => {
    if (unsent === "") return;
    const text = unsent;
    if (phase.name === "live") {
      unsent = "";
      send(text);
    } else if (phase.name === "idle" || phase.name === "ended") {
      unsent = "";
      if (say.value === "") say.value = text;
    }
  });
}
