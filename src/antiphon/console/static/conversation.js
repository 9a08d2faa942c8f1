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
 * @typedef {import("./wire.js").Aside} Aside
 * @typedef {import("./wire.js").Consent} Consent
 * @typedef {import("./wire.js").Claim} Claim
 *
 * @typedef {object} Words  what caller or agent said
 * @property {"words"} kind
 * @property {"user" | "assistant"} role
 * @property {string} agent  that said it; "" for the caller
 * @property {string} name  the same, where there was more than one in the call
 * @property {boolean} aside  a line that bridged a wait: the history does not have it
 * @property {string} claims  what it claims was done, and no tool has done
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
 * @property {number} began  when it ran: behind what the caller was asked
 * @property {string} id
 * @property {string} name
 * @property {Record<string, unknown>} arguments
 * @property {import("./wire.js").ToolStatus} status
 * @property {string} progress
 * @property {string | null} result  null while it is not known
 * @property {number | null} seconds
 * @property {string | null} guarantee  how often it takes effect; null where its tool does not say that it writes
 * @property {Asked | null} asked  what the caller was asked before it
 *
 * @typedef {{text: string, times: number, decision: string, heard: string, by: string}} Asked  "": nobody has decided
 *
 * @typedef {{kind: "note", at: number, text: string, bad: boolean}} Note
 * @typedef {Words | Work | Note} Entry
 */

/** Words without what transcripts and histories write differently. @param {string} text */
const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

