// The audio thread: the microphone goes out in frames of 20 ms, the loudspeaker's queue comes in.
//
// Above: `audio.js`, by messages alone. Input 0 is the microphone; input 1, if connected, a far voice that something
// else plays, whose level alone is wanted.

import { Mode, Playout } from "./playout.js";

/**
 * @typedef {{measure: boolean}} LineOptions
 * @typedef {{to: "append", samples: ArrayBuffer}
 *   | {to: "pause"} | {to: "resume"} | {to: "clear", epoch: number}
 *   | {to: "mute", muted: boolean}
 *   | {to: "send", wanted: boolean}
 *   | {to: "stop"}} Order
 * @typedef {object} Report every 20 ms
 * @property {ArrayBuffer | null} frame  the microphone, PCM16; null where it is not wanted
 * @property {number} caller  level, 0 to 1
 * @property {number} agent  level, 0 to 1
 * @property {boolean} sounding  the queue plays
 * @property {number} epoch
 * @property {number} played  samples of this epoch that sounded
 * @property {number} underruns
 * @property {Mark[]} marks
 * @typedef {{what: "caller begins" | "agent silent" | "pause" | "clear", at: number}} Mark `at` in seconds
 */

/** Seconds of a frame. */
const FRAME = 0.02;
/** Marks are about sound louder than this (-40 dBFS), after as much silence. */
const AUDIBLE = 0.01;
const SILENCE = 0.3;

/** Finds where sound begins and ends. */
class Edges {
  #quiet = SILENCE * sampleRate;
  #last = 0;

  /**
   * @param {Float32Array} samples one quantum
   * @param {(at: number) => void} begins
   * @param {(at: number) => void} ended told late, when the silence has lasted
   */
  follow(samples, begins, ended) {
    const enough = SILENCE * sampleRate;
    for (let i = 0; i < samples.length; i++) {
      if (Math.abs(samples[i]) > AUDIBLE) {
        if (this.#quiet >= enough) begins((currentFrame + i) / sampleRate);
        this.#quiet = 0;
        this.#last = currentFrame + i;
      } else if (++this.#quiet === enough) ended(this.#last / sampleRate);
    }
  }
}

class Line extends AudioWorkletProcessor {
  #playout = new Playout(sampleRate);
  #frame = new Int16Array(Math.round(FRAME * sampleRate));
  #at = 0;
  #caller = 0;
  #agent = 0;
  #muted = false;
  #sends = false;
  #running = true;
  #silence = new Float32Array(128);
  /** @type {Mark[]} */
  #marks = [];
  #callerEdges = new Edges();
  #agentEdges = new Edges();

  /** @param {{processorOptions: LineOptions}} options */
  constructor({ processorOptions }) {
    super();
    this.options = processorOptions;
    this.port.onmessage = ({ data }) => this.#obey(data);
  }

  /** @param {Order} order */
  #obey(order) {
    const playout = this.#playout;
    if (order.to === "append") playout.append(new Int16Array(order.samples));
    else if (order.to === "pause") playout.pause();
    else if (order.to === "resume") playout.resume();
    else if (order.to === "mute") this.#muted = order.muted;
    else if (order.to === "send") this.#sends = order.wanted;
    else if (order.to === "stop") this.#running = false;
    else if (order.to === "clear") {
      // The server learns where the caller stopped hearing, to the sample.
      if (playout.played > 0) this.#report(null);
      playout.clear(order.epoch);
    }
    if (this.options.measure && (order.to === "pause" || order.to === "clear")) {
      this.#marks.push({ what: order.to, at: currentFrame / sampleRate });
    }
  }

  /**
   * @param {Float32Array[][]} inputs
   * @param {Float32Array[][]} outputs
   */
  process(inputs, outputs) {
    const out = outputs[0][0];
    this.#playout.render(out);
    for (const other of outputs[0].slice(1)) other.set(out);
    // The line's clock goes on without a microphone: what it does not give is silence.
    const microphone = (!this.#muted && inputs[0][0]) || this.#silence;
    const far = inputs[1]?.[0] ?? out;
    if (this.options.measure) this.#measure(microphone, far);
    for (let i = 0; i < out.length; i++) {
      const sample = Math.max(-1, Math.min(1, microphone[i]));
      this.#caller = Math.max(this.#caller, Math.abs(sample));
      this.#agent = Math.max(this.#agent, Math.abs(far[i]));
      this.#frame[this.#at++] = sample * 32767;
      if (this.#at === this.#frame.length) this.#report(this.#nextFrame());
    }
    return this.#running;
  }

  #nextFrame() {
    const full = this.#frame;
    this.#at = 0;
    if (!this.#sends) return null;
    this.#frame = new Int16Array(full.length);
    return full.buffer;
  }

  /** @param {ArrayBuffer | null} frame */
  #report(frame) {
    const playout = this.#playout;
    /** @type {Report} */
    const report = {
      frame,
      caller: this.#caller,
      agent: this.#agent,
      sounding: playout.mode === Mode.PLAYING,
      epoch: playout.epoch,
      played: playout.played,
      underruns: playout.underruns,
      marks: this.#marks,
    };
    this.#caller = this.#agent = 0;
    this.#marks = [];
    this.port.postMessage(report, frame === null ? [] : [frame]);
  }

  /** @param {Float32Array} microphone @param {Float32Array} far */
  #measure(microphone, far) {
    /** @param {Mark["what"]} what @returns {(at: number) => void} */
    const mark = (what) => (at) => void this.#marks.push({ what, at });
    this.#callerEdges.follow(microphone, mark("caller begins"), () => {});
    this.#agentEdges.follow(far, () => {}, mark("agent silent"));
  }
}

registerProcessor("line", Line);
