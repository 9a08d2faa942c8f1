// The time line of a call: who was heard when, what the model and the tools did, hand-offs, cuts, and dead air.

import { add, answered, cutsOf, exact, isBad, isVoice, lanesOf, minutes, onPress, took } from "./data.js";

/**
 * @typedef {import("./data.js").Call} Call
 * @typedef {(s: number) => number} Scale
 */

const LEFT = 56;
/** Half of the height of a voice. */
const HALF = 31;
const TOP = 34;
const ROW = 24;
/** Rows of tools that names may ask for. */
const MOST_LANES = 5;
/** Pixels below which something is drawn with its like, and not by itself: who wants to see it zooms. */
const NARROW = 3;
/** Turns, steps or calls of tools from which on that is so. */
const CROWDED = 200;

/** Rectangles as one path. @param {[x: number, y: number, width: number, height: number][]} all */
const asPath = (all) => all.map(([x, y, w, h]) => `M${x.toFixed(1)} ${y}h${w.toFixed(1)}v${h}h-${w.toFixed(1)}z`).join("");

export class Timeline {
  /** @type {SVGLineElement | null} */
  #head = null;
  /** @type {Scale} */
  #x = (s) => s;
  #zoom = 1;

  /**
   * @param {Element} card @param {Call} call @param {(at: number) => void} seek
   * @param {(what: string) => void} go to an element of the page, by its id
   */
  constructor(card, call, seek, go) {
    this.call = call;
    this.seek = seek;
    this.go = go;
    this.#top(card);
    this.slot = add(card, "div", { class: "slot" });
    this.box = add(card, "div", { class: "line", tabindex: 0, role: "group", "aria-label": "Time line: arrow keys scroll it" });
    this.draw();
    // Its width is what counts: a page that grows longer is none of its business.
    let width = this.box.clientWidth;
    new ResizeObserver(() => {
      if (this.box.clientWidth === width) return;
      width = this.box.clientWidth;
      this.draw();
    }).observe(this.box);
  }

