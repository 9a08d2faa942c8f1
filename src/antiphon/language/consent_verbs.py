"""Verbs of what is read back in English, which of them say the same, and what recognisers make of them.

Above: `ConsentPhrases`, which has each row's meaning. Below: nothing.
"""

ENGLISH_ACTS = (
    "book|reserve=book|order=book|place=book|send|pay=send|cancel|delete|remove=delete|confirm|save=confirm"
    "|set=confirm|submit=confirm|transfer=send|buy=book|purchase=book|schedule=book|arrange=book|reset|change"
    "|update=change|move|refund|return|call|dial=call|ring=call|charge=send|file|renew|refill|activate|deactivate"
    "|block|unblock|lock|unlock|close|open|end|start|begin|sign=book|register=book|enrol=book|enroll=book|add"
    "|switch|donate=send|deliver|ship|message=send|text=send|email=send|print|upload|download|share|invite"
    "|accept=confirm|approve=confirm|upgrade|downgrade|subscribe|unsubscribe|resume|extend|assign|forward=send"
    "|post|publish|report|request|exchange|swap|fix|finish|complete|process|erase=delete|wipe=delete|clear=delete"
    "|enter=book|record=confirm|log=confirm|note=confirm|store=confirm|create|play|watch=play|hear=play|proceed"
    "|continue|rent|hire=rent"
)
ENGLISH_PARTICIPLES = (
    "frozen=freeze|sent=send|made=make|put=put|paid=pay|bought=buy|sold=sell|told=tell|taken=take|held=hold"
    "|kept=keep|cut=cut|drawn=draw|withdrawn=withdraw|given=give|shut=shut|set=set|brought=bring|lent=lend"
    "|begun=begin|rung=ring|reset=reset|split=split|hidden=hide|driven=drive|written=write|rebuilt=rebuild"
)
ENGLISH_ALIKE = (
    "move transfer shift|transfer send pay|move reschedule rebook shift|put stick pop pencil jot|transfer connect patch"
    "|book reserve schedule arrange order|arrange sort|cancel end terminate|delete remove erase wipe clear|switch turn"
    "|update amend alter change|switch swap|send ship dispatch post deliver mail forward|report log file"
    "|charge bill debit take|activate enable|deactivate disable|block freeze lock|raise increase|lower reduce"
    "|give grant|close end shut|open start|renew extend|sign enrol enroll register|hire rent|issue send"
    "|buy purchase order|pause freeze suspend|enter log record note|get grab fetch"
)
ENGLISH_PHRASAL = (
    "call off=cancel|get rid of=delete|get rid of=cancel|do away with=cancel|put through=transfer|put through=connect"
    "|put through=submit|put through=process|patch through=connect|put down for=book|put in for=book|set up=create"
    "|set up=arrange|set up=schedule|set up=book|send off=submit|send off=post|send off=file|send out=dispatch"
    "|ship out=send|push back=postpone|push back=move|put off=postpone|put back=postpone|take off=remove"
    "|take out=remove|cut off=stop|shut off=disable|turn on=activate|turn on=enable|switch on=activate"
    "|switch on=enable|turn off=deactivate|turn off=disable|switch off=deactivate|switch off=disable|sign up=register"
    "|sign up=enrol|sign up=enroll|lock in=book|lock in=confirm|pencil in=book|put in=submit|put in=place|put in=book"
    "|pay off=pay|hand in=submit|send in=submit|shut down=close|knock off=remove"
)
ENGLISH_NOUNS = (
    "booking=book|reservation=book|payment=send|transfer=transfer|purchase=buy|cancellation=cancel|change=change"
    "|order=order|refund=refund|switch=switch|call=call|donation=donate|swap=swap|update=update|request=request"
    "|report=report|return=return|exchange=exchange|deletion=delete|renewal=renew|upgrade=upgrade|appointment=schedule"
    "|delivery=deliver|move=move"
)
ENGLISH_SOUNDS = (
    "due=do|dew=do|write=right|rite=right|wright=right|leaf=leave|too=two|to=two|won=one"
    "|for=four|fore=four|ate=eight|mourning=morning|tree=three|tirty=thirty|tousand=thousand|knight=night|weak=week"
    "|prefect=perfect|grate=great|ahed=ahead|exacly=exactly|its=it's|id=i'd|weaks=weeks|halve=have|inn=in|dose=those"
    "|your=you're"
    "|hit=it"
)
ENGLISH_LIGHT = "make|place|process|complete|submit|confirm|do|finalise|finalize|put"
ENGLISH_REVERSES = (
    "is there anything|was there anything|anything to|anything else|anything wrong|anything i|anything you|any changes"
    "|any change|any corrections|any correction|any mistakes|any errors|any objections|any objection|any problems"
    "|any problem|any issues|any concerns|something to change|something wrong|a problem|a mistake|do you mind"
    "|would you mind|mind if|do you object|do you disagree|did i miss|have i missed|did i get anything"
    "|have i got anything|am i missing|am i wrong|is it wrong|is that wrong"
)
