// Whom one can call here, before anybody has: the agent, what it can do, what runs, and what one might say.

import { make, put, some } from "./dom.js";
import { tools } from "./offered.js";

/** @type {Record<string, string>} */
const MODELS = { llm: "Model", stt: "Ears", tts: "Voice" };

/**
 * @param {import("../wire.js").About} about
 * @param {(phrase: string) => void} say a phrase was chosen
 */
export function welcome({ agent, language, models, tools: offered, phrases }, say) {
  put(some("agent"), agent);
  put(some("models"), Object.values(models).join(", "));
  document.title = `${agent} · Antiphon`;
  const box = some("welcome");
  const facts = make("dl", { class: "facts" });
  for (const [kind, label] of Object.entries(models)) facts.append(make("dt", {}, MODELS[kind] ?? kind), make("dd", {}, label));
  if (language) facts.append(make("dt", {}, "Language"), make("dd", {}, spelled(language)));
  box.replaceChildren(make("h2", {}, agent), facts);
  if (offered.length > 0) box.append(make("h3", {}, offered.length === 1 ? "Its tool" : `Its ${offered.length} tools`), tools(offered));
  if (phrases.length > 0) box.append(make("h3", {}, "Try"), tries(phrases, say));
}

/** @param {string[]} phrases @param {(phrase: string) => void} say @returns {HTMLElement} */
function tries(phrases, say) {
  const list = make("div", { class: "tries" });
  for (const phrase of phrases) {
    const button = make("button", { type: "button", class: "try" }, `“${phrase}”`);
    button.addEventListener("click", () => say(phrase));
    list.append(button);
  }
  return list;
}

/** @param {string} code @returns {string} English */
function spelled(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}
