"""What days, months, seasons and their turns of phrase are called: the vocabulary of `dates`, a table a language.

For English, German, Spanish, French and Russian; Chinese and Japanese, written without spaces, have patterns in `dates_han`.
Not here: times of day, and weekdays cut short ("sun", "sat"), which are mostly something else. Groups stand between
semicolons, what means the same between commas; a group's value follows "=", else it is the group's number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

LANGUAGES = ("en", "de", "es", "fr", "ru")


class Phrase(NamedTuple):
    """A word or some in a row, and what it may say: kind → value."""

    words: tuple[str, ...]
    says: Mapping[str, int | str]


# day: counted from today. turn: last, this, next. ago and led (its like in front: "vor", "hace"), ahead, after a number. at: what
# makes a date of a bare month. since … after: what makes an open span. joins: from A to B. of: may stand between a date's parts.
_TABLES = {
    "en": {
        "day": "the day before yesterday, day before yesterday = -2; yesterday, last night = -1; today, tonight, this"
        " morning, this afternoon, this evening = 0; tomorrow = 1; the day after tomorrow, day after tomorrow = 2",
        "month": "january; february; march; april; may; june; july; august; september; october; november; december",
        "short": "jan; feb; mar; apr; may; jun; jul; aug; sep, sept; oct; nov; dec",
        "weekday": "monday; tuesday; wednesday; thursday; friday; saturday; sunday",
        "season": "spring, springtime; summer, summertime; autumn, fall; winter, wintertime",
        "unit": "day, days = d; week, weeks = w; weekend, weekends = e; month, months = m; year, years = y; fortnight ="
        " f; quarter = q; decade, decades = t",
        "turn": "last, past, previous, this past = -1; this, current = 0; next, coming, upcoming = 1", "ago": "ago, back",
        "ahead": "from now", "in": "in, within",
        "at": "in, during, early, late, mid, in the, over the, during the, early in, late in, in early, in late, in mid",
        "since": "since, ever since", "until": "until, till", "before": "before, prior to", "after": "after",
        "from": "between, from", "joins": "and, to, until, till, through", "of": "of, the, of the, in, in the, on, s",
        "number": "a, an, one, a single; two, a couple of, a couple, couple of; three, a few, few; four, several; five;"
        " six; seven; eight; nine; ten; eleven; twelve",
        "first": "first; second; third; fourth; fifth; sixth; seventh; eighth; ninth; tenth",
        "feast": "new year s day, new year s = 0101; valentine s day = 0214; halloween = 1031; christmas eve = 1224;"
        " christmas, christmas day = 1225; boxing day = 1226; new year s eve = 1231",
        "recent": "the other day = 7", "every": "every, each, most",
        "future": "will, ll, going, gonna, plan, planning, plans, planned, upcoming, soon, hope, hoping, should,"
        " appointment, schedule, scheduled, want, wants, let, next, booked, due, deadline",
        "past": "did, didn, was, were, had, went, said, told, met, saw, got, have, has, been, came, made, took, last,"
        " yesterday, ago",
    },
    "de": {
        "day": "vorgestern = -2; gestern, gestern abend = -1; heute, heute morgen, heute abend = 0; morgen, morgen früh"
        " = 1; übermorgen = 2",
        "month": "januar, jänner; februar; märz; april; mai; juni; juli; august; september; oktober; november; dezember",
        "short": "jan; feb; mär; apr; mai; jun; jul; aug; sep, sept; okt; nov; dez",
        "weekday": "montag; dienstag; mittwoch; donnerstag; freitag; samstag, sonnabend; sonntag",
        "season": "frühling, frühjahr, frühlings; sommer, sommers; herbst, herbstes; winter, winters",
        "unit": "tag, tage, tagen = d; woche, wochen = w; wochenende, wochenenden = e; monat, monate, monaten, monats ="
        " m; jahr, jahre, jahren, jahres = y; quartal = q; jahrzehnt, jahrzehnten = t",
        "turn": "letzte, letzten, letzter, letztes, letztem, vergangene, vergangenen, vergangener, vergangenes, vorige,"
        " vorigen, voriges = -1; diese, diesen, dieser, dieses, diesem = 0; nächste, nächsten, nächster, nächstes,"
        " nächstem, kommende, kommenden, kommendes = 1",
        "led": "vor", "in": "in", "at": "im, am, übers, seit dem, anfang, mitte, ende, in diesem", "since": "seit, seit dem",
        "until": "bis, bis zum", "before": "vor, vor dem, vor der", "after": "nach, nach dem, nach der",
        "from": "zwischen, von, vom", "joins": "und, bis, bis zum", "of": "des, der, im, vom, den",
        "number": "ein, eine, einem, einer, einen; zwei; drei, ein paar, einigen, paar; vier, mehreren; fünf; sechs;"
        " sieben; acht; neun; zehn; elf; zwölf",
        "feast": "neujahr = 0101; heiligabend = 1224; weihnachten = 1225; silvester = 1231", "recent": "neulich = 14",
        "every": "jeden, jede, jedes, am nächsten",
        "future": "wird, werde, werden, wirst, will, wollen, möchte, plane, planen, geplant, plant, demnächst, bald",
        "past": "war, waren, hatte, hatten, haben, habe, hat, ist, sind, wurde, gestern",
    },
    "es": {
        "day": "anteayer, antes de ayer = -2; ayer, anoche = -1; hoy, esta mañana, esta noche, esta tarde = 0; mañana ="
        " 1; pasado mañana = 2",
        "month": "enero; febrero; marzo; abril; mayo; junio; julio; agosto; septiembre, setiembre; octubre; noviembre;"
        " diciembre",
        "weekday": "lunes; martes; miércoles; jueves; viernes; sábado; domingo",
        "season": "primavera; verano; otoño; invierno",
        "unit": "día, días, dia, dias = d; semana, semanas = w; fin de semana = e; mes, meses = m; año, años = y;"
        " trimestre = q; década, décadas = t",
        "turn": "pasado, pasada, último, última, anterior = -1; este, esta = 0; próximo, próxima, siguiente, que viene ="
        " 1",
        "led": "hace", "ago": "atrás", "in": "en, dentro de",
        "at": "en, en el, en la, durante el, durante la, a principios de, a finales de",
        "since": "desde, desde el, desde la", "until": "hasta, hasta el", "before": "antes de, antes del, antes de la",
        "after": "después de, después del, después de la", "from": "entre, de, desde, del", "joins": "y, e, a, hasta, al",
        "of": "de, del, el, la, de la, de el",
        "number": "un, una, uno; dos, un par de; tres, unos, unas, unos pocos; cuatro, varios, varias; cinco; seis; siete;"
        " ocho; nueve; diez; once; doce",
        "first": "primero", "feast": "año nuevo = 0101; nochebuena = 1224; navidad, navidades = 1225; nochevieja = 1231",
        "recent": "el otro día = 7", "every": "cada, los, las, por la, la",
        "future": "voy, va, vamos, van, planeo, planeamos, quiero, queremos, será, haré, iré, iremos, pronto, viajaremos",
        "past": "fue, fui, era, estaba, hice, hizo, hicimos, ha, he, hemos, fuimos, dijo",
    },
    "fr": {
        "day": "avant hier = -2; hier, hier soir = -1; aujourd hui, ce matin, ce soir = 0; demain = 1; après demain = 2",
        "month": "janvier; février, fevrier; mars; avril; mai; juin; juillet; août, aout; septembre; octobre; novembre;"
        " décembre",
        "weekday": "lundi; mardi; mercredi; jeudi; vendredi; samedi; dimanche",
        "season": "printemps; été; automne; hiver",
        "unit": "jour, jours = d; semaine, semaines = w; week end, weekend = e; mois = m; an, ans, année, années = y;"
        " trimestre = q; décennie = t",
        "turn": "dernier, dernière, passé, passée, précédent, précédente = -1; ce, cet, cette = 0; prochain, prochaine,"
        " qui vient = 1",
        "led": "il y a, y a", "in": "dans, d ici",
        "at": "en, au, à l, à la, pendant l, pendant le, début, fin, mi, durant l, à noël",
        "since": "depuis, depuis le, depuis l", "until": "jusqu à, jusqu en, jusqu au",
        "before": "avant, avant le, avant la, avant l", "after": "après, après le, après la, après l",
        "from": "entre, de, du", "joins": "et, à, au", "of": "de, d, du, l, de l, en, le, la",
        "number": "un, une; deux; trois, quelques; quatre, plusieurs; cinq; six; sept; huit; neuf; dix; onze; douze",
        "first": "premier, 1er", "feast": "nouvel an = 0101; noël = 1225; réveillon = 1231", "recent": "l autre jour = 7",
        "every": "chaque, tous les, le",
        "future": "vais, va, allons, vont, prévu, prévois, sera, serai, ferai, irons, bientôt, partirons",
        "past": "était, étais, étions, avait, avons, ai, a, est, suis, sommes, fait",
    },
    "ru": {
        "day": "позавчера = -2; вчера, вчера вечером = -1; сегодня = 0; завтра = 1; послезавтра = 2",
        "month": "январь, январе, января, январём, январю; февраль, феврале, февраля, февралём; март, марте, марта,"
        " мартом; апрель, апреле, апреля, апрелем; май, мае, мая, маем; июнь, июне, июня, июнем; июль, июле, июля,"
        " июлем; август, августе, августа, августом; сентябрь, сентябре, сентября, сентябрём; октябрь, октябре,"
        " октября, октябрём; ноябрь, ноябре, ноября, ноябрём; декабрь, декабре, декабря, декабрём",
        "weekday": "понедельник, понедельника; вторник, вторника; среда, среду, среды; четверг, четверга; пятница, пятницу,"
        " пятницы; суббота, субботу, субботы; воскресенье, воскресенья",
        "season": "весна, весну, весны; лето, лета; осень, осени; зима, зиму, зимы",
        "during": "весной; летом; осенью; зимой",
        "unit": "день, дня, дней = d; неделя, неделю, недели, недель, неделе = w; выходные, выходных = e; месяц, месяца,"
        " месяцев, месяце = m; год, года, году, лет = y",
        "turn": "прошлый, прошлая, прошлое, прошлые, прошлым, прошлой, прошлую, прошлом, прошлых, прошлого = -1; этот,"
        " эта, это, эти, этим, этой, эту, этом, этих, этого = 0; следующий, следующая, следующее, следующим,"
        " следующей, следующую, следующем, следующего = 1",
        "ago": "назад", "in": "через", "at": "в, во, на, в начале, в конце", "since": "с, со", "until": "до, по",
        "before": "до, перед", "after": "после", "from": "между, с, со", "joins": "и, по, до", "of": "года, в",
        "number": "один, одну, одна; два, две, пару; три, несколько; четыре; пять; шесть; семь; восемь; девять; десять;"
        " одиннадцать; двенадцать",
        "feast": "новый год, нового года, новому году, новым годом = 0101; рождество, рождества, рождеству,"
        " рождеством = 0107", "recent": "на днях = 7", "every": "каждый, каждую, каждое",
        "future": "буду, будет, будем, будут, планирую, планируем, собираюсь, хочу, поеду, поедем, пойду",
        "past": "был, была, были, было, ходил, ездили, ездил, сказал",
    },
}  # fmt: skip

# "We're flying to Rome in May" is to come: what is planned is told as if it were going on.
PRESENT = frozenset({"m", "re", "s", "am", "are", "is"})
COMING = frozenset({
    "moving", "visiting", "flying", "leaving", "traveling", "travelling", "hosting", "attending", "heading", "getting",
    "marrying", "starting", "returning", "having", "throwing", "running",
})  # fmt: skip
# Also other words, or names: a date only with a number, a turn or a preposition beside them.
UNSURE = frozenset({"may", "march", "april", "june", "august", "mars", "marzo", "mai", "so"})


@cache
def phrases(languages: tuple[str, ...]) -> Mapping[str, tuple[Phrase, ...]]:
    """By first word: the phrases of these languages, longest first. What two languages say differently, the first one says."""
    found: dict[tuple[str, ...], dict[str, int | str]] = {}
    for language in languages:
        for kind, listed in _TABLES[language].items():
            for number, group in enumerate(listed.split(";"), 1):
                names, _, value = group.partition("=")
                said = value.strip() if value else number
                for name in names.split(","):
                    says = found.setdefault(tuple(name.split()), {})
                    says.setdefault(kind, said if kind in ("unit", "feast") else int(said))
    first: dict[str, list[Phrase]] = {}
    for words in sorted(found, key=len, reverse=True):
        first.setdefault(words[0], []).append(Phrase(words, MappingProxyType(found[words])))
    return MappingProxyType({word: tuple(known) for word, known in first.items()})


class Triggers(NamedTuple):
    """Words without which, figures aside, a text has no date: one of `alone`, or of a language's units with one of its counts."""

    alone: frozenset[str]
    pairs: tuple[tuple[frozenset[str], frozenset[str]], ...]


@cache
def triggers() -> Triggers:
    """Of all languages; of a phrase its longest word, which says most. A unit counts within its language: "an" is French."""
    alone: set[str] = set()
    pairs = []
    for language in LANGUAGES:
        said: dict[str, set[str]] = {}
        for phrase in (phrase for found in phrases((language,)).values() for phrase in found):
            for kind, value in phrase.says.items():
                if kind != "number" or value != 1:  # "a" is everywhere
                    said.setdefault(kind, set()).add(max(phrase.words, key=len))
                if kind == "unit" and value == "e":
                    alone.add(max(phrase.words, key=len))
        alone.update(*(said.get(kind, ()) for kind in ("day", "month", "weekday", "season", "during", "feast", "recent")))
        counts = set().union(*(said.get(kind, ()) for kind in ("turn", "ago", "led", "ahead", "number", "before", "after", "in")))
        pairs.append((frozenset(said["unit"]), frozenset(counts)))
    return Triggers(frozenset(alone), tuple(pairs))
