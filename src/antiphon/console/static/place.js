// Where the page was opened, and what follows for the way the sound takes.

/** @typedef {import("./wire.js").Transport} Transport */

const NEAR = [
  /^localhost$/,
  /\.localhost$/,
  /\.local$/,
  /^127\./,
  /^10\./,
  /^192\.168\./,
  /^172\.(1[6-9]|2\d|3[01])\./,
  /^169\.254\./,
  /^\[?::1\]?$/,
  /^\[?f[cd][0-9a-f]{2}:/i,
  /^\[?fe[89ab][0-9a-f]:/i,
];

/** @param {string} host of the page's address @returns {boolean} true for this machine and its own network */
export const near = (host) => NEAR.some((pattern) => pattern.test(host));

/** @param {Location} location @returns {Transport} */
export function chooseTransport({ hostname, search }) {
  const wish = new URLSearchParams(search).get("transport");
  if (wish === "websocket" || wish === "webrtc") return wish;
  // Near, a WebSocket is quicker and exact. Far, lost packets would stall it: there WebRTC is better.
  return near(hostname) || !("RTCPeerConnection" in globalThis) ? "websocket" : "webrtc";
}
