// What the agent is doing now: a word, a detail, the ring, the meter, the trace.

import { calm, clock, lasted, put, some, one } from "./dom.js";
import { Ring } from "./ring.js";
import { Trace } from "./trace.js";

/**
 * @typedef {import("../call.js").Call} Call
 * @typedef {import("../conversation.js").Conversation} Conversation
 * @typedef {import("./ring.js").Mood} Mood
 * @typedef {import("../wire.js").State} State
 */

/** Silences shorter than this need no clock. Seconds. */
const UNREMARKABLE = 0.3;
/** A call that takes longer to come about waits for the server's models. Seconds. */
const LONG_CONNECTING = 1;
/** Level from which the agent is heard. */
const AUDIBLE = 0.005;
const LOADING = "The first call waits until the models are loaded";

/** @type {Record<string, [string, string]>} word and detail of phases that are not live */
const PHASES = {
  idle: ["Ready", "Press Call, and talk"],
  asking: ["Microphone?", "Allow it in the browser's question"],
  connecting: ["Connecting", ""],
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

/** @type {Record<string, string>} */
const REASONS = {
  error: "broken off by an error",
  job_shutdown: "ended by the agent",
  participant_disconnected: "you hung up",
  user_initiated: "ended by the agent",
  task_completed: "the agent had finished",
};

/** @param {import("../call.js").Phase} phase @returns {string} */
function detail(phase) {
  if (phase.name === "lost") return `Trying again in ${lasted(phase.delay)}`;
  if (phase.name !== "ended") return PHASES[phase.name]?.[1] ?? "";
  const { reason } = phase.ended;
  return [clock(phase.seconds), REASONS[reason] ?? reason].filter(Boolean).join(", ");
}

/** @param {Call} call @param {Conversation} conversation */
export function showStage(call, conversation) {
  const ring = new Ring(one("ring", HTMLCanvasElement));
  const trace = new Trace(/** @type {HTMLCanvasElement} */ (some("trace").querySelector("canvas")));
  const meter = some("meter");
  const lamp = /** @type {HTMLElement} */ (meter.querySelector("i"));
  /** @type {State} */
  let state = { type: "state", agent: "initializing", user: "listening" };
  let since = performance.now();
  let entered = since;
  let level = 0;
  let told = -1;

  /** @returns {Mood} */
  const mood = () => {
    if (call.phase.name !== "live") return "off";
    if (state.user === "speaking") return "hearing";
    if (state.agent === "speaking") return "speaking";
    if (conversation.running.length > 0) return "tool";
    return state.agent === "thinking" || state.agent === "initializing" ? "thinking" : "listening";
  };
  /** An answer is due: from the end of the caller's turn until the agent is heard. */
  let owed = false;

  const word = () => {
    const now = mood();
    if (now !== ring.mood) since = performance.now();
    ring.mood = now;
    document.documentElement.dataset.mood = now;
    const tools = conversation.running;
    const { phase } = call;
    if (phase.name !== "live") {
      const lasting = (performance.now() - entered) / 1000;
      put(some("state"), PHASES[phase.name][0]);
      put(some("detail"), phase.name === "connecting" && lasting > LONG_CONNECTING ? LOADING : detail(phase));
    } else {
      put(some("state"), state.agent === "initializing" ? "Starting" : WORDS[now]);
      const waited = (performance.now() - since) / 1000;
      // A tool may run while the agent speaks or listens.
      if (tools.length > 0) put(some("detail"), tools.map((work) => work.name).join(", "));
      else put(some("detail"), now === "thinking" && waited > UNREMARKABLE ? waited.toFixed(1) + " s" : "");
    }
  };

  call.reported.listen((report) => {
    level = Math.max(level * 0.85, Math.sqrt(report.caller));
    ring.feed(report.caller, report.agent);
    if (report.agent > AUDIBLE) owed = false;
    if (call.phase.name === "live") trace.feed(report.caller, report.agent, owed);
  });
  call.said.listen((message) => {
    if (message.type === "state") {
      if (message.agent === "thinking" && state.agent === "listening") trace.owedSinceSound();
      if (message.agent === "thinking") owed = true;
      if (message.agent === "listening" || message.user === "speaking") owed = false;
      state = message;
    }
    if (message.type === "tool") {
      if (message.status === "started" || message.status === "updated") trace.toolBegan(message.call_id, message.name);
      else trace.toolEnded(message.call_id);
    }
    word();
  });
  call.changed.listen((phase) => {
    entered = performance.now();
    if (phase.name !== "live") state = { type: "state", agent: "initializing", user: "listening" };
    word();
    if (phase.name === "idle" || phase.name === "ended") {
      level = 0;
      meter.setAttribute("aria-valuenow", "0");
    }
  });

  let drawn = 0;
  /** @param {number} time milliseconds */
  const draw = (time) => {
    requestAnimationFrame(draw);
    // A page that nobody talks through must not keep a machine busy.
    if (!call.on && time - drawn < 250) return;
    drawn = time;
    ring.draw(time / 1000);
    trace.draw(time / 1000);
    lamp.style.transform = `scaleX(${call.on ? Math.min(1, level) : 0})`;
    if (!call.on) return;
    word();
    put(some("clock"), clock(call.seconds));
    const tenth = Math.round(level * 10) * 10;
    if (tenth !== told && (!calm.matches || Math.abs(tenth - told) > 20)) {
      told = tenth;
      meter.setAttribute("aria-valuenow", String(Math.min(100, tenth)));
    }
  };
  requestAnimationFrame(draw);
  word();
  return { clear: () => trace.clear() };
}
