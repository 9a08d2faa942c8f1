"""Clauses by which German callers agree and refuse, as rules of `consent_grammar`; `consent_clauses` has the English.

Above: `german_consent`. `@sep` is a verb of the read-back without the particle that stands apart: "sagen" of "absagen",
in "sagen Sie ihn ab"; `@along` is that particle.
"""

GERMAN_CLAUSES = """
sehr = [sehr | ganz | völlig | absolut | genau | wirklich | total | vollkommen | alles | so | auch | durchaus | ja |
 überaus | hundertprozentig | soweit alles | auch so | ganz genau | gerade]
mir = [für mich | für uns | mir | uns | meinerseits | von meiner seite | von meiner seite aus | aus meiner sicht | so
 | bei mir | bei uns | damit | mir so | uns so]
bitte = [bitte | gern | gerne | ruhig | einfach | also | doch bitte | nur | mal | direkt | dann | so | bitte gern |
 bitte gerne | gleich @soon | sofort @soon | jetzt @soon | ja | ja bitte | sehr gern | sehr gerne | freundlicherweise]
der = der | die | das | den | dem | meinen | meine | mein | diesen | diese | dieses | unseren | unsere | unser | einen
 | eine | ein | ihn
ding = @thing [@thing] | termin | buchung | bestellung | reservierung | überweisung | zahlung | auftrag
es = es | das | ihn | sie | die | den | dies | mich | uns | das alles | alles@whole | <der> <ding>
sie = sie | du | se
imperativ = @act sie | @act
wunsch = sie können | sie dürfen | können sie | dürfen sie | sollen sie | sie sollen | sie könnten | das können sie |
 das dürfen sie | das sollen sie | den können sie | die können sie | es können sie | kannst du | du kannst | dürft ihr
möchte = ich möchte | ich will | wir möchten | wir wollen | ich würde gern | ich würde gerne | ich hätte gern dass sie
 | ich möchte dass sie | ich will dass sie | ich möchte gern | ich möchte gerne | ich wollte | wir würden gern
request = <bitte> @act sie <bitte> [<es>] <bitte> [mir | uns | für mich | für uns | ein] <bitte> | <bitte> @sep sie
 <bitte> [<es>] <bitte> @along <bitte> | <bitte> [<es>] <bitte> @act <bitte> | <bitte> (<wunsch> | <möchte>) <bitte>
 [<es>] <bitte> (@act | machen | tun) <bitte> | <bitte> (machen | tun) <sie> <bitte> (das | es | weiter | ruhig | nur)
 <mir> <bitte> | <bitte> (legen sie los | fahren sie fort | machen sie weiter | weitermachen | weiter machen | nur zu
 | leg los | fortfahren | weiter so | geben sie es so weiter | schicken sie es so ab | machen wir so | machen wir das
 so | so machen wir das | so machen wir es | dann machen wir das | dann machen wir das so | dann mal los | ran an den
 speck) <bitte> | (der | die | das | es | er | sie) (soll | sollen | kann | darf) <bitte> @acted werden | (dann | ja
 dann) <bitte> @act sie <bitte> [<es>] <bitte>
gut = gut | richtig | korrekt | okay | ok | in ordnung | perfekt | super | prima | toll | wunderbar | fein | recht |
 bestens | ideal | klasse | hervorragend | ausgezeichnet | optimal | einwandfrei | spitze | richtig so | gut so |
 alles richtig | tadellos | vollständig@ready | komplett@ready | fehlerfrei | zutreffend | @acted | wie besprochen |
 wie gewünscht | wie ich es wollte | wie ich wollte | so wie ich es wollte | was ich wollte | was ich möchte |
 genehmigt | großartig | fantastisch | wunderschön | stimmig | abgemacht | bestätigt | genau richtig | nach meinem
 geschmack
was = (das | es | so | alles | dies | das alles | alles das | beides@whole | die angaben | die daten | alle angaben |
 meine angaben | meine daten | ihre angaben | was sie sagen | was sie gesagt haben | was sie da haben | der termin |
 die uhrzeit | die zeit | das datum | der preis | die nummer | die adresse | der name | der betrag | die buchung | die
 bestellung | die reservierung | die zusammenfassung | <der> @kind)
ist = ist | sind | wäre | wären | klingt | hört sich | sieht | wär | is | war | passt | stimmt | geht
stimmt = stimmt | passt | geht | geht klar | geht in ordnung | haut hin | klappt | trifft zu | kommt hin | läuft
verdict = <stimmt> <mir> <sehr> (gut | prima | super | wunderbar | perfekt | bestens | hervorragend | recht) | <was>
 <stimmt> <mir> <sehr> (gut | prima | super | wunderbar | perfekt | bestens | hervorragend | recht) | <was> <ist>
 <sehr> <gut> <mir> [an | aus] | <was> <stimmt> [<sehr>] [gut | genau | alles | perfekt | super | wunderbar | prima |
 bestens | hervorragend] <mir> | <stimmt> [<sehr>] [gut | genau | alles | perfekt | super | wunderbar | prima |
 bestens | hervorragend] <mir> | so (ist | passt | stimmt | geht | wäre | klappt) (es | das) [<sehr>] [gut | richtig |
 perfekt | wunderbar | recht] <mir> | (richtig | korrekt | genau | gut | perfekt) (ist | war) (das | es) | (mir | uns)
 (passt | ist) (das | es) <sehr> (gut | recht | sehr gut | prima | super) | <sehr> (richtig | korrekt | perfekt |
 prima | wunderbar | super | in ordnung | einverstanden | zufrieden@ready | bereit@ready | vollständig@ready) [so]
 <mir> | (damit | so) (passt | stimmt) (alles | es | das) | da (stimmt | passt) alles | (das | so) kann so (bleiben |
 raus | weg) | das (wollte | will | möchte | hatte) ich [so | genau so | genau] [haben | gesagt | gemeint]
du = (sie haben | das haben sie | haben sie | hast du | das hast du | da haben sie | du hast) [<es>] [alles] <sehr>
 [(richtig | korrekt | gut | genau | recht | perfekt)] (verstanden | gehört | notiert | aufgenommen | aufgeschrieben |
 erfasst | wiederholt | wiedergegeben | zusammengefasst) | (sie haben | da haben sie | du hast) <sehr> recht | <sehr>
 (richtig | korrekt | gut | perfekt) (verstanden | notiert | erfasst | aufgenommen | gehört | wiederholt |
 zusammengefasst)
own = (das | es | dies) (ist | sind | wäre) (meine | mein | unsere | unser) (@kind | @thing | nummer | adresse |
 anschrift | name | kundennummer | telefonnummer | handynummer | mailadresse | geburtsdatum | bestellung | termin |
 postleitzahl | konto | kontonummer) | (das | es | dies) (ist | wäre | sind) <sehr> (die | der | das) (richtige |
 korrekte) [@kind | @thing] | (das | es) (ist | wäre) <sehr> (das | was | das was | genau das was | so wie | wie) ich
 (wollte | möchte | will | gesagt habe | meine | meinte | gemeint habe | brauche | suche | es wollte | es möchte | es
 gesagt habe | bestellt habe | haben wollte | haben möchte) | <genau> (so | das | den | die) (wollte | möchte | will |
 hatte | habe | meinte | brauche | meine | hätte) (ich | wir) [es | das] [auch] [gern | gerne] [gesagt | gemeint |
 haben | bestellt] | <genau> (so wie | wie) (ich | wir) (es | das) (gesagt habe | wollte | möchte | haben wollte |
 wollten) | wie (gewünscht | besprochen | bestellt | vereinbart | abgemacht)
genau = [genau | exakt | ganz genau]
assent = (ich bin | wir sind | bin | bin ich) [damit | mit allem | sehr | ganz | völlig | so | absolut | da]
 (einverstanden | zufrieden | @ready | dabei | dafür) [damit | mit allem | so] | damit (bin ich | sind wir) <sehr>
 (einverstanden | zufrieden | @ready) | (das | dies | es | alles) bestätige ich [ihnen] [hiermit | gern | gerne | so]
 | (ich | wir) (bestätige | bestätigen) [ihnen] [das | es | alles | dies] [hiermit | so | gern | gerne] | hiermit
 (bestätige | genehmige) ich [ihnen] [das | es | alles] | (ich stimme | wir stimmen) [dem | allem] [so] zu | dem
 (stimme ich | stimmen wir) [so | gern] zu | (ich | wir) (genehmige | genehmigen | erlaube | erlauben) [ihnen] (das |
 es) | (das | es) (genehmige | erlaube | akzeptiere) ich [ihnen] | ich akzeptiere [das | es | alles] | (hiermit)
 (bestätigt | genehmigt) | (bestätigt | genehmigt | freigegeben | erlaubt | akzeptiert | beschlossen | gekauft) | sie
 haben (mein | meine) (okay | ok | einverständnis | zustimmung | erlaubnis | segen | genehmigung | einwilligung) |
 (mein | meine) (okay | ok | einverständnis | zustimmung | erlaubnis | segen | einwilligung) haben sie | von (mir |
 uns) [gibt es | kommt | aus ein] [ein] (ja | okay | klares ja) | (das ist | es ist) ein [klares | eindeutiges |
 dickes | ganz klares] ja | ein [klares | eindeutiges | dickes] ja | ja zu allem | dabei bleibt es | so bleibt es |
 dabei (bleibe ich | bleiben wir) | so nehmen wir es | so nehme ich es | (den | die | das | ihn | es) nehme ich [gern
 | gerne | so] | (ich nehme | wir nehmen) (ihn | es | das | sie | den | die) | (ich | wir) (würde | würden) (mich |
 uns) freuen | (das | es) würde (ich | mich) [sehr] (gern | gerne | freuen) | (das | es) würde (mir | uns) [sehr |
 sehr gut | gut | super | wunderbar] [gefallen | passen | helfen]
nichts = (daran | da) ist nichts auszusetzen | nichts (zu ändern | auszusetzen | einzuwenden | zu beanstanden | zu
 korrigieren) | (da | es) gibt es nichts (zu ändern | auszusetzen | einzuwenden) | keine (änderung | änderungen |
 fehler | einwände | bedenken | korrekturen | beanstandungen | probleme) | (ich habe | hab | wir haben | habe) (keine
 (einwände | bedenken | probleme) | nichts dagegen | nichts einzuwenden | kein problem [damit]) [damit | dagegen] |
 (dagegen | da) (habe | hab) ich (nichts | keine einwände) [einzuwenden] | (dem | da) steht nichts im wege | es
 spricht nichts dagegen
more = aber ja [doch] | ja gewiss | gewiss doch | sehr wohl | freilich doch | mit vergnügen | herzlich gern | herzlich
 gerne | aber natürlich | aber selbstverständlich | na selbstverständlich | na aber sicher | na sicher doch | klar
 doch | aber klar doch | natürlich doch | ja na klar | ja natürlich doch | logo | na logisch | worauf warten sie noch
 | immer her damit | her damit | immer zu | gebongt | geritzt | alles roger | roger | geht klar | gemacht | wird
 gemacht | läuft | treffer | volltreffer | haargenau | hundert pro | hundertpro | punktgenau | ins schwarze getroffen
 | sie sagen es | ganz meine meinung
yes = <request> | <verdict> | <own> | <du> | <assent> | <nichts> | <more>
short = (das | es) (ist | tut) (es | so | das) | (das | so) (dürfen | können | sollen | müssen | haben) sie [gern |
 gerne | so | bitte | ruhig] | (dürfen | können | sollen | haben) sie [gern | gerne | so | ruhig] | (das | so) (möchte
 | will | tue | habe | bin | würde) ich [gern | gerne | auch] | (möchte | will | bin | würde | habe) ich [gern |
 gerne] | (das | es) ist es
nicht = nicht | [bitte | lieber | doch | doch lieber | auf keinen fall | besser | auf gar keinen fall | bloß | bitte
 bitte] nicht [mehr]
falsch = falsch | verkehrt | verwechselt | unrichtig | fehlerhaft | nicht richtig | nicht korrekt | ein fehler | ein
 irrtum | ein missverständnis | quatsch | unsinn | zu teuer | zu spät | zu früh | zu viel
will = ich (möchte | will | wollte | brauche | mag | kann | würde | werde | darf | wünsche) | wir (möchten | wollen |
 brauchen | können | würden | werden) | (möchte | will | brauche | mag | kann | würde) ich
refused = <bitte> @act sie [bitte] [<es>] [bitte] <nicht> [<es>] [so | jetzt | heute | noch] | <bitte> @sep sie
 [bitte] [<es>] [bitte] <nicht> @along | <bitte> @act <nicht> | [<es>] <nicht> (@act | @any) [bitte] | (ich | wir)
 @act [<es>] <nicht> | <will> [<es>] [doch | lieber | aber | auch | jetzt | gar | überhaupt] <nicht> [(@act | @any |
 haben | so haben | zustimmen | bestätigen)] | (das | es | ihn | sie | den | die) <will> [doch | lieber | gar | auch |
 jetzt | so] <nicht> [(@act | haben)] | <will> (keine | keinen | kein) [@thing | <ding>] [(@act | haben)] [mehr] |
 (machen | tun) sie [bitte] (das | es) [bitte] <nicht> | (soll | sollen | dürfen | können) sie [das | es] <nicht>
 [@act | machen] | (sie sollen | sie dürfen | sie können) <es> <nicht> (@act | machen) | ich (bestätige | genehmige |
 akzeptiere) [das | es] <nicht> | (ich stimme | dem stimme ich) [dem] <nicht> zu | (das | es) (bestätige | genehmige |
 akzeptiere) ich <nicht>
wrong = <was> (ist | sind | war | wäre | stimmt | stimmen | passt | passen | geht | klingt | ginge) [leider | gar |
 überhaupt | ganz und gar | mir | uns | bei mir] [so] [leider | gar | überhaupt] <nicht> [so | ganz | mehr] [<gut> |
 meine | mein | meiner | meins | unsere | unser | was ich wollte | was ich will | was ich gesagt habe | was ich meinte
 | für mich | für uns | mir] [@kind | @thing | nummer | adresse | name | termin | bestellung] | <was> (ist | sind |
 war | wäre) [leider | ja | aber | alles | ganz | völlig | total | komplett | so] <falsch> [so] | [alles | ganz |
 völlig | total | komplett | leider] <falsch> [so | verstanden | notiert | gehört] | (sie haben | das haben sie | da
 haben sie) [mich | das | es | etwas | da | da was | sich] (falsch | nicht richtig | verkehrt | nicht ganz richtig)
 (verstanden | notiert | gehört | aufgenommen | erfasst) | (sie haben sich | da haben sie sich) (verhört | vertan |
 geirrt) | (das | es | dies) ist nicht (der | die | das) (richtige | richtigen | korrekte) [@kind | @thing] | (das |
 es) ist nicht das was ich (wollte | will | meinte | gesagt habe) | (so | das) (wollte | meinte | habe | hatte) ich
 [es | das] nicht [gesagt | gemeint | haben | bestellt] | (ich bin | wir sind | bin | bin ich) [damit] [gar |
 überhaupt | absolut] nicht (einverstanden | zufrieden | sicher@ready | bereit | @ready) [damit] | damit bin ich [gar
 | absolut | überhaupt] nicht (einverstanden | zufrieden) | ich (habe es mir | hab es mir) anders überlegt | (das |
 es) hat sich erledigt | hat sich erledigt
leave = (lassen | vergessen | streichen | stoppen | ignorieren | verwerfen | canceln) sie [bitte | lieber] [mal |
 doch] (es | das | ihn | sie | alles | den <ding> | die <ding> | das <ding>) [bitte | lieber | mal | doch | besser]
 [so | bleiben | sein | wie es ist | wie es war] | (lassen | vergessen) (sie | wir) [es | das] [lieber | mal | besser]
 [bleiben | sein | gut sein] | (lass | vergiss) (es | das | mal) [bleiben | gut sein | sein | lieber] | ich (will |
 möchte | würde) <es> [lieber | doch | gern | gerne] behalten | ich behalte <es> [lieber | doch] | (das | es) soll so
 bleiben | <es> (soll | sollen) (bleiben | so bleiben) | [<es>] [lieber | doch | besser] (lassen | bleiben lassen) |
 kommando zurück | abbrechen bitte | bitte abbrechen
no = <refused> | <wrong> | <leave> | (danke | vielen dank) (nein | nicht | kein bedarf | kein interesse) | (nein | nee
 | nö | ne) (danke | vielen dank | bitte nicht | auf keinen fall | lieber nicht | nicht) | auf gar keinen fall | unter
 keinen umständen | ein [klares | eindeutiges] nein | (das ist | es ist) ein [klares] nein | nein heißt nein | ich
 (sagte | habe gesagt) nein
hedge = [das | es | so] (müsste | sollte | könnte | dürfte | wird) [so | schon | wohl | eigentlich] [passen | stimmen
 | gehen | klappen | hinkommen | richtig sein | gut sein] | [das | es] (klingt | hört sich) [ganz | soweit] (okay | ok
 | in ordnung | ganz gut) [an] | wird schon (passen | stimmen | gehen) | (passt | stimmt | geht) (wohl | schon
 irgendwie | vermutlich | hoffentlich | wahrscheinlich) | nicht (falsch | schlecht | verkehrt) | (das | es) ist nicht
 (falsch | schlecht | verkehrt) | gute frage | kann man so machen | könnte man so sagen | ich (nehme | denke) (mal |
 an) [so]
filler = (vielen | besten | schönen | herzlichen | lieben | tausend) dank [ihnen | auch | nochmal | schonmal | schon
 mal | im voraus | dafür | für ihre hilfe | für die mühe | für die hilfe] | danke (sehr | schön | ihnen | nochmal |
 auch | vielmals | im voraus | für die hilfe | für alles | dafür | dir | ihnen vielmals) | merci [vielmals] | ich
 danke [ihnen | dir] [sehr | vielmals | herzlich] | (das ist | sehr | das wäre) [sehr | wirklich | ja | aber | ganz |
 furchtbar | total] (nett | lieb | freundlich | reizend) [von ihnen | von dir] | (seien | wären) sie so (gut | nett |
 lieb | freundlich) | wenn sie so (gut | nett | lieb | freundlich) (wären | sind | wären bitte) | wenn es ihnen
 (nichts ausmacht | keine umstände macht) | wenn es keine umstände macht | junge frau | junger mann | gute frau | mein
 bester | mein guter | meine gute | meine liebe | mein lieber | meine dame | mein herr | gnädige frau | chef | meister
 | mein gott | du meine güte | meine güte | gott sei dank | na endlich | endlich | wie schön | wie nett | freut mich
 [sehr | zu hören] | ich freue mich [schon | sehr | drauf | darauf | schon sehr] | so weit so gut | sag ich doch | sag
 ich ja | wie gesagt | das war alles | das ist alles | das wäre alles | mehr (brauche | wollte) ich nicht | fertig |
 super sache
"""
