// What the story of a call is made of, as the server and the report have it: times are seconds since the call began.

/**
 * @typedef {{role: "user" | "assistant", text: string, started: number, ended: number, interrupted: boolean,
 *   overtaken: boolean, unheard: string, aside: boolean, agent: string, latency_ms: number | null}} Turn
 * @typedef {{asked: string, times: number, decision: string, heard: string, by: string}} Consent
 * @typedef {{call_id: string, name: string, arguments: Record<string, unknown>, output: string, is_error: boolean,
 *   status: string, started: number, ended: number | null, consent: Consent | null, guarantee: string | null}} Tool
 * @typedef {{kind: string, name: string, started: number, ended: number}} Stage
 * @typedef {{started: number, ended: number}} Stretch
 * @typedef {{turn: number, origin: string, waiting_since: number, first_audio: number | null,
 *   first_answer: number | null, ended: number, decided: number | null, interrupted_at: number | null,
 *   response_delay: number | null, dead_air: number, sound: Stretch[], silences: Stretch[], stages: Stage[],
 *   path: Stage[]}} Reply
 * @typedef {{rate: number, caller: number[], agent: number[]}} Peaks
 * @typedef {{start: number, end: number}} Span
 * @typedef {{finding: string, kind: string, at: number, text: string, remedy: string}} Finding
 * @typedef {{call_id: string, state: string, attempt: number, told: boolean, number: number}} Row  of the ledger
 * @typedef {{at: number, agent: string}} Handoff
 * @typedef {{kind: string, text?: string, name?: string, arguments?: string, description?: string,
 *   parameters?: any, is_error?: boolean, interrupted?: boolean, is_new?: boolean, images?: string[]}} Part  of a request
 * @typedef {{number: number, agent: string, model: string, asked: number, first_token: number | null,
 *   done: number | null, outcome: string, prompt_tokens: number | null, completion_tokens: number | null,
 *   calls: number, characters: number, recorded: boolean, gained: Part[],
 *   left_out: number, tools_gained: string[], tools_left: string[], is_first: boolean}} Step
 * @typedef {{agent: string, model: string, items: Part[], tools: Part[], settings: Record<string, unknown>,
 *   outcome: string, text: string, calls: {name: string, arguments: string}[], error: string}} Request
 *   what a model was asked, and what it answered
 *
 * @typedef {object} Call
 * @property {string} title
 * @property {string} when
 * @property {string} models
 * @property {number} duration
 * @property {boolean} [voice]  it had one
 * @property {Turn[]} turns
 * @property {Tool[]} tools
 * @property {Reply[]} replies
 * @property {Record<string, any>} metrics
 * @property {any} userdata
 * @property {string[]} errors
 * @property {{at: number, sentence: string, done: string}[]} claims
 * @property {Finding[]} [findings]
 * @property {{text: string, heard_at: string | null, begun: number}[]} [must_hear]
 * @property {{at: number, who: string, sign: string}[]} [answered]
 * @property {{at: number, text: string, whole: boolean, after_tone: boolean} | null} [message_left]
 * @property {string | null} audio  where the recording is
 * @property {string} [silent]  why there is none
 * @property {Peaks | null} peaks
 * @property {Span[]} [callerSpans]
 * @property {Span[]} [agentSpans]
 * @property {{at: number}[]} cuts
 * @property {Row[]} [ledger]
 * @property {Handoff[]} [handoffs]
 * @property {Step[]} [steps]
 * @property {string[]} [missing]
 * @property {any[]} [unheard]
 * @property {Record<string, any>} [usage]
 * @property {Record<string, any>} [cost]
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element in another one. Text only ever enters the page as text.
 * @param {Element} parent @param {string} tag @param {Record<string, string | number>} [attributes]
 * @param {string} [text] @returns {any}
 */
export function add(parent, tag, attributes = {}, text) {
  const svg = parent.namespaceURI === SVG || tag === "svg";
  const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

/** @param {number} s @returns {string} 1:05, 2:01:05 */
export function minutes(s) {
  const rest = String(Math.floor(s % 60)).padStart(2, "0");
  if (s < 3600) return Math.floor(s / 60) + ":" + rest;
  return Math.floor(s / 3600) + ":" + String(Math.floor((s % 3600) / 60)).padStart(2, "0") + ":" + rest;
}

/** @param {number} s @returns {string} 0:03.1 */
export const exact = (s) => minutes(s) + "." + Math.floor((s * 10) % 10);

/** @param {number} s @returns {string} 640 ms, 1.25 s */
export const took = (s) => (s < 0.9995 ? Math.round(s * 1000) + " ms" : s.toFixed(s < 9.995 ? 2 : 1) + " s");

/** @param {string} kind @returns {string} of a stage */
export const colourOf = (kind) => `var(--${kind === "line" ? "line-wait" : kind})`;

/** @param {Tool} tool @returns {boolean} */
export const isBad = (tool) => ["error", "unknown", "cancelled"].includes(tool.status);

/** @param {Call} call @returns {boolean} somebody was heard in it */
export const isVoice = (call) => call.peaks !== null || Boolean(call.voice);

/** The reply that a caller waited for, and how long: the one figure of it. @param {Call} call @returns {Reply[]} */
export const answered = (call) => call.replies.filter((reply) => typeof reply.response_delay === "number");

/** Where the agent was cut. A loudspeaker is emptied for other reasons, too. @param {Call} call @returns {{at: number}[]} */
export function cutsOf(call) {
  if (!call.replies.length) return call.cuts;
  return call.replies.flatMap((r) => (r.interrupted_at !== null && r.sound.length ? [{ at: r.interrupted_at }] : []));
}

/** Press, or Enter: both do it. @param {Element} node @param {(event: Event) => void} act */
export function onPress(node, act) {
  node.addEventListener("click", act);
  node.addEventListener("keydown", (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    if (key !== "Enter" && key !== " ") return;
    event.preventDefault();
    act(event);
  });
}

/**
 * The first of many, and a button for the others: two thousand lines are not wanted at once.
 * @template T @param {T[]} all @param {number} most @param {Element} into where the button is, behind the list
 * @param {(one: T, i: number) => void} show
 */
export function some(all, most, into, show) {
  let shown = 0;
  /** @param {number} until */
  const more = (until) => {
    for (; shown < Math.min(until, all.length); shown++) show(all[shown], shown);
  };
  more(most);
  if (shown === all.length) return;
  const rest = add(into, "button", { class: "more", type: "button" }, `Show all ${all.length.toLocaleString("en")}`);
  rest.addEventListener("click", () => {
    rest.remove();
    more(all.length);
  });
}

/**
 * Calls that run at the same time get rows of their own; a label needs room, too.
 * @param {{started: number, ended: number | null}[]} all @param {number} label seconds that it takes
 * @param {number} end of the call
 */
export function lanesOf(all, label, end) {
  /** @type {number[]} */
  const free = [];
  const of = all.map((one) => {
    let lane = free.findIndex((until) => until <= one.started);
    if (lane < 0) lane = free.length;
    free[lane] = (one.ended ?? end) + label;
    return lane;
  });
  return { of, count: free.length };
}
