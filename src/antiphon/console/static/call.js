// One call, from the press of the button to the summary: which phase it is in, and what moves it on.
//
//   idle ─ start ─> asking ─ microphone ─> connecting ─ ready ─> live ─ hang up ─> ending ─ ended ─> ended
//                                              ^  ^                │ server gone          │
//                                              │  └──── back-off ─ lost <─────────────────┘ (only from live)
//                                              └─ file mended ─ waiting <─ file broken ─ connecting (again)
//
// Above: the views, which listen. Below: `wire.js` and `audio.js`. A call that comes back (after the server was gone,
// or the agent file changed) keeps its microphone and asks the server to go on where the earlier one stopped.

import { Sound } from "./audio.js";
import { FaultError, microphoneGone, refusal, silenced } from "./faults.js";
import { chooseTransport } from "./place.js";
import { Signal } from "./signal.js";
import { CallSocket, backOff } from "./wire.js";

/**
 * @typedef {import("./faults.js").Fault} Fault
 * @typedef {import("./wire.js").FromServer} FromServer
 * @typedef {import("./wire.js").Ready} Ready
 * @typedef {import("./wire.js").Ended} Ended
 * @typedef {import("./wire.js").Transport} Transport
 *
 * @typedef {{name: "idle"}
 *   | {name: "asking"}
 *   | {name: "connecting"}
 *   | {name: "live", ready: Ready}
 *   | {name: "ending"}
 *   | {name: "lost", attempt: number, delay: number}
 *   | {name: "waiting"}
 *   | {name: "ended", ended: Ended, seconds: number}} Phase
 *
 * @typedef {{voice: boolean, pushToTalk: boolean}} Manner how a call is held
 * @typedef {{call: string, manner: Manner, seconds: number}} Left a call that its page went away from
 */

/** Seconds that a server may take to be reached, to begin a call (the first one loads the models), to end one. */
const REACHED = 10;
const BEGUN = 60;
const ENDED = 20;
/** Seconds between two looks whether the server still says something, and how many may find that it did not. */
const LOOK = 0.5;
const MOST_SILENT = 4;
/** The code of a call that is refused until the agent file is mended. */
const FILE_BROKEN = 4503;

export class Call {
  /** @type {Phase} */
  phase = { name: "idle" };
  /** @type {Signal<Phase>} */
  changed = new Signal();
  /** What the server says while the call is on. @type {Signal<FromServer>} */
  said = new Signal();
  /** What the audio thread reports. @type {Signal<import("./worklet.js").Report>} */
  reported = new Signal();
  /** @type {Signal<Fault>} */
  failed = new Signal();
  /** The call went on in another one: the agent file was reloaded, or the server was back. @type {Signal<string>} */
  cameBack = new Signal();
  /** @type {Manner} */
  manner = { voice: true, pushToTalk: false };
  muted = false;
  /** The push-to-talk key. */
  pushed = false;
  /** How often sound came too late, in the whole call. */
  underruns = 0;

  /** @type {Sound | null} */
  #sound = null;
  /** @type {CallSocket | null} */
  #socket = null;
  /** @type {{close(): void} | null} */
  #peer = null;
  /** @type {Transport} */
  #transport = "websocket";
  /** @type {string | null} the call to go on with */
  #resume = null;
  /** Why it comes back. */
  #because = "";
  /** What the server said at the end. @type {Ended | null} */
  #ended = null;
  /** The agent file changed: that is what ends this call. */
  #reloaded = false;
  #began = 0;
  /** Counts beginnings and ends: what was awaited for an earlier one is of no concern. */
  #turn = 0;
  #attempt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #reported = { epoch: 0, samples: 0 };
  /** The server tells again and again that it is there. */
  #beats = false;
  /** Looks since it said anything. */
  #silent = 0;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #looking;

  /** Seconds since the call began. */
  get seconds() {
    return this.#began === 0 ? 0 : (performance.now() - this.#began) / 1000;
  }

  /** Whether there is something to hang up. */
  get on() {
    return !["idle", "ended", "ending"].includes(this.phase.name);
  }

