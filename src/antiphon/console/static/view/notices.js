// What went wrong and what can be done, above the conversation. Each kind once.

import { make, some } from "./dom.js";

/** @typedef {import("../faults.js").Fault} Fault */

/** @param {{type: () => void, call: () => void}} remedies */
export function notices(remedies) {
  const region = some("notices");
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();

  /** @param {string} key */
  const remove = (key) => {
    shown.get(key)?.remove();
    shown.delete(key);
  };
  return {
    remove,
    /** @param {string} key a new notice takes the place of an old one of this key @param {Fault} fault */
    show(key, fault) {
      const text = make("div", {}, make("strong", {}, fault.title), make("p", {}, fault.text));
      if (fault.detail) text.append(make("pre", { tabindex: "0", "aria-label": "What exactly happened" }, fault.detail));
      const notice = make("div", { class: "notice", role: "alert" }, text);
      if (fault.remedy) {
        const act = make("button", { type: "button", class: "act" }, fault.remedy === "type" ? "Go on by typing" : "Call again");
        act.addEventListener("click", fault.remedy === "type" ? remedies.type : remedies.call);
        text.append(act);
      }
      const away = make("button", { type: "button", class: "icon away", "aria-label": "Dismiss" }, "×");
      away.addEventListener("click", () => remove(key));
      notice.append(away);
      remove(key);
      shown.set(key, notice);
      region.append(notice);
    },
    clear() {
      for (const key of [...shown.keys()]) remove(key);
    },
  };
}
