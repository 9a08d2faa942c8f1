"""`ConsentPhrases`: the words by which a language agrees, refuses, changes and asks. `language.consent` reads them.

Each field is a row of phrases, "|" between them, lower case and without marks but for "'". Longer phrases go before
shorter ones, and fields that come first before later ones. "*" stands for a verb of `acts` that the read-back has, so
that "cancel it" is a yes where cancelling was asked for.
"""

from __future__ import annotations

from antiphon.language.consent_clauses import ENGLISH_CLAUSES
from antiphon.language.consent_rows import ENGLISH_NO, ENGLISH_YES
from antiphon.language.consent_verbs import (
    ENGLISH_ACTS,
    ENGLISH_ALIKE,
    ENGLISH_LIGHT,
    ENGLISH_NOUNS,
    ENGLISH_PARTICIPLES,
    ENGLISH_PHRASAL,
    ENGLISH_REVERSES,
    ENGLISH_SOUNDS,
)
from antiphon.record import record


@record
class ConsentPhrases:
    """English, but for what is given. A phrase that is missing makes a reply unclear or a change, never a yes."""

    code: str = "en"
    """ISO 639-1."""

    clauses: str = ENGLISH_CLAUSES
    """Rules of `consent_grammar` for what the rows below say in many ways."""
    long_forms: str = (
        "can't=can not|cannot=can not|won't=will not|shan't=shall not|ain't=is not|thats=that is|its=it is|im=i am"
        "|dont=do not|let's=let us|lets=let us|n't=not|'s=is|'re=are|'ve=have|'ll=will|'d=would|'m=am|youve=you have"
        "|youre=you are|ive=i have|doesnt=does not|isnt=is not|wont=will not|didnt=did not|gonna=going to"
        "|wanna=want to|cant=can not|theyre=they are|i'd've=i would have"
    )
    """Words, and ends of words, as `clauses` have them."""
    whole: str = "all|both|everything|lot"
    """Of a read-back that has them: "delete them all"."""
    abandons: str = (
        "cancel|scrap|bin|drop|ditch|ignore|skip|disregard|abandon|forget|scratch|stop|abort|leave|undo|revoke|reject"
        "|decline|call|kill|halt|nix|withdraw|keep"
    )
    """Give up what is to be done, unless it is they that were read back."""
    said_at_once: str = (
        "book|reserve|place|confirm|save|submit|log|register|schedule|authorise|authorize|approve|record|note|accept"
    )
    """Done when it is said, so that "book it now" changes no day."""

    states: str = (
        "want|wish|like|need|mean|have|know|understand|think|see|hear|care|mind|happen|prefer|agree|be|remember"
    )
    """Verbs of what is not done, in "do you want"."""
    unfinished: str = "is|are|have|will|would|am"
    """Of `long_forms`: no clause ends with them in short. "It's" is no "it is"."""
    allowing: str = "can|may|could|able|might"
    """What they allow is not what is to be done: "you can cancel until Friday"."""

    # -- what decides
    yes: str = ENGLISH_YES
    """Agrees by itself. What follows it may agree again, repeat what was asked, or be polite, and nothing else."""
    subjects: str = (
        "that|this|it|everything|all|all of that|all of this|all of it|all that|all this|they|these|those|the details"
        "|all the details|all details|these details|those details|the information|all the information"
        "|that information|this information|your information|the info|that info|all the info|all of the information"
        "|all of the details|all of the information you have|all the information you have|the information you have"
        "|the details you have|what you have|what you said|that one|this one|this time|that time|the time|that all"
        "|it all|that date|this date|the date|that day|that price|the price|you|you guys|sounds|looks|works"
        "|it all sounds|that all sounds|both|both of them|both of those|they're both|they both|it both|yes is|yes its"
    )
    """What may be found good: "all of that is correct"."""
    verbs: str = (
        "is|are|'s|sounds|sound|looks|look|works|work|will be|would be|will work|would work|will do|would do|'ll be"
        "|'d be|is looking|is sounding|does|suits|suits me"
    )
    """Between what is found good and how."""
    adverbs: str = (
        "just|really|very|so|all|perfectly|exactly|absolutely|totally|completely|quite|entirely|fully|definitely"
        "|indeed|certainly|all very|precisely|pretty damn|perfectly all|super|more than|most|all just|indeed very"
    )
    """Before `good`: more of it."""
    good: str = (
        "correct|right|fine|good|great|perfect|okay|ok|accurate|exact|true|confirmed|awesome|lovely|wonderful"
        "|brilliant|excellent|amazing|fantastic|cool|ideal|super|alright|all right|spot on|in order|acceptable"
        "|agreeable|satisfactory|terrific|superb|splendid|marvellous|grand|convenient|suitable|the one|what i want"
        "|what i wanted|what i need|what i asked for|what i said|what i had in mind|what i'd like"
        "|the correct information|the right information|correct information|the correct details|the right one"
        "|the correct one|perfection|fabulous|delightful|perfectly|good enough|well with me|all set|what i would like"
        "|what we want|what we need|what i'm looking for|what i was looking for|what i am looking for|what i asked"
        "|what i requested|what i like|clear|complete|certain|crystal clear"
    )
    """How it is found. What is refused, doubted or asked about is not found good."""
    listening: str = (
        "okay|ok|okey|'kay|kay|yeah|yea|yah|ya|yep|yup|yap|yip|ye|yeh|yeps|sure|right|alright|all right|cool|mm hmm"
        "|mm hm|mmhmm|mmhm|mhm|mhmm|m hm|hm hmm|mm|mmm|uh huh|uhhuh|uhuh|ah huh|a ha yes|gotcha|got it|all righty"
        "|alrighty|mmm hmm|mmm hm|mm mhm"
    )
    """Agrees once the whole read-back was heard; before, it only says that the caller listens."""
    alone: str = (
        "please|if you would|if you please|would you please|if you could|as you said|i said yes|so be it|k"
        "|if you would please|if you would be so kind|if you'd be so kind|safe|champion|sweet as"
    )
    """Agrees if nothing else was said, but for words that agree, and polite ones."""
    closing: str = "do"
    """Agrees right behind what agrees, if nothing but politeness follows: "yes do". Elsewhere it may be anything."""
    afterwards: str = (
        "after all|any more|anymore|at the moment|for the moment|right now|just now|today|at this time|for now"
        "|this time|you're all right|you're alright|you're okay|you're fine|you're grand|you're good|either|just yet"
        "|yet|now|actually|ever|in any case|full stop|period|thanks anyway|anyway|again"
    )
    """Right behind a no: no more than that."""
    greetings: str = (
        "go on|carry on|keep going|hi|hello|hey|hiya|howdy|hi there|hello there|hey there|hallo|hullo|hello hello"
    )
    """Beside a bare "yes" they make it a sign that somebody is there."""
    pronouns: str = "i|we|you|he|she|they|it|that|this|them"
    """No values: "after I pay" repeats nothing, and "correct it" asks for something."""
    persons: str = "she's|he's|they're|we're|i'm|you're"
    """Before words of the read-back they repeat what it says of somebody: "she's absent today"."""
    same: str = (
        "every month=monthly|each month=monthly|per month=monthly|every week=weekly|each week=weekly|per week=weekly"
        "|every day=daily|each day=daily|every year=yearly|each year=yearly|per year=yearly|annually=yearly"
        "|per annum=yearly|a head=ahead|annual=yearly|every fortnight=fortnightly|both ways=return"
        "|a m=am|p m=pm"
    )
    """Words that say the same."""
    halves: str = "and a half"
    """Behind a number and before "thousand": half of that more."""
    nearby: str = "to|on|onto|in|into"
    """Of `prepositions`: before a word that is no value they say the same: "to the list", "on the list"."""
    vocatives: str = (
        "hen|pet|duck|ducks|ducky|chuck|petal|flower|treacle|sweetie|sweetheart|babes|boss|chief|captain|cap|friend"
        "|sunshine|mister|doc|nurse|bab|marra|our kid|chum|old chap|old boy|old bean|kiddo|sister|sis|bruh|brah"
        "|brother|cuz|amigo|habibi|sahib|uncle|aunty|auntie|oga|ma|young man|young lady|dear sir|dear lady|mon|cobber"
        "|digger|sugar|honey|doll|doll face|hinny|hinnie|bonny lad|bonnie lad|my lovely|lovey|my luvver|my babber"
        "|love|my love|dear|my dear|darling|my darling|hun|hon|bruv|blud|fam|matey|guv|squire|champ|lad|lass|lads"
        "|chef|coach|officer|professor|teacher|nurse|doctor|ladies|driver|folks|guys|my friend|my man|my good man"
        "|my lover"
    )
    """Calls who is spoken to, right behind what agrees, refuses or is polite: "yes love". Elsewhere it may be a value,
    or the begin of what is said to somebody else."""
    elliptic: str = (
        "it is|it does|it would|i do|you do|i would|i am|that is|that it is|you may|you can|you should|you could"
        "|it works|this works|you have|we do|we would|would be fine|would be great"
    )
    """Of `yes`: only by itself, and the begin of something else before words of the read-back: "it is Friday"."""
    declining: str = (
        "it's okay|it's ok|it's fine|it's all right|it's alright|it's good|it's all good|it is fine|it is okay"
        "|it is ok|that's okay|that's ok|that is okay|that is ok|that's all right|that's alright|that is all right"
        "|we're good|we are good|all good|all fine"
    )
    """Of `yes`: may as well decline what was offered, so that they decide only beside another: "no, it's fine"."""
    offers: str = (
        "would you like|do you want|do i|do we|could i|could we|are you wanting|shall i|should i|can i|may i"
        "|do you need|want me to|like me to|should we|shall we"
    )
    """Begins an offer."""
    affirming: str = (
        "that's right|that's correct|that's it|you're right|go ahead|that's perfect|that's great|that works|please do"
        "|do it|it's right|it's correct|of course|that is right|that is correct|you're correct|go for it"
        "|that's exactly right|exactly|that's the one|that's absolutely right"
    )
    """Phrases of `yes` that make the "no" before them one of speech: "no no that's right"."""
    excusing: str = (
        "that's fine|that's okay|that's ok|that's good|that's all right|that's alright|it's fine|it's okay"
        "|it's all right|that's cool|that's lovely|that sounds good|that sounds great|sounds good|that's totally fine"
        "|it's good|it's great|that's absolutely fine|that's perfectly fine|for sure|absolutely|definitely"
        "|that'd be great|that would be great"
    )
    """The same behind a yes and a "no": "yeah no that's fine". Without the yes they may decline: "no, that's okay"."""
    no: str = ENGLISH_NO
    """Refuses."""
    reasons: str = (
        "i'll|i will|i've|i have|i'm|i am|we'll|we will|we've|we have|we're|we are|i found|we found|i got|we got"
        "|we went|i already|we already|i just|i can|i don't|i do not|we don't|i didn't|i was|i had|we had|it's too"
        "|it is too|that's too|it's still|it is still|he's|she's|they're|because|cause|cos|i thought|i need to think"
        "|i forgot|somebody|someone|i paid|it costs|it's not worth|that's a lot|i do it|i did it|i think i'll"
        "|i think we'll"
        "|i need to|we need to|i have to|we have to|i'd need to|let me"
    )
    """Behind a refusal: why. What follows is no change, unless it has a value or one of `wishes`."""
    wishes: str = (
        "instead|make|change|switch|swap|add|another|want|wanted|need|needed|prefer|said|meant|mean|asked|ordered"
        "|like|looking|after|should|replace|different|rather|from|called|named|spelled|spelt|with|booked"
    )
    """Words of a wish."""
    wait: str = (
        "hold on|hang on|wait|stop|wait a minute|wait a second|wait a moment|wait a sec|wait up|hold on a minute"
        "|hold on a second|hold on a sec|hang on a minute|hang on a second|hang on a sec|just a second|just a sec"
        "|just a minute|just a moment|one second|one sec|one moment|one moment please|one minute|a moment please"
        "|give me a second|give me a minute|give me a moment|give me a sec|bear with me|hold off|hold it|hold that"
        "|not yet|not just yet|not now|not today|not right now|later|maybe later|let me think|let me think about it"
        "|i need to think about it|i'll think about it|i have to think about it|let me sleep on it"
        "|let me call you back|i'll call you back|i'll call back|stop it|stop that|stop there|stop right there|whoa"
        "|woah|time out|hold your horses|easy|slow down"
    )
    """Not now."""
    correction: str = "wait|no wait|sorry|i mean|i meant|oh wait|hold on|hang on|actually"
    """Between a no and a yes: the yes counts."""

    # -- what takes a yes away
    hedge: str = (
        "if you want|if you like|if you want to|if you must|if that's what you think|i guess|i guess so|guess|i think"
        "|i think so|so so|i believe|i believe so|i suppose|i suppose so|suppose|i hope so|i hope|maybe|perhaps"
        "|probably|possibly|presumably|supposedly|i'd say so|sort of|kind of|kinda|sorta|more or less|pretty much"
        "|almost|nearly|mostly|partly|roughly|not sure|i'm not sure|not certain|i'm not certain|i don't know|don't know"
        "|dunno|no idea|i have no idea|who knows|whatever|i don't care|don't care|i don't mind|it depends|depends"
        "|that depends|might|should be|could be|may be|would be|seems|it seems|i assume|assume|i imagine|i reckon"
        "|reckon|as far as i know|if you say so|i'm fairly sure|fairly sure|pretty sure|i'm pretty sure|in principle"
        "|theoretically|in theory|hopefully|fair enough|hardly|technically|yes and no|yes or no|let me see"
        "|let me check|i'd have to check|let's see|we'll see|you tell me|you decide|up to you|it's up to you"
        "|not entirely|not completely|not a hundred percent|not one hundred percent|not totally|not fully|yeah right"
        "|as if|for now|i wish|supposed|good morning|good evening|good afternoon|good night|i see|i know|i understand"
        "|understood|i hear you|i heard you|i can hear you|i'm listening|i am listening|i'm here|i'm still here"
        "|speaking|not bad|can't complain|right then|okay now|ok now|now then|excuse me|we'll see about that"
        "|i'm thinking|i'm considering it|not necessarily|seems like it|looks like it|likely|very likely|most likely"
        "|i'm inclined to|tentatively|aye right|aye sure|leaning yes"
        "|let's hope so|i trust you|i trust so|might be|i may|i might|mm mm"
        "|mmm mmm|mm mmm|mmm mm"
    )
    """Neither a yes nor a no: to be asked again."""
    speaking: str = "says|said|say|saying|told|tells|tell|goes|thinks|thought|asks|asked|wants"
    """Reports what somebody said. The read-back's own words are no exception."""
    negating: str = (
        "not|isn't|aren't|wasn't|won't|doesn't|didn't|can't|cannot|ain't|haven't|shouldn't|wouldn't|couldn't|never|no"
        "|without|non"
    )
    """Negates what comes."""
    reported: str = "he|she|they|his|her|wife|husband|boyfriend|girlfriend|mom|mum|dad|boss|darling|honey|kids|him|mine"
    """Somebody else is spoken of, or to."""
    condition: str = (
        "if|unless|provided|providing|as long as|so long as|on condition|assuming|only if|in case|once|until|till"
        "|supposing|given that|when|whenever|after|before"
    )
    """What comes is a condition."""
    contrast: str = (
        "but|except|except for|apart from|although|though|however|only|just|other than|besides|save for|minus|instead"
        "|rather|almost everything|all but|everything but|yet|still|bar"
    )
    """What comes differs."""
    change: str = (
        "this|make it|make that|make|change|change it|move|move it|switch|swap|replace|add|also|plus|too|as well|with"
        "|without|extra|another|other|more|less|fewer|bigger|smaller|larger|cheaper|earlier|later on|sooner|different"
        "|else|actually|prefer|i'd prefer|i meant|i mean|i said|you said|should be a|how about|what about|let's say"
        "|let's make|better|reschedule|postpone|rebook|upgrade|downgrade|pause|freeze|double|half|both|all of them"
        "|every|include|including|put|use|leave out|take off|remove|delete|exchange|return|give|get|have|bring|next"
        "|last|same|either|or|right now|all|any|each|whole|entire|anything|everything"
    )
    """What an argument is changed with. Not held against a caller who repeats the read-back's own words."""
    question: str = (
        "what|what's|when's|where|where's|who|who's|whose|why|how|how's|which|is|are|was|were|am|do|does|did|can"
        "|could|will|would|should|shall|has|may|have you|don't you|and what|and how|pardon|come again|say again"
        "|sorry what|huh"
    )
    """Begins a question."""
    requests: str = (
        "can i|can you|can we|can it|can he|can she|can they|can someone|can somebody|could i|could you|could we"
        "|could it|could he|could she|could they|could someone|may i|may we|might we|would you|how about|what about"
        "|is it possible|would it be possible|any chance|is there any chance|can my|could my|will you"
        "|do you think you could|do you think we could"
    )
    """Begins a question that may ask for a change."""
    checking: str = (
        "did you say|do you mean|did you mean|is that|is it|was that|was it|you mean|what was|how much|how many"
        "|so you|you said what"
    )
    """Begins a question about what was read back, whatever it names."""

    # -- what may stand beside a yes
    filler: str = (
        "och|ach|abeg|oya|o|ooo|sha|ji|lah|leh|lor|aiyo|haan|haan ji|ha ji|ji haan|arre|accha|achha|acha|yaar|sah|ehn"
        "|jare|joor|wallah|mashallah|si|oui|hai|claro|vale|bueno|sim|ja|jah|irie|innit|yessum|fo sho|kindly|blimey"
        "|crikey|goodness|heavens|jeez|lordy|yay|hooray|hurrah|woohoo|whoop|yest|eye|as it happens"
        "|as a matter of fact|there we go|there you go|there you are|here we go|right so|no harm|no bother|nae bother"
        "|no trouble|no sweat|no drama|no dramas|too easy|no probs|no prob|course|obvs|defo|deffo|totes|ace|mint|lush"
        "|sweet|sorted|job done|eh|oh|ooh|ah|aha|oh my|please|pleas|peas|thanks|thank you|thankyou|thanks a lot"
        "|thank you very much|thank you so much|thanks very much|thanks so much|many thanks|cheers|ta"
        "|much appreciated|appreciate it|i appreciate it|that's very kind|very kind|very kind of you|how kind"
        "|you're very kind|sir|ma'am|madam|miss|mate|man|dude|buddy|pal|bro|so|then|you know|to be honest|honestly"
        "|that's all|that's everything|that is all|that'll be all|that's all thanks|nothing else|i'll be there"
        "|i'll be here|i'm looking forward to it|looking forward to it|can't wait|sorry|sorry about that|as i said"
        "|like i said|really|very|quite|much|gosh|wow|jess|chess|for me|to me|to us|by us|with pleasure|in fact"
        "|right away|straight away|i'm happy|i'm glad|good good|thank god|finally|at last|might as well|quickly|quick"
        "|go go|it's me|this is correct|ha|haha|amazing thanks|um|uh|uhm|umm|er|erm|with me|by me|for all of us"
        "|with us|please and thank you|and thank you|and thanks|thanks for your help|thank you for your help"
        "|thanks for the help|thanks for everything|thanks for all your help|you've been very helpful"
        "|you have been very helpful|you have been so helpful|you've been so helpful|you're the best|you are the best"
        "|great job|good job|well done|that's so kind|so kind of you|i can't wait|i cannot wait|thanks a bunch"
        "|thanks a million|thanks again|thank you again|to that|to it|with it|with that|at once|as soon as possible"
        "|asap|at all"
    )
    """Polite, hesitating or thankful: changes nothing."""
    hesitation: str = (
        "hm|hmm|hmmm|well|oh well|err|errm|huh okay|oh dear|oh boy|ugh|meh|oh no|oh god|oh my god|bye|goodbye|bye bye"
        "|see you|see you then|see you there|see you soon|have a nice day|have a good day|have a good one|take care"
    )
    """Beside words of `listening` alone it makes them unclear."""
    open_end: str = (
        "um|uh|uhm|umm|er|erm|and|or|so|but|because|the|a|an|with|that|like|if|hm|hmm|hmmm|well|at|on|for|to|from|my"
        "|then i|i|then maybe"
    )
    """At the end of a reply: more was to come."""
    asking: str = (
        "and|also|then|and also|and then|could you|can you|would you|will you|please|could you also|can you also"
        "|you can|you could|and please|would you also|i'd like you to|and if you could|if you could|maybe"
    )
    """May stand between a yes and what is wanted besides."""
    extra: str = (
        "send me|send us|text me|text us|email me|email us|mail me|message me|sms me|whatsapp me|forward me"
        "|let me know|call me|ring me|phone me|give me a call|give me a ring|notify me|remind me|tell me|give me"
        "|show me|read me|i have another question|i have one more question|i have a question|i've got a question"
        "|i've got another question|i had another question|one more thing|one more question|another question"
        "|another thing|i need a receipt|i'd like a receipt|i need an invoice|keep me posted|keep me updated"
    )
    """Begins what is wanted besides and touches no argument."""
    extra_words: str = (
        "a|an|the|my|me|us|to|of|for|by|with|it|it's|it is|that|this|is|are|on|its|in|at|as|soon|i|we|have|and|or|too"
        "|also|please|thanks|thank you|when|once|after|afterwards|later|up|back|then|address|confirmation"
        "|confirmations|details|detail|directions|receipt|invoice|link|number|reference|text|sms|email|e mail|mail"
        "|message|copy|copies|booking|reservation|summary|note|reminder|code|info|information|done|ready|there|here"
        "|way|finished|through|booked|sent|placed|confirmed|complete|completed|it's done|all|phone|whatsapp|calendar"
        "|entry|tracking|ticket|tickets|pdf|map|location|contact|day|ask|question|questions|something|about|else"
        "|that's|set|know|proof|payment|bill|order|status|where|call|doctor|dr|driver|team|everybody|everyone|them"
        "|help|taxes|records|office|place|day before|hour before|the day before"
    )
    """All that `extra` may go on with."""
    neutral: str = (
        "the|a|an|my|your|our|it|it's|that|that's|is|are|and|dot|i'd like|i would like|i want|i need|we'd like"
        "|we want|we need|of|in total|for us|the number|quid|the reservation|the booking|the appointment|the ticket"
        "|the tickets|the order|the payment|the transfer|the transaction|the event|the ride|the purchase|the request"
        "|the arrangement|the flight|the trip|the delivery|the details|the same|my reservation|my booking"
        "|my appointment|my ticket|my tickets|my order|my payment|my transfer|my transaction|my event|my ride"
        "|my purchase|my request|my arrangement|my flight|my trip|my delivery|my details|my same|that reservation"
        "|that booking|that appointment|that ticket|that tickets|that order|that payment|that transfer"
        "|that transaction|that event|that ride|that purchase|that request|that arrangement|that flight|that trip"
        "|that delivery|that details|that same|this reservation|this booking|this appointment|this ticket"
        "|this tickets|this order|this payment|this transfer|this transaction|this event|this ride|this purchase"
        "|this request|this arrangement|this flight|this trip|this delivery|this details|this same|our reservation"
        "|our booking|our appointment|our ticket|our tickets|our order|our payment|our transfer|our transaction"
        "|our event|our ride|our purchase|our request|our arrangement|our flight|our trip|our delivery|our details"
        "|our same"
    )
    """Says nothing by itself, beside words of the read-back."""
    loose: str = "on|at|for|in|of|with"
    """Of `prepositions`: before a day or month they say the same as another of these, and as none."""
    ranges: str = "from=to"
    """"Between nine and ten": behind the first, a word of `joining` counts as the second."""
    counted: str = "people|persons|person|guests|guest|diners"
    """Behind a number that counts them, whether or not the read-back says so."""
    suffixes: str = "o'clock|oclock|sharp"
    """Behind an hour."""
    joining: str = "and"
    """Joins numbers, and what is wanted besides."""
    negation: str = "not"
    """Ends a phrase of `yes` that is a question by form: "why not?"."""
    prepositions: str = (
        "at|for|on|in|to|until=to|till=to|through=to|from|between=from|with|by|of|under|after|before|into"
    )
    """Stand before a value, and must be those of the read-back. "until=to": counts as the other."""
    acts: str = ENGLISH_ACTS
    """Verbs of what is done. A read-back that has one may be answered with it, or with its like: "reserve=book". One
    that has none, or only those like "confirm", asks for the first."""

    alike: str = ENGLISH_ALIKE
    """Verbs that may be said for one another, besides those that `acts` has as one: rows of words."""
    phrasal: str = ENGLISH_PHRASAL
    """Verbs of several words, and the verb of `acts` that says the same: "call off=cancel"."""
    nouns: str = ENGLISH_NOUNS
    """What is made, and the verb of `acts` that makes it: "the booking" in "shall I make the booking?"."""
    light: str = ENGLISH_LIGHT
    """Verbs before `nouns`."""
    sounds: str = ENGLISH_SOUNDS
    """What recognisers write, and what may have been said: read so beside a yes that is clear without it."""
    reverses: str = ENGLISH_REVERSES
    """A closing question of this form is answered the other way round: a bare yes or no is asked again."""
    bare: str = (
        "yes|yeah|yea|yah|ya|yep|yup|ye|yeh|yess|aye|sure|no|nope|nah|naw|nae|i do|there is|it is|it does|definitely"
        "|i don't think so|not really|i don't|i do not|i think not|don't think so"
    )
    """What such a question makes unclear."""
    counters: str = "nothing|none|not a thing|not at all|nothing else|i don't mind|i do not mind|don't change anything"
    """What says to such a question that all is well."""

    # -- values
    numbers: str = (
        "zero=0|nought=0|one=1|won=1|two=2|three=3|four=4|five=5|six=6|seven=7|eight=8|ate=8|nine=9|ten=10|eleven=11"
        "|twelve=12|noon=12|midday=12|thirteen=13|fourteen=14|fifteen=15|sixteen=16|seventeen=17|eighteen=18"
        "|nineteen=19|dozen=12|couple=2|fifth teen=15"
    )
    tens: str = "twenty=2|thirty=3|forty=4|fourty=4|fifty=5|sixty=6|seventy=7|eighty=8|ninety=9"
    hundred: str = "hundred"
    thousand: str = "thousand|grand and"
    ordinals: str = (
        "first=1|second=2|third=3|fourth=4|fifth=5|sixth=6|seventh=7|eighth=8|ninth=9|tenth=10|eleventh=11|twelfth=12"
        "|thirteenth=13|fourteenth=14|fifteenth=15|sixteenth=16|seventeenth=17|eighteenth=18|nineteenth=19"
        "|twentieth=20|thirtieth=30|fortieth=40"
    )
    clock: str = (
        "half past=30|quarter past=15|quarter after=15|quarter to=-15|quarter of=-15|a quarter past=15"
        "|a quarter to=-15|half=30"
    )
    """Before an hour: minutes."""
    days: str = (
        "monday|mondays=monday|mon=monday|tuesday|tuesdays=tuesday|tue=tuesday|tues=tuesday|wednesday"
        "|wednesdays=wednesday|wed=wednesday|thursday|thursdays=thursday|thu=thursday|thurs=thursday|friday"
        "|fridays=friday|fri=friday|saturday|saturdays=saturday|sat=saturday|sunday|sundays=sunday|sun=sunday|today"
        "|tomorrow|tonight|yesterday|weekend|weekends=weekend|weekday|weekdays=weekday|now|immediately|week|fortnight"
    )
    months: str = (
        "january|jan=january|february|feb=february|march|april|apr=april|may|june|jun=june|july|jul=july|august"
        "|aug=august|september|sept=september|sep=september|october|oct=october|november|nov=november|december"
        "|dec=december"
    )
    dayparts: str = "am|morning=am|mornings=am|pm|afternoon=pm|evening=pm|evenings=pm|night=pm|afternoons=pm"
    units: str = (
        "dollars|dollar=dollars|bucks=dollars|pounds|pound=pounds|quid=pounds|euros|euro=euros|cents|pence|percent"
    )
    at_once: str = "now|immediately"
    """Of `days`: no time of its own where the read-back names none."""
    confirming: str = (
        "confirm|approve|accept|submit|proceed|start|begin|continue|save|log|record|store|authorise|authorize|process"
    )
    """Of `acts`: done to any other."""
    doing: str = "i'm|i am|we're|we are|so i'm|so we're|i'll be|we'll be|you're|you are"
    """Before a verb with `gerund`, the same: "I'm turning off the alarm"."""
    leads: str = (
        "do you|would you|shall i|should i|do i|can i|may i|could i|must i|shall we|should we|can we|may we"
        "|want me to|like me to|need me to|wish me to|ready to|okay to|ok to|okay for me to|ok for me to"
        "|happy for me to|all right to|alright to|all right for me to|fine to|happy to|right to|good to|going to"
        "|about to|i'll|i will|we'll|we will|let me|i can|i could|i would|i'd|you want to|you wish to|you'd like to"
        "|you would like to|you like to|please confirm to|is it okay to"
    )
    """Before the verb of what is done, whether or not `acts` has it."""
    separable: str = ""
    """Begins verbs, and stands apart from the rest of them: "sagen Sie ihn ab"."""
    infinitive: str = ""
    """Ends that verb where the language has it at the end of the question; "" where it follows."""
    gerund: str = "ing"
    """Ends such a verb where it begins a sentence: "Turning off the alarm"."""
    predicates: str = (
        "happy|ready|complete|clear|acceptable|satisfied|willing|prepared|certain|content|pleased|confident|sorted|done"
        "|comfortable|set"
    )
    """What may be asked of a read-back, and then be answered with: "Is that complete?"."""
    closings: str = "is|are|was|does|do|did|would|will|has|have|can"
    """Begins the question that ends a read-back. It may be answered with its own words, turned round: "is that what
    you meant?", "that is what I meant"."""
    turned: str = "you=i me|i=you|me=you|my=your|your=my|we=you we|us=you us|our=your our"
    """What such a word may be in the answer."""
    does: str = "do"
    """Of `closings`: may be left out of the answer: "we have a deal" to "do we have a deal?"."""
    able: str = "can|could|may"
    """Of `closings`: an answer may end behind it: "I can" to "can you make it?"."""
    shown: str = "that|it|this"
    """Any of which may take the place of another in the answer."""
    contracted: str = "that is=that's|it is=it's|this is=this's|i are=i am i'm|i would=i'd|i have=i've|you have=you've"
    """How the answer may begin, and in short. "are you" is answered with "i am"."""
    rights: str = (
        "that's the right|that is the right|that's the correct|that is the correct|it's the right|it is the right"
        "|it's the correct|this is the right|this is the correct|you have the right|you've got the right"
    )
    """Before the kind of a value that was read back: "yes, that's the right number"."""
    kinds: str = (
        "number=number|amount=number|price=number|total=number|figure=number|time=number|date=ordinal"
        "|day=day|month=month"
    )
    """What a kind of value is called."""
    passives: str = (
        "will be|is going to be|are going to be|it'll be|that'll be|they'll be|shall be|is being|are being|to be"
    )
    """Before the participle of what is done: "will be frozen"."""
    participles: str = ENGLISH_PARTICIPLES
    """Those that do not end in `participle`."""
    participle: str = "ed"
    particles: str = "off|on|up|down|out|in|through|over|away|back|along|forward"
    """Go with a verb, and are those of the read-back: "turn it off"."""
    selves: str = "i'm|i am|we're|we are|i feel|we feel"
    """Whoever is `predicates`: "I'm ready"."""
    copulas: str = "it's|that's|it is|that is|is|are"
    """Before a word of the read-back they say something of it, and agree with nothing: "it's a birthday"."""
    articles: str = "the|a|an|my|your|our"
    """Before a word that agrees they make it say something of another: "my good man"."""
    addressed: str = "me=you|us=you"
    """Behind the read-back's verb: "put me through" where it has "put you through"."""
