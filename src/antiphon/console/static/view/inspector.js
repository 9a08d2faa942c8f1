// Inside the agent: its instructions, its tools, the history, and with what its model was asked last.

import { make, one, some } from "./dom.js";
import { tools } from "./offered.js";

/** Milliseconds between two looks, while something happens. */
const PACE = 400;

/**
 * @typedef {import("../wire.js").Inspection} Inspection
 * @typedef {Record<string, any>} Item of a history
 */

/** @param {import("../call.js").Call} call */
export function inspector(call) {
  const button = one("inspect", HTMLButtonElement);
  const panel = one("inspector", HTMLElement);
  const body = some("insight");
  /** What is folded, by title: a new look keeps it. @type {Map<string, boolean>} */
  const open = new Map([["Instructions", true]]);
  let due = false;

  const look = () => {
    if (panel.hidden || due) return;
    due = true;
    setTimeout(() => {
      due = false;
      call.inspect();
    }, PACE);
  };
  /** @param {boolean} shown */
  const show = (shown) => {
    panel.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    if (!shown) return;
    if (call.phase.name === "live") call.inspect();
    some("inspector-close").focus();
  };
  button.addEventListener("click", () => show(panel.hidden !== false));
  const close = () => {
    show(false);
    button.focus();
  };
  some("inspector-close").addEventListener("click", close);
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  call.said.listen((message) => {
    if (message.type === "inspection") draw(message);
    else if (["message", "tool", "handoff", "turn", "ready"].includes(message.type)) look();
  });

  /** @param {string} title @param {string} count @param {...Node} inside */
  const fold = (title, count, ...inside) => {
    const box = make("details", {}, make("summary", {}, make("b", {}, title), " ", make("small", {}, count)), ...inside);
    box.open = open.get(title) ?? false;
    box.addEventListener("toggle", () => open.set(title, box.open));
    return box;
  };

  /** @param {Inspection} inspection */
  const draw = ({ agent, instructions, tools: offered, history, request }) => {
    const at = panel.scrollTop;
    const asked = request ? items(request.items) : make("p", {}, "No model was asked yet.");
    const could = request ? make("p", { class: "soft" }, `It may call: ${request.tools.join(", ") || "nothing"}`) : "";
    body.replaceChildren(
      make("p", { class: "soft" }, agent),
      fold("Instructions", `${instructions.length.toLocaleString("en")} characters`, make("pre", { tabindex: "0" }, plainly(instructions))),
      fold("Tools", String(offered.length), tools(offered)),
      fold("History", String(history.length), items(history)),
      fold("Last request", request ? `${request.items.length} items` : "", ...(could ? [could] : []), asked),
    );
    panel.scrollTop = at;
  };

  return {
    /** There is somebody whom one may look into. @param {import("../wire.js").About} about */
    offer({ tools: offered }) {
      button.hidden = false;
      if (body.children.length === 0) {
        body.replaceChildren(make("p", { class: "soft" }, "Instructions, history and requests are here in a call."), tools(offered));
      }
    },
  };
}

/** Text of a source file, without the margin that it has there. @param {string} text */
function plainly(text) {
  const lines = text.split("\n");
  // What is said behind the instructions has none.
  const margins = lines.slice(1).map((line) => line.length - line.trimStart().length).filter((margin) => margin > 0);
  const margin = " ".repeat(margins.length ? Math.min(...margins) : 0);
  return lines.map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line)).join("\n");
}

/** @param {Item[]} all @returns {HTMLElement} */
function items(all) {
  const list = make("ol", { class: "items" });
  for (const item of all) {
    const [who, text] = told(item);
    list.append(make("li", {}, make("b", {}, who), make("span", {}, text)));
  }
  return list;
}

/** @param {Item} item @returns {[who: string, text: string]} */
function told(item) {
  if (item.type === "message") {
    const parts = Array.isArray(item.content) ? item.content : [item.content];
    const text = parts.map((part) => (typeof part === "string" ? part : `[${part?.type ?? "?"}]`)).join(" ");
    return [item.role, plainly(text) + (item.interrupted ? " —" : "")];
  }
  if (item.type === "function_call") return ["call", `${item.name}(${item.arguments})`];
  if (item.type === "function_call_output") return [item.is_error ? "error" : "output", String(item.output)];
  if (item.type === "agent_handoff") return ["hand-off", String(item.new_agent_id)];
  return [String(item.type), JSON.stringify(item)];
}
