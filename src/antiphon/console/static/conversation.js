// What was said and done in a call, in order: messages in, entries out.
//
// Above: the views, which draw entries. Below: the wire's messages. It knows no sockets and no elements. Words arrive
// up to three times (an interim transcript, a final one, the message that the history keeps); here they become one
// entry.

import { timing } from "./metrics.js";
import { Signal } from "./signal.js";

/**
 * @typedef {import("./wire.js").FromServer} FromServer
 * @typedef {import("./wire.js").Heard} Heard
 * @typedef {import("./wire.js").Said} Said
 * @typedef {import("./wire.js").Message} Message
 * @typedef {import("./wire.js").Tool} Tool
 *
 * @typedef {object} Words  what caller or agent said
 * @property {"words"} kind
 * @property {"user" | "assistant"} role
 * @property {number} at  seconds since the call began
 * @property {string} text  for good
 * @property {string} interim  may change yet
 * @property {string} unheard  what the agent was going to say when it was cut, as far as known
 * @property {boolean} typed
 * @property {boolean} cut
 * @property {boolean} settled  the history has it: nothing changes any more
 * @property {string | null} segment
 * @property {import("./metrics.js").Timing | null} timing
 *
 * @typedef {object} Work  a tool call
 * @property {"work"} kind
 * @property {number} at
 * @property {string} id
 * @property {string} name
 * @property {Record<string, unknown>} arguments
 * @property {import("./wire.js").ToolStatus} status
 * @property {string} progress
 * @property {string | null} result  null while it is not known
 * @property {number | null} seconds
 *
 * @typedef {{kind: "note", at: number, text: string, bad: boolean}} Note
 * @typedef {Words | Work | Note} Entry
 */

/** Words without what transcripts and histories write differently. @param {string} text */
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** @param {Work} work @returns {boolean} */
export const running = (work) => work.status === "started" || work.status === "updated";

export class Conversation {
  /** @type {Entry[]} */
  entries = [];
  /** @type {Signal<Entry>} */
  added = new Signal();
  /** @type {Signal<Entry>} */
  changed = new Signal();

  /** The tools that run. @type {Set<Work>} */
  #running = new Set();

  /** @param {() => number} now seconds since the call began */
  constructor(now) {
    this.now = now;
  }

  /** A new call: forget the old one. */
  clear() {
    this.entries = [];
    this.#running.clear();
  }

  /** @param {FromServer} message */
  take(message) {
    if (message.type === "heard") this.#heard(message);
    else if (message.type === "said") this.#said(message);
    else if (message.type === "message") this.#message(message);
    else if (message.type === "tool") this.#tool(message);
    else if (message.type === "turn") this.#timing(message);
    else if (message.type === "handoff") this.note(`Handed over to ${message.agent}`);
    else if (message.type === "error") this.note(message.message, true);
  }

  /** The caller typed a turn: it is seen at once, and settled when the server has it. @param {string} text */
  typed(text) {
    this.#add({ ...this.#words("user"), text, typed: true });
  }

  /** @param {string} text @param {boolean} [bad] */
  note(text, bad = false) {
    this.#add({ kind: "note", at: this.now(), text, bad });
  }

  /** Nothing more will come: what runs or is open stays as it is. */
  end() {
    for (const entry of this.entries) {
      if (entry.kind === "work" && running(entry)) {
        entry.status = "unknown";
        entry.seconds = this.now() - entry.at;
        this.#running.delete(entry);
      } else if (entry.kind === "words" && !entry.settled) {
        if (entry.text === "") entry.text = entry.interim;
        entry.interim = "";
        entry.settled = true;
      } else continue;
      this.changed.emit(entry);
    }
  }

  /** @returns {Work[]} the tools that run */
  get running() {
    return [...this.#running];
  }

  // -- words

  /** @param {Heard} heard */
  #heard({ text, final }) {
    const entry = this.#open("user", (words) => !words.typed) ?? this.#words("user");
    if (final) {
      entry.text = [entry.text, text].filter(Boolean).join(" ");
      entry.interim = "";
    } else entry.interim = text;
    this.#put(entry);
  }

  /** @param {Said} said */
  #said({ segment, text }) {
    const known = this.#last((words) => words.segment === segment);
    if (known?.settled) return;
    const entry = known ?? { ...this.#words("assistant"), segment };
    entry.text = text;
    if (text !== "") this.#put(entry);
  }

  /** @param {Message} message */
  #message(message) {
    const entry = this.#match(message) ?? this.#words(message.role);
    entry.text = message.text;
    entry.interim = "";
    entry.cut = message.interrupted;
    entry.unheard = message.unheard ?? "";
    entry.settled = true;
    if (entry.text !== "" || entry.cut) this.#put(entry);
  }

  /** The entry whose words these are. @param {Message} message @returns {Words | undefined} */
  #match({ role, text }) {
    const words = plain(text);
    return (
      this.#open(role, (entry) => plain(entry.text) === words) ??
      this.#open(role, (entry) => entry.text !== "" && words.startsWith(plain(entry.text))) ??
      this.#open(role, (entry) => !entry.typed)
    );
  }

  /** @param {"user" | "assistant"} role @param {(words: Words) => boolean} fits @returns {Words | undefined} */
  #open(role, fits) {
    return this.#last((words) => words.role === role && !words.settled && fits(words));
  }

  /** @param {(words: Words) => boolean} fits @returns {Words | undefined} */
  #last(fits) {
    const found = this.entries.findLast((entry) => entry.kind === "words" && fits(entry));
    return found?.kind === "words" ? found : undefined;
  }

  /** @param {"user" | "assistant"} role @returns {Words} */
  #words(role) {
    return {
      kind: "words",
      role,
      at: this.now(),
      text: "",
      interim: "",
      unheard: "",
      typed: false,
      cut: false,
      settled: false,
      segment: null,
      timing: null,
    };
  }

  // -- tools and figures

  /** @param {Tool} tool */
  #tool(tool) {
    const known = this.entries.findLast((entry) => entry.kind === "work" && entry.id === tool.call_id);
    const entry = known?.kind === "work" ? known : this.#work(tool);
    entry.status = tool.status;
    if (running(entry)) this.#running.add(entry);
    else this.#running.delete(entry);
    // A call is done first, and its output known a moment later: what is not told stays.
    if (running(entry)) entry.progress = tool.text ?? entry.progress;
    else {
      entry.result = tool.text ?? entry.result;
      entry.seconds = entry.seconds ?? tool.seconds ?? this.now() - entry.at;
    }
    this.#put(entry);
  }

  /** @param {Tool} tool @returns {Work} */
  #work(tool) {
    return {
      kind: "work",
      at: this.now(),
      id: tool.call_id,
      name: tool.name,
      arguments: tool.arguments ?? {},
      status: tool.status,
      progress: "",
      result: null,
      seconds: null,
    };
  }

  /** @param {import("./metrics.js").Turn} turn */
  #timing(turn) {
    const found = timing(turn);
    // The reply's own words if they can be told, else the last that the agent said.
    const entry =
      this.#last((words) => words.segment === turn.speech_id) ??
      this.#last((words) => words.role === "assistant" && words.timing === null);
    if (!entry || !found) return;
    entry.timing = found;
    this.changed.emit(entry);
  }

  // -- the list

  /** @param {Entry} entry */
  #put(entry) {
    if (this.entries.includes(entry)) this.changed.emit(entry);
    else this.#add(entry);
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.entries.push(entry);
    this.added.emit(entry);
  }
}
