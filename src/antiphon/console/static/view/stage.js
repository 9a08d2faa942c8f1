// What the agent is doing now: a word, a detail, the ring, the meter, the trace.
//
// Above: `main.js`. Words change with what the server says; what moves is drawn from the audio thread's reports.

import { calm, clock, lasted, put, some, one } from "./dom.js";
import { Ring } from "./ring.js";
import { Trace } from "./trace.js";

/**
 * @typedef {import("../call.js").Call} Call
 * @typedef {import("../call.js").Phase} Phase
 * @typedef {import("../conversation.js").Conversation} Conversation
 * @typedef {import("../wire.js").FromServer} FromServer
 * @typedef {import("../wire.js").State} State
 * @typedef {import("../worklet.js").Report} Report
 * @typedef {import("./ring.js").Mood} Mood
 */

/** Silences shorter than this need no clock. Seconds. */
const UNREMARKABLE = 0.3;
/** A call that takes longer to come about waits for the server's models. Seconds. */
const LONG_CONNECTING = 1;
const LOADING = "The first call waits until the models are loaded";
/** Level from which the agent is heard. */
const AUDIBLE = 0.005;
/** Milliseconds between two pictures, in a call and without one: nobody shall hear the fan. */
const PACE = 30;
const IDLE_PACE = 250;

/** @type {Record<Phase["name"], [word: string, detail: string]>} */
const PHASES = {
  idle: ["Ready", "Press Call, and talk"],
  asking: ["Microphone?", "Allow it in the browser's question"],
  connecting: ["Connecting", ""],
  live: ["", ""],
  ending: ["Hanging up", ""],
  lost: ["Server gone", ""],
  waiting: ["Waiting", "The agent file is broken; the call comes back when it is mended"],
  ended: ["Call over", ""],
};

/** @type {Record<Mood, string>} */
const WORDS = {
  off: "",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking",
  tool: "Working",
  speaking: "Speaking",
};

/** @type {State} */
const BEFORE = { type: "state", agent: "initializing", user: "listening" };

export class Stage {
  #call;
  #conversation;
  #ring = new Ring(one("ring", HTMLCanvasElement));
  #trace = new Trace(/** @type {HTMLCanvasElement} */ (some("trace").querySelector("canvas")));
  #meter = some("meter");
  /** What the server says that the two are doing. */
  #state = BEFORE;
  /** When the phase began, and the mood. Milliseconds. */
  #phaseSince = performance.now();
  #moodSince = performance.now();
  /** An answer is due: from the end of the caller's turn until the agent is heard. */
  #owed = false;
  #level = 0;
  #levelTold = 0;
  #drawn = 0;

  /** @param {Call} call @param {Conversation} conversation */
  constructor(call, conversation) {
    this.#call = call;
    this.#conversation = conversation;
    call.reported.listen((report) => this.#hear(report));
    call.said.listen((message) => this.#take(message));
    call.changed.listen(() => this.#phaseChanged());
    this.#say();
    this.#draw(performance.now());
  }

  /** A new call begins. */
  clear() {
    this.#trace.clear();
  }

  // -- what comes in

  #phaseChanged() {
    this.#phaseSince = performance.now();
    if (this.#call.phase.name !== "live") this.#state = BEFORE;
    this.#owed = false;
    this.#say();
  }

  /** @param {FromServer} message */
  #take(message) {
    if (message.type === "state") this.#changeState(message);
    else if (message.type === "tool") this.#traceTool(message);
    this.#say();
  }

  /** @param {State} state */
  #changeState(state) {
    if (state.agent === "thinking" && this.#state.agent === "listening") this.#trace.owedSinceSound();
    if (state.agent === "thinking") this.#owed = true;
    if (state.agent === "listening" || state.user === "speaking") this.#owed = false;
    this.#state = state;
  }

  /** @param {import("../wire.js").Tool} tool */
  #traceTool({ status, call_id: id, name }) {
    if (status === "started" || status === "updated") this.#trace.toolBegan(id, name);
    else this.#trace.toolEnded(id);
  }

  /** @param {Report} report */
  #hear({ caller, agent }) {
    this.#level = Math.max(this.#level * 0.85, Math.sqrt(caller));
    this.#ring.feed(caller, agent);
    if (agent > AUDIBLE) this.#owed = false;
    if (this.#call.phase.name === "live") this.#trace.feed(caller, agent, this.#owed);
  }

  // -- in words

  /** @returns {Mood} */
  #mood() {
    const { agent, user } = this.#state;
    if (this.#call.phase.name !== "live") return "off";
    if (user === "speaking") return "hearing";
    if (agent === "speaking") return "speaking";
    if (this.#conversation.running.length > 0) return "tool";
    return agent === "thinking" || agent === "initializing" ? "thinking" : "listening";
  }

  #say() {
    const mood = this.#mood();
    if (mood !== this.#ring.mood) this.#moodSince = performance.now();
    this.#ring.mood = mood;
    document.documentElement.dataset.mood = mood;
    const { phase } = this.#call;
    const starting = phase.name === "live" && this.#state.agent === "initializing";
    put(some("state"), starting ? "Starting" : WORDS[mood] || PHASES[phase.name][0]);
    put(some("detail"), phase.name === "live" ? this.#liveDetail(mood) : this.#phaseDetail(phase));
  }

  /** @param {Mood} mood @returns {string} */
  #liveDetail(mood) {
    // A tool may run while the agent speaks or listens.
    const tools = this.#conversation.running.map((work) => work.name);
    if (tools.length > 0) return tools.join(", ");
    const waited = (performance.now() - this.#moodSince) / 1000;
    return mood === "thinking" && waited > UNREMARKABLE ? waited.toFixed(1) + " s" : "";
  }

  /** @param {Phase} phase @returns {string} */
  #phaseDetail(phase) {
    if (phase.name === "lost") return `Trying again in ${lasted(phase.delay)}`;
    if (phase.name === "ended") return [clock(phase.seconds), phase.ended.reason].filter(Boolean).join(", ");
    const lasting = (performance.now() - this.#phaseSince) / 1000;
    return phase.name === "connecting" && lasting > LONG_CONNECTING ? LOADING : PHASES[phase.name][1];
  }

  // -- in pictures

  /** @param {number} time milliseconds */
  #draw(time) {
    requestAnimationFrame((next) => this.#draw(next));
    if (time - this.#drawn < (this.#call.on ? PACE : IDLE_PACE)) return;
    this.#drawn = time;
    this.#ring.draw(time / 1000);
    this.#trace.draw(time / 1000);
    this.#drawLevel(this.#call.on ? Math.min(1, this.#level) : 0);
    if (!this.#call.on) return;
    this.#say();
    put(some("clock"), clock(this.#call.seconds));
  }

  /** @param {number} level */
  #drawLevel(level) {
    const lamp = /** @type {HTMLElement} */ (this.#meter.firstElementChild);
    lamp.style.transform = `scaleX(${level})`;
    const tenth = Math.round(level * 10) * 10;
    if (tenth === this.#levelTold || (calm.matches && Math.abs(tenth - this.#levelTold) <= 20)) return;
    this.#levelTold = tenth;
    this.#meter.setAttribute("aria-valuenow", String(tenth));
  }
}
