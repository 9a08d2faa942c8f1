// Typed turns, in a call by voice or without one. What is typed while there is no call begins one.

import { one, some } from "./dom.js";

/**
 * @param {import("../call.js").Call} call
 * @param {import("../conversation.js").Conversation} conversation
 * @param {(voice: boolean) => void} begin
 * @returns {HTMLInputElement}
 */
export function composer(call, conversation, begin) {
  const line = one("say", HTMLInputElement);
  /** Typed before the call was there. */
  let unsent = "";

  /** @param {string} text */
  const send = (text) => {
    conversation.typed(text);
    call.type(text);
  };
  some("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = line.value.trim();
    if (text === "" || unsent !== "") return;
    line.value = "";
    if (call.phase.name === "live") return send(text);
    unsent = text;
    if (!call.on) begin(false);
  });
  call.changed.listen((phase) => {
    line.placeholder = phase.name === "live" ? "Type instead of talking" : "Type to call without voice";
    const over = phase.name === "idle" || phase.name === "ended";
    if (unsent === "" || !(over || phase.name === "live")) return;
    const text = unsent;
    unsent = "";
    if (!over) send(text);
    else if (line.value === "") line.value = text; // nothing typed is lost
  });
  return line;
}
