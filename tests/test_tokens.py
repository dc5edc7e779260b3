"""tokens: one tokenisation, the same for what is asked and what is stored."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidSetting
from recollect.tokens import (
    LANGUAGES,
    characters,
    jaccard,
    language_of,
    meaningful,
    pack,
    query_terms,
    scripts,
    shingles,
    term_hash,
    terms,
    tokens_version,
    unpack,
    words,
)

ANYTHING = st.text(st.characters(), max_size=60)
WORDY = st.text(st.sampled_from("abiİſßé '’-_.,+#3711vns手机カー서울แมวกิมै्ش‌ل́\u200d\ud800\0\"*()😀Ꭰꭰ"), max_size=30)
SCRIPTS = {"latin", "cyrillic", "han", "kana", "hangul", "thai", "arabic", "greek", "hebrew", "devanagari", "other"}
LANGUAGE = st.sampled_from([*LANGUAGES, "none"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("Priya's dog and the students' dogs", ["priya", "dog", "and", "the", "students", "dogs"]),
        ("I don’t know what we'd've said", ["i", "dont", "know", "what", "we", "said"]),
        ("l'avion d'Anna", ["l", "avion", "d", "anna"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("Python v3.11.4 costs $1,234.50 or 1,000", ["python", "3.11.4", "costs", "1234.50", "or", "1000"]),
        ("C++, C# and C; node.js", ["c++", "c#", "and", "c", "node", "js"]),
        ("Issue #12 (a+b)", ["issue", "12", "a", "b"]),
        ("Ｆｕｌｌ ＷＩＤＴＨ ﬁne", ["full", "width", "fine"]),
        ("soft\u00adhyphen pass\u200eword iPhone™", ["softhyphen", "password", "iphone"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("iPhone手机 2024年", ["iphone", "手机", "2024", "年"]),
        ("אבא ואמא — שלום", ["אבא", "ואמא", "שלום"]),
        ("", []),
        ("?! …", []),
    ],
)
def test_words(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("The dogs are running", "en", ["the", "dog", "are", "run"]),
        ("Die Häuser", "de", ["die", "haus"]),
        ("running", "none", ["running"]),
        ("café CAFÉ cafe", "en", ["cafe"] * 3),
        ("Ещё еще", "ru", ["ещ", "ещ"]),
        ("Łódź, smørbrød", "en", ["lodz", "smorbrod"]),
        ("手机", "en", ["手", "机", "手机"]),
        ("서울에서 밥", "en", ["서", "울", "에", "서", "서울", "울에", "에서", "밥"]),
        ("ｶﾞｲﾄﾞ", "en", ["ガ", "イ", "ド", "ガイ", "イド"]),
        ("แมวกิน", "en", ["แม", "ว", "กิ", "น", "แมว", "วกิ", "กิน"]),
        ("3.11", "en", ["3.11", "3", "11"]),
        ("שָׁלוֹם שלום", "en", ["שלום", "שלום"]),
        ("٣", "ar", ["3"]),
    ],
)
def test_terms(text, language, found):
    assert terms(text, language) == found


def test_a_word_gets_the_stemmer_of_its_script():
    assert terms("Docker containers", "ru") == terms("Docker containers", "en")
    assert terms("книги", "en") == terms("книги", "ru")


@pytest.mark.parametrize(
    ("text", "languages", "found"),
    [
        ("Where do the dogs live?", ["en"], ["dog", "live"]),
        ("What is my name?", ["en"], ["my", "name"]),
        ("to be or not to be", ["en"], ["to", "be", "or", "not"]),
        ("Who are you?", ["en"], ["who", "are", "you"]),
        ("dogs, dog and DOGS", ["en"], ["dog"]),
        ("Hunde running", ["en", "de"], ["hund", "run", "running"]),
        ("Wo ist die Katze?", ["de"], ["katz"]),
        ("我爱北京", ["en"], ["我爱", "爱北", "北京"]),
        ("猫", ["en"], ["猫"]),
        ("the", [], ["the"]),
        ("", ["en"], []),
    ],
)
def test_query_terms(text, languages, found):
    assert query_terms(text, languages) == found


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("พรุ่งนี้ฉันจะไปกรุงเทพ", "กรุงเทพ"),
        ("แมวของฉันชื่อส้ม", "แมว"),
        ("ຂ້ອຍຮັກແມວ", "ແມວ"),
        ("ខ្ញុំស្រលាញ់ឆ្មា", "ឆ្មា"),
        ("ကျွန်တော် ကြောင်ချစ်တယ်", "ကြောင်"),
        ("昨日東京タワーに行きました", "東京タワー"),
        ("내일 서울역에서 만나요", "서울역"),
        ("می‌خواهم کتاب بخوانم", "کتاب"),
    ],
)
def test_scripts_without_spaces_are_found(said, asked):
    language = language_of(said)
    assert set(query_terms(asked, [language])) <= set(terms(said, language))


@settings(max_examples=400, deadline=None)
@given(ANYTHING | WORDY, LANGUAGE)
@example('NEAR(a b) -c "d" e* ^f : {g} \0 \ud800', "en")
def test_every_text_finds_itself(text, language):
    asked, stored = query_terms(text, [language]), terms(text, language)
    assert set(asked) <= set(stored)
    assert bool(asked) == bool(stored)
    assert len(set(asked)) == len(asked)
    assert all(stored) and all(asked)


@settings(max_examples=200, deadline=None)
@given(ANYTHING | WORDY)
def test_nothing_raises(text):
    assert language_of(text) in {*LANGUAGES, "en"}
    assert all(word.strip() for word in words(text))
    assert set(meaningful(characters(text))) <= set(characters(text))
    assert scripts(text) <= SCRIPTS
    assert jaccard(shingles(text), shingles(text)) == (1.0 if text.strip() else 0.0)


def test_an_unknown_language_is_named():
    with pytest.raises(InvalidSetting, match="klingon"):
        terms("nuqneH", "klingon")


def test_every_language_stems():
    for language in LANGUAGES:
        assert terms("abc", language)
    assert tokens_version().startswith("1/")


def test_threads_agree():
    said = [f"word{n}ing runs and running number {n}" for n in range(300)]
    expected = [terms(text, "en") for text in said]
    answers: list[list[list[str]]] = []

    def read():
        answers.append([terms(text, "sv") + terms(text, "en") for text in said])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(answer == answers[0] for answer in answers)
    assert [found[len(found) // 2 :] for found in answers[0]] == expected


def test_a_long_word_is_cut_and_a_long_text_is_not():
    assert terms("x" * 100_000, "en") == ["x" * 64]
    assert len(terms("word " * 50_000, "en")) == 50_000


def test_hashes_are_stable():
    assert term_hash("dog") == 11501171807684625465
    assert 0 <= term_hash("日本") < 2**64


@given(st.lists(st.sampled_from(["a", "b", "c", "日本"]) | st.text(max_size=3), max_size=40))
def test_pack_and_back(found):
    blob, length = pack(found)
    hashes, frequencies = unpack(blob)
    assert length == len(found)
    assert hashes == sorted(hashes)
    assert dict(zip(hashes, frequencies, strict=True)) == Counter(map(term_hash, found))


def test_pack_clamps_and_is_little_endian():
    blob, length = pack(["dog"] * 1000)
    assert (blob, length) == (term_hash("dog").to_bytes(8, "little") + b"\xff", 1000)
    assert pack([]) == (b"", 0)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I told her that we would be in the office on Monday", "en"),
        ("Ich habe gestern mit meiner Schwester über den Urlaub gesprochen", "de"),
        ("Nous avons parlé de la maison de mes parents", "fr"),
        ("Mi hermana vive en Madrid y le gusta mucho el café", "es"),
        ("Mia sorella vive a Roma e le piace molto il gelato che fanno lì", "it"),
        ("A minha irmã mora em Lisboa e gosta muito de café, mas não de chá", "pt"),
        ("Mijn zus woont in Amsterdam en ze houdt niet van koffie", "nl"),
        ("Jag bor i Stockholm och jag tycker inte om kaffe", "sv"),
        ("Jeg bor i København, og jeg har aldrig været i Sverige efter den dag hvad med dig", "da"),
        ("Jeg bor i Oslo, og jeg vet ikke hva du har gjort med meg nå", "no"),
        ("Minä asun Helsingissä ja se on hyvä paikka, mutta en ole siellä nyt", "fi"),
        ("A nővérem Budapesten él, és nem szereti a kávét, de ez nem baj", "hu"),
        ("Sora mea locuiește la București și nu îi place cafeaua pentru că este amară", "ro"),
        ("Kız kardeşim İstanbul'da yaşıyor ve kahve için çok para veriyor", "tr"),
        ("Вчера я видел кота", "ru"),
        ("Я использую Docker и Kubernetes", "ru"),
        ("Η αδελφή μου", "el"),
        ("أختي تعيش في القاهرة", "ar"),
        ("मेरी बहन दिल्ली में रहती है", "hi"),
        ("என் சகோதரி", "ta"),
        ("我的姐姐住在北京", "en"),
        ("Anna", "en"),
        ("", "en"),
        ("The word кот means cat in Russian, I was told", "en"),
    ],
)
def test_language_of(text, language):
    assert language_of(text) == language


def test_a_list_of_terms_is_in_no_language():
    terms_ = "diabetes insulin resistance mice diet obesity intervention glucose plan son effect study risk dose pain age"
    assert language_of(f"{terms_} {terms_} {terms_}", "") == "" and language_of("où est le son de la mer", "") == "fr"


def test_too_little_to_tell_is_the_default():
    assert language_of("Anna", default="de") == "de"
    assert language_of("東京", default="none") == "none"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", {"latin"}),
        ("12 + 3", set()),
        ("Привет, 世界! カタカナ ひらがな 서울", {"cyrillic", "han", "kana", "hangul"}),
        ("ไทย عربي Ωμέγα עברית देव", {"thai", "arabic", "greek", "hebrew", "devanagari"}),
        ("Ａ", {"latin"}),
        ("ქართული", {"other"}),
    ],
)
def test_scripts(text, found):
    assert scripts(text) == found


def test_characters_are_opencouch_tokens():
    assert characters("I love iPhone手机 and snake_case") == ["i", "love", "iphone", "手", "机", "and", "snake_case"]
    assert characters("서울 カナ") == ["서", "울", "カ", "ナ"]
    assert meaningful(characters("I love the iPhone手机 and didn't x")) == ["love", "iphone", "手", "机"]


def test_sets():
    assert jaccard({"a", "b"}, {"b", "c"}) == 1 / 3
    assert jaccard(set(), set()) == 0.0
    assert shingles("A  Cat") == {"a c", " ca", "cat"}
    assert shingles("ab") == {"ab"}
    assert shingles(" ") == set()
