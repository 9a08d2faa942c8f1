"""What a reply to a read-back means."""

from __future__ import annotations

import pytest

from antiphon.language import ENGLISH, Asked, Reply, decide

TABLE = Asked("Table for four on Friday at seven, shall I book it?", ("four", "Friday", "seven"))
CONSENT = (Reply.YES, Reply.YES_AND, Reply.BACKCHANNEL)


def decided(said: str, asked: Asked = TABLE) -> Reply:
    return decide(said, asked, ENGLISH.consent)


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Yes.", Reply.YES),
        ("Yes, please.", Reply.YES),
        ("Go ahead!", Reply.YES),
        ("That\u2019s right.", Reply.YES),
        ("no no that's right", Reply.YES),
        ("Friday at seven, yes", Reply.YES),
        ("Mm-hmm.", Reply.BACKCHANNEL),
        ("yes, and could you also send me the address", Reply.YES_AND),
        ("No.", Reply.NO),
        ("Hold on.", Reply.NO),
        ("yes... no wait", Reply.NO),
        ("Yes, but at three.", Reply.CHANGE),
        ("Friday at eight, yes", Reply.CHANGE),
        ("yes if it's refundable", Reply.CHANGE),
        ("yes and add a high chair", Reply.CHANGE),
        ("Actually, make it three.", Reply.CHANGE),
        ("is that the one with parking?", Reply.QUESTION),
        ("did you say five?", Reply.QUESTION),
        ("I think so?", Reply.UNCLEAR),
        ("my wife says yes", Reply.UNCLEAR),
        ("Yes?", Reply.UNCLEAR),
        ("", Reply.UNCLEAR),
    ],
)
def test_a_reply_is_a_yes_or_something_else(said: str, reply: Reply) -> None:
    assert decided(said) is reply


def test_a_verb_of_the_read_back_is_a_yes_and_otherwise_a_no() -> None:
    cancelling = Asked("Your appointment on Friday. Shall I cancel it?", ("Friday",))
    assert decided("cancel it", cancelling) is Reply.YES
    assert decided("don't cancel it", cancelling) is Reply.NO
    assert decided("cancel it") is Reply.NO
    booking = Asked("You can cancel it until Friday. Shall I book it?")
    assert decided("cancel it", booking) is Reply.NO


def test_a_value_said_in_another_form_is_the_same() -> None:
    paying = Asked("Shall I pay $84.60 from checking on March 3rd at 5:30 pm?")
    for same in ("eighty four sixty", "84 dollars sixty", "half past five", "March third", "the third of March"):
        assert decided(f"yes, {same}", paying) is Reply.YES, same
    for other in ("eighty four sixteen", "84", "five", "half past six", "March thirteenth", "3:30", "the third of May"):
        assert decided(f"yes, {other}", paying) not in CONSENT, other


def test_a_value_of_the_read_back_in_another_place_is_a_change() -> None:
    flying = Asked("A flight for six people from London to Madrid at nine. Is that right?")
    assert decided("from London to Madrid, yes", flying) is Reply.YES
    for swapped in ("from Madrid to London, yes", "nine people, yes", "yes for nine", "at six, yes"):
        assert decided(swapped, flying) not in CONSENT, swapped


def test_a_day_of_the_read_back_as_the_end_of_a_time_is_a_change() -> None:
    riding = Asked("Two bus tickets on March 9th. Is that right?", ("two", "March 9th"))
    assert decided("yes, for March 9th", riding) is Reply.YES
    for other in ("yes, until March 9th", "yes, after March 9th", "yes, by March 9th"):
        assert decided(other, riding) not in CONSENT, other


def test_who_is_called_behind_a_yes_changes_nothing_and_elsewhere_is_not_known() -> None:
    assert decided("yes please love") is Reply.YES
    assert decided("no thank you dear") is Reply.NO
    for other in ("yes that's dear", "yes, very dear", "love", "darling yes", "yes love but later"):
        assert decided(other) not in CONSENT, other