  /**
   * Call. From a press of a button: browsers give microphone and sound to nothing less, but to a page that had them.
   * @param {Manner} manner
   * @param {Left | null} [left] the call that this page was in when it was loaded anew
   */
  async start(manner, left = null) {
    if (this.on || this.phase.name === "ending") return;
    this.manner = manner;
    this.muted = this.pushed = false;
    this.underruns = this.#attempt = this.#began = 0;
    this.#resume = null;
    if (left) {
      this.#resume = left.call;
      this.#because = "The page was loaded anew";
      this.#began = performance.now() - 1000 * left.seconds;
    }
    this.#transport = chooseTransport(location);
    const turn = ++this.#turn;
    if (manner.voice) {
      this.#enter({ name: "asking" });
      try {
        const sound = await openSound();
        if (turn !== this.#turn) return sound.close();
        this.#listen(sound);
      } catch (error) {
        if (turn !== this.#turn) return;
        if (!(error instanceof FaultError)) throw error;
        this.#finish({ name: "idle" });
        return this.failed.emit(error.fault);
      }
    }
    this.#connect();
  }

  hangUp() {
    if (!this.on) return;
    if (this.phase.name !== "live") return this.#conclude("cancelled");
    this.#sound?.close();
    this.#sound = null;
    this.#enter({ name: "ending" });
    this.#socket?.send({ type: "hang_up" });
    this.#after(ENDED, () => this.#conclude("no answer from the server"));
  }

  /** What is left behind when the page goes in the middle of a call. @returns {Left | null} */
  get left() {
    if (!this.on || this.#resume === null) return null;
    return { call: this.#resume, manner: this.manner, seconds: this.seconds };
  }

  /** Answer what is read back before a call. @param {string} id of the call @param {boolean} yes */
  answer(id, yes) {
    this.#socket?.send({ type: "consent", call_id: id, yes });
  }

  /** Ask what the agent knows. */
  inspect() {
    this.#socket?.send({ type: "inspect" });
  }

  /** Try now what would be tried later. */
  retry() {
    if (this.phase.name === "lost") this.#connect();
  }

  /** @param {string} text a typed turn */
  type(text) {
    this.#socket?.send({ type: "text", text });
  }

  /** @param {string} digit of a telephone */
  press(digit) {
    this.#socket?.send({ type: "dtmf", digit });
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.muted = muted;
    this.#open();
    this.changed.emit(this.phase);
  }

  /** @param {boolean} down the push-to-talk key */
  push(down) {
    if (this.phase.name !== "live" || !this.manner.pushToTalk || this.pushed === down) return;
    this.pushed = down;
    this.#open();
    this.#socket?.send({ type: "push", down });
    this.changed.emit(this.phase);
  }

  /** Give the sound back that the system took away. */
  async wake() {
    await this.#sound?.wake();
  }

  /** The agent file was mended. */
  fileMended() {
    if (this.phase.name === "waiting") this.#connect();
  }

  // -- the sound

  /** @param {Sound} sound */
  #listen(sound) {
    this.#sound = sound;
    sound.reported.listen((report) => this.#report(report));
    sound.microphoneLost.listen(() => this.failed.emit(microphoneGone()));
    sound.running.listen((running) => {
      if (!running) this.failed.emit(silenced());
    });
    this.#open();
  }

  /** Let the microphone through, or not. */
  #open() {
    this.#sound?.mute(this.muted || (this.manner.pushToTalk && !this.pushed));
  }

  /** @param {import("./worklet.js").Report} report */
  #report(report) {
    this.underruns = report.underruns;
    this.reported.emit(report);
    if (this.phase.name !== "live") return;
    if (report.frame) this.#socket?.sendSound(report.frame);
    const { epoch, samples } = this.#reported;
    if (report.played === samples && report.epoch === epoch) return;
    this.#reported = { epoch: report.epoch, samples: report.played };
    this.#socket?.send({ type: "played", epoch: report.epoch, samples: report.played });
  }

  // -- the connection

  #connect() {
    clearTimeout(this.#timer);
    this.#ended = null;
    this.#reloaded = false;
    this.#enter({ name: "connecting" });
    // Nothing of an earlier connection may sound, nor count: epochs begin anew with each.
    this.#sound?.clear(0);
    this.#reported = { epoch: 0, samples: 0 };
    this.#sound?.send(this.#transport === "websocket");
    const socket = new CallSocket({
      opened: () => this.#opened(),
      message: (message) => this.#obey(message),
      sound: (samples) => {
        this.#silent = 0;
        this.#sound?.play(samples);
      },
      closed: (code, reason) => this.#closed(code, reason),
    });
    this.#socket = socket;
    this.#beats = false;
    this.#silent = 0;
    this.#looking = setInterval(() => this.#look(), LOOK * 1000);
    this.#after(REACHED, () => this.#closed(1006, ""));
  }

  #opened() {
    this.#after(BEGUN, () => this.#closed(1006, ""));
    this.#socket?.send({
      type: "start",
      rate: this.#sound?.rate ?? 48000,
      audio: this.#sound !== null,
      transport: this.#sound === null ? "websocket" : this.#transport,
      push_to_talk: this.manner.pushToTalk && this.manner.voice,
      resume: this.#resume,
    });
    if (this.#sound !== null && this.#transport === "webrtc") void this.#openPeer(this.#sound);
  }

