// The loudspeaker's queue: sound goes in as it arrives and comes out at the device's pace.
//
// Above: `worklet.js`, which calls it from the audio thread. It knows nothing of sockets or threads: samples in,
// samples out, and an honest count of those that sounded. An epoch is the time between two `clear`s; the count starts
// anew with each.

/** Seconds gathered before the first sample sounds, so that an uneven network is not heard. */
const PREBUFFER = 0.04;
/** Seconds of fading, so that no edge clicks. */
const FADE = 0.003;
/** Seconds that the queue can hold. */
const CAPACITY = 10;
/** Above this many seconds the queue plays faster, below the second one no more: clocks drift apart. */
const SLOW = 0.6;
const CAUGHT_UP = 0.3;
/** How much faster. Too little to be heard. */
const HASTE = 1.005;
/** Sound that comes this soon after the queue ran dry came too late. Seconds. */
const LATE = 0.25;

/** @enum {string} */
export const Mode = Object.freeze({
  EMPTY: "empty", // nothing queued
  FILLING: "filling", // gathers the first 40 ms
  PLAYING: "playing",
  PAUSED: "paused", // keeps what is queued
});

export class Playout {
  /** Counts clears. */
  epoch = 0;
  /** Samples that sounded in this epoch. */
  played = 0;
  /** How often sound came too late. */
  underruns = 0;
  /** Samples that did not fit. */
  overflow = 0;
  /** @type {string} */
  mode = Mode.EMPTY;

  #ring;
  #at = 0;
  #between = 0;
  #queued = 0;
  #waited = 0;
  #dry = Infinity;
  #gain = 1;
  #hurry = false;
  #last = 0;
  /** The end of what was cut off, fading. @type {Float32Array} */
  #tail = new Float32Array(0);

  /** @param {number} rate samples a second */
  constructor(rate) {
    this.rate = rate;
    this.fade = Math.round(FADE * rate);
    this.#ring = new Float32Array(CAPACITY * rate);
  }

  /** Samples waiting. */
  get queued() {
    return this.#queued;
  }

  /** @param {Int16Array} samples */
  append(samples) {
    const ring = this.#ring;
    const count = Math.min(samples.length, ring.length - this.#queued);
    this.overflow += samples.length - count;
    let to = (this.#at + this.#queued) % ring.length;
    for (let i = 0; i < count; i++) {
      ring[to] = samples[i] / 32768;
      if (++to === ring.length) to = 0;
    }
    this.#queued += count;
    if (this.mode === Mode.EMPTY && count > 0) {
      if (this.#dry < LATE * this.rate) this.underruns += 1;
      this.#waited = 0;
      this.mode = Mode.FILLING;
    }
  }

  /** Stop sounding, keep what is queued. */
  pause() {
    if (this.mode === Mode.PLAYING) {
      const faded = Math.min(this.fade, this.#queued);
      this.#fadeOut(faded);
      this.#skip(faded);
    }
    this.mode = Mode.PAUSED;
  }

  /** Go on where `pause` stopped. */
  resume() {
    if (this.mode !== Mode.PAUSED) return;
    this.#gain = 0;
    this.#dry = Infinity;
    this.mode = this.#queued > 0 ? Mode.PLAYING : Mode.EMPTY;
  }

  /** Throw away what is queued. @param {number} epoch the new one */
  clear(epoch) {
    if (this.mode === Mode.PLAYING) this.#fadeOut(Math.min(this.fade, this.#queued));
    this.epoch = epoch;
    this.played = 0;
    this.#queued = 0;
    this.#hurry = false;
    this.#dry = Infinity;
    this.mode = Mode.EMPTY;
  }

  /** Fill one quantum. @param {Float32Array} out */
  render(out) {
    out.fill(0);
    this.#renderTail(out);
    if (this.mode === Mode.EMPTY) this.#dry += out.length;
    if (this.mode === Mode.FILLING) {
      // A sound shorter than the prebuffer must not wait for ever.
      this.#waited += out.length;
      if (Math.max(this.#queued, this.#waited) < PREBUFFER * this.rate) return;
      this.#gain = 0;
      this.mode = Mode.PLAYING;
    }
    if (this.mode === Mode.PLAYING) this.#renderQueue(out);
  }

  /** @param {Float32Array} out */
  #renderQueue(out) {
    const ring = this.#ring;
    const step = 1 / this.fade;
    this.#hurry = this.#queued > (this.#hurry ? CAUGHT_UP : SLOW) * this.rate;
    const pace = this.#hurry ? HASTE : 1;
    for (let i = 0; i < out.length; i++) {
      if (this.#queued < 1) return this.#ranDry(out, i);
      const next = this.#at + 1 === ring.length ? 0 : this.#at + 1;
      const following = this.#queued > 1 ? ring[next] : ring[this.#at];
      this.#last = ring[this.#at] + (following - ring[this.#at]) * this.#between;
      this.#gain = Math.min(1, this.#gain + step);
      out[i] += this.#last * this.#gain;
      this.#between += pace;
      const whole = Math.floor(this.#between);
      this.#between -= whole;
      this.#skip(Math.min(whole, this.#queued));
    }
  }

  /** @param {Float32Array} out @param {number} from */
  #ranDry(out, from) {
    this.mode = Mode.EMPTY;
    this.#dry = out.length - from;
    this.#between = 0;
    this.#tail = Float32Array.from({ length: this.fade }, (_, i) => this.#last * (1 - (i + 1) / this.fade));
    this.#renderTail(out.subarray(from));
  }

  /** @param {number} count samples that sounded, and leave the queue */
  #skip(count) {
    this.#at = (this.#at + count) % this.#ring.length;
    this.#queued -= count;
    this.played += count;
  }

  /** @param {number} count */
  #fadeOut(count) {
    const { length } = this.#ring;
    this.#tail = Float32Array.from(
      { length: count },
      (_, i) => this.#ring[(this.#at + i) % length] * this.#gain * (1 - (i + 1) / count),
    );
  }

  /** @param {Float32Array} out */
  #renderTail(out) {
    const count = Math.min(out.length, this.#tail.length);
    for (let i = 0; i < count; i++) out[i] += this.#tail[i];
    this.#tail = this.#tail.subarray(count);
  }
}
