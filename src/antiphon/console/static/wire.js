// The wire between page and server: what is said on it, and the sockets that carry it.
//
// Above: `call.js`, which knows what the messages mean. One socket carries one call: JSON for what happens, binary
// frames for sound (PCM16, little endian, mono). A second socket, open as long as the page is, tells of the agent file.

/**
 * @typedef {"websocket" | "webrtc"} Transport
 * @typedef {"initializing" | "idle" | "listening" | "thinking" | "speaking"} AgentState
 * @typedef {"listening" | "speaking" | "away"} UserState
 * @typedef {"started" | "updated" | "done" | "error" | "cancelled" | "dropped" | "adopted"
 *   | "unknown" | "asking" | "declined"} ToolStatus
 *
 * @typedef {{type: "start", rate: number, audio: boolean, transport: Transport, push_to_talk: boolean,
 *   resume: string | null}} Start
 * @typedef {Start
 *   | {type: "text", text: string}
 *   | {type: "push", down: boolean}
 *   | {type: "played", epoch: number, samples: number}
 *   | {type: "dtmf", digit: string}
 *   | {type: "consent", call_id: string, yes: boolean}
 *   | {type: "inspect"}
 *   | {type: "hang_up"}} FromPage
 *
 * @typedef {{type: "ready", call: string, rate: number, agent: string, models: string, transport: Transport}} Ready
 * @typedef {{type: "state", agent: AgentState, user: UserState}} State
 * @typedef {{type: "heard", text: string, final: boolean}} Heard
 * @typedef {{type: "said", segment: string, text: string, final: boolean}} Said
 * @typedef {{type: "message", id: string, role: "user" | "assistant", text: string, interrupted: boolean,
 *   unheard?: string, agent?: string}} Message
 * @typedef {{type: "aside", segment: string, text: string, agent: string}} Aside
 * @typedef {{type: "consent", call_id: string, name: string, arguments: Record<string, unknown>, asked: string,
 *   times: number, decision: string, heard: string, by: string}} Consent
 * @typedef {{type: "claim", sentence: string, done: string}} Claim
 * @typedef {{type: "handoff", agent: string}} Handoff
 * @typedef {{type: "tool", call_id: string, name: string, arguments: Record<string, unknown>, status: ToolStatus,
 *   text: string | null, seconds: number | null, guarantee?: string | null}} Tool
 * @typedef {{name: string, description: string, effect: string, guarantee: string | null, is_read_back: boolean,
 *   is_approved: boolean}} OfferedTool
 * @typedef {{agent: string, language: string, models: Record<string, string>, tools: OfferedTool[],
 *   phrases: string[], studio?: boolean}} About  what the page tells of the agent before a call
 * @typedef {{type: "inspection", agent: string, instructions: string, tools: OfferedTool[],
 *   history: Record<string, any>[],
 *   request: {agent: string, items: Record<string, any>[], tools: string[]} | null}} Inspection
 * @typedef {{type: "error", message: string, fatal: boolean}} Failure
 * @typedef {{type: "ended", reason: string, report: string | null, recording: string | null}} Ended
 * @typedef {{type: "agent_file", state: "loaded" | "broken", message: string}} AgentFile
 * @typedef {{type: "beat"}} Beat  it is there, and has nothing else to say
 * @typedef {{type: "pause"} | {type: "resume"} | {type: "clear", epoch: number}} Playing
 * @typedef {import("./metrics.js").Turn} Turn
 * @typedef {Ready | State | Heard | Said | Message | Aside | Handoff | Consent | Claim | Tool | Turn | Inspection
 *   | Failure | Ended | AgentFile | Beat | Playing} FromServer
 */

/** Seconds of microphone that may wait to be sent. What comes after is left out: late words are worse than lost ones. */
const MOST_UNSENT = 1;

/** @param {string} path of the server @returns {string} where it is, and with this page's token, if it has one */
export function withToken(path) {
  // The page may be a part of another application, and not at its root.
  const token = new URLSearchParams(location.search).get("token");
  const { pathname, search } = new URL("." + path, location.href);
  path = pathname + search;
  if (token === null) return path;
  return path + (path.includes("?") ? "&" : "?") + "token=" + encodeURIComponent(token);
}

