// What is asked of the server, with a deadline, and what it says when it cannot answer.

/**
 * @typedef {{name: string, id: string, began: number, duration: number, reason: string, agents: string, caller: string,
 *   turns: number, tools: number, errors: number, cut: number, unknown: number, delay: number | null,
 *   worst: number | null, tokens: number, cost: number | null, findings: Record<string, number>}} Ended
 * @typedef {{id: string, began: number, state: string, agents: string, caller: string, turns?: number,
 *   tools?: number, last?: string}} Live
 * @typedef {{calls: Ended[], count: number, all: number, broken: {name: string, why: string}[], whole: boolean,
 *   live: Live[], place: string | null, trouble: string}} Listed
 * @typedef {{count: number, p50: number | null, p90: number | null, p95: number | null, p99: number | null,
 *   max: number | null}} Spread
 * @typedef {{tool: string, calls: number, failed: number, unknown: number, wrong: number, wrong_rate: number,
 *   seconds: Spread}} ToolFigures
 * @typedef {{calls: number, seconds: number, turns: number, tools: number, errors: number, cut: number,
 *   unknown: number, tokens: number, cost: number | null, priced: number, cost_of_a_call: Spread,
 *   waits: Spread & {bounds: number[], counts: number[], slowest: {name: string, id: string, at: number,
 *   delay: number}[]}, found: {finding: string, kind: string, times: number, calls: number}[],
 *   by_tool: ToolFigures[], whole: boolean}} Figures
 * @typedef {{tools?: string[], agents?: string[], outcomes?: string[], findings?: string[]}} Words
 */

/** Milliseconds in which an answer must have come. */
const DEADLINE = 20_000;

export class Refusal extends Error {
  /** @param {number} status 0 where nobody answers @param {string} text */
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** @param {string} what @param {Record<string, string>} [query] @returns {string} its address, with this page's token */
export function address(what, query = {}) {
  const asked = new URLSearchParams(query);
  const token = new URLSearchParams(location.search).get("token");
  if (token !== null) asked.set("token", token);
  const text = asked.toString();
  return `api/${what}${text ? "?" + text : ""}`;
}

/**
 * @param {string} what @param {Record<string, string>} [query] @param {AbortSignal} [until]
 * @returns {Promise<any>} Rejects with a `Refusal`.
 */
export async function ask(what, query = {}, until) {
  const deadline = AbortSignal.timeout(DEADLINE);
  let answer;
  let text;
  try {
    answer = await fetch(address(what, query), { cache: "no-store", signal: until ? AbortSignal.any([until, deadline]) : deadline });
    text = await answer.text();
  } catch {
    throw new Refusal(0, deadline.aborted ? "The server did not answer in time." : "The server is gone: it was stopped, or the network is.");
  }
  if (!answer.ok) throw new Refusal(answer.status, text || `HTTP ${answer.status}`);
  return JSON.parse(text);
}
