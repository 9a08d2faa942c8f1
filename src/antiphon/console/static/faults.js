// What can go wrong, in words that end with the remedy.

/**
 * @typedef {object} Fault
 * @property {string} title
 * @property {string} text  what was expected and what to do
 * @property {string} [detail]  set in fixed-width letters: what the server or the browser said
 * @property {"type" | "call" | null} remedy  what a press of a button can do: go on by typing, or call again
 */

export class FaultError extends Error {
  /** @param {Fault} fault */
  constructor(fault) {
    super(fault.title);
    this.fault = fault;
  }
}

/** @returns {Fault} */
export const insecure = () => ({
  title: "This page may not use the microphone",
  text:
    `Browsers give the microphone to secure pages alone, and ${location.origin} is not one. ` +
    "Open the page on the agent's own machine as http://localhost, or start the agent with antiphon dev --tls.",
  remedy: "type",
});

/** @param {unknown} error of getUserMedia @returns {Fault} */
export function microphoneFault(error) {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError" || name === "SecurityError") {
    return {
      title: "The microphone is not allowed",
      text: "Allow it for this page, beside the address above, and call again. Or go on by typing.",
      remedy: "type",
    };
  }
  if (name === "NotFoundError" || name === "OverconstrainedError") {
    return {
      title: "No microphone was found",
      text: "Plug one in, or choose one in the system's settings, and call again. Or go on by typing.",
      remedy: "type",
    };
  }
  if (name === "NotReadableError" || name === "AbortError") {
    return {
      title: "The microphone could not be opened",
      text: "Another program may hold it: close that, and call again. Or go on by typing.",
      remedy: "type",
    };
  }
  return {
    title: "The microphone could not be opened",
    text: "Call again, or go on by typing.",
    detail: String(error),
    remedy: "type",
  };
}

/** @param {unknown} error @returns {Fault} */
export const soundFault = (error) => ({
  title: "This browser could not set up the sound",
  text: "Use a current Chromium, Firefox or Safari. Or go on by typing.",
  detail: String(error),
  remedy: "type",
});

/** @returns {Fault} */
export const microphoneGone = () => ({
  title: "The microphone is gone",
  text: "Plug it in and call again. Until then the call goes on by typing.",
  remedy: null,
});

/** @returns {Fault} */
export const silenced = () => ({
  title: "The sound has stopped",
  text: "The browser or the system took the sound away. It comes back with the next press anywhere on this page.",
  remedy: null,
});

/** @type {Record<number, string>} */
const REFUSALS = {
  4400: "The server did not understand this page",
  4401: "This page lacks the token",
  4403: "The server does not know this page",
  4404: "The call cannot be continued",
  4408: "The call did not begin in time",
  4410: "The network does not keep up",
  4413: "A frame of sound was too large",
  4429: "Too much at once",
  4500: "The call broke on the server",
  4503: "The agent file is broken",
};

/** @type {Record<number, string>} */
const REMEDIES = {
  4400: "Reload the page: it may be older than the server.",
  4401: "Open the address that antiphon dev printed: it carries the token.",
  4403: "Open the address that antiphon dev printed.",
  4404: "Call again: the agent will not know what was said.",
  4408: "Call again.",
  4410: "Call again, from a better network if there is one.",
  4413: "Reload the page: it may be older than the server.",
  4429: "Wait a little, and call again.",
  4500: "Look at the terminal of antiphon dev, mend what it tells, and call again.",
  4503: "Mend and save it, and call again.",
};

/**
 * @param {number} code of a WebSocket that was closed
 * @param {string} reason
 * @returns {Fault | null} null where the server went away, and may come back
 */
export function refusal(code, reason) {
  if (!(code in REFUSALS)) return null;
  return { title: REFUSALS[code], text: REMEDIES[code], detail: reason, remedy: "call" };
}

/** @param {string} message @returns {Fault} */
export const broken = (message) => ({
  title: "The agent file is broken",
  text: "Mend and save it: this page notices by itself.",
  detail: message,
  remedy: null,
});