/** @param {string} path @returns {string} */
function socketUrl(path) {
  const url = new URL(withToken(path), location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** @param {unknown} data @returns {FromServer | null} null for what is not for us, as WebRTC's answer */
function parsed(data) {
  if (typeof data !== "string") return null;
  const message = JSON.parse(data);
  return typeof message?.type === "string" ? message : null;
}

/**
 * Why the server refused a socket, which a browser does not tell: it is asked again without one.
 * @param {string} path of the socket @returns {Promise<{code: number, reason: string}>} 1006 where nobody answers
 */
async function whyRefused(path) {
  try {
    const answer = await fetch(withToken(path), { cache: "no-store" });
    if (!answer.ok) return { code: 4000 + answer.status, reason: await answer.text() };
  } catch {
    // The server is not there.
  }
  return { code: 1006, reason: "" };
}

/**
 * @typedef {object} Ears
 * @property {() => void} opened
 * @property {(message: FromServer) => void} message
 * @property {(samples: ArrayBuffer) => void} sound
 * @property {(code: number, reason: string) => void} closed  once, and nothing after it
 */

/** The socket of one call. */
export class CallSocket {
  #rate = 48000;
  /** Frames of the microphone that were left out, because the network did not take them. */
  dropped = 0;

  /** @param {Ears} ears */
  constructor(ears) {
    this.raw = new WebSocket(socketUrl("/call"));
    this.raw.binaryType = "arraybuffer";
    let open = false;
    this.raw.onopen = () => {
      open = true;
      ears.opened();
    };
    this.raw.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) return ears.sound(data);
      const message = parsed(data);
      if (message) ears.message(message);
    };
    this.raw.onclose = async (event) => {
      const { code, reason } = open ? event : await whyRefused("/call");
      if (this.raw.onclose) ears.closed(code, reason);
    };
  }

  /** @param {FromPage} message dropped when the socket is not open */
  send(message) {
    if (message.type === "start") this.#rate = message.rate;
    if (this.raw.readyState === WebSocket.OPEN) this.raw.send(JSON.stringify(message));
  }

  /** @param {ArrayBuffer} frame 20 ms of the microphone */
  sendSound(frame) {
    if (this.raw.readyState !== WebSocket.OPEN) return;
    if (this.raw.bufferedAmount > MOST_UNSENT * this.#rate * 2) this.dropped += 1;
    else this.raw.send(frame);
  }

  /** Close, and hear no more of it. */
  close() {
    this.raw.onopen = this.raw.onmessage = this.raw.onclose = null;
    this.raw.close();
  }
}

/** What can be told of the agent before a call. @returns {Promise<import("./wire.js").About | null>} */
export async function about() {
  try {
    const answer = await fetch(withToken("/about"), { cache: "no-store" });
    return answer.status === 200 ? await answer.json() : null;
  } catch {
    return null;
  }
}

/** Seconds before the n-th try. @param {number} attempt counted from 1 @returns {number} */
export const backOff = (attempt) => Math.min(0.5 * 2 ** (attempt - 1), 10);

/**
 * Learn of the agent file and of the server for as long as the page is open.
 * @param {(news: AgentFile) => void} onNews
 * @param {(there: boolean) => void} onServer whether the server can be reached
 */
export function watch(onNews, onServer) {
  let attempt = 0;
  const connect = () => {
    const socket = new WebSocket(socketUrl("/watch"));
    let open = false;
    socket.onopen = () => {
      open = true;
      attempt = 0;
      onServer(true);
    };
    socket.onmessage = ({ data }) => {
      const news = parsed(data);
      if (news?.type === "agent_file") onNews(news);
    };
    socket.onclose = async (event) => {
      onServer(false);
      const { code } = open ? event : await whyRefused("/watch");
      // Refused for good: the page lacks its token, or is not the server's own.
      if (code === 4401 || code === 4403) return;
      attempt += 1;
      setTimeout(connect, backOff(attempt) * 1000);
    };
  };
  connect();
}
