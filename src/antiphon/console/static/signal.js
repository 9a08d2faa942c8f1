// Something that others want to know of. The smallest thing that carries a type.

/** @template T */
export class Signal {
  /** @type {Set<(value: T) => void>} */
  #listeners = new Set();

  /**
   * Call `listener` with every value from now on.
   * @param {(value: T) => void} listener
   * @returns {() => void} stops it
   */
  listen(listener) {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** @param {T} value */
  emit(value) {
    for (const listener of [...this.#listeners]) listener(value);
  }
}
