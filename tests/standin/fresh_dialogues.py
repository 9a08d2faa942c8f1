"""What callers say to the five agents of `fresh_trades`: twenty-five dialogues, data only. Today is 15 April 2026."""

from __future__ import annotations

from .dialogues import ABSENT, Anything, Named, OneOf, Saying
from .trade_dialogues import FRIDAY, MONDAY, NONE, TOMORROW, TUESDAY, Held, Items, do, held, may, say

SATURDAY, SUNDAY, THURSDAY = "2026-04-18", "2026-04-19", "2026-04-16"

INSURER = (
    held(
        "insurer",
        "reports a claim",
        say("Hello, I'd like to report a claim. My policy number is P-20418."),
        say("It happened yesterday."),
        say(
            "A tree fell on my car.",
            do(
                "report_claim",
                policy_number="P-20418",
                happened_on="2026-04-14",
                what_happened=Saying("tree fell"),
                witnesses=NONE,
            ),
            says="5521|five days",
        ),
        say("Yes, that's right. How long will it take?", may("claim_status", claim_number=5521)),
        say("Thanks, goodbye."),
    ),
    held(
        "insurer",
        "asks for a claim that is none",
        say("How is my claim 4410 doing?", do("claim_status", claim_number=4410), says="no claim"),
        say("Sorry, 5410.", do("claim_status", claim_number=5410), says="assessor"),
        say("Okay. Is it going to be paid?", unable=True),
        say("Withdraw it please.", do("withdraw_claim", claim_number=5410), says="withdrawn"),
    ),
    held(
        "insurer",
        "an emergency",
        say("What's your emergency number?", do("emergency_phone"), says="0800"),
        say("Do you cover broken windows?", unable=True),
        say("Should I withdraw claim 5600?"),
        say("No, leave it."),
    ),
    held(
        "insurer",
        "withdraws two",
        say("Please withdraw claim 5300.", do("withdraw_claim", claim_number=5300), says="5300"),
        say("And what about claim 5301?", may("claim_status", claim_number=5301)),
        say("Don't withdraw 5302."),
        say("Withdraw 5301 too.", do("withdraw_claim", claim_number=5301), says="5301"),
    ),
    held(
        "insurer",
        "wants other things",
        say("I want to change my bank details.", unable=True),
        say("How much do I pay each month?", unable=True),
        say("Can I talk to an agent?", unable=True),
        say("Bye then."),
    ),
)

BIKES = (
    held(
        "bikes",
        "asks, then rents",
        say(
            "How many mountain bikes do you have left on Saturday?",
            do("bikes_left", kind="mountain bike", day=SATURDAY),
            says="4",
        ),
        say("I'd like to rent one from 9 am for five hours."),
        say(
            "Sara Moon.",
            do(
                "rent_bike",
                kind="mountain bike",
                pick_up=OneOf(("2026-04-18T09:00", "2026-04-18T09:00:00")),
                hours=5,
                name=Named("Sara Moon"),
                helmets=OneOf((0, ABSENT)),
            ),
            says="sara",
        ),
        say("Yes, correct. Thank you!"),
    ),
    held(
        "bikes",
        "too long",
        say(
            "I need an electric bike tomorrow at 8 am for 20 hours, my name is Igor Falk.",
            do(
                "rent_bike",
                kind="electric bike",
                pick_up=OneOf(("2026-04-16T08:00", "2026-04-16T08:00:00")),
                hours=20,
                name=Named("Igor Falk"),
                helmets=OneOf((0, ABSENT)),
            ),
            says="12 hours",
        ),
        say(
            "Then ten hours.",
            do(
                "rent_bike",
                kind="electric bike",
                pick_up=OneOf(("2026-04-16T08:00", "2026-04-16T08:00:00")),
                hours=10,
                name=Named("Igor Falk"),
                helmets=OneOf((0, ABSENT)),
            ),
            says="10 hours",
        ),
        say("Is a helmet included?", unable=True),
        say("Alright, bye."),
    ),
    held(
        "bikes",
        "locks and unlocks",
        say("Please unlock bike number 118.", do("unlock_bike", bike_number=118), says="unlocked"),
        say("Is bike 118 locked now?", unable=True),
        say("Lock bike 118 again.", do("lock_bike", bike_number=118), says="is locked"),
        say("And unlock 121.", do("unlock_bike", bike_number=121), says="121"),
    ),
    held(
        "bikes",
        "keeps it longer",
        say(
            "I'm Jo Webb, can I keep the bike two hours longer?",
            do("extend_rental", name=Named("Jo Webb"), hours=2),
            says="2 more",
        ),
        say("Until when is that?", unable=True),
        say(
            "Extend the rental of Kim Ode by three hours as well.",
            do("extend_rental", name=Named("Kim Ode"), hours=3),
            says="kim",
        ),
        say("That's all, thanks."),
    ),
    held(
        "bikes",
        "not for them",
        say("Do you sell bikes?", unable=True),
        say("My tyre is flat.", unable=True),
        say("Where are you?", unable=True),
        say("Are there any city bikes on Sunday?", do("bikes_left", kind="city bike", day=SUNDAY), says="4"),
        say("Never mind, bye."),
    ),
)

