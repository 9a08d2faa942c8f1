// Microphone and loudspeaker of one page.
//
// Above: `call.js`. Below: `worklet.js` on the audio thread. Nothing here waits for a timer, so that a page in a
// hidden tab talks on.

import { FaultError, insecure, microphoneFault, soundFault } from "./faults.js";
import { Signal } from "./signal.js";

/**
 * @typedef {import("./worklet.js").Report} Report
 * @typedef {import("./worklet.js").Order} Order
 * @typedef {import("./worklet.js").Mark | {what: "pause received" | "clear received", at: number}} Mark
 * @typedef {object} SoundOptions
 * @property {boolean} processing  let the browser cancel echo, suppress noise, control the gain
 * @property {boolean} measure
 */

/** @param {boolean} processing @returns {Promise<MediaStream>} */
async function openMicrophone(processing) {
  if (!navigator.mediaDevices) throw new FaultError(insecure());
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: {
        channelCount: 1,
        echoCancellation: processing,
        noiseSuppression: processing,
        autoGainControl: processing,
      },
    });
  } catch (error) {
    throw new FaultError(microphoneFault(error));
  }
}

export class Sound {
  /** A report of the audio thread, every 20 ms. @type {Signal<Report>} */
  reported = new Signal();
  /** The microphone was unplugged or taken away. @type {Signal<void>} */
  microphoneLost = new Signal();
  /** Whether the device plays. @type {Signal<boolean>} */
  running = new Signal();
  #node;
  /** @type {HTMLAudioElement | null} */
  #far = null;

  /**
   * @param {AudioContext} context
   * @param {MediaStream} microphone
   * @param {SoundOptions} options
   */
  constructor(context, microphone, options) {
    this.context = context;
    this.microphone = microphone;
    this.#node = new AudioWorkletNode(context, "line", {
      numberOfInputs: 2,
      numberOfOutputs: 1,
      outputChannelCount: [1],
      channelCount: 1,
      channelCountMode: "explicit",
      processorOptions: { measure: options.measure },
    });
    this.#node.port.onmessage = ({ data }) => this.#heard(data);
    context.createMediaStreamSource(microphone).connect(this.#node, 0, 0);
    this.#node.connect(context.destination);
    for (const track of microphone.getAudioTracks()) track.onended = () => this.microphoneLost.emit();
    context.onstatechange = () => this.running.emit(context.state === "running");
    if (options.measure) window.measured = [];
  }

  /**
   * Ask for the microphone and open the loudspeaker. Call it from a press of a button.
   * @param {SoundOptions} options
   * @returns {Promise<Sound>}
   * @throws {FaultError} with the remedy
   */
  static async open(options) {
    const microphone = await openMicrophone(options.processing);
    // The device's own rate: the server resamples better than most browsers do.
    const context = new AudioContext({ latencyHint: "interactive" });
    try {
      await context.audioWorklet.addModule(new URL("worklet.js", import.meta.url).href);
      await context.resume();
      return new Sound(context, microphone, options);
    } catch (error) {
      for (const track of microphone.getTracks()) track.stop();
      void context.close();
      throw new FaultError(soundFault(error));
    }
  }

  /** Samples a second, both ways. */
  get rate() {
    return this.context.sampleRate;
  }

  /** @param {ArrayBuffer} samples PCM16; the buffer is given away */
  play(samples) {
    // An odd byte cannot be half a sample: the server would have been at fault, and the call goes on.
    const whole = samples.byteLength % 2 ? samples.slice(0, -1) : samples;
    this.#order({ to: "append", samples: whole }, [whole]);
  }

  pause() {
    this.#note("pause received");
    this.#order({ to: "pause" });
  }

  resume() {
    this.#order({ to: "resume" });
  }

  /** @param {number} epoch */
  clear(epoch) {
    this.#note("clear received");
    this.#order({ to: "clear", epoch });
  }

  /** @param {boolean} muted silence goes out instead */
  mute(muted) {
    this.#order({ to: "mute", muted });
    for (const track of this.microphone.getAudioTracks()) track.enabled = !muted;
  }

  /** @param {boolean} wanted  the microphone goes out as frames; false where a media track carries it */
  send(wanted) {
    this.#order({ to: "send", wanted });
  }

  /** A voice that arrives as a media stream. @param {MediaStream} stream */
  playStream(stream) {
    // Chromium gives a remote stream to the audio graph only if an element plays it.
    this.#far = this.#far ?? new Audio();
    this.#far.srcObject = stream;
    void this.#far.play();
    this.context.createMediaStreamSource(stream).connect(this.#node, 0, 1);
  }

  /** After the system took the sound away. Call it from a press. */
  async wake() {
    await this.context.resume();
  }

  close() {
    this.#order({ to: "stop" });
    this.#node.port.onmessage = null;
    this.#node.disconnect();
    if (this.#far) this.#far.srcObject = null;
    for (const track of this.microphone.getTracks()) {
      track.onended = null;
      track.stop();
    }
    this.context.onstatechange = null;
    void this.context.close();
  }

  /** @param {Report} report */
  #heard(report) {
    if (window.measured) window.measured.push(...report.marks);
    this.reported.emit(report);
  }

  /** @param {Order} order @param {Transferable[]} [given] */
  #order(order, given = []) {
    this.#node.port.postMessage(order, given);
  }

  /** @param {"pause received" | "clear received"} what */
  #note(what) {
    if (window.measured) window.measured.push({ what, at: this.context.currentTime });
  }
}