def test_do_is_a_yes_only_at_the_end() -> None:
    assert decided("oh yes do please") is Reply.YES
    for other in ("yes do you have it right", "do", "yes do they", "yes do not"):
        assert decided(other) not in CONSENT, other


def test_the_closing_question_may_be_answered_with_its_own_words() -> None:
    cleaning = Asked("A cleaner on Friday at nine. Is that what you meant?")
    assert decided("that's what I meant", cleaning) is Reply.YES
    assert decided("no that's not what I meant", cleaning) is Reply.NO
    for other in ("that's what I meant to cancel", "that is what I meant for Saturday", "is that what I meant"):
        assert decided(other, cleaning) not in CONSENT, other


def test_what_will_be_done_may_be_asked_for_and_nothing_else() -> None:
    freezing = Asked("Your membership will not be cancelled. It will be frozen from July. Is that right?")
    assert decided("yes freeze it", freezing) is Reply.YES
    assert decided("don't freeze it", freezing) is Reply.NO
    for other in ("yes cancel it", "freeze it for three months", "freeze another one", "freeze them all"):
        assert decided(other, freezing) not in CONSENT, other


def test_only_the_kind_of_a_value_that_was_read_back_can_be_right() -> None:
    reading = Asked("Your reading is four seven one nine six. Shall I submit it?")
    assert decided("yes that's the right number", reading) is Reply.YES
    for other in ("yes that's the right address", "yes that's the right number of people"):
        assert decided(other, reading) not in CONSENT, other


def test_a_question_that_turns_it_round_is_answered_by_neither_a_bare_yes_nor_a_bare_no() -> None:
    changing = Asked("The bins at number nine, back by Thursday. Is there anything to change?")
    for bare in ("yes", "no", "yeah", "nope", "okay", "yes there is", "change", "yes change it"):
        assert decided(bare, changing) not in (*CONSENT, Reply.NO), bare
    for agreed in ("no that's fine", "no changes", "nothing", "nope all good"):
        assert decided(agreed, changing) is Reply.YES, agreed
    minding = Asked("Do you mind if I cancel it?")
    for bare in ("yes", "yes I do", "sure", "no"):
        assert decided(bare, minding) not in CONSENT, bare
    assert decided("no, go ahead", minding) is Reply.YES


def test_a_verb_that_says_the_same_is_the_same_and_one_that_may_give_it_up_is_not() -> None:
    cancelling = Asked("Shall I cancel the order for the desk?")
    assert decided("call it off", cancelling) is Reply.YES
    for other in ("scrap it", "drop it", "order it", "yes order it", "book it", "stop it"):
        assert decided(other, cancelling) not in CONSENT, other
    transferring = Asked("Two hundred pounds to savings. Should I transfer it?")
    assert decided("yes, send it", transferring) is Reply.YES
    for other in ("transfer me", "put me through", "send it back", "call it off"):
        assert decided(other, transferring) not in CONSENT, other
    assert decided("stop", Asked("Shall I stop the subscription?")) not in CONSENT


def test_what_was_misheard_counts_beside_a_clear_yes_and_never_for_a_value() -> None:
    cancelling = Asked("Two adults for the eleven o'clock. Shall I cancel it?", ("two adults", "eleven o'clock"))
    for misheard in ("yes please due that", "yep council it", "yes too adults"):
        assert decided(misheard, cancelling) is Reply.YES, misheard
    for other in ("council it", "due that", "yes for adults", "yes too", "council", "yes due it at ten"):
        assert decided(other, cancelling) not in (Reply.YES, Reply.YES_AND), other


def test_a_short_form_behind_a_value_says_something_of_it() -> None:
    assert decided("Friday's fine") is Reply.YES
    for other in ("Saturday's fine", "Friday's full", "Friday's too late", "Friday's not fine", "yes, you're"):
        assert decided(other) not in CONSENT, other
