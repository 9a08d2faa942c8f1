// The page: one call, one conversation, and the views that show them.

import { Call } from "./call.js";
import { Conversation } from "./conversation.js";
import { broken } from "./faults.js";
import { leave, takeLeft } from "./left.js";
import { announce } from "./view/announcer.js";
import { Controls } from "./view/controls.js";
import { one, put, some } from "./view/dom.js";
import { inspector } from "./view/inspector.js";
import { showLog } from "./view/log.js";
import { notices } from "./view/notices.js";
import { Stage } from "./view/stage.js";
import { showSummary } from "./view/summary.js";
import { welcome } from "./view/welcome.js";
import { about, watch, withToken } from "./wire.js";

const call = new Call();
const conversation = new Conversation(() => call.seconds);
const log = showLog(conversation, (id, yes) => call.answer(id, yes));
const stage = new Stage(call, conversation);
const summary = showSummary(conversation);
const tell = announce(conversation);
const problems = notices({ type: () => begin(false), call: () => begin(true) });
const controls = new Controls(call, conversation, begin);
const inside = inspector(call);

async function introduce() {
  const told = await about();
  if (!told) return;
  inside.offer(told);
  if (told.studio) {
    const all = one("studio", HTMLAnchorElement);
    all.href = withToken("/studio/");
    all.hidden = false;
  }
  if (call.phase.name === "idle") welcome(told, (phrase) => controls.say(phrase));
}
void introduce();

/** @param {boolean} voice */
function begin(voice) {
  if (call.on) return;
  problems.clear();
  conversation.clear();
  log.clear();
  stage.clear();
  summary.begin();
  if (!voice) controls.focusTyping();
  void call.start({ voice, pushToTalk: voice && controls.pushToTalk });
}

/** The page was loaded anew in the middle of a call: it comes back to it. */
function comeBack() {
  const left = takeLeft();
  if (!left) return;
  conversation.restore(left.entries);
  summary.begin();
  void call.start(left.call.manner, left.call);
}

call.said.listen((message) => {
  conversation.take(message);
  if (message.type === "error" && message.fatal) {
    problems.show("call", { title: "The call broke", text: message.message, remedy: "call" });
  }
  if (message.type === "agent_file") fileNews(message);
  if (message.type === "turn" || message.type === "tool" || message.type === "message") summary.refresh(call.underruns);
});

call.failed.listen((fault) => problems.show("call", fault));

call.cameBack.listen((why) => {
  problems.remove("server");
  conversation.note(why);
});

call.changed.listen((phase) => {
  if (phase.name === "live") {
    const { agent, models } = phase.ready;
    put(some("agent"), agent);
    put(some("models"), models);
    some("models").title = models;
    document.title = `${agent} · Antiphon`;
    problems.remove("server");
  } else if (phase.name === "lost") {
    const text = "It was stopped, or the network is gone. The call comes back by itself when the server does.";
    if (phase.attempt === 1) problems.show("server", { title: "The server is gone", text, remedy: null });
  } else if (phase.name === "ended") {
    problems.remove("server");
    conversation.end();
    summary.end(phase.ended, call.underruns);
    tell("Call over");
  }
});

// What the browser took away comes back with a press: it asks for no less.
addEventListener("pointerdown", () => void call.wake());
addEventListener("pagehide", () => leave(call.left, conversation.entries));

/** @param {import("./wire.js").AgentFile} news */
function fileNews({ state, message }) {
  if (state === "broken") return problems.show("file", broken(message));
  problems.remove("file");
  void introduce();
  flash("Agent file reloaded");
}

watch(
  (news) => {
    fileNews(news);
    if (news.state === "loaded") call.fileMended();
  },
  (there) => {
    put(some("server"), there ? "" : "No server");
    some("server").dataset.there = String(there);
    if (!there) return;
    call.retry();
    call.fileMended(); // perhaps it was, while the server was away
  },
);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/** A word in the header that goes by itself. @param {string} text */
function flash(text) {
  put(some("server"), text);
  clearTimeout(fading);
  fading = setTimeout(() => put(some("server"), ""), 4000);
}

setInterval(() => log.tick(), 100);
comeBack();