  /** @param {Sound} sound */
  async #openPeer(sound) {
    const socket = this.#socket;
    if (!socket) return;
    try {
      const { connect } = await import("./webrtc.js");
      const peer = await connect({
        socket: socket.raw,
        microphone: sound.microphone,
        audioContext: sound.context,
        onRemoteStream: (/** @type {MediaStream} */ stream) => sound.playStream(stream),
      });
      if (this.#socket === socket) this.#peer = peer;
      else peer.close();
    } catch (error) {
      if (this.#socket !== socket) return;
      // The page is no worse off than near the server: a WebSocket goes through wherever the page came through.
      console.warn("WebRTC did not come about; the sound goes by WebSocket.", error);
      this.#transport = "websocket";
      this.#drop();
      this.#connect();
    }
  }

  /** A server that stands still, or is cut off, closes nothing: another one may go on with the call. */
  #look() {
    if (!this.#beats || this.phase.name !== "live") return;
    this.#silent += 1;
    if (this.#silent > MOST_SILENT) this.#closed(1006, "");
  }

  /** @param {FromServer} message */
  #obey(message) {
    this.#silent = 0;
    if (message.type === "beat") {
      this.#beats = true;
      return;
    }
    if (message.type === "ready") this.#ready(message);
    else if (message.type === "pause") this.#sound?.pause();
    else if (message.type === "resume") this.#sound?.resume();
    else if (message.type === "clear") this.#sound?.clear(message.epoch);
    else if (message.type === "ended") this.#end(message);
    else if (message.type === "agent_file") this.#reloaded = message.state === "loaded";
    this.said.emit(message);
  }

  /** @param {Ready} ready */
  #ready(ready) {
    clearTimeout(this.#timer);
    this.#attempt = 0;
    if (this.#began === 0) this.#began = performance.now();
    if (this.#resume !== null) this.cameBack.emit(this.#because);
    this.#resume = ready.call;
    this.#enter({ name: "live", ready });
  }

  /** @param {Ended} ended */
  #end(ended) {
    this.#ended = ended;
    this.#closed(1000, ended.reason);
  }

  /** @param {number} code @param {string} reason */
  #closed(code, reason) {
    const { name } = this.phase;
    this.#drop();
    if (name === "ending") return this.#conclude(reason);
    if (this.#resume !== null) {
      this.#because = this.#reloaded || code === FILE_BROKEN ? "Agent file reloaded" : "The server is back";
      if (this.#reloaded) return this.#connect();
      if (code === FILE_BROKEN) return this.#enter({ name: "waiting" });
    }
    const fault = refusal(code, reason);
    if (fault) {
      this.#conclude(reason);
      return this.failed.emit(fault);
    }
    if (this.#ended || code === 1000) return this.#conclude(reason);
    this.#attempt += 1;
    const delay = backOff(this.#attempt);
    this.#enter({ name: "lost", attempt: this.#attempt, delay });
    this.#after(delay, () => this.#connect());
  }

  /** @param {string} reason */
  #conclude(reason) {
    const ended = this.#ended ?? { type: "ended", reason, report: null, recording: null };
    this.#finish(this.#began === 0 ? { name: "idle" } : { name: "ended", ended, seconds: this.seconds });
  }

  /** @param {Phase} phase */
  #finish(phase) {
    this.#turn += 1;
    this.#drop();
    this.#sound?.close();
    this.#sound = null;
    this.#enter(phase);
  }

  /** Let go of the connection. */
  #drop() {
    clearTimeout(this.#timer);
    clearInterval(this.#looking);
    this.#peer?.close();
    this.#peer = null;
    this.#socket?.close();
    this.#socket = null;
    this.pushed = false;
  }

  /** @param {Phase} phase */
  #enter(phase) {
    this.phase = phase;
    this.changed.emit(phase);
  }

  /** @param {number} seconds @param {() => void} act */
  #after(seconds, act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, seconds * 1000);
  }
}

/** @returns {Promise<Sound>} */
function openSound() {
  const wishes = new URLSearchParams(location.search);
  return Sound.open({ processing: wishes.get("processing") !== "off", measure: wishes.has("measure") });
}
