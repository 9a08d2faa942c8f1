// The ring around the call button: what the line sounds like, and what the agent is doing.
//
// The caller's level grows outwards, the agent's too, each in its colour; thinking runs round. Under reduced motion
// the ring only changes its colour and fills with the level.

import { calm, colour } from "./dom.js";

/** @typedef {"off" | "listening" | "hearing" | "thinking" | "tool" | "speaking"} Mood */

const BARS = 72;
/** How fast a bar falls. Share a frame. */
const FALL = 0.14;

/** @type {Record<Mood, string>} */
const COLOURS = {
  off: "--line",
  listening: "--soft",
  hearing: "--caller",
  thinking: "--model",
  tool: "--tool",
  speaking: "--agent",
};

export class Ring {
  /** @type {Mood} */
  mood = "off";
  #levels = new Float32Array(BARS);
  #level = 0;
  #phase = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  }

  /** @param {number} caller @param {number} agent levels, 0 to 1 */
  feed(caller, agent) {
    const level = this.mood === "speaking" ? agent : this.mood === "hearing" || this.mood === "listening" ? caller : 0;
    this.#level = Math.max(this.#level * 0.85, Math.min(1, 1.3 * Math.sqrt(level)));
  }

  /** @param {number} now seconds */
  draw(now) {
    const { canvas, pen } = this;
    const side = canvas.clientWidth;
    const scale = devicePixelRatio;
    if (canvas.width !== Math.round(side * scale)) canvas.width = canvas.height = Math.round(side * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, side, side);
    pen.translate(side / 2, side / 2);
    pen.strokeStyle = colour(COLOURS[this.mood]);
    pen.lineCap = "round";
    pen.lineWidth = Math.max(2, side / 110);
    const inner = side * 0.335;
    const room = side / 2 - inner - pen.lineWidth;
    this.#phase = now;
    for (let i = 0; i < BARS; i++) {
      const level = this.#bar(i);
      this.#levels[i] = Math.max(level, this.#levels[i] - FALL);
      const angle = (i / BARS) * 2 * Math.PI - Math.PI / 2;
      const length = 2 + room * this.#levels[i];
      pen.globalAlpha = this.#alpha(i);
      pen.beginPath();
      pen.moveTo(Math.cos(angle) * inner, Math.sin(angle) * inner);
      pen.lineTo(Math.cos(angle) * (inner + length), Math.sin(angle) * (inner + length));
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  /** @param {number} i @returns {number} 0 to 1 */
  #bar(i) {
    if (this.mood === "off") return 0;
    if (calm.matches) return i / BARS < this.#level ? 0.5 : 0.04;
    if (this.mood === "thinking" || this.mood === "tool") {
      return 0.06 + 0.34 * Math.max(0, Math.cos((i / BARS) * 2 * Math.PI - this.#phase * 4)) ** 8;
    }
    // Neighbours differ, so that a level looks like a voice and not like a lamp.
    const ripple = 0.55 + 0.45 * Math.sin(i * 2.399 + this.#phase * 7) * Math.cos(i * 0.61 - this.#phase * 3);
    return 0.04 + this.#level * ripple;
  }

  /** @param {number} i */
  #alpha(i) {
    if (calm.matches || (this.mood !== "thinking" && this.mood !== "tool")) return 1;
    return 0.35 + 0.65 * Math.max(0, Math.cos((i / BARS) * 2 * Math.PI - this.#phase * 4)) ** 4;
  }
}
