// Elements and figures. Text only ever enters the page as text.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** @param {string} name of a symbol in index.html @returns {SVGElement} */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", "#" + name);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

/**
 * The element of index.html with this id.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function one(id, kind) {
  const node = document.getElementById(id);
  if (!(node instanceof kind)) throw new Error(`index.html: expected #${id} to be a ${kind.name}, got ${node}`);
  return node;
}

/** @param {string} id @returns {HTMLElement} */
export const some = (id) => one(id, HTMLElement);

/**
 * Change text only where it differs, so that nothing is drawn or read out for nothing.
 * @param {Element} node
 * @param {string} text
 */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @param {number} seconds @returns {string} 1:05 */
export const clock = (seconds) => Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");

/** @param {number} seconds @returns {string} < 1 ms, 640 ms, 1.2 s */
export function lasted(seconds) {
  if (seconds < 0.001) return "< 1 ms";
  return seconds < 0.9995 ? Math.round(seconds * 1000) + " ms" : seconds.toFixed(1) + " s";
}

/** @param {number} seconds @returns {string} 640 ms, 1,240 ms */
export const ms = (seconds) => Math.round(seconds * 1000).toLocaleString("en") + " ms";

/** Whether the person asked for less motion. */
export const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** @param {string} name of a custom property @returns {string} a colour that a canvas understands */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
