"""Clauses by which English callers agree and refuse, as rules of `consent_grammar`, in long forms: "that is", "do not".

Above: `ConsentPhrases.clauses`. `hedge`, `no`, `yes`, `short` and `filler` are looked for; the others are their parts.
Flags are those of the read-back: `@act` its verbs, `@any` any verb of what is done, `@acted`, `@acting` their forms,
`@thing` its other words, `@kind` what its values are called, `@whole` "all" where it has that, `@along` its particles,
`@ready` what it asks whether the caller is, `@asked` how it asks whether it sounds, `@soon` "now" where it names no
time, `@off` verbs that give up, unless they are asked for.
"""

ENGLISH_CLAUSES = """
det = the | that | this | those | these | my | our | your | an | a
all = it | that | this | everything | all [of] (it | that | this | them) | them | those | these | (it | that | this |
 them) all | (that | this) one | both | the lot | [all] [of] <the> <things>
the = the | that | this | those | these | my | our
it = it [@whole] | both@whole | the two of (them | those) | that [@whole] | this | them [@whole] | those | these | him
 | her | (that | this) one | us@done | me@done | @whole of (it | that | them) | <det> <things>
things = @thing [@thing [@thing]] | <deed>
deed = (amount | money | sum | funds | booking | reservation | appointment | order | payment | transfer | transaction
 | request | change | changes | purchase | delivery | visit | details | information | arrangement | call | ticket |
 tickets) [@acted]
very = [just | really | very | so | all | perfectly | exactly | absolutely | crystal | totally | completely | quite |
 entirely | fully | definitely | certainly | more than | most | most definitely | a hundred percent | 100 percent |
 indeed | one hundred percent | surely | only too | too | truly | ever so | super | most certainly | pretty damn |
 bang | dead | spot | well] [just | very | so | too]
me = [for me | for us | by me | by us | with me | with us | to me | to us | from me | from us | on my end | on our end
 | on my side | from my end | from my side | from this end | at this end | indeed | at all | so far]
from = [from me | from us | on my end | on our end | on my side | from my end | from my side]
then = [please | then | for me | for us | so | anyway | already | straight off | too @soon | @soon | indeed]

act = @act
along = @along
whom = <it> | me | us
idiom = book@act [<whom>] in | start@act [<whom>] (up | off) | sort@act [<whom>] out | put@act [<whom>] on hold |
 <act> am [now] | set@act [<whom>] up | send@act [<whom>] (off | over | out | through | across | along | round) |
 put@act [<whom>] (in | through | down | on) [for (it | that)] | add@act [<whom>] (in | on) | sign@act [<whom>] up |
 lock@act [<whom>] in | pass@act [<whom>] (on | over | along) | move@act [<whom>] (over | across) | file@act [<whom>]
 away | order@act [<whom>] in | finish@act [<whom>] (up | off) | post@act [<whom>] (off | out) | submit@act [<whom>]
 (now | through)
what = it [@whole] | that [@whole] | this | them [@whole] | those | these | him | her | (that | this) one | <det>
 <things>
phrasal = @by_off [<what>] off [<what>] | @by_down [<what>] down [<what>] | @by_in [<what>] in [<what>] | @by_up
 [<what>] up [<what>] | @by_out [<what>] out [<what>] | @by_through [<what>] through [<what>] | @by_back [<what>] back
 [<what>] | @by_on [<what>] on [<what>] | @by_rid_of rid of [<what>] | @by_away_with away with [<what>]
go = go [right | on | straight] ahead | go for it | go on ahead | proceed | continue | crack on | go on then | press
 on | push on | do so
idle = (off | away | on) you go | (work | fire) away [there | so | then] | (drive | plough) on [there | so] | fire
 ahead | go on ahead there | go ahead there | ready@ready when you are | whenever you are ready | let her rip | full
 (steam | speed) ahead | can (go ahead | proceed | do | do so | do that | can | lah | one) [lah | can] | have at it |
 go to it | get cracking | crack on | run with it | roll with it | you (do | go) (that | it | ahead) | let us be
 having it | hit it
goes = <idle> | (go | start | begin | get going) <then> | <onward>
onward = <go> [with <all> | with <kinds> | with [the] [(@thing | @act)] @acting | with it all | to <act>] [and (<act>
 | do | go for | get | make) [<it>] [<along>]] <then>
get = get (it | that | this) (done | going | sorted | @acted | in | through | set up | over with) | make (it | that)
 happen | make it so | put (it | that | this) (through | in | down) | do (it | that | this | the deed) | see to (it |
 that) | sort it | sort that | have at it | fire away | lock (it | that) in | let [us] (it) happen | (do | doing) the
 needful | work your magic | do your (thing | magic | stuff) | (get | set) (it | that | them | this | things | the
 ball | him | her) (rolling | moving | going | started | underway | in motion) | give it (the green light | a go)
please = [please | kindly | just | by all means | of course | do please | please do | please kindly | simply | also |
 then | now | happily | gladly | for sure | absolutely | certainly]
frame = you can | you may | you should | you could | you are (free | welcome | good | clear | cleared | okay | ok) to
 | i want you to | i would (really) like you to | i would (like | love) you to | i need you to | i am asking you to |
 i would appreciate it if you would | let us | do | please do | feel free to | i would like to | i would love to | i
 want to | i wish to | i need to | we want to | we would like to | we would love to | we need to | i do want to | i do
 want you to | i really want to | [i am] [very | quite | more than | only too | perfectly] (happy | content | glad |
 okay | ok | fine) (to | for you to | with you to) | we are happy (to | for you to) | be so kind and | be so good and
 | be a dear and | go on and | go and | go ahead and | go right ahead and | you can go ahead and | you may go ahead
 and | please go ahead and | i would be grateful if you would | yes do | i | we | i do | we do | i hereby | you | you
 just | you kindly | you please | i am ready to | we are ready to | i am willing to | you have my (permission |
 blessing | approval | okay | ok | consent | authorisation | authorization) to | i (authorise | authorize | allow |
 permit | give you permission | give you authorisation | give permission) [you] to | i give you my (permission | okay
 | ok | consent | blessing) to | i am asking for you to | time to | i can confirm you can | you can certainly | you
 can definitely | you certainly can | you certainly may
request = <please> [<frame>] <please> (<act> [<it>] [<along>] [<it>] | <idiom> | <phrasal>) [for (me | us | him | her
 | them)] <then> | <please> (<goes> | <get>) <then> | <please> <frame> <please> (<onward> | <get>) <then> | [please]
 <act> away | <please> (make | place | do | put | complete | process | take) (the | that | this | my | our) (@thing
 [@thing] | <deed>) [through | in] <then> | [please] have (it | them | that | him | her | <the> <things>) @acted |
 [please] get (him | her | them | it) @acted

nice = delicious | tasty | yummy | brill | gorgeous | beautiful | stunning | fab | tip top | top notch | first class |
 first rate | fine and dandy | swell | divine | heavenly | exquisite | magnificent | savage | a dream | a treat | a
 winner | the business | just what i need | great stuff | cushty | lush | ideal | unreal | banging | bonza | bonzer |
 ripper | beaut | bostin | a1 | a 1 | a okay | pukka | splendid | cracking | super duper | impeccable | faultless |
 just lovely | as good as gold | bob on
good = right | correct | fine | good | great | perfect | okay | ok | accurate | exact | true | confirmed | awesome |
 lovely | wonderful | brilliant | excellent | amazing | fantastic | cool | ideal | super | alright | all right | spot
 on | in order | acceptable | agreeable | satisfactory | terrific | superb | splendid | marvellous | grand |
 convenient | suitable | fabulous | delightful | good enough | bang on | on point | on the money | dead on | dead
 right | authorised@acted | @acted | as it should be | as i want it | as i wanted it | as we want it | as agreed | as
 discussed | as i said | how i want it | how i wanted it | how we want it | just the job | just the thing | just the
 ticket | just right | just so | a ok | tickety boo | hunky dory | sound | <nice> | mint | class | deadly | ace |
 magic | champion | peachy | gravy | smashing | flawless | complete | clear | crystal clear | certain | approved |
 agreed | very well | well | no problem | not a problem | no trouble | no bother | faultless | (the | your) (plan |
 deal | idea) | a deal | a plan | a good plan | a great plan | a great idea | music to my ears | as i like it | what i
 like | @ready | to my liking | write | rite | settled | sorted | kosher | bob on
sure = right | correct | great | perfect | good | fine | lovely | wonderful | brilliant | excellent | fantastic |
 perfectly fine | amazing | terrific | ideal | accurate | grand | spot on | super | like a plan | like a good plan |
 like a deal | marvellous | splendid | fabulous | delightful | @asked | awesome | just right | exactly right | just
 perfect | like a winner | smashing | like (the right | the correct) (one | @kind) | <nice> | complete | absolutely
 fine
subject = that | this | it | everything | all | all of (that | this | it | them) | all (that | this | the details) |
 they | these | those | [all] [of] (the | those | these | your | my) (details | information | info | particulars |
 arrangements | times | dates | numbers | figures) [you (have | said | gave | gave me | read | read out | mentioned |
 repeated)] | that one | this one | that time | this time | (the | that | this | your) (@kind | summary | rundown |
 read back | readback | recap | reading) | what you (said | have | have got | have there | just said | read out | read
 | read back | have down | have written) | (that | it | this) all | both | both of (them | those) | they both | all of
 the above | every (bit | word | part | detail) [of (it | that)] | each of (those | them)
named = <the> (@thing [@thing] | <deed>)
rightness = right | correct | accurate | spot on | bang on | exact | as it should be | in order | @acted | confirmed
be = is | are | was | will be | would be | shall be | is all | are all | sure is | certainly is | is indeed
looks = sounds | sound | looks | look | reads | is looking | is sounding
works = <fits> | work | will work | would work | will do | suit | will suit | would suit | is going to work | check
 out | will do [very] nicely
fits = works | suits | fits | matches | checks out | adds up | tallies | makes sense | does the job | does the trick
said = said | wanted | want | asked for | asked | meant | need | needed | ordered | agreed | agreed on | discussed |
 requested | would like | had in mind | am after | was after | am looking for | was looking for | told you | had said
 | am asking for | was asking for | have here | have got here | have written down | have down | have | see | expected
 | asked you for | want to do | would like to do | like | meant to say | wanted to hear | was hoping for | was going
 for | would like you to do | want you to do | asked you to do | want done | was trying to do | am trying to do | had
 | would love | remember | understood | agreed to
own = (that | it) is <very> (how | the way) (you (spell | say | write) it | it is (spelled | spelt | written)) |
 (spelled | spelt) <very> (right | correctly | correct) | (that | it | this) is <very> (what | how | where | the way)
 (it happened | happened | it goes | it was | it went) | (that | it | this) is ((my | our | the) usual [one | order |
 @thing]) | (that | it | this) is the <deed> | (that | it) is me [all] (sorted | done | set | happy) | (that | it |
 this) (is | would be) (<me>) (me | mine | ours | us | him | her | them | my one) | (that | it | this) is my <mine> |
 (that | it | this) is our <mine> | (that | it | this) is (the) (right | correct | exact | very) (one | ones |
 <kinds>) | (that | it | this) is (the) (one | ones | man | lady | woman | fella | fellow | chap | guy | girl | place
 | job) | (that | it | this | which) is <very> (what | how | the way | like | as | the one | where | the <kinds>) (i |
 we) <said> | (that | it | this) is <very> (how | the way) (it is | i | we) (spelled | spelt | spell | spell it | say
 it | written | want it | wanted it | like it | would like it | asked for it | said it) | (that | it | this) is where
 (i | we) (live | am | are | want it | need it) | (that | it | this) is <very> (it | that | the lot | everything | all
 | the whole lot) | <exactly> (what | how | as | the way | like) (i | we) <said> | <exactly> (what | how | as | the
 way | like) (i | we) (want | wanted | like | would like | asked) [for] (it | that) | <exactly> as (agreed | discussed
 | planned | requested | ordered | described) | (it | that) (matches | agrees with | tallies with | fits) what (i |
 we) <said> | <exactly> (that | so)
exactly = exactly | just | precisely | that is exactly | it is exactly | absolutely
kinds = @kind [@kind] | @thing [@thing]
mine = @kind [@kind] | name | number | address | email | e mail | email address | phone number | account | account
 number | date of birth | postcode | zip code | order | booking | reservation | appointment | card | details | surname
 | first name | last name | home address | mobile number | mobile | birthday | house | order number | reference number
 | request | choice | plan | @thing [@thing]
you = you [all] (got | have | have got | have gotten | heard | read | understood | wrote | took | spelled | spelt |
 said | hit | nailed | put | noted | captured | repeated) ([<all>] [all] <very> (right | correct | correctly | rightly
 | perfectly | spot on | down | exactly | bang on | accurately | to a t | @asked) | <all> [<very>] [down] | me [loud
 and clear | right | correctly | perfectly]) | you [have] (got | nailed) it [in one | all] | you are <very> (right |
 correct | spot on | bang on)
none = (no | not any | not a | not a single | none | zero) (mistakes | mistake | errors | error | corrections |
 correction | problems | problem | issues | issue | objections | objection | complaints | complaint | notes | concerns
 | quarrels | qualms | doubts | doubt | trouble | bother | fault | worries@agreed)
nothing = [that is] [all (right | correct | good | fine)] <none> [whatsoever | at all | there | here | with (that | it
 | this) | about (it | that)] <me> | (i | we) have <none> [with (that | it | this | any of (it | that)) | to (it |
 that) | at all | whatsoever] | there (is | are) <none> [with (that | it) | at all | there] | nothing (wrong | amiss)
 [with (that | it)] | nothing to (change | add | correct | fix) | nothing (needs | need) (changing | fixing |
 correcting) | no (changes | corrections) [needed | required | necessary] | no need to change (anything | a thing) | i
 (would not | will not) change a thing | (i | we) (do not see | can not see | see | can see) (no | any | a) (reason |
 problem | problems | issue | issues) [why not | not to | with (that | it)] | could not be better | it could not be
 better | that could not be better | could not be more (right | correct) | (i | we) could not have (said | put) it
 better [myself | ourselves] | could not agree more | i could not agree more
confirm = confirm | approve | agree | consent | accept | affirm | authorise | authorize | verify | endorse | assent
confirmed = confirmed | approved | agreed | accepted | granted | authorised | authorized | verified | affirmed
assent = (i | we) [can | do | can certainly | can definitely | hereby | gladly | happily | fully | totally |
 absolutely | completely | would | will | most certainly | definitely | am happy to | am glad to | am pleased to | can
 happily | can hereby | shall | wholeheartedly] <confirm> [that] [to | with | of] [<all>] [is (right | correct)]
 <from> | <please> <confirm> [<all>] | <confirmed> [<all>] <from> [to proceed [further [with @acting]] | and (<go>)] |
 (i | we) am@never | consider (it | that | this) (<confirmed> | a yes | done) | (it | that) is a (<very>) (yes | go |
 go ahead | deal | definite yes | big yes | firm yes | hard yes | date) <me> | [a] (definite | big | firm | clear |
 resounding | hearty | absolute | definitive | huge | solid) (yes | yeah) <me> | (it | that) is a [definite | big |
 firm | clear | resounding | hard | solid | huge] (yes | go) <me> | a yes <me> | yes is (my | the) answer | my answer
 is yes | the answer is yes | (count | sign | put | pencil | book@act | add@act) (me | us) (in | up | down) [for (that
 | it)] | you have [got] (my | our) (permission | approval | okay | ok | blessing | authorisation | authorization |
 consent | go ahead | green light | word | vote | yes | full approval | full permission | full consent) | (i | we)
 (give | will give | am giving) [you] [my | the | our | full] (permission | approval | okay | ok | blessing |
 authorisation | authorization | consent | go ahead | green light | all clear | full consent) | (permission | consent
 | approval | authorisation | authorization) (granted | given) | green light | all clear | you are (cleared | free |
 good | welcome | clear) to (go | proceed | go ahead | do so | do it | do that) | <very> (good | clear | ready | all
 set | set | all good) to go | we are (good | all set | set | ready | on) [to go] | (i | we) (am | are) <very> (happy
 | okay | ok | fine | good | cool | content | comfortable | satisfied | pleased | on board | in agreement | all right
 | alright | down | delighted | glad | at ease | @ready) (with [all of] (that | it | this | those | these | them |
 everything | the details | <the> <things>) | with all (that | this | of it) | for you to [(do (that | it | so) | <go>
 | <act> [<it>] [<along>])] | to [do (that | it | so)] | to <go> [with (that | it | this | <the> <things>)] | with you
 doing (that | it | so) | with you @acting (it | that | this)) | [very | perfectly | more than | quite | totally |
 absolutely | really | so] (happy | content | pleased | okay | ok | satisfied | @ready) (with [all of] (that | it |
 this | everything | <the> <things>) | to <go> [with (that | it)] | for you to | to) | certain@ready | positive@ready
 | ready@ready | satisfied@ready | happy@ready | content@ready | (really | very | so | all | perfectly | quite |
 absolutely | crystal | totally | more than | completely | fully) @ready | (i | we) (am | are) <very> (sure | certain
 | positive | sure (about | of) (it | that | this) | certain (about | of) (it | that | this) | in | game | on board |
 ready | @ready | up for it | up for that | down for that | for it | all for it | in favour | ready to go | good to go
 | decided | convinced) | (i | we) (am | are) (a hundred percent | one hundred percent | 100 percent) [sure | certain
 | happy with (that | it)] | (i | we) [really | do | certainly | definitely | absolutely | would] [really] (like |
 love | want | like the sound of | fancy | need) (it | that | this | them | to | to do (that | it | so) | this one |
 that one | you to | that please) | (i | we) want (a | the | my | that | this) @act | (i | we) would [really | very
 much | absolutely | certainly | dearly] [really] (like | love | appreciate | welcome) (it | that | this | to | to do
 (that | it) | that very much | it very much) | would be (great | lovely | perfect | good | nice | fab | grand | ideal
 | wonderful) | (that | it) would be <very> (kind | helpful | useful | appreciated | handy | a relief | a great help |
 a big help | a great relief | a godsend | champion | nice | much appreciated | very much appreciated | lovely |
 great) [of you] | (i | we) will (take | have) (it | that | this | them | this one | that one) | (i | we) do [indeed |
 want that | want it | want to | want this] | sold | done deal | it is a deal | deal | let us [(please | just |
 definitely)] (do (it | that | this) | go | <goes> | roll | get (it | this | that) done | get on with it | make it
 happen | get going | have it) | (i | we) (stand by | stick with) (that | it | what i said) | (i | we) agree with [all
 of] (that | it | everything) | no doubt about (it | that) | without (a | any) doubt | without (question | hesitation)
 | (i | we) have no doubt | you bet [you | ya | cha] | you betcha | too right [mate] | damn right | damn straight |
 hell yes | hell yeah | heck yes | heck yeah | oh yes | oh yeah | yes siree | yes sirree | yessir | yes indeed | yes
 indeedy | as (you | i) (said | say) yes | right you are | (100 | a hundred | one hundred | a thousand | a million)
 (percent | times) [yes | correct | right | sure]
verdict = <named> <be> <very> <rightness> <me> | <subject> <be> <very> <good> [all] <me> | <subject> <looks> <very>
 <sure> [all] <me> | ((that | this | it | everything | which | they | those | these | both | both of (them | those) |
 (that | it | this | they) all | <named>) <works> | <fits>) <very> [fine | well | great | perfectly | good | nicely |
 out | me | us | down to the ground | wonderfully | brilliantly | just fine | very well | a treat] <me> | suits me
 (down to the ground | fine | grand | nicely | perfectly | well) | (it | that | this) does (suit | work | fit | sound
 <sure> | look <sure>) [me | us] <me> | all (good | okay | ok | fine | grand | set) (here | there | this end | my end)
 | grand so | happy out | grand job | <looks> <very> <sure> [all] <me> | (is | are) <very> (right | correct | good |
 fine | perfect | okay | ok) <me> | <very> (right | correct | fine | good | perfect | great | lovely | okay | ok |
 accurate | spot on | bang on | ideal | on the money | hunky dory | tickety boo) <me> [by (me | us)] | all
 (right@never | correct | good | fine | perfect | accurate | in order | clear | set | sorted | agreed | present and
 correct | there | true | well) [there] <me> | everything (is there | is in order) | (i | we) (find) (that | it)
 <very> <good> | (that | it | this) [all] (would | will) be <very> <good> <me> | (can not | can never) (fault | argue
 with) (it | that) | (that | this | it) [all] (sounds | looks) like (it | what i <said>) | (read back | readback |
 details | information | everything | spelling | number | address | date | time) (is | are) <very> (right | correct |
 fine | good | perfect) | (spelled | spelt | noted | written) (right | correctly | perfectly)
yes = <request> | <verdict> | <own> | <you> | <nothing> | <assent> | <more>
more = (that | it) will do [it | nicely | fine | very well | me | just fine] | so (it | that) is | so it is | that it
 is | sure is | sure does | sure thing | really@asked | sure can | sure (do | am | was | did | would | will | have |
 are) | certainly is | certainly does | certainly do | of course it is | why of course | why yes | why certainly | why
 not | why ever not | yes why not | yes of course | of course (you can | you may | do | go ahead | that is (fine |
 right | correct | okay | ok)) | by all means [do | go ahead | yes] | be my guest | with pleasure yes | surely |
 surely yes | for definite | for certain | most certainly | most definitely | most assuredly | but of course |
 naturally | obviously yes | as sure as | bullseye | jackpot | you are on | you are on the money | abso bloody lutely
 | absolutely | positively | affirmative | ten four | 10 4 | copy that | roger | roger that | wilco | aye aye | righty
 ho | righty oh | rightio | right oh | okey dokey | okie dokie | okay doke | okay dokey | very good | hit the nail on
 the head | got it in one | no notes | chef s kiss | couldn t be better | yes to (that | all of that | all that |
 everything | all of it | it | both | that all | all) | that is (about it@never | all good | it exactly | it precisely
 | the spirit | the idea | the plan | the deal | the ticket)
short = (that | it | this) would be | (it | that | this | everything | all of it) <surely> (is | does | would)
 <surely> | i <surely> (am | do | would | have | did) <surely> | we <surely> (are | do | would | have | did) <surely>
 | they <surely> (are | do) <surely> | you <surely> (do | may | can | should | did | have | are | would) <surely>
surely = [sure | certainly | definitely | most certainly | absolutely | really | surely | most definitely | indeed |
 so]
not = not | never | hardly | in no way | no | not really | not at all
dont = do not [ever | you dare | even | you | go ahead and | bother to | go and | actually] | never | must not | not
 to | let us not | no need to | you (can not | may not | should not | must not | need not | do not need to | do not
 have to | had better not | do not) | (i | we) (do not | would not | did not | will not | shall not | can not | never
 | would never | no longer | really do not | just do not | definitely do not | certainly do not) [ever | even |
 actually | really] [(want | like | wish | need | ask | mean | intend | plan | authorise | authorize | expect | care |
 allow | permit) [for] [you] [to]] | (i | we) (would rather | would prefer) [(you | if you | that you) (did not | do
 not) | not [to] | you not] | rather not | better not | please not | i refuse to | do not want [to | you to] | i am
 (not going to | not @acting | not ready to | not happy to | not willing to | not prepared to) | why would (i | we) |
 nobody is (going to) | no one is (going to)
unwanted = (i | we) will (stick | stay) with (what (i | we) (have | have got) [now | already] | (it | that) as it is |
 the (old | current | existing | present) one | mine) | (i | we) am out | count (me | us) out | [a bit | way | far |
 much | a little | that is | it is] too (dear | expensive | pricey | steep | late | soon | far | much | costly) [for
 (me | us)] | (i | we) (do not | did not | would not | never) (want | like | need) <it> (@acted | done | changed |
 touched | sent | to be @acted) <when> | do not bother (@acting [<it>] [<along>] [<it>] | with (it | that | <the>
 <things>)) [then]
when = [at all | any more | anymore | now | right now | just now | yet | today | at the moment | after all]
refused = <unwanted> | <please> <dont> <phrasal> <when> | <please> <dont> (<act> | @any | do | go | proceed | continue
 | go ahead | have | make | start | carry on | <confirm> | take | put | place) [to | with] [<it> | <all> | anything |
 any of (it | that) | <the> <things>] [<along>] [<whom>] [yet | now | today | just yet | at all | any more | anymore |
 for me | for us | at the moment | right now | after all | ahead] | <please> <dont> (it | that | this | that one |
 this one | one | any | anything | to) [at all | any more | anymore | now | after all]
off = @off [off | about]
leave = leave am | <please> [just | no | let us | can you | could you | you can | you may | i would rather | i will]
 [just] (<off> (it | that | this | them | him | her | the whole (thing | lot) | everything | all of (it | that) | the
 @thing [@thing] | the <deed>) [alone | be | out | there | where it is | for now | as (it is | is | they are | it was)
 | off | then | now | altogether | completely | please] | call@off (it | that) off | let (it | that) be | <off> @never
 | keep@off (it | them | that | him | her | mine | <the> <things>) [as it is | as they are | as it was | as is | on |
 open | for now | the way it is | where it is])
bad = wrong | incorrect | not right | mistaken | a mistake | an error | no good | false | inaccurate | no use |
 rubbish | nonsense | unacceptable | out of the question | too much | too (dear | rich | big | small | short | much |
 cheap | hot | cold | expensive | pricey | late | early | far | soon | steep | long) | not on | a no | a no from me |
 a big no | a hard no | a definite no | not acceptable | no right | nae right
wrong = <named> (is | are) (<bad> | not <very> <rightness>) | <subject> (is | are | was | sounds | looks) <very> <bad>
 | <subject> (is | are | was) (not | no | never) <very> (<good> | <sure> | what (i | we) <said> | how (i | we) <said>
 [it] | me | mine | us | ours | it | the (one | ones | right one | correct one | <kinds>) | my <mine> | our <mine> |
 for (me | us) | him | her | them | happening | going to work | on) [for (me | us) | at all] | <subject> (does not |
 do not | did not | will not | would not | can not) (sound | look | seem | feel | work | suit | do | fit | match |
 help | add up | be) <very> [<good> | <sure> | like (it | that | what i <said>)] <me> | you (have | have got | got |
 heard | took | wrote | read) (it | that | me | this | everything | them | the <kinds>) [all | completely | totally]
 (wrong | incorrectly | mixed up | muddled | muddled up | backwards | the wrong way round) | you (have not | did not |
 do not have | have not got) (it | that | got it | got that | get it | get that | hear me | heard me | this) [right |
 correct | correctly | properly | quite right] | (that | it | this) is (the | a | not the) wrong (one | ones | @kind |
 @thing | person | <kinds>) | wrong (one | person | <mine>) | [all | completely | totally | quite | just | plain |
 dead | so] (wrong | incorrect) <me> | (i | we) (am | are) not <very> (happy | okay | ok | ready | interested | sure
 about (that | it) | comfortable | satisfied | pleased | in agreement | having (it | that) | bothered | on board |
 agreeing [to (that | it)] | up for (it | that) | @ready | game) [with (that | it | this | everything)] | not <very>
 (good to go | okay to go | all set | set | done | happy | ready | interested | satisfied | comfortable | right |
 correct | good | okay | ok | fine | everything | true | accurate | what (i | we) <said> | how (i | we) <said> [it] |
 me | mine | us | for (me | us) | the (one | right one | <kinds>) | my <mine> | @ready | a chance | likely | any more
 | at all | this time | that one | this one | today | right now | now | at the moment | at this time | just yet | yet
 | in the slightest | happening | on) [with (that | it | this) | thanks] | (i | we) (do not | can not | will not |
 shall not | would not) [really | quite | actually] (agree | approve | consent | accept | confirm | authorise |
 authorize | want | need | like | care for) [to | with | of | for] [(it | that | this | any of (it | that) | one |
 them | any | that one | this one | <the> <things>)] [any more | anymore | at all | after all | now | yet] | (i | we)
 (have | am) [just] (gone off | going off | went off) (it | that | the idea | the whole idea | <the> <things>) | (i |
 we) (have had | am having | had) second thoughts | (i | we) (have thought | thought) better of it | (i | we) would
 sooner not | i would sooner you did not | (that | it) is not (on | for me) | (i | we) [have] changed (my | our) mind
 | (i | we) [have] changed my mind [about (it | that)] | (i | we) (disagree | refuse | decline | object | pass) [with
 (that | it) | to (it | that)] | (i | we) (will | shall) pass [on (that | it)] | i am going to pass | i am going to
 say no | i will say no | i said no | (that | it) is a [definite | big | hard | firm | clear | definitive] (no | nope)
 <me> | [a] (big | hard | firm | definite | resounding) no <me> | no <me> | it is a no | (it | that) will be a no | no
 is (my | the) answer | (my | the) answer is no | some other (time | day) | another (time | day) | maybe (another |
 some other) time | not (this | today | tonight) | (i | we) no longer (want | need | require) (it | that | this | to |
 one | them) | nothing doing | no (sir | ma'am | madam | siree | sirree | ways | bloody way | thank you very much)
no = <leave> | <wrong> | <refused> | [oh | ah | um] no (thanks | thank you | ta | cheers) | hell no | heck no | god no
 | lord no | oh no no | absolutely not | certainly not | definitely not | of course not | under no circumstances | by
 no means | not in the least | (no | nope | nah) (thanks | thank you | ta | cheers) | it (is not | does not | will not
 | would not) | that (is not | does not | will not | would not) | they (are not | do not) | i (do not | would not | am
 not | will not | shall not | can not) | we (do not | would not | are not | will not) | you (may not | can not |
 should not | must not | do not | did not | have not) | (this | everything) (is not | does not)
hedge = that does it | you are (all right | alright | okay | ok | fine | good | grand) | you (can | may | could) (go |
 stop | leave | wait | hang up | start over | go now) | [that | it | this] [all] (sounds | looks | reads | feels |
 seems) <very> (all right | alright | okay | ok | about right | reasonable | fair enough | doable | so | right enough)
 [i (guess | suppose | think)] [to (me | us)] | [that | it | this] (should | could | might | may) (be | work | do)
 [<good>] | not (bad | wrong | incorrect | half bad | too bad) | (that | it) is not (wrong | incorrect | bad | too bad
 | half bad) | (i | we) do not see anything wrong | good question | (that | it) is a good question | good point | nice
 try | right enough | if (it | that) (is | must be | has to be) | if you say so | i (would | should) (think | say |
 imagine | hope) so | i (would | should) have thought so | (that | it) is (about | roughly | more or less | almost |
 nearly | mostly | partly | close to) <good> | (i | we) (am | are) (not | fairly | pretty | almost | nearly |
 reasonably | kind of | sort of) (sure | certain) | good enough i (suppose | guess) | right i see | okay i see
avail = (that | it) helps [a lot | a great deal | very much] | please hurry [up] | hurry up please | both@whole [of
 (them | those)] | be quick | (as) (quick | fast | soon) as you can | as it is | as they are | (i | we) can (do | make
 | manage) (that | it | then | this) [easily | no problem | fine | okay | all right] | (i | we) (am | are | will be |
 shall be) (free | available | around | about | in | home | at home | there | here | off | off work | waiting) [then |
 that day | all day | anyway | for (it | that)] | (someone | somebody) (will | is going to) be (in | home | at home |
 there | here | around) [then] | there will be (someone | somebody) (in | home | at home | there | here) | (i | we)
 (will | can) (wait in | stay in | be waiting | see (you | him | her | them) then) | (that | it) (fits | works with |
 suits) (my | our) (schedule | diary | calendar | shift | shifts) | no clash | nothing on then
filler = <avail> | [many | thousand] (thanks | thank you | thankyou | ta | cheers) [very | so | ever so | awfully]
 [much] [kindly | a lot | a lot indeed | a million | a bunch | a ton | again | indeed | anyway | loads | awfully] [for
 (that | everything | the help | your help | all your help | helping | helping me | checking | asking | confirming |
 this | your (help | time | patience | kindness | assistance) | all that | doing that | the call | (verifying |
 checking) [that | it | the details])] | (thank | bless) (you | ye | ya) | [may] (god | lord) bless [you | ye | ya] |
 bless you [all] | bless your heart | bless | thank (god | goodness | heavens | the lord | christ) | you are (a star |
 an angel | a legend | a lifesaver | a life saver | too kind | very kind | so kind | very good | very helpful | so
 helpful | the best | a gem | a doll | a darling | a love | a saint | a peach | great | brilliant | wonderful | an
 absolute star | a good man | a good lad | a good girl | a sweetheart | a treasure) | (that | it) is <very> (kind |
 helpful | nice | sweet | good | lovely | decent | thoughtful) of you | that is <very> (kind | helpful | thoughtful) |
 how (kind | lovely | nice | sweet | wonderful) [of you] | (i | we) [do | really | very much | so | truly] appreciate
 (it | that | your help | you | this) [very much | a lot] | much obliged | obliged | i am [much] obliged | much
 appreciated | [very] kind of you | that is [very | awfully | most | really | so] (kind | good | decent) of you | have
 (a | yourself a) (good | nice | great | lovely | wonderful | blessed | pleasant | fine) (day | one | evening |
 weekend | time | night | afternoon | morning) | sorry for (the wait | the delay | that | the noise) | sorry (about
 that | about the noise) | (good | great) (stuff | man | lad | job | work | show | on you | call | thinking | news) |
 nice one | good one | nice work | at (last | long last) | as usual | as always | (for | to) (me | us) please | if you
 (do not mind | please | would | would please | would be so kind) | (if that is | if it is) (no (trouble | bother)) |
 no worries | no rush | no hurry | in your own time | everything@whole | that is everything | that is the lot | that
 is all <me> | that is the lot | my (goodness | word | god | lord | days | dear) | (oh | ah) my (goodness | word | god
 | lord | days) | (dear | good | goodness) (me | lord | god | heavens | gracious | grief | gracious me) | bloody (hell
 | oath | brilliant) | (for) (heaven | heavens | god | goodness | pete) sake | thank you [so much] [kindly | ever so]
 | (i am | we are) (looking forward to (it | that) | so excited | excited | glad | pleased | so pleased | so glad |
 very excited | delighted | grateful | very grateful | so grateful | ever so grateful) | (can not wait | can hardly
 wait | could not wait) [for (it | that)] | (i | we) can not wait [for (it | that)] | good to hear | glad to hear (it
 | that) | happy to hear (it | that) | easy peasy | happy days | fair play | fair dos | well done [you] | all the best
"""
