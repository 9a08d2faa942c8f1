// An agent's tools as a list: what each does, and what it promises.

import { make } from "./dom.js";
import { PROMISES } from "./tool.js";

/** What a call does to the world. @type {Record<string, string>} */
const EFFECTS = { reads: "reads", writes: "writes", irreversible: "cannot be undone" };

/** @param {import("../wire.js").OfferedTool[]} offered @returns {HTMLElement} */
export function tools(offered) {
  const list = make("ul", { class: "offered" });
  for (const { name, description, effect, guarantee, is_read_back: isReadBack, is_approved: isApproved } of offered) {
    const head = make("div", { class: "head" }, make("code", {}, name));
    if (EFFECTS[effect]) head.append(make("span", { class: "tag" }, EFFECTS[effect]));
    if (guarantee) head.append(make("span", { class: "tag", title: PROMISES[guarantee] ?? "" }, guarantee));
    if (isReadBack) head.append(make("span", { class: "tag" }, "asks first"));
    if (isApproved) head.append(make("span", { class: "tag" }, "is approved"));
    list.append(make("li", {}, head, make("p", {}, description.split("\n\n")[0])));
  }
  return list;
}