ESTATE = (
    held(
        "estate",
        "looks and arranges",
        say(
            "I'm looking for a flat with two rooms at the harbour.",
            do("find_flats", area="harbour", rooms=2, max_rent=NONE),
            says="quay street",
        ),
        say("I'd like to see the one in Quay Street on Monday at 5 pm."),
        say("My name is Rita Holm."),
        say(
            "My number is 0151 2345678.",
            do(
                "arrange_viewing",
                street=Saying("quay street"),
                when=OneOf(("2026-04-20T17:00", "2026-04-20T17:00:00")),
                visitor=Named("Rita Holm"),
                phone="01512345678",
            ),
            says="rita",
        ),
        say("Yes that's correct, thanks."),
    ),
    held(
        "estate",
        "on a Sunday",
        say(
            "Please arrange a viewing in Mill Row on Sunday at 11 am for Carl Stone, phone 0170 5556677.",
            do(
                "arrange_viewing",
                street=Saying("mill row"),
                when=OneOf(("2026-04-19T11:00", "2026-04-19T11:00:00")),
                visitor=Named("Carl Stone"),
                phone="01705556677",
            ),
            says="no viewings",
        ),
        say(
            "Tuesday then.",
            do(
                "arrange_viewing",
                street=Saying("mill row"),
                when=OneOf(("2026-04-21T11:00", "2026-04-21T11:00:00")),
                visitor=Named("Carl Stone"),
                phone="01705556677",
            ),
            says="tuesday",
        ),
        say("Is the flat furnished?", unable=True),
        say("Okay."),
    ),
    held(
        "estate",
        "cancels",
        say(
            "I have to cancel the viewing in Mill Row.",
        ),
        say(
            "Carl Stone.",
            do("cancel_viewing", street=Saying("mill row"), visitor=Named("Carl Stone")),
            says="cancelled",
        ),
        say("When is your office open?", do("office_hours"), says="9"),
        say("Was my viewing cancelled?"),
    ),
    held(
        "estate",
        "a limit",
        say(
            "Do you have flats with three rooms near the university for up to 1200 euros?",
            do("find_flats", area="university", rooms=3, max_rent=1200),
            says="mill row",
        ),
        say(
            "And in the old town?",
            do("find_flats", area="old town", rooms=3, max_rent=OneOf((1200, None, ABSENT))),
            says="mill row|quay",
        ),
        say("How big are they?", unable=True),
        say("Can I buy one of them?", unable=True),
    ),
    held(
        "estate",
        "only asks",
        say("How late are you open?", do("office_hours"), says="5"),
        say("Do you take pets?", unable=True),
        say("Sell my house.", unable=True),
        say("Goodbye."),
    ),
)

