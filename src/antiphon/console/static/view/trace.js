// The last seconds of the line, as the report of a call draws them: caller above, agent below, tools beneath, and the
// time in which neither could be heard though an answer was owed.

import { calm, colour } from "./dom.js";

/** Seconds that are seen. */
const SPAN = 20;
/** Levels a second. */
const RATE = 50;
/** Seconds that the end of a turn may take to be known. */
const MOST_DUE = 4;

/** @typedef {{from: number, to: number | null, name: string}} Bar */

export class Trace {
  #caller = new Float32Array(SPAN * RATE);
  #agent = new Float32Array(SPAN * RATE);
  #dead = new Uint8Array(SPAN * RATE);
  #at = 0;
  /** @type {Map<string, Bar>} tools, in levels since the call began */
  #tools = new Map();
  #drawn = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  }

  clear() {
    this.#caller.fill(0);
    this.#agent.fill(0);
    this.#dead.fill(0);
    this.#at = 0;
    this.#tools.clear();
    this.#drawn = 0;
  }

  /** One more level of each. @param {number} caller @param {number} agent @param {boolean} owed an answer is due */
  feed(caller, agent, owed) {
    const i = this.#at % this.#caller.length;
    this.#caller[i] = caller;
    this.#agent[i] = agent;
    this.#dead[i] = owed && this.#silent(i) ? 1 : 0;
    this.#at += 1;
  }

  /** The caller's turn is over: an answer was due since their last sound, as we know now. */
  owedSinceSound() {
    const least = Math.max(0, this.#at - MOST_DUE * RATE);
    for (let at = this.#at - 1; at >= least && this.#silent(at % this.#dead.length); at--) this.#dead[at % this.#dead.length] = 1;
  }

  /** @param {number} i @returns {boolean} nobody is heard */
  #silent(i) {
    return this.#caller[i] < 0.02 && this.#agent[i] < 0.005;
  }

  /** @param {string} id @param {string} name */
  toolBegan(id, name) {
    if (!this.#tools.has(id)) this.#tools.set(id, { from: this.#at, to: null, name });
  }

  /** @param {string} id */
  toolEnded(id) {
    const bar = this.#tools.get(id);
    if (bar && bar.to === null) bar.to = this.#at;
  }

  /** @param {number} now seconds */
  draw(now) {
    // Less motion: a new picture now and then instead of one that glides.
    if (calm.matches && now - this.#drawn < 1) return;
    this.#drawn = now;
    const { canvas, pen } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const scale = devicePixelRatio;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const lane = 14;
    const half = (height - lane - 4) / 2;
    const middle = half + 1;
    // The picture fills from the left, and then moves.
    const first = Math.max(0, this.#at - SPAN * RATE);
    /** @param {number} level */
    const x = (level) => ((level - first) / (SPAN * RATE)) * width;
    this.#drawGrid(x, first, height);
    this.#drawDead(x, first, middle, half);
    this.#drawVoice(this.#caller, "--caller", x, middle - 1, -half + 2);
    this.#drawVoice(this.#agent, "--agent", x, middle + 1, half - 2);
    this.#drawTools(x, first, height - lane + 1, lane - 4, width);
  }

  /** @param {(level: number) => number} x @param {number} first @param {number} height */
  #drawGrid(x, first, height) {
    this.pen.fillStyle = colour("--grid");
    const step = 5 * RATE;
    for (let at = Math.ceil(first / step) * step; at <= first + SPAN * RATE; at += step) {
      this.pen.fillRect(Math.round(x(at)), 0, 1, height);
    }
    this.pen.fillRect(0, (height - 18) / 2 + 1, x(first + SPAN * RATE), 1);
  }

  /** @param {(level: number) => number} x @param {number} first @param {number} middle @param {number} half */
  #drawDead(x, first, middle, half) {
    this.pen.fillStyle = colour("--dead");
    for (let i = first; i < this.#at; i++) {
      if (this.#dead[i % this.#dead.length]) this.pen.fillRect(x(i), middle - half / 2, x(i + 1) - x(i) + 0.5, half);
    }
  }

  /**
   * @param {Float32Array} levels
   * @param {string} paint
   * @param {(level: number) => number} x
   * @param {number} base
   * @param {number} reach
   */
  #drawVoice(levels, paint, x, base, reach) {
    const { pen } = this;
    const first = Math.max(0, this.#at - levels.length);
    pen.fillStyle = colour(paint);
    pen.beginPath();
    pen.moveTo(x(first), base);
    // A voice is loud or soft by powers: the root of the level is what it looks like.
    for (let i = first; i < this.#at; i++) pen.lineTo(x(i), base + reach * Math.sqrt(Math.min(1, levels[i % levels.length])));
    pen.lineTo(x(this.#at), base);
    pen.fill();
  }

  /**
   * @param {(level: number) => number} x
   * @param {number} first
   * @param {number} top
   * @param {number} height
   * @param {number} width
   */
  #drawTools(x, first, top, height, width) {
    const { pen } = this;
    pen.font = "11px Inter, system-ui, sans-serif";
    pen.textBaseline = "middle";
    const bars = [...this.#tools].map(([id, { from, to, name }]) => {
      const end = to ?? this.#at;
      if (end < first - 8 * RATE) this.#tools.delete(id);
      return { name, left: x(from), right: Math.max(x(from) + 4, x(end)) };
    });
    let free = 0;
    bars.forEach(({ name, left, right }, i) => {
      pen.fillStyle = colour("--tool");
      pen.beginPath();
      pen.roundRect(left, top, right - left, height, 3);
      pen.fill();
      // Its name beside it, where no other bar is; else none.
      const wide = pen.measureText(name).width;
      const next = bars[i + 1]?.left ?? width;
      const after = right + 5 + wide <= next;
      const before = left - 5 - wide >= free;
      pen.fillStyle = colour("--soft");
      if (after) pen.fillText(name, right + 5, top + height / 2);
      else if (before) pen.fillText(name, left - 5 - wide, top + height / 2);
      free = after ? right + 5 + wide : right;
    });
  }
}