/** The caller is asked whether it may run. @param {Work} work @returns {boolean} */
export const pending = (work) => work.status === "asking";

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
  /** Who is in charge, behind those who were before. @type {string[]} */
  #agents = [];
  /** What was claimed, and is not said yet. @type {Claim[]} */
  #claims = [];

  /** @param {() => number} now seconds since the call began */
  constructor(now) {
    this.now = now;
  }

  /** A new call: forget the old one. */
  clear() {
    this.entries = [];
    this.#running.clear();
    this.#agents = [];
    this.#claims = [];
  }

  /** What a page that was loaded anew had shown: nothing of it changes any more. @param {Entry[]} entries */
  restore(entries) {
    for (const entry of entries) {
      if (entry.kind === "words" && entry.role === "assistant" && entry.agent) this.#takesOver(entry.agent);
      this.#add(entry);
    }
    this.end();
  }

  /** @param {FromServer} message */
  take(message) {
    if (message.type === "heard") this.#heard(message);
    else if (message.type === "said") this.#said(message);
    else if (message.type === "message") this.#message(message);
    else if (message.type === "tool") this.#tool(message);
    else if (message.type === "turn") this.#timing(message);
    else if (message.type === "aside") this.#aside(message);
    else if (message.type === "consent") this.#consent(message);
    else if (message.type === "claim") this.#claim(message);
    else if (message.type === "ready") this.#takesOver(message.agent);
    else if (message.type === "handoff") {
      // The first agent takes the floor, too.
      if (this.#takesOver(message.agent)) this.note(`Handed over to ${message.agent}`);
    }
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
      if (entry.kind === "work" && (running(entry) || pending(entry))) {
        entry.status = pending(entry) ? "declined" : "unknown";
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
    this.#judge(entry);
    if (text !== "") this.#put(entry);
  }

  /** @param {Message} message */
  #message(message) {
    const entry = this.#match(message) ?? this.#words(message.role);
    entry.text = message.text;
    entry.interim = "";
    entry.cut = message.interrupted;
    entry.unheard = message.unheard ?? "";
    if (message.role === "assistant" && message.agent) this.#isBy(entry, message.agent);
    this.#judge(entry);
    entry.settled = true;
    if (entry.text !== "" || entry.cut) this.#put(entry);
  }

  /** @param {Aside} aside */
  #aside({ segment, text, agent }) {
    const entry = this.#last((words) => words.segment === segment) ?? { ...this.#words("assistant"), segment };
    Object.assign(entry, { text, aside: true, settled: true });
    this.#isBy(entry, agent);
    this.#put(entry);
  }

  /** This agent is in charge from now on. @param {string} agent @returns {boolean} it was not before */
  #takesOver(agent) {
    if (agent === this.#agents.at(-1)) return false;
    this.#agents.push(agent);
    for (const entry of this.entries) {
      if (entry.kind !== "words" || entry.role !== "assistant" || entry.name !== "") continue;
      this.#isBy(entry, entry.agent);
      this.changed.emit(entry);
    }
    return true;
  }

  /** @param {Words} entry @param {string} agent */
  #isBy(entry, agent) {
    entry.agent = agent;
    entry.name = this.#agents.length > 1 ? agent : "";
  }

  /** The entry whose words these are. @param {Message} message @returns {Words | undefined} */
  #match({ role, text, id }) {
    const words = plain(text);
    const sounded = this.#last((entry) => entry.segment === id);
    if (sounded) return sounded;
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
      agent: role === "assistant" ? (this.#agents.at(-1) ?? "") : "",
      name: role === "assistant" && this.#agents.length > 1 ? this.#agents[this.#agents.length - 1] : "",
      aside: false,
      claims: "",
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

  /** @param {Consent} consent */
  #consent(consent) {
    const { call_id: id, name, asked: text, times, decision, heard, by } = consent;
    const entry = this.#known(id) ?? this.#work({ call_id: id, name, arguments: consent.arguments, status: "asking" });
    entry.asked = { text, times, decision, heard, by };
    if (pending(entry) && decision !== "" && decision !== "yes") {
      entry.status = "declined";
      entry.seconds = 0;
    }
    this.#put(entry);
  }

  /** The sentence is about to be said, or was just given out. @param {Claim} claim */
  #claim(claim) {
    this.#claims.push(claim);
    const last = this.#last((entry) => entry.role === "assistant");
    if (last && this.#judge(last)) this.changed.emit(last);
  }

  /** Mark what an entry claims. @param {Words} entry @returns {boolean} it claims something */
  #judge(entry) {
    if (entry.role !== "assistant" || this.#claims.length === 0) return false;
    const words = plain(entry.text);
    const made = this.#claims.find(({ sentence }) => words.includes(plain(sentence)));
    if (!made) return false;
    entry.claims = made.done;
    this.#claims = this.#claims.filter((claim) => claim !== made);
    return true;
  }

  /** @param {string} id @returns {Work | undefined} */
  #known(id) {
    const known = this.entries.findLast((entry) => entry.kind === "work" && entry.id === id);
    return known?.kind === "work" ? known : undefined;
  }

  /** @param {Tool} tool */
  #tool(tool) {
    const entry = this.#known(tool.call_id) ?? this.#work(tool);
    const declined = entry.status === "declined";
    if (entry.status === "asking") entry.began = this.now();
    entry.status = declined ? "declined" : tool.status;
    entry.guarantee = tool.guarantee ?? entry.guarantee;
    if (running(entry)) this.#running.add(entry);
    else this.#running.delete(entry);
    // A call is done first, and its output known a moment later: what is not told stays.
    if (running(entry)) entry.progress = tool.text ?? entry.progress;
    else {
      entry.result = tool.text ?? entry.result;
      entry.seconds = entry.seconds ?? tool.seconds ?? this.now() - entry.began;
    }
    this.#put(entry);
  }

  /**
   * @param {{call_id: string, name: string, arguments: Record<string, unknown>,
   *   status: import("./wire.js").ToolStatus}} tool
   * @returns {Work}
   */
  #work(tool) {
    return {
      kind: "work",
      at: this.now(),
      began: this.now(),
      id: tool.call_id,
      name: tool.name,
      arguments: tool.arguments ?? {},
      status: tool.status,
      progress: "",
      result: null,
      seconds: null,
      guarantee: null,
      asked: null,
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
