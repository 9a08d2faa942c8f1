"""The proof that the fuzzer bites: break one line of the core at a time, and see that the fuzzer finds it.

    python -m tests.core.fuzz.mutate               all of them
    python -m tests.core.fuzz.mutate adoption      those whose name holds "adoption"

Each break is made in a copy of the package and fuzzed in a process of its own, for so many facts: what is found, by
which promise and after how many facts is the same on every machine. What needs a rare meeting of things is found by
the recorded journals. A break that no longer applies is a failure, too, so the list follows the core. Prints a table;
exits with 1 if a break was not found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import antiphon

FACTS = 300_000
"""Within which a break must be found."""
TIME_LIMIT = 300.0
"""Seconds for them, on a machine that has other work."""
ROOT = Path(__file__).parents[3]
PACKAGE = Path(antiphon.__file__).parent
REGRESSIONS = sorted((ROOT / "tests/core/regressions").glob("*.jsonl"))


@dataclass(frozen=True, slots=True)
class Break:
    """One broken line: in `file` of the core, `old` (which stands there once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The broken text. Raises `LookupError` if `old` does not stand there exactly once."""
        if text.count(self.old) != 1:
            raise LookupError(f"{self.name}: {text.count(self.old)} times in {self.file}, expected once: {self.old!r}")
        return text.replace(self.old, self.new)


BREAKS = (
    Break(
        "promises: a fact without a promise is admitted",
        "promises.py",
        "        if key not in self._open:\n            return False\n",
        "",
    ),
    Break("promises: a closing fact leaves its promise open", "promises.py",
          "        if closes:\n", "        if False:\n"),
    Break("pairs: the output before the call", "history.py",
          "        self.record(call, agent)\n        self.record(output, agent)\n",
          "        self.record(output, agent)\n        self.record(call, agent)\n"),
    Break("pairs: a call of a round is left out", "rounds.py",
          "done = step.take_closed()", "done = step.take_closed()[:1]"),
    Break("history: what waits behind open speech overtakes it", "history.py",
          "        if self._tail:\n            self._tail.append(",
          "        if False:\n            self._tail.append("),
    Break("heard: the whole text counts as heard", "line.py",
          "            self._history.settle(segment.slot, heard, interrupted=segment.was_cut)",
          "            self._history.settle(segment.slot, segment.text or heard, interrupted=segment.was_cut)"),
    Break("heard: a cut message is not marked", "line.py",
          "heard, interrupted=segment.was_cut)", "heard, interrupted=False)"),
    Break("turns: a reply answers what its agent has not heard", "turns.py",
          "if turn.text or turn.heard_by == agent or not self.late_words.are_due(turn)]", "]"),
    Break("closing: words that are to come are not waited for", "rules/closing.py",
          " or floor.debts.turns.late_words.are_to_come", ""),
    Break("closing: a turn that nobody looked at is lost", "turns.py",
          "        for turn in self.waiting:\n            self.record(turn, agent)\n", ""),
    Break("line: the reply begins while speech is being silenced", "rules/replies.py",
          "floor.caller_has_floor or floor.line.is_stopping:", "floor.caller_has_floor:"),
    Break("line: three segments in the sink", "line.py",
          "if position == 1 and before.sound is _PLAYING", "if before.sound is _PLAYING"),
    Break("line: played behind a text that is not complete", "line.py",
          "before.sound is _PLAYING and before.text is not None", "before.sound is _PLAYING"),
    Break("line: played while paused", "rules/playing.py",
          "if floor.line.paused:", "if False:"),
    Break("loop: a stream that stands still is not noted", "rules/steps.py",
          "    speech.step.stood_still(fact.text)\n", ""),
    Break("loop: a stream may stand still for ever", "rules/steps.py",
          "stalled, max(0.0, limit - fact.seconds))", "stalled, None)"),
    Break("loop: a stream that goes on stands still", "rules/steps.py",
          "        step.went_on()\n        floor", "        floor"),
    Break("loop: what a broken response said is forgotten", "rules/steps.py",
          "floor.speeches.text_complete(speech, so_far)", 'floor.speeches.text_complete(speech, "")'),
    Break("turns: nobody is told that words are lost", "rules/turns.py",
          '    floor.out.send(WordsLost())\n', ""),
    Break("notice: a write runs before it was heard", "must_hear.py",
          'return self.duty is Duty.HEARD or policy.effect == "reads"', "return True"),
    Break("notice: what was cut counts as heard", "must_hear.py",
          "            and not segment.was_cut\n", ""),
    Break("notice: something else is said before it", "must_hear.py",
          "return self.is_open and speech is not self.speech", "return False"),
    Break("notice: it is not said again", "must_hear.py",
          "        self._enter(Duty.DUE)\n        if speech", "        if speech"),
    Break("line: a stall is never noticed", "line.py",
          "self._options.stall_timeout if left is None else left", "None"),
    Break("barge-in: a false alarm does not resume", "line.py",
          '            self._out.send(FalseInterruption())\n            self.clear_doubt()\n',
          '            self._out.send(FalseInterruption())\n'),
    Break("barge-in: words do not cut", "rules/barge_in.py",
          "len(text.split()) >= max(1, interruption.min_words)", "len(text.split()) >= 5"),
    Break("barge-in: a turn does not cut", "rules/turns.py",
          "    barge_in.interrupt_top(floor, fillers=False)\n    floor.debts", "    floor.debts"),
    Break("barge-in: a backchannel drops a call", "rules/turns.py",
          "over = floor.at_work() if floor.options.language.is_backchannel(turn.text) else None", "over = None"),
    Break("protected: an uninterruptible speech is cut", "floor.py",
          "return not (speech.interruptible and self", "return not (self"),
    Break("protected: disallow_interruptions does nothing", "rules/barge_in.py",
          "        run.speech.may_be_cut(False, to_its_end=True)\n", ""),
    Break("turns: consent over the last words of the agent is swallowed", "rules/turns.py",
          "    return None if floor.top.entering is not None or goes_on else False\n",
          "    return None if floor.top.entering is not None or goes_on else True\n"),
    Break("turns: consent over a question is swallowed", "rules/turns.py",
          "is_asked = listening.was_over_the_last_question(ahead)", "is_asked = False"),
    Break("turns: few words over the agent are dropped", "rules/turns.py",
          "return None if is_asked or not is_sign or", "return None if is_asked or"),
    Break("turns: speech that was not understood is passed over", "user_turn.py",
          "        if self._told_nothing:  #", "        if False:  #"),
    Break("turns: words that come again one by one are a turn again", "user_turn.py",
          "known = min(len(spans), len(self._taken))", "known = len(self._taken)"),
    Break("turns: words that come again with the next voice are a turn again", "user_turn.py",
          "            self.voice_began_at = now - voice\n",
          "            self.voice_began_at, self._taken = now - voice, []\n"),
    Break("turns: a stale prediction counts", "user_turn.py",
          "        if version == self.version:\n", "        if True:\n"),
    Break("turns: predictions do not matter", "rules/turns.py",
          "floor.turn.predicted(fact.version, fact.probability)", "floor.turn.predicted(fact.version, 1.0)"),
    Break("turns: taken in the middle of a hand-off", "rules/turns.py",
          "        return _make_way(floor)\n", "        _make_way(floor)\n"),
    Break("turns: the next one does not wait for the hook", "rules/turns.py",
          "not floor.accepts_turns or turns.judged is not None or", "not floor.accepts_turns or"),
    Break("turns: a veto is ignored", "rules/turns.py",
          "if fact.veto or emptied:", "if emptied:"),
    Break("unasked: a vetoed turn is answered by the model", "rules/model_initiated.py",
          "        if not _may_speak(floor, response):\n", "        if False:\n"),
    Break("unasked: spoken into the middle of something", "rules/model_initiated.py",
          "return not (response.to_results or floor.is_busy or", "return not (response.to_results or"),
    Break("unasked: an answer to silent results", "rules/model_initiated.py",
          "return not (response.to_results or floor.is_busy or", "return not (floor.is_busy or"),
    Break("unasked: a response of another agent is adopted", "rules/model_initiated.py",
          "not floor.accepts_turns or response.agent != top.agent or top.is_handing_over",
          "not floor.accepts_turns or top.is_handing_over"),
    Break("unasked: a turn without words is dropped", "rules/turns.py",
          "(fact.text is not None or turn.heard_as is None)", "True"),
    Break("unasked: a response that does not come is waited for", "turns.py",
          "if turn.answer_due is not None and turn.answer_due > self._out.now:", "if turn.answer_due is not None:"),
    Break("unasked: words that never come are waited for", "late_words.py",
          'TurnTranscribed(heard_as, ""), self._timeout)', 'TurnTranscribed(heard_as, ""), None)'),
    Break("unasked: a place is kept for ever", "history.py",
          "        self.version += said is not None\n        slot.settled(said)\n",
          "        self.version += said is not None\n        slot.item = said\n"),
    Break("turns: what a hook says stands before the turn", "turns.py",
          "elif turn.place is None or turn.place.agent != agent:", "elif True:"),
    Break("turns: who has nothing left to say is interrupted", "speeches.py",
          "        if by_caller and _has_said_all(speech):\n", "        if False:\n"),
    Break("closing: words on their way are lost", "rules/closing.py",
          "    _keep_words(floor)\n    floor.debts.turns.late", "    floor.debts.turns.late"),
    Break("turns: the hook's words are ignored", "rules/turns.py",
          "        turn.reworded(fact.text)\n", "        pass\n"),
    Break("turns: answered again behind a request that was made once more", "speeches.py",
          "        if before is not None:  # what", "        if False:  # what"),
    Break("turns: what a question behind them was asked by is cut, and they are swallowed", "listening.py",
          "is not None and self._over.sound is Sound.GONE and not self", "is not None and not self"),
    Break("turns: a question that is said once more is not still to come", "rules/steps.py",
          "            floor.listening.is_said_again(speech.step.segment)\n", "            pass\n"),
    Break("turns: who has nothing left to say inside a tool is interrupted", "speeches.py",
          "self.interrupt(child, force=force, by_caller=by_caller)", "self.interrupt(child, force=force)"),
    Break("turns: whether anybody is there cuts a reply in the making", "rules/turns.py",
          "_listening, _presence, _hook)", "_listening, _hook)"),
    Break("turns: who asks whether anybody is there is answered twice", "rules/turns.py",
          "        turns.commit(turn, floor.top.agent, reply)\n", "        turns.commit(turn, floor.top.agent)\n"),
    Break("turns: whether anybody is there stands behind its answer", "history.py",
          "if slot.open and slot.segment and slot.segment == before:", "if False:"),
    Break("turns: its words cut a reply in the making", "rules/barge_in.py",
          "asks_presence(text, so_far=not final) and", "asks_presence(text) and"),
    Break("turns: words that nobody committed hold up what is typed", "rules/turns.py",
          "    floor.turn.typed_behind()\n", ""),
    Break("silence: the wait for who holds the key is bridged", "rules/silence.py",
          "if turn.is_ended_by_application and floor.caller_has_floor:", "if False:"),
    Break("silence: counted from before the sound of the agent", "wait.py",
          "max(voice_ended_at, self._quiet_before)", "voice_ended_at"),
    Break("line: what had no sound is forgotten over what broke", "state.py",
          "self.lost = unsaid or self.lost or", "self.lost = unsaid or"),
    Break("turns: lost when their reply is cut unheard", "turns.py",
          "turns if speech.interrupted and not speech.heard else []", "[]"),
    Break("turns: not carried over a hand-off", "turns.py",
          "                    self._show(turn, agent)\n", "                    pass\n"),
    Break("turns: a silent answer is no matter", "rules/steps.py",
          "    if _is_silent(floor, speech, step):\n", "    if False:\n"),
    Break("turns: the caller is talked over", "rules/replies.py",
          "floor.is_turn_waiting or floor.caller_has_floor or", "floor.is_turn_waiting or"),
    Break("cancelled: an interrupted speech goes on", "speeches.py",
          "            self._out.send(StopGenerating(step.gen))\n        for segment",
          "        for segment"),
    Break("cancelled: the tools of an interrupted speech are not told", "speeches.py",
          "        self._rounds.release(speech)\n        for child", "        for child"),
    Break("cancelled: done before its sound has ended", "speeches.py",
          "if speech.stage is _SPEAKING and not speech.live:", "if speech.stage is _SPEAKING:"),
    Break("rounds: one more than allowed", "rules/steps.py",
          "speech.rounds_used < floor.options.max_tool_steps", "speech.rounds_used <= floor.options.max_tool_steps"),
    Break("rounds: what the caller changed counts among those of their next turn", "state.py",
          "0 if anew else self.rounds_used + 1", "self.rounds_used + 1"),
    Break("rounds: nobody is told that they are used up", "rules/steps.py",
          "            floor.out.send(ToolStepsUsedUp(speech.id, speech.rounds_used))\n", "            pass\n"),
    Break("rounds: the model is not told why its tools are gone", "speeches.py",
          "used = speech.rounds_used if self", "used = 0 if self"),
    Break("rounds: a goodbye is told that its rounds are used up", "speeches.py",
          "speech.farewell or speech.ends_call or speech.last_round", "speech.last_round"),
    Break("rounds: calls that were not made are not named", "speeches.py",
          "tuple(before.not_made) if retry", "() if retry"),
    Break("rounds: calls made without tools run", "rules/steps.py",
          "    if not speech.step.tools:\n", "    if False:\n"),
    Break("rounds: writes do not wait for one another", "rules/steps.py",
          "    alone = not step.calls[position].policy.parallel\n", "    return True\n"),
    Break("rounds: a rejected call runs", "rules/steps.py",
          "        open_call.close(fact.rejected, is_error=True)\n", "        pass\n"),
    Break("adoption: orphans are not adopted", "runs.py",
          "if run.bond is Bond.ORPHAN and _is_of_tool", "if False and _is_of_tool"),
    Break("adoption: with other arguments", "runs.py",
          "if run.bond is Bond.ORPHAN and _is_of_tool(run, call) and same_arguments(run.call, call):",
          "if run.bond is Bond.ORPHAN and _is_of_tool(run, call):"),
    Break("adoption: the run keeps the id of its first call", "state.py",
          "self.call, self.speech, self.frame = open_call.call,", "_, self.speech, self.frame = open_call.call,"),
    Break("adoption: an orphan's hand-off is made", "rules/steps.py",
          "        floor.runs.keep_result(run, fact)\n",
          "        floor.runs.keep_result(run, fact)\n"
          "        fact.handoff and floor.frames.hand_over(floor.top, fact.handoff)\n"),
    Break("adoption: an orphan speaks", "rules/replies.py",
          "if run is None or run.bond is Bond.ORPHAN:", "if run is None:"),
    Break("adoption: a duplicate is not refused", "ledger.py",
          'if ask and mode != "allow" and not is_confirmed:', "if False:"),
    Break("wishes: a write runs beside an equal one", "ledger.py",
          'if working and mode != "allow":', "if False:"),
    Break("wishes: a write that nobody has heard of is done again", "ledger.py",
          "if (writes and unheard) or (", "if ("),
    Break("wishes: what nobody knows is done again", "ledger.py",
          "        if doubts:\n", "        if False:\n"),
    Break("wishes: one turn is two wishes", "ledger.py",
          "is_seen_by(agent) and row.last_turn < asked.turn for row in done",
          "is_seen_by(agent) and row.last_turn <= asked.turn for row in done"),
    Break("wishes: once is more than once", "ledger.py",
          'policy.repeat != "once" and all', "all"),
    Break("wishes: a confirmation counts twice", "ledger.py",
          "if is_confirmed and not any(row.call.confirmed and row.turn == asked.turn for row in rows):",
          "if is_confirmed:"),
    Break("wishes: what a write that raised did is forgotten", "ledger.py",
          "_UNKNOWN if fact.unknown else _FAILED", "_FAILED if fact.unknown else _FAILED"),
    Break("hand-off: on the frame in charge instead of the tool's", "frames.py",
          "        if frame in self._stack:\n            frame.hands_over(handoff)",
          "        self.top.hands_over(handoff)"),
    Break("hand-off: before the agent has finished", "rules/handoff.py",
          "speech.kind is not Kind.FILLER and not floor.waits_for_turn(speech) for", "False for"),
    Break("kept: a write that is spoken over is dropped", "state.py",
          'return self.protected or self.policy.interrupted == "keep"', "return self.protected"),
    Break("kept: what is to be kept, and does not write, is dropped", "state.py",
          'return self.protected or self.policy.interrupted == "keep"', "return self.keeps"),
    Break("interrupted: what is to be stopped runs on", "runs.py",
          'if run.policy.interrupted == "cancel":', 'if run.policy.effect == "reads":'),
    Break("interrupted: a tool that only reads is always stopped", "runs.py",
          'if run.policy.interrupted == "cancel":', 'if run.policy.interrupted == "cancel" or run.row is None:'),
    Break("wishes: what is irreversible counts as unsaid", "../options.py",
          'frozenset[Effect](("writes", "irreversible"))', 'frozenset[Effect](("writes",))'),
    Break("wishes: what was undone is undone again", "ledger.py",
          "            is_new = False  # it was undone already", "            pass  # it was undone already"),
    Break("wishes: what was undone before anybody knew it is done again", "row.py",
          "by.outcome is Outcome.SUCCEEDED and by.ended_as <= asked.outcomes", "True"),
    Break("rounds: what is to run alone has others behind it", "rules/steps.py",
          "not (alone or not before.policy.parallel)", "not alone"),
    Break("kept: the result of a background tool is lost", "rules/steps.py",
          "    elif run.bond is Bond.BACKGROUND:\n        _deliver(floor, run, fact)\n", ""),
    Break("kept: nobody is told of a final result", "rules/steps.py",
          "        floor.debts.result(done, frame, final=True, handoff=fact.handoff)\n",
          "        pass\n"),
    Break("late: what a write says after its time is not heard", "runs.py",
          "        if run.keeps and run.row is not None:\n", "        if False:\n"),
    Break("late: a correction is told to nobody", "rules/steps.py",
          "    floor.debts.result(done, frame, final=True, row=row)\n", ""),
    Break("tasks: who completed one answers the caller once more", "rules/steps.py",
          "    if any(c.ends_task for c in calls):\n        speech.task_over()\n", ""),
    Break("tasks: what was done when one was over is told by nobody", "debts.py",
          "if must_be_told and speech.last_round:", "if must_be_told and not speech.id:"),
    Break("kept: told again and again", "debts.py",
          "        if told:\n            self.due = _SETTLED\n", "        self.tries = 0\n"),
    Break("kept: the clock of a suspended tool runs on", "runs.py",
          "            self._out.rearm(run.id, None)\n", "            pass\n"),
    Break("liveness: a turn hook that hangs is waited for", "turns.py",
          "HookReturned(hook), self._options.hook_timeout)", "HookReturned(hook), None)"),
    Break("liveness: a tool that hangs is waited for", "runs.py",
          "is_error=True, unknown=unknown), timeout)", "is_error=True, unknown=unknown), None)"),
    Break("liveness: a model that hangs is waited for", "speeches.py",
          'GenerationFailed(gen, texts.NO_ANSWER), self._options.generation_timeout)',
          'GenerationFailed(gen, "no answer in time"), None)'),
    Break("handles: a refused speech is never done", "speeches.py",
          '        self._out.send(SpeechDone(request.speech))\n', ""),
    Break("end: closing waits for tools for ever", "rules/closing.py",
          "if closing.phase is Phase.CLOSING and (overdue or _is_quiet(floor)):",
          "if closing.phase is Phase.CLOSING and _is_quiet(floor):"),
    Break("end: a goodbye ends nothing", "rules/closing.py",
          "        closing.lingers(floor.out.now)\n", "        pass\n"),
    Break("silence: a line that is due is not said", "rules/silence.py",
          "        return self._say(now)\n", "        return False\n"),
    Break("silence: late words of a voice begin a new silence", "user_turn.py",
          "if self.voice_ended_at is None or now >", "if self.voice_ended_at is None or True or now >"),
    Break("silence: bridged too late", "rules/silence.py",
          "self._floor.turn.unvoiced_at) + budget.max_silence", "now - 0.2) + budget.max_silence"),
    Break("silence: bridged too early", "rules/silence.py",
          "self._floor.turn.unvoiced_at) + budget.max_silence",
          "self._floor.turn.unvoiced_at) + 0.7 * budget.max_silence"),
    Break("silence: counted from when the detector is sure", "wait.py",
          "return now if voice_ended_at is None else max(voice_ended_at, self._quiet_before)", "return now"),
    Break("silence: a result that is in gets no grace", "rules/silence.py",
          "            due = max(due, self._floor.rounds.closed_at + budget.grace)\n", "            pass\n"),
    Break("silence: prepared beside what was prepared", "rules/silence.py",
          "not self._still_fits(self._speech, line, due):\n            self._discard()\n",
          "not self._still_fits(self._speech, line, due):\n            self._speech = None\n"),
    Break("silence: what is not needed is kept", "rules/silence.py",
          "floor.line.has_next:\n            self._discard()\n", "floor.line.has_next:\n"),
    Break("silence: the offer is made again and again", "ladder.py", "and fillers.offer and not self._offered:",
          "and fillers.offer:"),
    Break("silence: a tool's own line is said again and again", "ladder.py",
          "and call.call.call_id not in self._own_said and line", "and line"),
    Break("silence: what bridges it is recorded", "rules/silence.py", ", record=line.is_offer)", ")"),
    Break("silence: what is offered is not recorded", "rules/silence.py", "record=line.is_offer)", "record=False)"),
    Break("silence: a line is said although the reply's text is in", "rules/silence.py",
          "            due = max(due, awaited.began + budget.voice)\n", "            pass\n"),
    Break("silence: lines come round", "ladder.py", "return (1 - (at + 1).bit_count() % 2 + at.bit_count() % 2) % 3",
          "return at % 3"),
    Break("silence: a line is said twice in a row", "ladder.py", "*self._fillers.short) if line != self._last)",
          "*self._fillers.short))"),
    Break("silence: the caller's voice is silence", "rules/silence.py",
          "is_audible = floor.turn.speaking or floor.line.is_audible", "is_audible = floor.line.is_audible"),
    Break("silence: a call that waits for the caller is work", "rules/silence.py",
          "return bool(speech.live) or any(c.run is None or not c.run.suspended for c in speech.open_calls())",
          "return bool(speech.live or speech.open_calls())"),
    Break("silence: sound in the making beside a tool that waits for the caller is no work", "rules/silence.py",
          "return bool(speech.live) or any(c.run", "return any(c.run"),
    Break("silence: a hand-off that waits for the caller is work", "rules/silence.py",
          "return floor.top.leaving is not None or", "return floor.top.is_handing_over or"),
    Break("silence: a hook is no work", "rules/silence.py",
          "if turns.owed or turns.judged is not None:\n            return True",
          "if turns.owed:\n            return True"),
    Break("silence: a filler goes behind what is silent", "line.py",
          "return segment.speech.rank is _FILLER and self._is_dry and", "return False and"),
    Break("silence: a filler goes before what sounds", "line.py",
          "and first.voice is _SILENT and not first.fading", "and not first.fading"),
    Break("silence: a filler is not ended for something better", "line.py",
          "if behind.sound is _PLAYING and behind.voice is Voice.READY:", "if False:"),
    Break("silence: sound that ran out counts as heard", "rules/playing.py",
          "        segment.ran_dry()\n", "        pass\n"),
    Break("away: nobody is asked", "rules/away.py", "    if not _climb(floor, away):\n", "    if True:\n"),
    Break("away: a turn that is owed again is a word", "rules/away.py",
          "turns.waiting or turns.judged is not None:", "turns.are_pending:"),
    Break("away: a step is left out", "away.py", "        self.rung += 1\n", "        self.rung += 2\n"),
    Break("away: asked while a tool works", "rules/away.py",
          "any(run.active and not run.suspended and", "any(False and"),
    Break("away: asked while something is said or made", "rules/away.py",
          "        or any(_is_at_work(speech) for speech in top.speeches if not _tells_nothing(away, speech))\n", ""),
    Break("away: words begin nothing anew", "away.py", "        self.rung = 0\n        self.line", "        self.line"),
    Break("away: the time goes on under words", "rules/away.py", "        return _answered(floor, away)\n",
          "        return _answered(floor, away) and False if away.rung else False\n"),
    Break("away: a noise begins it anew", "rules/away.py", "    away.callers_turn(floor.out.now)\n    due",
          "    if floor.turn.speaking:\n        away.attended()\n        return False\n"
          "    away.callers_turn(floor.out.now)\n    due"),
    Break("away: too early", "away.py", "else self.since + self._steps[self.rung][0]",
          "else self.since + 0.7 * self._steps[self.rung][0]"),
    Break("away: the goodbye ends nothing", "rules/away.py", "    if away.is_over:\n", "    if False:\n"),
    Break("mute: a text without sound is not said once more", "rules/steps.py",
          "if may_be_said and not speech.trouble.again:", "if False:"),
    Break("mute: JSON is said once more", "rules/steps.py",
          "speech.kind is Kind.REPLY, is_sayable(lost)", "speech.kind is Kind.REPLY, True"),
    Break("mute: nothing is said in the place of JSON", "rules/steps.py",
          "if not line or speech.ends_call or", "if True or"),
    Break("mute: the session's own lines go through the agent's node", "speeches.py",
          "directly = text is not None or speech.kind is Kind.FILLER", "directly = False"),
    Break("ahead: used although the context has changed", "history.py",
          "        self.version += 1\n        if item is not None:\n", "        if item is not None:\n"),
    Break("ahead: used although the application spoiled it", "rules/ahead.py",
          "        ahead.spoiled()\n        _discard(floor, ahead)\n", "        ahead.spoiled()\n"),
    Break("ahead: used by another agent", "rules/ahead.py",
          "if basis is None or basis.frame is not floor.top or basis.agent != floor.top.agent:", "if basis is None:"),
    Break("ahead: asked again and again", "ahead.py", "self._tries < options.max_retries", "True"),
    Break("ahead: what is outdated is kept", "rules/ahead.py",
          "(mute or ahead.is_lost or not _still_holds(floor, ahead))", "(mute or ahead.is_lost)"),
    Break("ahead: asked while the agent speaks", "rules/ahead.py",
          "not (floor.top.speeches or floor.line.segments or floor", "not (floor"),
    Break("ahead: asked although more is likely to come", "user_turn.py",
          "        return self._probability >= self._options.endpointing.unlikely\n", "        return True\n"),
    Break("ahead: what is held is played", "speeches.py",
          "if step.segment.sound is _OPEN and speech.stage is not _HELD:",
          "if step.segment.sound is _OPEN:"),
    Break("ahead: what is discarded goes on", "speeches.py",
          "        self._out.send(Discard(step.gen, speech.id))\n", ""),
    Break("ahead: its failure is told", "rules/steps.py", "    if speech.stage is Stage.HELD:  #", "    if False:  #"),
    Break("ahead: released without a word", "speeches.py",
          "        self._out.send(Release(step.gen, speech.id))\n", ""),
    Break("limits: a turn may be as long as it likes", "user_turn.py",
          "        if not too_long and (limit", "        if True or (limit"),
    Break("limits: what is said behind a long turn is lost", "user_turn.py",
          "        text = self._untaken(text, final=final)\n",
          "        text = '' if self.overruled else self._untaken(text, final=final)\n"),
    Break("limits: taken too early", "user_turn.py", "len(self.text.split()) < limit.max_words",
          "len(self.text.split()) < limit.max_words - 1"),
    Break("limits: away while a tool runs", "rules/presence.py",
          "if busy or any(run.active for run in floor.runs):",
          "if busy:"),
    Break("limits: away too early", "rules/presence.py", "self.away_at = floor.out.now + timeout",
          "self.away_at = floor.out.now + 0.5 * timeout"),
    Break("limits: never away", "rules/presence.py", "        self.away_at = None\n        return True\n",
          "        self.away_at = None\n        return False\n"),
    Break("turns: a caller's short pauses shorten the wait", "endpointing.py",
          "min(max(wait, self._endpointing.min_delay), self._endpointing.max_delay)",
          "min(wait, self._endpointing.max_delay)"),
    # Defects that the fuzzer found when the core was young; each is also recorded in tests/core/regressions.
    Break("met: a requested reply begins while speech is being silenced", "rules/replies.py",
          "    if floor.line.is_stopping:", "    if False:"),
    Break("met: ids of items clash with the application's", "history.py", 'return f"entry_{', 'return f"item_{'),
    Break("met: a goodbye and a hand-off wait for each other", "rules/handoff.py",
          "if floor.closing.ends_speech or floor", "if floor.closing.ends_speech or floor.closing.is_ending or floor"),
    Break("met: a task waits for the tool that waits for it", "rules/steps.py",
          "waits_for_us = floor.frames.is_held_up_by(orphan, speech.frame)", "waits_for_us = False"),
    Break("met: a tool whose task was swept away stays suspended", "rules/handoff.py",
          "        _resume(floor, above)  #", "        above is frame and _resume(floor, above)  #"),
    Break("met: an interrupted reply comes back at once", "debts.py",
          "        self.turns.silenced(speech)\n", ""),
    Break("met: protected sound of a lower agent is cut", "rules/barge_in.py",
          "        elif not floor.is_protected(speech):\n", "        else:\n"),
    Break("barge-in: what waits below the task sounds on", "rules/barge_in.py",
          "            _hush(floor, speech)\n    sounding =", "            pass\n    sounding ="),
    Break("clock: the time in which everything stood still counts", "promises.py",
          "        self._lost += max(0.0, seconds)\n", "        pass\n"),
    Break("clock: a deadline comes before what stands ready", "conversation.py",
          "return None if first is None else self._out.by_the_driver(first)", "return first"),
    Break("barge-in: what was asked for over the caller is cut", "rules/barge_in.py",
          " or floor.waits_for_turn(speech):", ":"),
    Break("interrupt: a tool that asks for it loses its call", "rules/barge_in.py",
          "if speech not in served and (", "if ("),
    Break("protected: the results are told while the caller adds to them", "rules/steps.py",
          "    if floor.awaits_turn(speech) and floor.hears_more:\n", "    if False:\n"),
    Break("met: the clock of an absent caller runs while they speak", "rules/presence.py",
          "is_away = self._timeout is not None and",
          "is_away = self._timeout is not None and not floor.turn.speaking and"),
    Break("met: a filler that a tool asks for is recorded", "rules/replies.py",
          "record=fact.record and kind is not _FILLER,", "record=fact.record,"),
    Break("met: a dead voice is bridged for ever", "line.py",
          "self._options.stall_timeout if left is None else left", "self._options.stall_timeout"),
    Break("consent: a call runs without being asked about", "rules/steps.py",
          "case Start(asks) if not floor.consent.may_run(open_call, before=asks):", "case Start(asks) if False:"),
    Break("consent: a yes counts before the arguments were heard", "rules/consent.py",
          "elif reply in _AGREES and question.heard_before:", "elif reply in _AGREES:"),
    Break("consent: anything is a yes", "rules/consent.py",
          "_AGREES = (Reply.YES,", "_AGREES = (Reply.UNCLEAR, Reply.YES,"),
    Break("consent: who says nothing is waited for without end", "rules/consent.py",
          "    _ask_again(floor, question, \"unanswered\", \"\", \"time\")\n    return True\n", "    return False\n"),
    Break("consent: a yes is not recorded", "rules/consent.py",
          "    turns.hold(turn, question.speech, floor.top.agent)\n", "    turns.drop(turn)\n"),
    Break("consent: what is void runs all the same", "consent.py",
          "        question.call.answer(output, is_error=False, shows=(), reply=True, refused=refused)\n",
          "        question.call.agreed_to(self._out.now)\n"),
    Break("consent: a read-back that nobody heard is not said again", "rules/consent.py",
          "    if question.is_heard:\n        question.read_whole()", "    if True:\n        question.read_whole()"),
    Break("consent: the caller's reply cuts the speech that asks", "floor.py",
          " or self.consent.shields(speech)", ""),
    Break("consent: an announcement in between is not followed by the question", "rules/consent.py",
          "is not floor.top or _others_sound(floor, question):\n        question.must_be_read()",
          "is not floor.top:\n        question.must_be_read()"),
    Break("ledger: what is found settles nothing", "rules/steps.py",
          "    _known_late(floor, ToolReturned(fact.run, output, is_error=not fact.happened), found=True)\n",
          "    floor.runs.known(fact.run)\n"),
    Break("ledger: what did not happen is tried again with another key", "row.py",
          " or (self.found and self.outcome is Outcome.FAILED)", ""),
    Break("ledger: whatever failed is tried again with its key", "row.py",
          "or (self.found and self", "or (self"),
    Break("met: a filler whose voice hangs holds up the answer", "rules/playing.py",
          "if about_to and before.kind is not Kind.FILLER and before", "if about_to and before"),
    Break("met: words over a filler do not cut it", "rules/barge_in.py",
          "is_new = turn.speaking or floor.line.doubt.is_open or not turn.is_voiced", "is_new = turn.over_agent"),
    Break("met: silence under work is counted late", "wait.py",
          "if fell_silent or is_answer or is_bridged", "if is_answer or is_bridged"),
    Break("met: the sound of what is held is forgotten", "speeches.py",
          "                speech.step.segment.sound_came()\n", "                pass\n"),
    Break("met: push-to-talk waits for words for ever", "user_turn.py",
          "and self._is_for_us and self._over_at is not None", "and self._is_for_us"),
    Break("met: words become turns again and again", "user_turn.py",
          "        text = self._untaken(text, final=final)\n", "        text = text.strip()\n"),
    Break("met: an empty transcript puts off the silence", "user_turn.py",
          "        if text and not self.is_voiced:", "        if not self.is_voiced:"),
    Break("met: a filler that fades is overtaken and stays", "line.py",
          "and first.voice is _SILENT and not first.fading", "and first.voice is Voice.SILENT"),
    Break("met: who takes over in a round knows nothing of it", "rules/steps.py",
          "        floor.rounds.let_know(speech.frame.agent, calls)\n", ""),
    Break("met: a reply to what is read back is no sign of life", "rules/away.py",
          "away.is_news(turns.came) or has_said", "has_said"),
    Break("met: what an agent below owes keeps a silent caller from being asked", "rules/away.py",
          "floor.debts.owed_in(top)", "floor.debts.owes_results"),
    Break("met: a call that was agreed to is cut by a turn that waited", "rules/turns.py",
          " or floor.consent.is_agreed:", ":"),
    Break("met: a turn that is typed while the session closes is lost", "rules/closing.py",
          "    floor.debts.turns.give_up(floor.top.agent)\n    _keep_words(floor)\n    floor.debts.turns.late",
          "    _keep_words(floor)\n    floor.debts.turns.late"),
    Break("met: a line in a model's place is overtaken by a filler", "rules/silence.py",
          "        if given:\n", "        if False:\n"),
    Break("met: a line whose text comes late is said behind the answer", "rules/silence.py",
          "return segment.sound is Sound.PLAYING and segment.voice is not Voice.SILENT", "return False"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one break."""

    name: str
    facts: int | None
    """After how many it was found; None: it was not."""
    how: str


def try_out(broken: Break, seed: str = "mutate") -> Finding:
    """Replay the journals, and fuzz, with a copy of the package that has this one line broken."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "antiphon"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "providers"))
        file = copy / "core" / broken.file
        try:
            file.write_text(broken.applied(file.read_text()))
        except LookupError as error:
            return Finding(broken.name, None, str(error))
        seed = "consent" if broken.name.startswith("consent: ") else seed  # sessions in which calls are asked about
        ways = [("--seed", seed, "--facts", str(FACTS)), ("--replay", *map(str, REGRESSIONS))]
        for arguments in reversed(ways) if broken.name.startswith("met: ") else ways:
            facts, how = _fuzz(folder, arguments)
            if how is not None:
                return Finding(broken.name, facts, how)
        return Finding(broken.name, None, "not found")


def _fuzz(folder: str, arguments: tuple[str, ...]) -> tuple[int, str | None]:
    """What the fuzzer says about the copy in `folder`, and after how many facts; None if it has no complaint."""
    command = [sys.executable, "-m", "tests.core.fuzz", "--quiet", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return 0, None
    told = re.findall(r"^session (.*)$", done.stderr, re.MULTILINE)
    facts = re.search(r"^after ([0-9]+) facts$", done.stderr, re.MULTILINE)
    return int(facts[1]) if facts else 0, told[-1] if told else None


def stale(breaks: Iterable[Break] = BREAKS) -> list[str]:
    """The breaks that no longer apply to the core as it is."""
    problems = []
    for broken in breaks:
        try:
            broken.applied((PACKAGE / "core" / broken.file).read_text())
        except LookupError as error:
            problems.append(str(error))
    return problems


def main(names: list[str]) -> int:
    """Try the breaks whose names hold one of the words, or all; print a table."""
    chosen = [broken for broken in BREAKS if not names or any(name in broken.name for name in names)]
    missed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for finding in pool.map(try_out, chosen):
            missed += finding.facts is None
            how = re.sub(r"^(\S+/)*(\S+): (Violation: )?", r"\2: ", finding.how)
            verdict = "MISSED" if finding.facts is None else f"{finding.facts:6}"
            print(f"{verdict} {finding.name:55} {how[:100]}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} breaks found, each within {FACTS} facts")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
