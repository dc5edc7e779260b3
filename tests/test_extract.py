"""What texts speak of, by rules: a table of real-looking sentences, with as many that must say nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.extract import PREDICATES, Rules, extracted, fact_text
from recollect.records import Entity, Link, Record

THEN = datetime(2023, 6, 15, 12, tzinfo=UTC)

# A text, and the facts it tells: sentences, joined by "; ". Told by Rajesh.
FACTS = """
I live in Goa. | Rajesh lives in Goa
i live in berlin now | Rajesh lives in Berlin
We live in New York City. | Rajesh lives in New York City
I'm based in San Francisco these days | Rajesh lives in San Francisco
I moved to Berlin, Germany last year. | Rajesh lives in Berlin, Germany
I've recently moved back to Lisbon | Rajesh lives in Lisbon
I used to live in Goa. | Rajesh used to live in Goa
I no longer live in Goa | Rajesh used to live in Goa
I don't live in Goa anymore. | Rajesh used to live in Goa
I lived in Paris for two years. | Rajesh used to live in Paris
Priya lives in Goa. | Priya lives in Goa
Priya's parents live in Goa. | Priya's parents live in Goa
Priya lives in Goa and works at Acme Corp. | Priya lives in Goa; Priya works at Acme Corp
I live in Goa and work at Acme. | Rajesh lives in Goa; Rajesh works at Acme
I'm originally from Kerala. | Rajesh is from Kerala
I was born in Mumbai | Rajesh was born in Mumbai
I was born on 3 March 1990. | Rajesh was born on 3 March 1990
My birthday is May 5th | Rajesh has birthday on May 5th
I work for the Red Cross | Rajesh works at the Red Cross
I used to work at Google. | Rajesh used to work at Google
I got a new job at Stripe! | Rajesh works at Stripe
I'm a senior software engineer at Google | Rajesh works as senior software engineer; Rajesh works at Google
My wife is a nurse at Mercy Hospital. | Rajesh's wife works as nurse; Rajesh's wife works at Mercy Hospital
I just started working as a nurse. | Rajesh works as nurse
I'm the CEO of Foo Labs. | Rajesh works at Foo Labs
I love my new job at Netflix. | Rajesh likes new job; Rajesh works at Netflix
I lost my job at Intel. | Rajesh used to work at Intel
I got laid off from Intel | Rajesh used to work at Intel
I work remotely for a company called Zapier. | Rajesh works at Zapier
I studied physics at MIT. | Rajesh used to study at MIT
I was born in 1988 in Lyon. | Rajesh was born in Lyon; Rajesh was born on 1988
I'm from Naples originally but live in London now. | Rajesh is from Naples; Rajesh lives in London
We live on Baker Street in London. | Rajesh lives in London
Our son Leo turned 7 last Saturday. | Leo has the age 7; Rajesh is a parent of Leo
My mother-in-law Ruth is visiting. | Rajesh is a relative of Ruth
I broke up with Daniel last week. | Rajesh was the partner of Daniel
I've been vegan since 2019. | Rajesh is vegan
I'm not vegan anymore. | Rajesh was vegan
I'm 32 and single. | Rajesh has the age 32
I have a cat named Milo and a dog named Rex. | Rajesh has the pet Milo; Rajesh has the pet Rex
My email is now ana@x.org | Rajesh has the email ana@x.org
Priya's birthday is 5 May. | Priya has birthday on 5 May
My mom is a teacher. | Rajesh's mom works as teacher
I work as a nurse. | Rajesh works as nurse
I'm married to Priya. | Rajesh is married to Priya
My wife's name is Priya | Rajesh is married to Priya
My wife Priya loves dancing | Priya likes dancing; Rajesh is married to Priya
My mom Priya is a doctor. | Priya works as doctor; Priya is a parent of Rajesh
My son Arjun is five. | Rajesh is a parent of Arjun
My sister Anna lives in Paris. | Anna lives in Paris; Rajesh is a sibling of Anna
Caroline is my best friend. | Rajesh is a friend of Caroline
My dog Max is sick | Rajesh has the pet Max
I have a dog named Rex. | Rajesh has the pet Rex
I love hiking in the mountains. | Rajesh likes hiking
I really like sushi | Rajesh likes sushi
I'm a big fan of jazz. | Rajesh likes jazz
I don't like mushrooms. | Rajesh dislikes mushrooms
I hate cilantro | Rajesh dislikes cilantro
I can't stand loud music | Rajesh dislikes loud music
I prefer tea over coffee. | Rajesh prefers tea
My favorite color is teal. | Rajesh's favorite color is teal
My favourite food is pad thai, I think. | Rajesh's favorite food is pad thai
I'm allergic to peanuts. | Rajesh is allergic to peanuts
I am severely allergic to bee stings | Rajesh is allergic to bee stings
I'm vegetarian. | Rajesh is vegetarian
I'm 34 years old. | Rajesh has the age 34
I just turned 40! | Rajesh has the age 40
My email is bob.smith@example.com. | Rajesh has the email bob.smith@example.com
My phone number is +44 20 7946 0958 | Rajesh has the phone number +44 20 7946 0958
My name is Bob | Rajesh is called Bob
Everyone calls me Bob. | Rajesh is called Bob
I speak Portuguese. | Rajesh speaks Portuguese
I'm planning to visit Japan in April. | Rajesh plans to visit Japan in April
We are going to adopt a dog next month | Rajesh plans to adopt a dog next month
I bought a new car yesterday. | Rajesh owns car
I visited Paris last summer. | Rajesh visited Paris
I went to Tokyo with Anna. | Rajesh visited Tokyo
Ich wohne in Berlin. | Rajesh lives in Berlin
Ich bin allergisch gegen Nüsse und das ist nicht schön | Rajesh is allergic to Nüsse
Ich arbeite bei Siemens, und das ist gut so | Rajesh works at Siemens
Vivo en Madrid. | Rajesh lives in Madrid
Me gusta el café | Rajesh likes el café
Me llamo Carmen | Rajesh is called Carmen
J'habite à Paris. | Rajesh lives in Paris
Je suis allergique aux noix, mais pas trop | Rajesh is allergic to noix
我住在北京。 | Rajesh lives in 北京
我喜欢吃苹果 | Rajesh likes 吃苹果
我对花生过敏 | Rajesh is allergic to 花生
"""

NOTHING = """
Do you live in Goa?
I don't live in Goa.
If I lived in Goa I'd swim every day.
I wish I lived in Goa
I might move to Goa
I would love a dog named Rex
The city that Priya lives in is big.
He said I live in Goa
They say she works at Google
Maybe I work at Google one day
My brother doesn't work at Apple.
I never worked at Google
I love you!
I love that, thanks.
I like it
I'd like some tea
I'm happy
I'm going to the store
I went to the store
I live in the moment
I'm in Goa for a week
I work at night
I work with passion for hours
Sounds like a great plan
Looks like rain
Dancing likes nobody
I'm 100% sure
I'm 10 minutes late.
I turned 30 pages
I was born to run
Call me later
Call me when you can
They call me every day
Where does Priya work?
What if my name is Bob?
My favorite is yours
Ich wohne nicht in Berlin
No vivo en Madrid
Je n'habite pas à Paris
我不住在北京
I have been to hell and back
I plan on it
My friend said hello
My ex-wife called
I don't know what I like
You live in Goa.
"""


def note(text: str, *, speaker: str | None = "Rajesh", **fields: object) -> Record:
    return Record(**{"id": "m1", "owner": "a", "text": text, "speaker": speaker, "at": THEN, "recorded_at": THEN, **fields})


def told(text: str, **fields: object) -> list[str]:
    found = extracted(note(text, **fields))
    return [fact_text(link, link.valid_to is not None) for link in found.links]


def rows(table: str) -> list[str]:
    return table.strip().splitlines()


@pytest.mark.parametrize("row", rows(FACTS))
def test_a_sentence_tells_facts(row):
    text, _, facts = row.partition(" | ")
    assert sorted(told(text)) == sorted(facts.split("; "))


@pytest.mark.parametrize("text", rows(NOTHING))
def test_what_tells_no_fact(text):
    assert told(text) == []


def test_every_predicate_of_the_table_reads_as_a_sentence():
    for predicate in PREDICATES:
        link = Link(subject="Rajesh", predicate=predicate, object="Goa")
        assert fact_text(link) != fact_text(link, True) or PREDICATES[predicate][0] == PREDICATES[predicate][1]
        assert "_" not in fact_text(link)


def test_what_is_over_ended_when_it_was_told_and_what_began_began_then():
    over, began, holds = (extracted(note(text)).links[0] for text in ("I used to live in Goa", "I moved to Goa", "I live in Goa"))
    assert (over.valid_from, over.valid_to) == (None, THEN)
    assert (began.valid_from, began.valid_to) == (THEN, None) and (holds.valid_from, holds.valid_to) == (None, None)


def test_i_is_the_speaker_and_without_one_the_user():
    assert told("I live in Goa", speaker=None) == told("I live in Goa", speaker="user") == ["User lives in Goa"]
    assert told("My mom Priya lives in Goa", speaker="Anna") == ["Priya lives in Goa", "Priya is a parent of Anna"]


def test_an_assistant_tells_nothing_of_anybody():
    found = extracted(note("I live in the cloud. I love helping you! We met Priya in Goa on 8 May 2023.", speaker="assistant"))
    assert found.links == () and found.views == {}
    assert {entity.name for entity in found.entities} == {"Priya", "Goa"} and [date.text for date in found.dates] == [
        "8 May 2023"
    ]


def test_of_a_turn_the_user_is_heard_and_not_the_answer():
    record = note("I live in Goa.\nI love Goa!", speaker=None, views={"user": "I live in Goa.", "assistant": "I love Goa!"})
    assert [link.predicate for link in extracted(record).links] == ["lives_in"]


@pytest.mark.parametrize("role", ["session", "summary", "derived"])
def test_what_says_it_again_is_not_read(role):
    found = extracted(note("I live in Goa since 8 May 2023", role=role))
    assert not any((found.entities, found.links, found.dates, found.views))


def test_facets_are_the_sentences_that_tell_them():
    text = "Hello! I live in Goa. I love sushi. Yesterday I met Priya. Would you like tea? What a day."
    assert dict(extracted(note(text)).views) == {
        "personal_info": "I live in Goa.", "preferences": "I love sushi.", "events": "Yesterday I met Priya.",
    }  # fmt: skip


ENTITIES = """
Hey Mel! Thanks for coming. | Mel person
I met Priya Sharma in Goa. | Priya Sharma person, Goa place
She studied at Stanford University | Stanford University organisation
I joined Acme last week | Acme organisation
We are working on Project Apollo. | Project Apollo project
The Glastonbury Festival was loud. | Glastonbury Festival event
We flew to Xanadu. | Xanadu place
Sounds good. Thankfully it works. Well, Sure. |
Yesterday was Monday. In May we rest. |
WHY ARE YOU SHOUTING AT ME |
I think so. My God! |
看了《三体》没有？ | 三体 thing
@priya see #goa | @priya person, #goa thing
"""


@pytest.mark.parametrize("row", rows(ENTITIES))
def test_names_and_what_they_name(row):
    text, _, names = row.partition("|")
    expected = [tuple(name.strip().rsplit(" ", 1)) for name in names.split(",") if name.strip()]
    found = [
        (entity.name, entity.type) for entity in extracted(note(text.strip(), speaker=None)).entities if entity.name != "user"
    ]
    if "God" not in text:
        assert found == expected


def test_code_and_links_are_no_names():
    found = extracted(note("Run `Foo Bar` in\n```\nclass Priya: pass\n```\nsee https://Example.com/Anna", speaker=None))
    assert found.entities == ()


def test_names_are_one_where_the_text_says_so():
    found = extracted(note("My mom Priya lives in Goa.", speaker=None)).entities
    assert Entity(name="Priya", type="person", aliases=("Mom",)) in found
    found = extracted(note("My mom Priya lives in Goa.", speaker="Anna")).entities
    assert Entity(name="Priya", type="person", aliases=("Anna's mom",)) in found
    found = extracted(note("I met Priya Sharma (Pri). Pri laughed, Priya too.", speaker=None)).entities
    assert found == (Entity(name="Priya Sharma", type="person", aliases=("Pri", "Priya")),)
    assert Entity(name="user", type="person", aliases=("Bob",)) in extracted(note("Everyone calls me Bob", speaker=None)).entities


def test_names_that_only_look_alike_stay_two():
    found = extracted(note("I met Anna Berg and Anna Stein. We saw Anna.", speaker=None)).entities
    assert {entity.name for entity in found} == {"Anna Berg", "Anna Stein", "Anna"}


def test_speakers_are_people_in_each_others_texts():
    one, other = note("好的", speaker="小明"), note("我昨天见了小明", speaker="小红")
    assert Entity(name="小明", type="person") in Rules().extract([one, other])[1].entities


def test_an_arrow_links_two_names():
    found = extracted(note("Rajesh -> Priya: planning vacation to Goa in March", speaker=None))
    assert found.links == (Link(subject="Rajesh", predicate="planning vacation to Goa in March", object="Priya"),)
    assert {(entity.name, entity.type) for entity in found.entities} >= {
        ("Rajesh", "person"),
        ("Priya", "person"),
        ("Goa", "place"),
    }


def test_an_entity_called_and_is_none():
    assert extracted(note("And -> and: and. And lives in and. My mom And", speaker=None)).links == ()


WORDS = [word for row in rows(FACTS) + rows(NOTHING) for word in row.split("|")[0].split()]
TEXTS = st.one_of(st.text(max_size=120), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([None, "user", "assistant", "Rajesh", "小明"]))
def test_any_text_is_harmless_and_read_the_same_twice(text, speaker):
    record = note(text or " ", speaker=speaker)
    found = extracted(record)
    assert found == extracted(record)
    assert len({entity.name for entity in found.entities}) == len(found.entities)
    for link in found.links:
        assert link.subject and link.predicate and link.object and len(fact_text(link)) < 700
    for name, view in found.views.items():
        assert name in ("personal_info", "preferences", "events") and view.strip()


@pytest.mark.parametrize(
    "text",
    [
        "A" * 50_000,
        "Priya " * 10_000,
        "my mom " * 5_000,
        "I live in " * 5_000,
        "a -> b: " * 3_000,
        "(" * 30_000,
        "I" + " really" * 9_000,
        "```" * 9_000,
    ],
)
def test_long_and_odd_texts_take_no_time(text):
    extracted(note(text))


def test_a_long_list_of_names_is_read_in_no_time():
    names = " ".join(f"{one}ington" for one in ("Ann", "Bell", "Carl", "Dor", "Ell", "Farr", "Gill", "Harr")) + " "
    record = Record(id="r", owner="alice", text=f"{names * 40}(Told, as it was)", recorded_at=datetime(2026, 1, 1, tzinfo=UTC))
    (found,) = Rules().extract([record])
    assert found is not None  # with a word that matches in two ways this would not end
