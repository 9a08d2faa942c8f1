// Where the time of one turn went. Pure: the server's figures in, stretches of time out.

/**
 * @typedef {"turn_end" | "hook" | "model" | "writing" | "tool" | "voice" | "line"} StageKind
 * @typedef {{kind: StageKind, name: string, started: number, ended: number}} Stage  they may overlap
 * @typedef {object} Turn  moments in seconds since the call began; null where it did not happen
 * @property {"turn"} type
 * @property {string} speech_id
 * @property {"caller" | "typed" | "application" | "results" | "model"} origin
 * @property {number} waiting_since  when the caller began to wait
 * @property {number | null} first_audio  the first sound of the reply
 * @property {number} ended
 * @property {number} dead_air  seconds in which neither side could be heard while the reply was owed
 * @property {Stage[]} stages  by their beginning
 *
 * @typedef {{kind: StageKind, name: string, from: number, to: number}} Stretch  seconds since the wait began
 * @typedef {{stretches: Stretch[], total: number, deadAir: number, sounded: boolean}} Timing
 */

/** Seconds that nobody cares about. */
const NEGLIGIBLE = 0.0005;

/** @param {Turn} turn @returns {Timing | null} null for a reply that nobody waited for */
export function timing({ origin, waiting_since: since, first_audio: sound, ended, stages, dead_air: deadAir }) {
  if (origin !== "caller" && origin !== "typed") return null;
  const until = sound ?? ended;
  /** @type {Stretch[]} */
  const stretches = [];
  let at = since;
  // Each moment belongs to the stage that began first.
  for (const stage of stages ?? []) {
    const from = Math.max(at, stage.started);
    const to = Math.min(until, stage.ended);
    if (to - from <= NEGLIGIBLE) continue;
    stretches.push({ kind: stage.kind, name: stage.name, from: from - since, to: to - since });
    at = to;
  }
  return until > since ? { stretches, total: until - since, deadAir: deadAir ?? 0, sounded: sound !== null } : null;
}
