// The sound of a call by WebRTC: one peer connection, one audio track each way.
//
// Above: `call.js`, which falls back to the WebSocket when this fails. Below: the browser. Offer and answer go over the
// call's own socket; what is said about the call stays there, too. The offer is sent once, with its candidates in it.

/** Seconds in which the browser may look for its addresses; what it has found by then is offered. */
const GATHERING = 2;
/** Seconds for the answer to come. */
const ANSWERING = 10;
/** Seconds for the connection to come up: fewer than the server waits, so that the call can still take another way. */
const CONNECTING = 6;

/**
 * @typedef {object} Options
 * @property {WebSocket} socket  the call's, on which `start` was sent
 * @property {MediaStream} microphone
 * @property {AudioContext} [audioContext]
 * @property {(stream: MediaStream) => void} onRemoteStream  the agent's voice; called once, before `connect` returns
 */

/**
 * Connect the microphone to the agent, and the agent's voice to the page.
 * @param {Options} options
 * @returns {Promise<{close(): void, connection: RTCPeerConnection}>} `close` lets go of the connection, not of the
 *   microphone
 * @throws {Error} in words, when no connection comes up in time; everything is released then
 */
export async function connect({ socket, microphone, onRemoteStream }) {
  // No servers: both ends offer the addresses that they have. Nobody else learns of the call.
  const connection = new RTCPeerConnection({ iceServers: [] });
  const close = () => connection.close();
  try {
    const voice = remoteStream(connection);
    for (const track of microphone.getAudioTracks()) connection.addTrack(track, microphone);
    await connection.setLocalDescription();
    await Promise.race([gathered(connection), seconds(GATHERING)]);
    const answer = answered(socket);
    socket.send(JSON.stringify({ type: "offer", sdp: connection.localDescription?.sdp }));
    const sdp = await inTime(answer, ANSWERING, "the server did not answer");
    await connection.setRemoteDescription({ type: "answer", sdp });
    await inTime(connected(connection), CONNECTING, "no connection came up (does a firewall block UDP?)");
    onRemoteStream(await voice);
    return { close, connection };
  } catch (error) {
    close();
    throw error;
  }
}

/** @param {RTCPeerConnection} connection @returns {Promise<MediaStream>} */
function remoteStream(connection) {
  return new Promise((resolve) => {
    connection.ontrack = ({ track, streams }) => resolve(streams[0] ?? new MediaStream([track]));
  });
}

/** @param {RTCPeerConnection} connection @returns {Promise<void>} when all addresses are known */
function gathered(connection) {
  return new Promise((resolve) => {
    const look = () => {
      if (connection.iceGatheringState === "complete") resolve();
    };
    connection.addEventListener("icegatheringstatechange", look);
    look();
  });
}

/** @param {WebSocket} socket @returns {Promise<string>} the server's SDP */
function answered(socket) {
  return new Promise((resolve, reject) => {
    const done = new AbortController();
    const { signal } = done;
    socket.addEventListener("message", hear, { signal });
    socket.addEventListener("close", () => reject(new Error("the call ended")), { signal });
    setTimeout(() => done.abort(), ANSWERING * 1000);

    /** @param {MessageEvent} event */
    function hear({ data }) {
      if (typeof data !== "string") return;
      const message = JSON.parse(data);
      if (message.type !== "answer") return;
      done.abort();
      resolve(message.sdp);
    }
  });
}

/** @param {RTCPeerConnection} connection @returns {Promise<void>} */
function connected(connection) {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (connection.connectionState === "connected") resolve();
      else if (["failed", "closed"].includes(connection.connectionState)) {
        reject(new Error(`the connection is ${connection.connectionState} (does a firewall block UDP?)`));
      }
    };
    connection.addEventListener("connectionstatechange", look);
    look();
  });
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} time  in seconds
 * @param {string} otherwise
 * @returns {Promise<T>}
 */
function inTime(promise, time, otherwise) {
  const late = seconds(time).then(() => {
    throw new Error(`${otherwise} within ${time} s`);
  });
  return Promise.race([promise, late]);
}

/** @param {number} time @returns {Promise<void>} */
const seconds = (time) => new Promise((resolve) => void setTimeout(resolve, time * 1000));