ENERGY = (
    held(
        "energy",
        "submits a reading",
        say("I'd like to submit my meter reading."),
        say("The meter number is M40771."),
        say("It shows 20455."),
        say(
            "Today.",
            do("submit_reading", meter_number="M40771", reading=20455, read_on="2026-04-15"),
            says="20455|20,455",
        ),
        say("Correct, thank you."),
    ),
    held(
        "energy",
        "changes the payment",
        say("How much do I pay each month?", do("monthly_payment"), says="86"),
        say("Change it to 30 euros.", may("change_payment", euros=30), says="40"),
        say("Then 45.", do("change_payment", euros=45), says="45"),
        say("Is that possible from today on?", unable=True),
        say("Okay, thank you, bye."),
    ),
    held(
        "energy",
        "no power",
        say(
            "We have no power in Elm Street since 7 am.",
            do("report_outage", street=Saying("elm street"), since=OneOf(("07:00", "07:00:00"))),
            says="on their way",
        ),
        say("When will it be back?", unable=True),
        say("Why is it so expensive?", may("monthly_payment")),
        say("I see."),
    ),
    held(
        "energy",
        "two readings",
        say(
            "Meter M40771 showed 1200 on Monday.",
            may("submit_reading", meter_number="M40771", reading=1200, read_on=Anything()),
        ),
        say(
            "Please submit a reading of 3400 for meter M50882, read on April 14.",
            do("submit_reading", meter_number="M50882", reading=3400, read_on="2026-04-14"),
            says="3400",
        ),
        say("What was my last reading?", unable=True),
        say("Bye."),
    ),
    held(
        "energy",
        "wants to leave",
        say("I want to cancel my contract.", unable=True),
        say("Could I pay 60 euros instead?", do("change_payment", euros=60), says="60"),
        say("Do you offer solar power?", unable=True),
        say("No, thanks."),
    ),
)

CANTEEN = (
    held(
        "canteen",
        "asks and orders",
        say("What's for lunch tomorrow?", do("menu", day=TOMORROW), says="risotto"),
        say("I'll have the lentil soup and the fish pie at noon."),
        say(
            "Dana Fox.",
            do(
                "order_lunch",
                dishes=Items("lentil soup", "fish pie"),
                day=TOMORROW,
                at=OneOf(("12:00", "12:00:00")),
                employee=Named("Dana Fox"),
            ),
            says="dana",
        ),
        say("Yes, that's correct."),
        say("What's on the menu on Friday?", do("menu", day=FRIDAY), says="risotto"),
    ),
    held(
        "canteen",
        "too late",
        say(
            "Please order mushroom risotto for Lee Grant on Monday at 3 pm.",
            do(
                "order_lunch",
                dishes=Items("mushroom risotto"),
                day=MONDAY,
                at=OneOf(("15:00", "15:00:00")),
                employee=Named("Lee Grant"),
            ),
            says="served|14",
        ),
        say(
            "1 pm then.",
            do(
                "order_lunch",
                dishes=Items("mushroom risotto"),
                day=MONDAY,
                at=OneOf(("13:00", "13:00:00")),
                employee=Named("Lee Grant"),
            ),
            says="lee",
        ),
        say("Is it vegan?", unable=True),
        say("Cool, bye."),
    ),
    held(
        "canteen",
        "orders for two",
        say(
            "Order fish pie for Mia Long tomorrow at 12:30.",
            do(
                "order_lunch",
                dishes=Items("fish pie"),
                day=TOMORROW,
                at=OneOf(("12:30", "12:30:00")),
                employee=Named("Mia Long"),
            ),
        ),
        say(
            "And lentil soup for Ned Short on Tuesday at 1 pm.",
            do(
                "order_lunch",
                dishes=Items("lentil soup"),
                day=TUESDAY,
                at=OneOf(("13:00", "13:00:00")),
                employee=Named("Ned Short"),
            ),
        ),
        say(
            "Cancel the lunch of Mia Long tomorrow.",
            do("cancel_lunch", employee=Named("Mia Long"), day=TOMORROW),
            says="cancelled",
        ),
        say("Did Ned get his soup?", unable=True),
    ),
    held(
        "canteen",
        "pauses",
        say("Pause the orders.", do("pause_orders"), says="paused"),
        say("Are orders paused?", unable=True),
        say("Resume them.", do("resume_orders"), says="again"),
        say("Pause the orders again.", do("pause_orders"), says="paused"),
    ),
    held(
        "canteen",
        "wants more",
        say("Do you have ice cream?", unable=True),
        say("Can I reserve a table?", unable=True),
        say("Cancel my lunch on Friday."),
        say("Ola Berg.", do("cancel_lunch", employee=Named("Ola Berg"), day=FRIDAY), says="cancelled"),
        say("Thanks, that's it."),
    ),
)

DIALOGUES: tuple[Held, ...] = (*INSURER, *BIKES, *ESTATE, *ENERGY, *CANTEEN)
