"""Closed lists for telling names apart: what a name is likely to name, and what only looks like one.

Written by hand for this project; short on purpose. A name that is on no list is a name all the same, of a type that its
neighbours tell, or a thing. For `entities` and `statements`.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.replace("\n", " ").split(","))


# Capitalised, and yet no names: what begins sentences, greets, exclaims, counts, and what calendars say.
NO_NAMES = _set("""
    i a an the and or but so yet for nor if then than as at by in on to of off up out with from into onto over under about
    after before since until while when where what who whom whose which why how this that these those here there now today
    tomorrow yesterday tonight soon later again still also just only even ever never always often sometimes maybe perhaps yes
    yeah yep yup no nope not ok okay oh ah aw aww wow woah whoa hey hi hello hiya bye goodbye thanks thank thx please sorry
    congrats congratulations cheers well sure great good nice cool awesome amazing wonderful fantastic perfect absolutely
    definitely certainly exactly totally really actually honestly basically obviously clearly luckily unfortunately
    fortunately hopefully finally eventually recently lately currently first second third next last once twice one two three
    four five six seven eight nine ten some any many much more most all both each every other another such same own few
    several lots my your his her its our their mine yours me you he she it we they us them myself yourself am is are was were
    be been being do does did done have has had having can could will would shall should may might must let lets go going went
    gone get got getting make making made take taking took see seeing saw seen look looking come coming came think thinking
    know knowing feel feeling want wanting need needing try trying keep keeping give giving find finding tell telling say
    saying said ask asking work working live living love loving like liking hate enjoy enjoying hope hoping wish check
    remember believe guess mean means happy glad excited proud sad tired busy lucky january february march april may june july
    august september october november december monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun
    jul aug sep sept oct nov dec mon tue wed thu fri sat sun spring summer autumn winter christmas easter halloween
    thanksgiving something anything everything nothing someone anyone everyone nobody people person thing things time times
    day days week weeks month months year years way ways lot kind sort bit part whenever wherever woohoo yay yikes ugh sounds
    looks feels seems thankfully hopefully family nature hmm huh haha lol omg btw fyi imo tbh etc ie eg ps re fwd dear regards
    sincerely mr mrs ms dr prof user assistant system human ai bot note notes step steps section chapter figure table example
    examples question answer image photo picture video link url http https www id ids am pm est pst utc gmt however therefore
    moreover furthermore meanwhile instead otherwise besides although though because unless whether did didn't don't doesn't
    isn't aren't wasn't won't can't couldn't i'm i've i'd i'll it's that's there's what's let's you're we're they're he's
    she's who's here's is're mom mum dad mama papa mother father grandma grandpa grandmother grandfather sis bro uncle aunt
    ceo cto cfo coo vp hr
    und der die das ich wir sie er es ist ein eine mein meine nicht aber wenn dann heute gestern morgen hallo danke ja nein el
    la los las un una yo mi tu su es no sí hola gracias ayer hoy pero que cuando le les un une je tu il elle nous vous mon ma
    mes est bonjour merci oui non mais quand hier
    """)  # fmt: skip

FIRST_NAMES = _set("""
    aaron abigail adam ahmed aisha alan albert alejandro alex alexander alexandra alice alicia ali amanda amelia amir amit amy
    ana anders andrea andreas andrew angela anita anja ann anna anne annie anton antonio anya aria arjun arthur asha ashley
    astrid audrey ava barbara beatrice ben benjamin bernard beth betty bill blake bob boris brad brandon brenda brian bruce
    caleb calvin camila carl carla carlos carmen carol caroline catherine cecilia charles charlie charlotte chen chloe chris
    christian christina christine claire clara claude colin connor craig cynthia daisy dan daniel daniela danny dave david
    deborah deepa denise dennis derek diana diego dmitri dmitry dominic donald donna doris dorothy doug dylan eduardo edward
    edwin elena eleanor eli elias elizabeth ella ellen emil emily emma eric erica erik ernest esther ethan eva evan eve evelyn
    fatima felix fernando finn fiona frances francesca francis frank fred freddie gabriel gary gavin george gerald gina
    giovanni giulia glenn gloria gordon grace greg gustav hanna hannah hans harold harriet harry hassan heather hector heidi
    heinrich helen helena henry hiroshi holly howard hugo ian ibrahim igor ines ingrid irene iris isaac isabel isabella ivan
    ivy jack jackson jacob jade jake james jamie jan jane janet jason jasmine javier jean jeff jen jennifer jenny jeremy jerry
    jesse jessica jill jim joan joanna joe joel johan johanna john jon jonas jonathan jordan jorge jose josef joseph josh
    joshua juan judith judy julia julian julie jürgen karen karim karl kate katharina katherine kathleen katie kavya keith
    kelly ken kenji kenneth kevin khalid kim kiran kristin kumar kurt kyle lara larry lars laura lauren leah lena leo leon
    leonard leila liam lila lily linda lisa liz logan louis louise luca lucas lucia lucy luigi luis luke lydia maggie maja
    manuel marc marco marcus margaret maria marie marina mario marion mark marta martha martin martina mary masha mateo
    matilda matthew matthias maurice max maya meera megan mei mel melanie melissa mia michael michel michelle miguel mike mila
    miriam misha mohammed molly monica monika morgan nadia nancy naomi natalia natalie natasha nathan neha neil nick nicholas
    nicole nikhil nina noah nora norman oleg oliver olivia omar oscar otto owen pablo pamela patricia patrick paul paula pedro
    peter petra phil philip pierre pooja prakash priya rachel rafael rahul raj rajesh ralph ramesh ravi ray raymond rebecca
    rekha richard rick rita rob robert roberto robin rohan roger roland ron rosa rose rosie ross roy ruby russell ruth ryan
    sabine sally sam samantha samuel sandra sanjay sara sarah sasha scott sean sebastian sergei sergey seth shane shannon
    sharon sheila shreya silvia simon simone sofia sonia sonja sophia sophie stefan stella stephanie stephen steve steven
    stuart sue sunil suresh susan suzanne sven svetlana sylvia tanya tara taylor ted teresa theo theodore theresa thomas tim
    timothy tina toby todd tom tony tracy trevor tyler uma ursula uwe valentina valerie vanessa vera veronica victor victoria
    vijay vikram vincent viola virginia vladimir walter wanda warren wayne wei wendy werner will william wolfgang xavier yan
    yasmin yuki yusuf yvonne zach zachary zara zoe
    """)  # fmt: skip

PLACES = _phrases("""
    afghanistan, africa, albania, algeria, america, argentina, armenia, asia, australia, austria, azerbaijan, bahrain,
    bangladesh, belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile, china,
    colombia, costa rica, croatia, cuba, cyprus, czech republic, czechia, denmark, dominican republic, ecuador, egypt,
    england, estonia, ethiopia, europe, finland, france, germany, ghana, great britain, greece, guatemala, hungary, iceland,
    india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya, korea, kuwait, latvia,
    lebanon, libya, lithuania, luxembourg, madagascar, malaysia, maldives, malta, mauritius, mexico, moldova, mongolia,
    montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand, nigeria, north korea, norway, oman,
    pakistan, palestine, panama, paraguay, peru, philippines, poland, portugal, puerto rico, qatar, romania, russia, rwanda,
    saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia, somalia, south africa, south korea, spain, sri
    lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, thailand, tibet, tunisia, turkey, uganda, ukraine, united arab
    emirates, uae, united kingdom, uk, united states, usa, us, uruguay, venezuela, vietnam, wales, yemen, zambia, zimbabwe,
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia, hawaii, idaho,
    illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi,
    missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota, ohio,
    oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia,
    washington, wisconsin, wyoming, bavaria, brittany, catalonia, goa, kerala, ontario, provence, quebec, siberia, sicily,
    tuscany, british columbia, bali, crete, ibiza, abu dhabi, accra, addis ababa, amsterdam, ankara, antwerp, athens, atlanta,
    auckland, austin, baghdad, bangalore, bengaluru, bangkok, barcelona, basel, beijing, beirut, belgrade, berlin, bern,
    birmingham, bogotá, bogota, bologna, bonn, bordeaux, boston, brasilia, bratislava, bremen, brisbane, bristol, brooklyn,
    brussels, bucharest, budapest, buenos aires, cairo, calgary, cambridge, cape town, caracas, casablanca, chennai, chiang
    mai, chicago, cologne, copenhagen, dakar, dallas, damascus, delhi, new delhi, denver, detroit, dhaka, doha, dresden,
    dubai, dublin, düsseldorf, edinburgh, florence, frankfurt, geneva, genoa, glasgow, hamburg, hanoi, hanover, havana,
    helsinki, ho chi minh city, hong kong, honolulu, houston, hyderabad, istanbul, jaipur, jakarta, jerusalem, johannesburg,
    karachi, kathmandu, kiev, kyiv, kolkata, kuala lumpur, kyoto, lagos, las vegas, lausanne, leeds, leipzig, lima, lisbon,
    liverpool, ljubljana, london, los angeles, lucknow, lyon, madrid, malaga, manchester, manhattan, manila, marseille,
    melbourne, mexico city, miami, milan, minneapolis, montreal, moscow, mumbai, munich, nagoya, nairobi, naples, nashville,
    new orleans, nice, oakland, osaka, oslo, ottawa, oxford, paris, perth, philadelphia, phoenix, pittsburgh, portland, porto,
    prague, pune, quito, reykjavik, riga, rio de janeiro, riyadh, rome, rotterdam, saint petersburg, salzburg, san diego, san
    francisco, san jose, santiago, sapporo, seattle, seoul, seville, shanghai, shenzhen, sofia, stockholm, stuttgart, sydney,
    taipei, tallinn, tampa, tehran, tel aviv, tokyo, toronto, toulouse, turin, utrecht, valencia, vancouver, venice, vienna,
    vilnius, warsaw, wellington, yerevan, zagreb, zurich, zürich
    """)  # fmt: skip

# A name that ends so is an organisation.
ORGANISATIONS = _set("""
    inc inc. corp corp. ltd ltd. llc gmbh ag plc co. company corporation university college school academy institute hospital
    clinic bank foundation association society agency department ministry church museum library studio studios labs lab group
    partners airlines records press times union committee council club team
    """)  # fmt: skip
EVENTS = _set("festival conference marathon parade wedding concert tournament championship olympics expo summit fair cup awards")

# How the languages of first-person facts call one's people and animals: the predicate that the word stands for.
_KIN = {
    "parent_of": "mom mum mother mommy mama dad father daddy papa", "child_of": "son daughter kid child baby",
    "sibling_of": "brother sister sibling twin", "married_to": "wife husband spouse",
    "partner_of": "girlfriend boyfriend partner fiancé fiancée fiance fiancee",
    "friend_of": "friend buddy bestie roommate flatmate neighbor neighbour",
    "works_with": "boss manager colleague coworker co-worker teammate mentor",
    "relative_of": "grandma grandmother grandpa grandfather granny aunt auntie uncle cousin nephew niece grandson granddaughter"
    " mother-in-law father-in-law brother-in-law sister-in-law stepmother stepfather stepson stepdaughter",
}  # fmt: skip
RELATIONS = {word: predicate for predicate, words in _KIN.items() for word in words.split()}
PETS = _set(
    "dog cat puppy kitten hamster rabbit bunny parrot bird horse turtle tortoise lizard snake goldfish fish pet guinea-pig"
)

OCCUPATIONS = _set("""
    accountant actor actress analyst architect artist athlete attorney author baker banker barber barista bartender biologist
    blogger bookkeeper builder butcher carpenter cashier chef chemist clerk coach cofounder co-founder consultant contractor
    cook counselor counsellor dancer dentist designer detective developer dietitian director doctor driver economist editor
    electrician engineer entrepreneur farmer firefighter florist founder freelancer gardener geologist guide hairdresser
    historian illustrator instructor interpreter investor janitor journalist judge lawyer lecturer librarian linguist
    locksmith machinist manager marketer mathematician mechanic midwife model musician nanny nurse nutritionist officer
    optician painter paralegal paramedic pastor pharmacist photographer physician physicist physiotherapist pilot plumber poet
    policeman politician principal producer professor programmer prosecutor psychiatrist psychologist realtor receptionist
    recruiter reporter researcher sailor salesman scientist sculptor secretary singer soldier statistician stylist surgeon
    surveyor tailor teacher technician therapist trader trainer translator tutor veterinarian vet veteran videographer
    volunteer waiter waitress welder writer student
    """)  # fmt: skip
