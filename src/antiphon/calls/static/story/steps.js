// What the model was asked at each step: instructions, tools, messages, and what had been added since the step before.

import { add, exact, minutes, some, took } from "./data.js";

/**
 * @typedef {import("./data.js").Call} Call
 * @typedef {import("./data.js").Step} Step
 * @typedef {import("./data.js").Part} Part
 * @typedef {import("./data.js").Request} Request
 * @typedef {((number: number) => Promise<Request | null>) | null} Ask  for the input of a step; null: nobody can be asked
 */

const MOST_STEPS = 100;
const LONGEST_PART = 600;

/** Why a part is there. @type {Record<string, string>} */
const WHY = {
  instructions: "the agent's, with what all agents with tools are told",
  note: "for this response alone",
  reply_instructions: "what generate_reply() asked for",
  summary: "stands for what the budget left out",
  config: "instructions or tools changed",
};
/** @type {Record<string, string>} */
const WHO = { user: "caller", assistant: "agent", reply_instructions: "asked for", handoff: "hand-off" };

/** @param {Element} page @param {Call} call @param {(at: number) => void} seek @param {Ask} ask */
export function steps(page, call, seek, ask) {
  const all = call.steps ?? [];
  if (!all.length) return;
  const card = add(page, "section", { class: "card steps" });
  add(card, "h2", {}, "What the model was asked");
  if (!all.some((step) => step.recorded)) {
    add(card, "p", { class: "sub" }, "The requests themselves are not recorded in this call. What its history had gained by each of them is, as their times have it.");
  }
  const list = add(card, "div");
  const agents = new Set(all.map((step) => step.agent));
  some(all, MOST_STEPS, card, (step) => {
    const box = add(list, "details", { class: "step", id: "step" + step.number });
    const line = add(box, "summary");
    add(line, "b", {}, "Step " + step.number);
    add(line, "span", {}, minutes(step.asked));
    if (agents.size > 1) add(line, "span", {}, step.agent);
    add(line, "span", { class: "why" }, reason(step));
    add(line, "span", step.outcome === "failed" ? { class: "cut" } : {}, outcome(step));
    if (step.first_token !== null) add(line, "span", {}, "first token " + took(step.first_token - step.asked));
    let shown = false;
    box.addEventListener("toggle", () => {
      if (!box.open || shown) return;
      shown = true;
      void inside(box, step, seek, ask);
    });
  });
}

/** Why it was asked: what came last. @param {Step} step @returns {string} */
function reason(step) {
  const kinds = new Set(step.gained.map((part) => part.kind));
  if (kinds.has("output")) return "results of tools";
  if (kinds.has("reply_instructions")) return "the application asked";
  if (kinds.has("user")) return "the caller's turn";
  if (kinds.has("handoff")) return "hand-off";
  if (kinds.has("note")) return "a note to the model";
  return step.is_first ? "the first" : "the same once more";
}

/** @param {Step} step @returns {string} */
function outcome(step) {
  const wrote = step.calls ? (step.calls === 1 ? "1 tool call" : `${step.calls} tool calls`) : `${step.characters.toLocaleString("en")} characters`;
  return step.outcome === "done" ? wrote : step.outcome === "failed" ? "failed" : `${wrote}, ${step.outcome}`;
}

/** @param {Element} box @param {Step} step @param {(at: number) => void} seek @param {Ask} ask */
async function inside(box, step, seek, ask) {
  const body = add(box, "div", { class: "inside" });
  const told = add(body, "p", { class: "sub" });
  const took_ = step.done === null ? "" : `, over ${took(step.done - step.asked)} later`;
  told.append(`Asked at ${exact(step.asked)}${took_}${step.model ? ", of " + step.model : ""}. `);
  if (step.prompt_tokens) told.append(`${step.prompt_tokens.toLocaleString("en")} tokens read, ${(step.completion_tokens ?? 0).toLocaleString("en")} written. `);
  const play = add(told, "button", { class: "at", type: "button" }, "Go there");
  play.addEventListener("click", () => seek(step.asked));
  add(body, "h3", {}, step.is_first ? "What it began with" : "Added since the step before");
  if (step.gained.length) partsOf(body, step.gained);
  else add(body, "p", { class: "sub" }, "Nothing.");
  const changes = [
    step.left_out ? `${step.left_out} of what it read before are not in it` : "",
    step.tools_gained.length && !step.is_first ? `new tools: ${step.tools_gained.join(", ")}` : "",
    step.tools_left.length ? `tools no longer offered: ${step.tools_left.join(", ")}` : "",
  ].filter(Boolean);
  if (changes.length) add(body, "p", { class: "sub" }, changes.join("; ") + ".");
  if (!step.recorded || !ask) {
    add(body, "h3", {}, "The whole input");
    add(body, "p", { class: "sub" }, step.recorded ? "It is in the record: antiphon studio shows it." : "Not recorded.");
    return;
  }
  const state = add(body, "p", { class: "sub", role: "status" }, "…");
  const request = await ask(step.number);
  if (!request) {
    state.textContent = "Not recorded: its request could not be read.";
    return;
  }
  state.remove();
  whole(body, request);
}

/** @param {Element} body @param {Request} request */
function whole(body, request) {
  const input = add(body, "details");
  add(input, "summary", {}, `The whole input: ${request.items.length} parts, ${request.tools.length} tools`);
  const settings = Object.entries(request.settings);
  if (settings.length) add(input, "p", { class: "sub" }, settings.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "));
  for (const tool of request.tools) {
    const fold = add(input, "details", { class: "offered" });
    add(fold, "summary", {}, "tool " + (tool.name ?? ""));
    const { kind: _, name: __, ...rest } = tool;
    add(add(fold, "pre", { tabindex: 0 }), "code", {}, JSON.stringify(rest, null, 2));
  }
  partsOf(input, request.items);
  add(body, "h3", {}, "What it answered");
  const calls = request.calls.map((one) => ({ kind: "call", name: one.name, arguments: one.arguments }));
  const text = request.text ? [{ kind: "assistant", text: request.text }] : [];
  if (text.length || calls.length) partsOf(body, [...text, ...calls]);
  if (request.outcome !== "done") add(body, "p", { class: "sub" }, request.error ? `${request.outcome}: ${request.error}` : request.outcome);
}

/** @param {Element} into @param {Part[]} all */
function partsOf(into, all) {
  const list = add(into, "ol", { class: "items" });
  for (const part of all) {
    const line = add(list, "li", part.is_new ? { class: "new" } : {});
    const who = add(line, "b", WHY[part.kind] ? { title: WHY[part.kind] } : {}, part.is_error ? "error" : (WHO[part.kind] ?? part.kind));
    if (part.is_new) add(who, "i", {}, " new");
    const text = inWords(part);
    if (text.length <= LONGEST_PART) {
      add(line, "span", {}, text);
      continue;
    }
    const fold = add(line, "details");
    add(fold, "summary", {}, text.slice(0, 120).split("\n")[0] + ` … ${text.length.toLocaleString("en")} characters`);
    add(fold, "span", {}, text);
  }
}

/** @param {Part} part @returns {string} */
function inWords(part) {
  if (part.kind === "call") return `${part.name}(${part.arguments ?? ""})`;
  const images = part.images?.length ? ` [${part.images.length} images]` : "";
  return (part.text ?? "") + (part.interrupted ? " —" : "") + images;
}
