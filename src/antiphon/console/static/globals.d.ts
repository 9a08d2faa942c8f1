// What the audio thread offers, and `?measure=1` leaves behind: for the type checker alone, never loaded.

declare const sampleRate: number;
declare const currentFrame: number;

declare class AudioWorkletProcessor {
  readonly port: MessagePort;
  constructor(options?: { processorOptions?: unknown });
  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(
  name: string,
  processor: new (options: { processorOptions: import("./worklet.js").LineOptions }) => AudioWorkletProcessor,
): void;

interface Window {
  /** Under `?measure=1`: what happened when, on the audio clock. */
  measured?: import("./audio.js").Mark[];
}
