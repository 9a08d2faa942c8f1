"""All rules, in the order in which findings are told.

Above: `checking`, the documentation (docs/lint.md has a paragraph for each: a test). Below: the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from antiphon.lint.description import AgentView
from antiphon.lint.rules import instructions, results, schemas, texts, timing, toolset, writes
from antiphon.lint.rules.spot import Asked, Level, Spot

Check: TypeAlias = Callable[[AgentView, Asked], Iterable[Spot]]


@dataclass(slots=True, frozen=True)
class Rule:
    """A rule: what it is called, how grave it is, why it is one, and how to mend what it finds."""

    name: str
    level: Level
    check: Check
    why: str
    mend: str


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "unusable-tool", "error", texts.unusable_tool,
        "No model can be told of it, so it is never called.",
        "Do what the message says.",
    ),
    Rule(
        "schema-refused", "error", schemas.schema_refused,
        "The provider refuses every request that offers this tool, whatever the caller said.",
        "Write the parameter in plainer types.",
    ),
    Rule(
        "reads-that-write", "error", writes.reads_that_write,
        "What reads is cancelled when the caller speaks, tried again when it fails, and run again when called again.",
        'Say effect="writes".',
    ),
    Rule(
        "blocking-call", "error", timing.blocking_call,
        "While it waits, no call of the process hears, thinks or speaks.",
        "Await something that does not block, or run it in a thread.",
    ),
    Rule(
        "absent-tool", "warning", instructions.absent_tool,
        "The model calls what it was told of, and is refused; or says that it did.",
        "Name a tool that it has, or give it this one.",
    ),
    Rule(
        "write-without-effect", "warning", writes.write_without_effect,
        "An interruption may leave it half done, and a second call does it twice.",
        'Say effect="writes", or effect="irreversible".',
    ),
    Rule(
        "write-without-identity", "warning", writes.write_without_identity,
        "A model that calls again words a text anew; by it two calls of one wish differ.",
        "Say which parameters make the wish: identity=(...).",
    ),
    Rule(
        "write-without-limit", "warning", writes.write_without_limit,
        "A backend that hangs leaves the caller waiting, and then with an outcome that nobody knows.",
        "Say timeout=SECONDS, or bound the request in the tool; with reconcile= the backend can be asked.",
    ),
    Rule(
        "grave-without-consent", "warning", writes.grave_without_consent,
        "A misheard word is enough, and the money is gone.",
        'Say confirm="..." or effect="irreversible" (the caller is asked), or approve= (somebody else is).',
    ),
    Rule(
        "no-description", "warning", texts.no_description,
        "The model chooses by descriptions; of this tool it has a name alone.",
        "Write what it does, when to call it, when not, and what comes back.",
    ),
    Rule(
        "vague-description", "warning", texts.vague_description,
        "The model cannot tell when this tool is meant.",
        "Write what it does, when to call it, when not, and what comes back.",
    ),
    Rule(
        "undocumented-parameter", "warning", texts.undocumented_parameter,
        "The model guesses what to pass, and calls with wrong arguments.",
        "Say it under Args:, with an example.",
    ),
    Rule(
        "undocumented-format", "warning", texts.undocumented_format,
        "No type says how a date or an amount is written; what words do not say, the model makes up.",
        "Name the format and give an example: YYYY-MM-DD, for example 2026-03-15.",
    ),
    Rule(
        "values-only-in-type", "warning", texts.values_only_in_type,
        "A model reads words with more care than schemas: a bad call is refused, and costs a round.",
        'Name the values, or limits, in words: must be "lunch" or "dinner".',
    ),
    Rule(
        "raw-payload", "warning", results.raw_payload,
        "The model has to read it before it can speak, may read it out, and pays for it in every later request.",
        "Return a sentence with what the caller needs: 3 slots, at 1 PM, 2:30 PM and 4 PM.",
    ),
    Rule(
        "opaque-id", "warning", results.opaque_id,
        "Models reason badly over ids, and callers can neither say nor remember one.",
        "Return what people call it: a name, a date, a short code. Keep the id in userdata.",
    ),
    Rule(
        "untold-error", "warning", results.untold_error,
        "The model cannot tell the caller what is wrong, so it apologises, or tries again.",
        "Raise ToolError with what is wrong and what would help.",
    ),
    Rule(
        "bare-error", "warning", results.bare_error,
        "The message is all that the model has to go on.",
        "Say what is wrong and what would help: ask for the code again.",
    ),
    Rule(
        "too-many-tools", "warning", toolset.too_many_tools,
        "All of them are in every request, and the model takes the wrong one more often with each.",
        "Merge those that share a purpose, split the agent in two, or add tools when they are needed (update_tools,"
        " ToolSearchToolset).",
    ),
    Rule(
        "unfiltered-server", "warning", toolset.unfiltered_server,
        "One server may add thirty tools, and more tomorrow.",
        "Choose with allowed_tools=, of the server or of the MCPToolset.",
    ),
    Rule(
        "similar-names", "warning", toolset.similar_names,
        "The model mixes up what looks alike.",
        "Make one tool of the two, with a parameter; or name them by what differs.",
    ),
    Rule(
        "similar-descriptions", "warning", toolset.similar_descriptions,
        "The model mixes up what reads alike.",
        "Say in each what the other does not do.",
    ),
    Rule(
        "no-boundary", "warning", toolset.no_boundary,
        "Both fit most of what callers ask, and the model takes either.",
        "Say in one of them when to call it, and when the other.",
    ),
    Rule(
        "endpoint-not-action", "warning", toolset.endpoint_not_action,
        "The model gets what the interface has, and not what the caller wants.",
        "Name an action with what narrows it, and filter in code: search_contact(query) in place of list_contacts().",
    ),
    Rule(
        "no-when", "advice", toolset.no_when,
        "In a long list names alone do not keep tools apart.",
        "Add a line: call this when ..., not when ...",
    ),
    Rule(
        "dear-prompt", "advice", instructions.dear_prompt,
        "Every answer begins only when all of it is read.",
        "Shorten the instructions, or split the agent: each then has what it needs.",
    ),
)  # fmt: skip