  /** @param {Element} card */
  #top(card) {
    const { call } = this;
    const row = add(card, "div", { class: "row" });
    add(row, "h2", {}, "Time line");
    const legend = add(row, "div", { class: "legend" });
    const has = [["caller", "caller"], ["agent", "agent"], ["tool", "tool call"]];
    if (call.turns.some((turn) => turn.aside)) has.push(["bridge", "filler"]);
    if (call.steps?.length) has.push(["model", "model step"]);
    if (cutsOf(call).length) has.push(["bad", "cut by the caller"]);
    for (const [colour, name] of has) {
      const item = add(legend, "span");
      add(item, "i", { style: `background: var(--${colour})` });
      item.append(name);
    }
    if (call.replies.some((reply) => reply.dead_air > 0.001)) {
      const item = add(legend, "span");
      add(item, "i", { class: "dash" });
      item.append("dead air");
    }
    const push = add(row, "label", { class: "push" }, "Zoom");
    // Of a call of two hours a minute is as wide as of a short one.
    const most = Math.max(12, Math.ceil(call.duration / 40));
    const zoom = add(push, "input", { type: "range", min: 1, max: most, step: 0.5, value: 1, "aria-label": "Zoom" });
    zoom.addEventListener("input", () => {
      const middle = (this.box.scrollLeft + this.box.clientWidth / 2) / this.box.scrollWidth;
      this.#zoom = Number(zoom.value);
      this.draw();
      this.box.scrollLeft = middle * this.box.scrollWidth - this.box.clientWidth / 2;
    });
  }

  draw() {
    const { call, box } = this;
    const width = Math.max(320, box.clientWidth * this.#zoom) - LEFT - 8;
    const label = (95 / width) * call.duration;
    const named = lanesOf(call.tools, label, call.duration);
    // Of a long call the names would pile up: there only what runs side by side does.
    const tools = named.count <= MOST_LANES ? named : lanesOf(call.tools, (8 / width) * call.duration, call.duration);
    const steps = call.steps ?? [];
    const stepY = TOP + HALF * 4 + 30;
    const toolY = stepY + (steps.length ? 26 : 0);
    const height = toolY + Math.max(tools.count, call.tools.length ? 1 : 0) * ROW + 6;
    /** @type {Scale} */
    const x = (s) => LEFT + (Math.min(s, call.duration) / call.duration) * width;
    this.#x = x;
    const all = LEFT + width + 8;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ width: all, height, viewBox: `0 0 ${all} ${height}`, role: "group", "aria-label": "Who spoke when" })) {
      svg.setAttribute(name, String(value));
    }
    const scrolled = box.scrollLeft;
    box.replaceChildren(svg);
    this.#grid(svg, x, width, height);
    this.#lane(svg, "Caller", TOP + HALF, "caller", x);
    this.#lane(svg, "Agent", TOP + HALF * 3 + 18, "agent", x);
    this.#waits(svg, x, width);
    this.#events(svg, x, width);
    if (steps.length) this.#steps(svg, x, stepY);
    if (call.tools.length) this.#tools(svg, x, toolY, tools.of, width);
    this.#head = add(svg, "line", { x1: LEFT, x2: LEFT, y1: 14, y2: height, stroke: "var(--ink)", "stroke-width": 1, visibility: call.audio ? "visible" : "hidden" });
    svg.addEventListener("click", (event) => {
      const at = ((event.clientX - svg.getBoundingClientRect().left - LEFT) / width) * call.duration;
      if (at >= 0) this.seek(at);
    });
    box.scrollLeft = scrolled;
  }

  /** @param {Element} svg @param {Scale} x @param {number} width @param {number} height */
  #grid(svg, x, width, height) {
    const { duration } = this.call;
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].find((s) => (width / duration) * s >= 64) || 3600;
    for (let s = 0; s <= duration; s += step) {
      add(svg, "line", { x1: x(s), x2: x(s), y1: 16, y2: height, stroke: "var(--grid)" });
      if (x(s) < LEFT + width - 20) add(svg, "text", { x: x(s) + 3, y: 11 }, minutes(s));
    }
  }

  /** A voice: its loudness, or where it was not recorded its turns. @param {Element} svg @param {string} name @param {number} y @param {"caller" | "agent"} who @param {Scale} x */
  #lane(svg, name, y, who, x) {
    const { call } = this;
    add(svg, "text", { x: 0, y: y + 4, class: "name", style: `fill: var(--${who})` }, name);
    const role = who === "caller" ? "user" : "assistant";
    const turns = call.turns.filter((turn) => turn.role === role);
    const spans = (who === "caller" ? call.callerSpans : call.agentSpans) ?? turns.map((t) => ({ start: t.started, end: t.ended }));
    if (spans.length > CROWDED) {
      const all = asPath(spans.map((span) => [x(span.start), y - HALF, Math.max(1, x(span.end) - x(span.start)), HALF * 2]));
      add(svg, "path", { d: all, fill: `var(--${who}-bg)` });
    } else {
      for (const span of spans) {
        add(svg, "rect", { x: x(span.start), y: y - HALF, width: Math.max(1, x(span.end) - x(span.start)), height: HALF * 2, rx: 4, fill: `var(--${who}-bg)` });
      }
    }
    const peaks = call.peaks?.[who] ?? [];
    let upper = "";
    let lower = "";
    peaks.forEach((peak, i) => {
      const px = x(Math.min((i + 0.5) / (call.peaks?.rate ?? 1), call.duration)).toFixed(1);
      const h = Math.max(0.4, (peak / 100) * HALF);
      upper += (i ? "L" : "M") + px + " " + (y - h).toFixed(1);
      lower = "L" + px + " " + (y + h).toFixed(1) + lower;
    });
    if (peaks.length) add(svg, "path", { d: upper + lower + "Z", fill: `var(--${who})` });
    /** @type {Record<string, [number, number, number, number][]>} */
    const narrow = { bridge: [], [who]: [] };
    for (const turn of turns) {
      const from = x(turn.started);
      const wide = Math.max(2, x(turn.ended) - from);
      if (wide < NARROW && turns.length > CROWDED) {
        narrow[turn.aside ? "bridge" : who].push([from, y - HALF, wide, 5]);
        continue;
      }
      // Over its voice where that was recorded, and it itself where it was not.
      const bar = add(svg, "rect", { x: from, y: y - HALF, width: wide, height: 5, rx: 2, fill: `var(--${turn.aside ? "bridge" : who})` });
      add(bar, "title", {}, `${turn.aside ? "Filler: " : ""}${turn.text}`);
      if (wide > 40) this.#words(svg, turn.text, from + 4, y - HALF + 15, wide - 8, peaks.length > 0);
    }
    for (const [colour, all] of Object.entries(narrow)) if (all.length) add(svg, "path", { d: asPath(all), fill: `var(--${colour})` });
  }

  /** As many words as there is room for. @param {Element} svg @param {string} text @param {number} left @param {number} y @param {number} room @param {boolean} over a voice */
  #words(svg, text, left, y, room, over) {
    const most = Math.floor(room / 5.6);
    if (most < 5) return;
    const cut = text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text;
    add(svg, "text", { x: left, y, class: over ? "words over" : "words" }, cut);
  }

  /** How long the caller waited, and dead air. @param {Element} svg @param {Scale} x @param {number} width */
  #waits(svg, x, width) {
    const y = TOP + HALF * 2 + 9;
    const all = answered(this.call);
    const silences = this.call.replies.flatMap((reply) => reply.silences);
    if (silences.length > CROWDED) {
      const d = silences.map(({ started, ended }) => `M${x(started).toFixed(1)} ${y}H${x(ended).toFixed(1)}`).join("");
      add(svg, "path", { d, stroke: "var(--bad)", "stroke-width": 2, fill: "none" });
    } else {
      for (const silence of silences) {
        const dead = add(svg, "line", { x1: x(silence.started), x2: x(silence.ended), y1: y, y2: y, stroke: "var(--bad)", "stroke-width": 2, "stroke-dasharray": "4 3" });
        add(dead, "title", {}, `dead air: ${took(silence.ended - silence.started)}`);
      }
    }
    let free = 0;
    for (const [i, reply] of all.entries()) {
      const a = x(reply.waiting_since);
      const b = x(reply.waiting_since + (reply.response_delay ?? 0));
      if (b - a < NARROW && all.length > CROWDED) continue;
      const g = add(svg, "g");
      const text = took(reply.response_delay ?? 0);
      add(g, "title", {}, text + (isVoice(this.call) ? " from the end of the caller's sound to the answer" : " from the caller's turn to the answer"));
      add(g, "path", { d: `M${a} ${y - 4}V${y + 4}M${b} ${y - 4}V${y + 4}`, stroke: "var(--soft)", fill: "none" });
      const room = text.length * 6.2;
      const next = i + 1 < all.length ? x(all[i + 1].waiting_since) : LEFT + width + 8;
      if (b + 4 + room <= next && b >= free) {
        add(g, "text", { x: b + 4, y: y + 4 }, text);
        free = b + 4 + room;
      }
    }
  }

  /** @param {Element} svg @param {Scale} x @param {number} width */
  #events(svg, x, width) {
    const bottom = TOP + HALF * 4 + 18;
    for (const cut of cutsOf(this.call)) {
      const g = add(svg, "g");
      add(g, "title", {}, "Cut at " + exact(cut.at));
      add(g, "line", { x1: x(cut.at), x2: x(cut.at), y1: TOP + HALF * 2 + 18, y2: bottom, stroke: "var(--bad)", "stroke-width": 2, "stroke-dasharray": "4 3" });
      add(g, "text", { x: x(cut.at) + 4, y: bottom - 2, style: "fill: var(--bad)" }, "cut");
    }
    let free = 0;
    for (const { at, agent } of this.call.handoffs ?? []) {
      const g = add(svg, "g", { class: "handoff" });
      add(g, "title", {}, `${exact(at)}: handed over to ${agent}`);
      add(g, "line", { x1: x(at), x2: x(at), y1: 18, y2: bottom, stroke: "var(--hook)", "stroke-width": 1.5 });
      const wide = 16 + agent.length * 6;
      if (x(at) >= free && x(at) + wide < LEFT + width) {
        add(g, "text", { x: x(at) + 4, y: 26, style: "fill: var(--hook)" }, "→ " + agent);
        free = x(at) + wide;
      }
    }
  }

  /** @param {Element} svg @param {Scale} x @param {number} y */
  #steps(svg, x, y) {
    add(svg, "text", { x: 0, y: y + 13, class: "name", style: "fill: var(--model)" }, "Model");
    const all = this.call.steps ?? [];
    let last = -NARROW;
    for (const step of all) {
      const until = step.done ?? step.first_token ?? step.asked;
      if (all.length > CROWDED && x(until) < last + NARROW) continue;
      last = Math.max(x(until), x(step.asked) + 5);
      const g = add(svg, "g", { class: "hit", tabindex: 0, role: "button", "aria-label": `Model step ${step.number} at ${exact(step.asked)}` });
      const wrote = step.calls ? `${step.calls} tool call${step.calls === 1 ? "" : "s"}` : `${step.characters} characters`;
      add(g, "title", {}, `Step ${step.number}: ${took(until - step.asked)}, ${wrote}`);
      add(g, "rect", { x: x(step.asked), y: y + 3, width: Math.max(5, x(until) - x(step.asked)), height: 14, rx: 3, fill: step.outcome === "failed" ? "var(--bad)" : "var(--model)" });
      onPress(g, (event) => {
        event.stopPropagation();
        this.go("step" + step.number);
      });
    }
  }

  /** @param {Element} svg @param {Scale} x @param {number} top @param {number[]} lanes @param {number} width */
  #tools(svg, x, top, lanes, width) {
    const { tools, duration } = this.call;
    add(svg, "text", { x: 0, y: top + 15, class: "name", style: "fill: var(--tool)" }, "Tools");
    /** The next one of the same lane. @type {number[]} */
    const following = [];
    /** @type {Map<number, number>} */
    const latest = new Map();
    for (let i = tools.length - 1; i >= 0; i--) {
      following[i] = latest.get(lanes[i]) ?? -1;
      latest.set(lanes[i], i);
    }
    /** Where the last bar of a lane ends. @type {Map<number, number>} */
    const before = new Map();
    tools.forEach((tool, i) => {
      const end = tool.ended ?? duration;
      const from = x(tool.started);
      const wide = Math.max(6, x(end) - from);
      const y = top + lanes[i] * ROW;
      if (tools.length > CROWDED && from + wide < (before.get(lanes[i]) ?? 0) + NARROW) return;
      const g = add(svg, "g", { class: "hit", tabindex: 0, role: "button", "aria-label": `${tool.name}, ${tool.status}, at ${exact(tool.started)}` });
      add(g, "title", {}, `${tool.name} ${JSON.stringify(tool.arguments)}\n${tool.output}\n${tool.status}, ${took(end - tool.started)}`);
      add(g, "rect", { x: from, y: y + 3, width: wide, height: 16, rx: 3, fill: isBad(tool) ? "var(--bad)" : "var(--tool)" });
      // On a narrow page a name may have no room; hovering and the transcript tell it.
      const room = tool.name.length * 6.1;
      const next = following[i] < 0 ? LEFT + width : x(tools[following[i]].started);
      if (from + wide + 5 + room <= next) add(g, "text", { x: from + wide + 5, y: y + 15 }, tool.name);
      else if (from - 5 - room >= Math.max(LEFT, before.get(lanes[i]) ?? 0)) add(g, "text", { x: from - 5, y: y + 15, "text-anchor": "end" }, tool.name);
      before.set(lanes[i], from + wide + (from + wide + 5 + room <= next ? 5 + room : 0));
      onPress(g, (event) => {
        event.stopPropagation();
        this.go("tool" + i);
      });
    });
  }

  /** The recording is here. @param {number} at */
  follow(at) {
    if (!this.#head) return;
    const x = this.#x(at);
    this.#head.setAttribute("x1", String(x));
    this.#head.setAttribute("x2", String(x));
    if (x < this.box.scrollLeft + LEFT || x > this.box.scrollLeft + this.box.clientWidth) this.box.scrollLeft = x - this.box.clientWidth / 3;
  }
}
