// What a person presses: call, hang up, mute, hold to talk. Which of it is there in which phase.

import { composer } from "./composer.js";
import { one, put, some } from "./dom.js";
import { keypad } from "./keypad.js";
import { pushToTalk } from "./push.js";

/**
 * @typedef {import("../call.js").Call} Call
 * @typedef {import("../call.js").Phase} Phase
 */

export class Controls {
  #call;
  #start = one("call", HTMLButtonElement);
  #hangUp = one("hang-up", HTMLButtonElement);
  #mute = one("mute", HTMLButtonElement);
  #choice = one("push-to-talk", HTMLInputElement);
  #push;
  #keypad;
  #line;
  /** The focus lies on "hang up" because there was nothing else while the call came about. */
  #carried = false;

  /**
   * @param {Call} call
   * @param {import("../conversation.js").Conversation} conversation
   * @param {(voice: boolean) => void} begin
   */
  constructor(call, conversation, begin) {
    this.#call = call;
    this.#push = pushToTalk(call);
    this.#keypad = keypad(call);
    this.#line = composer(call, conversation, begin);
    this.#choice.checked = new URLSearchParams(location.search).has("push_to_talk");
    this.#start.addEventListener("click", () => begin(true));
    some("type-only").addEventListener("click", () => begin(false));
    this.#hangUp.addEventListener("click", () => call.hangUp());
    this.#mute.addEventListener("click", () => call.mute(!call.muted));
    call.changed.listen((phase) => {
      const had = document.activeElement;
      this.#place(phase);
      this.#label(phase);
      if (had) this.#keepFocus(phase, had);
    });
  }

  /** The next call is to be held by pushing to talk. */
  get pushToTalk() {
    return this.#choice.checked;
  }

  /** Say this, by a call without voice if there is none. @param {string} text */
  say(text) {
    this.#line.value = text;
    this.#line.form?.requestSubmit();
  }

  /** Put the cursor where turns are typed. */
  focusTyping() {
    this.#line.focus();
  }

  /** Buttons have their places before they can be used, so that nothing moves when they can. @param {Phase} phase */
  #place(phase) {
    const calling = this.#call.on || phase.name === "ending";
    const { voice, pushToTalk } = this.#call.manner;
    document.documentElement.dataset.phase = phase.name;
    document.documentElement.dataset.voice = String(voice);
    this.#start.hidden = calling;
    some("core").hidden = !calling;
    this.#hangUp.hidden = !calling;
    this.#mute.hidden = !calling || !voice || pushToTalk;
    this.#push.hidden = !calling || !voice || !pushToTalk;
    this.#keypad.hidden = !calling;
    for (const button of [this.#mute, this.#push, this.#keypad]) button.disabled = phase.name !== "live";
    // Not disabled: it would lose the focus that belongs to "call again".
    this.#hangUp.setAttribute("aria-disabled", String(phase.name === "ending"));
  }

  /** @param {Phase} phase */
  #label(phase) {
    const { muted, pushed } = this.#call;
    const hangUp = phase.name === "live" ? "Hang up" : phase.name === "ending" ? "Hanging up" : "Cancel";
    name(this.#start, phase.name === "ended" ? "Call again" : "Call");
    name(this.#hangUp, hangUp);
    name(this.#mute, muted ? "Unmute" : "Mute");
    name(this.#push, pushed ? "Listening" : "Hold to talk");
    this.#mute.querySelector("use")?.setAttribute("href", muted ? "#muted" : "#mic");
    this.#mute.setAttribute("aria-pressed", String(muted));
    this.#push.setAttribute("aria-pressed", String(pushed));
  }

  /**
   * What was pressed must not be gone under the finger: focus goes to what took its place. It does not stay on "hang
   * up", where a second press would end what the first began.
   * @param {Phase} phase
   * @param {Element} had
   */
  #keepFocus(phase, had) {
    const live = phase.name === "live";
    const orphaned = had.closest("[hidden], :disabled") !== null;
    if (orphaned || (live && this.#carried && had === this.#hangUp)) {
      const next = [this.#push, this.#mute, this.#hangUp, this.#start].find((one) => !one.hidden && !one.disabled);
      next?.focus({ preventScroll: true });
    }
    this.#carried = !live && this.#call.on && (this.#carried || orphaned);
  }
}

/** @param {HTMLButtonElement} button @param {string} text */
function name(button, text) {
  put(/** @type {Element} */ (button.querySelector("span")), text);
}
