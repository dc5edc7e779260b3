"""The rules by which statements are read, as a table: predicate, when it holds, the words that call for the rule, its pattern.

A pattern is a regular expression in which a blank is any white space, `(` groups without capturing, capitals stand for parts:
SUBJ the subject at the beginning of a clause, with +am ("I'm", "Priya is") or +have ("I've", "she has") where its verb needs
it; PLACE, WHO, ORG, THING what is said of it; KIN and PET one's people and animals, NAMED their names. `past` is over at the
moment it is told, `new` began with it. For `statements`, which reads with them.
"""

from __future__ import annotations

import re
from functools import cache

from .entities import NAME
from .name_words import OCCUPATIONS, PETS, RELATIONS

Row = tuple[str, str, str, str]

_KIN = "|".join(sorted(RELATIONS, key=len, reverse=True))
_WHICH = "(?:(?:older|younger|elder|big|little|best|good|old|dear|twin) )*"
OWN = rf"(?:[Mm]y|[Oo]ur) {_WHICH}(?:{_KIN})"
_THEIRS = rf"{NAME}['’]s? (?:{_KIN}|parents|family|children|kids)"
_SUBJECT = rf"(?P<s>\b(?:I|i|[Ww]e)\b|{OWN}(?:,? {NAME},?)?|{_THEIRS}|{NAME})"
_CLAUSE = r"(?:^|(?<=[,;:] )|(?<=\band )|(?<=\bbut )|(?<=\bthat )|(?<=\bbecause )|(?<=\bsince )|(?<=\bwhile )|(?<=\bso ))"
_ADVERB = (
    r"(?:\s+(?:really|still|now|also|currently|just|actually|absolutely|totally|always|recently|finally|both|all|truly|simply))*"
)
_AM = r"(?:['’](?:m|s|re)|\s+(?:am|is|are))"
_KIND_OF_ORG = "company|startup|firm|agency|hospital|school|shop|store|bank|studio|restaurant|cafe|café"
_PARTS = {
    "SUBJ+am?": rf"{_CLAUSE}{_SUBJECT}(?:{_AM})?{_ADVERB}",
    "SUBJ+am": rf"{_CLAUSE}{_SUBJECT}{_AM}{_ADVERB}",
    "SUBJ+have": rf"{_CLAUSE}{_SUBJECT}(?:\s+(?:have|has)|['’](?:ve|s))?{_ADVERB}",
    "FIRST": rf"{_CLAUSE}(?P<n>{NAME})",
    "SUBJ": rf"{_CLAUSE}{_SUBJECT}{_ADVERB}",
    "PLACE": rf"(?P<o>(?:the )?{NAME}(?:, {NAME})?|[a-z]+(?: [a-z]+)?)",
    "THING": r"(?P<o>[^,.;:!?()\n]{2,80})",
    "CLAUSE": r"(?P<o>[a-z][^,.;!?\n]{3,80})",
    "ORG": rf"(?P<o>(?:the )?{NAME}|a (?:[a-z-]+ ){{1,3}}?(?:{_KIND_OF_ORG}))",
    "WHO": rf"(?P<o>{NAME})",
    "NAMED": rf"(?P<n>{NAME})",
    "KIN": rf"{_WHICH}(?P<r>{_KIN})",
    "PET": rf"(?P<r>{'|'.join(sorted(PETS))})",
    "NAME": NAME,
    "HAN": r"[\u4e00-\u9fff·A-Za-z]",
}  # fmt: skip
_PART = re.compile("|".join(re.escape(name) for name in sorted(_PARTS, key=len, reverse=True)))
_KIN_WORDS = " ".join(sorted({relation.split("-")[0] for relation in RELATIONS}))
_PET_WORDS = " ".join(sorted(PETS))
_TRADES = " ".join(sorted(OCCUPATIONS))
_HEADS = "ceo cto cfo coo founder head"
_VISITS = "(visit|travel|move|fly|start|buy|marry|adopt|study|apply|attend|take|go|meet|run|host|open)"


@cache  # a pattern costs milliseconds: those that no text calls for are never made
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the table as a regular expression."""
    pattern = re.sub(r"\((?!\?)", "(?:", pattern)
    pattern = re.sub(r"(\(\?<[=!][^)]*\))| ", lambda found: found[1] or r"\s+", pattern)  # a look-behind wants one blank
    return re.compile(_PART.sub(lambda part: _PARTS[part[0]], pattern))


ENGLISH: tuple[Row, ...] = (
    ("lives_in", "", "live lives living reside resides based",
     "SUBJ+am? (live|lives|living|reside|resides|based)( (on|at) NAME)? in PLACE(?! (anymore|any more))"),
    ("lives_in", "new", "moved relocated", "SUBJ+have (moved|relocated)( back)? to PLACE"),
    ("lives_in", "past", "used", "SUBJ used to live in PLACE"),
    ("lives_in", "past", "lived", "SUBJ( previously| once)? lived in PLACE"),
    ("lives_in", "past", "longer", "SUBJ no longer lives? in PLACE"),
    ("lives_in", "past", "anymore more", "SUBJ do(es)?n['’]t live in PLACE (anymore|any more)"),
    ("from", "", "from", "SUBJ+am( originally)? from PLACE"),
    ("from", "", "come comes", "SUBJ comes?( originally)? from PLACE"),
    ("born_in", "", "born", r"SUBJ w(as|ere) born( and raised)?( in \d{4}| on [^,.;!?]{3,20})? in PLACE"),
    ("born_on", "", "born",
     r"SUBJ w(as|ere) born( in)? (on )?(?P<o>[^,.;!?]*?\d{1,4}(st|nd|rd|th)?(,? \d{4})?( [A-Z][a-z]+( \d{4})?)?)\b"),
    ("birthday", "", "birthday", r"\b(?P<s>[Mm]y) birthday on (?P<o>[^,.;!?]{3,30})"),
    ("birthday", "", "birthday", r"\b(?P<s>[Mm]y|NAME['’]s) birthday( is|['’]s)( on)? (?P<o>[^.;!?]{3,30})"),
    ("works_at", "", "work works working",
     r"SUBJ+am? (work|works|working)( remotely| full-time| part-time)?( as an? [\w -]+?)? (at|for) (a [a-z ]{3,20} called )?ORG"),
    ("works_at", "", f"{_TRADES} {_HEADS}", r"SUBJ+am (an?|the) [a-zA-Z][\w /-]{1,40}? (at|of|for) (?P<o>(the )?NAME)"),
    ("works_at", "", "job", r"\b(?<!left )(?<!quit )(?<!lost )[Mm]y( new| current)? job (at|with) ORG"),
    ("works_at", "new", "job started", "SUBJ+have (got a( new)? job (at|with)|started( working| work| a new job)? at) ORG"),
    ("works_at", "new", "joined", "SUBJ+have joined ORG"),
    ("works_at", "past", "worked", "SUBJ( previously| once)? worked (at|for) ORG"),
    ("works_at", "past", "used", "SUBJ used to work (at|for) ORG"),
    ("works_at", "past", "longer", "SUBJ no longer works? (at|for) ORG"),
    ("works_at", "past", "left quit lost", "SUBJ+have (left|quit|lost) (my|his|her|the) job at ORG"),
    ("works_at", "past", "fired laid", "SUBJ+have( got| gotten| been| was| were)? (fired|laid off) (by|from|at) ORG"),
    ("works_as", "", _TRADES, r"SUBJ+am (an?|the) (?P<o>[a-zA-Z][\w -]{2,40})"),
    ("works_as", "", "work works working", r"SUBJ+am? (work|works|working) as an? (?P<o>[\w -]{3,40})"),
    ("works_as", "new", "started became", r"SUBJ+have (started( working| work)? as|became|become) an? (?P<o>[\w -]{3,40})"),
    ("studies_at", "", "study studies studying", "SUBJ+am? (study|studies|studying)( [a-z ]{3,30})? at ORG"),
    ("studies_at", "past", "studied", "SUBJ+have studied( [a-z ]{3,30})? at ORG"),
    ("graduated_from", "", "graduated", "SUBJ+have graduated from ORG"),
    ("married_to", "", "married", "SUBJ+am married to WHO"),
    ("married_to", "past", "divorced", "SUBJ+have( got| are)? divorced( from)? WHO"),
    ("partner_of", "past", "broke", "SUBJ+have broke(n)? up with WHO"),
    ("married_to", "new", "married", "SUBJ+have( got)? married( to)? WHO"),
    ("kin", "", _KIN_WORDS, r"\b([Mm]y|[Oo]ur) KIN NAMED"),
    ("kin", "", _KIN_WORDS, r"\b([Mm]y|[Oo]ur) KIN, NAMED(?=[,.])"),
    ("kin", "", _KIN_WORDS, r"\b([Mm]y|[Oo]ur) KIN(['’]s name)?( is|['’]s)( called| named)? NAMED(?=\s*([.,;!]|$|and\b))"),
    ("kin", "", _KIN_WORDS, r"FIRST(,| is|['’]s),? my KIN\b"),
    ("has_pet", "", _PET_WORDS, r"\b([Mm]y|[Oo]ur)( new)? PET,? NAMED"),
    ("has_pet", "", _PET_WORDS, r"\b([Mm]y|[Oo]ur) PET(['’]s name)?( is|['’]s)( called| named)? NAMED"),
    ("has_pet", "", _PET_WORDS,
     r"\b(I|[Ww]e)( just)?( have|['’]ve got| got| adopted) (an?|another)( new)?( [a-z-]+)? PET,? (named|called) NAMED"),
    ("has_pet", "", _PET_WORDS,
     r"\b(I|[Ww]e)( have|['’]ve got| got| adopted) [^.;]*? and an?( [a-z-]+)? PET,? (named|called) NAMED"),
    ("name", "", "name", r"\b[Mm]y name( is|['’]s) WHO"),
    ("name", "", "call calls",
     r"\b([Ee]veryone|[Ee]verybody|[Pp]eople|[Ff]riends|[Tt]hey|[Yy]ou can|[Pp]lease|[Jj]ust) calls? me WHO"),
    ("name", "", "call", "^[Cc]all me WHO"),
    ("email", "", "email mail", r"\b[Mm]y e-?mail( address)?( is|['’]s)( now)? (?P<o>[\w.+-]+@[\w-]+(\.[\w-]+)+)"),
    ("phone", "", "phone mobile cell",
     r"\b[Mm]y (phone|mobile|cell)( number)?( is|['’]s)( now)? (?P<o>\+?[\d][\d()\s-]{5,20}\d)"),
    ("age", "", "years yrs", r"SUBJ+am (?P<o>\d{1,3})\s*(years|yrs) old"),
    ("age", "", "", r"(?:^|[,;] |\band )[Ii](['’]m| am) (?P<o>[1-9]\d)(?=\s*[.,!]|\s+and\b|\s*$)"),
    ("age", "new", "turned", r"SUBJ+have turned (?P<o>\d{1,3})\b(?!\s*(%|degrees|times|pages))"),
    ("allergic_to", "", "allergic", "SUBJ+am( very| severely| deathly| highly)? allergic to THING"),
    ("diet", "", "vegetarian vegan pescatarian", r"SUBJ+am( an?)? (?P<o>vegetarian|vegan|pescatarian)\b"),
    ("diet", "", "vegetarian vegan pescatarian", r"SUBJ+have been( an?)? (?P<o>vegetarian|vegan|pescatarian)\b"),
    ("diet", "past", "vegetarian vegan pescatarian",
     r"(?P<s>\bI)(['’]m| am) (not|no longer)( an?)? (?P<o>vegetarian|vegan|pescatarian)( anymore| any more)?"),
    ("speaks", "", "speak speaks", "SUBJ speaks?( fluent| some| a little)? WHO"),
    ("likes", "", "love loves like likes enjoy enjoys adore adores",
     "SUBJ (love|loves|like|likes|enjoy|enjoys|adore|adores) THING"),
    ("likes", "", "fan", "SUBJ+am an?( big| huge| massive)? fan of THING"),
    ("dislikes", "", "hate hates dislike dislikes detest stand",
     "SUBJ (hates?|dislikes?|detests?|can['’]t stand|cannot stand) THING"),
    ("dislikes", "", "like enjoy", "SUBJ (don['’]t|do not|doesn['’]t|does not)( really)? (like|enjoy) THING"),
    ("prefers", "", "prefer prefers", "SUBJ prefers? THING"),
    ("favorite", "", "favorite favourite",
     r"\b[Mm]y (all-time |absolute )?favou?rite (?P<what>[a-z][a-z -]{1,30}?)( is|['’]s| are) THING"),
    ("owns", "", "own owns", "SUBJ owns? THING"),
    ("owns", "new", "bought", "SUBJ+have bought( myself)? (a|an|my|our)( new)? THING"),
    ("plans", "", "plan plans planning", "SUBJ+am? (plan|plans|planning) (to|on) CLAUSE"),
    ("plans", "", "going", rf"SUBJ+am going to (?P<o>{_VISITS}\b[^,.;!?\n]{{3,80}})"),
    ("visited", "new", "visited", "SUBJ+have visited PLACE"),
    ("visited", "new", "went traveled travelled flew been", "SUBJ+have (went|traveled|travelled|flew|been)( back)? to PLACE"),
)  # fmt: skip

GERMAN: tuple[Row, ...] = (
    ("lives_in", "", "wohne lebe", r"\b[Ii]ch (wohne|lebe)( jetzt| seit \w+)? in WHO"),
    ("name", "", "heiße name", r"\b([Ii]ch heiße|[Mm]ein Name ist) WHO"),
    ("works_at", "", "arbeite", r"\b[Ii]ch arbeite( jetzt)? (bei|für)( der| dem)? WHO"),
    ("from", "", "komme", r"\b[Ii]ch komme aus WHO"),
    ("likes", "", "mag liebe", r"\b[Ii]ch (mag|liebe) (?!(dich|es|das|nicht|keine?n?|sie|ihn)\b)THING"),
    ("allergic_to", "", "allergisch", r"\b[Ii]ch bin allergisch (gegen|auf) THING"),
    ("age", "", "jahre", r"\b[Ii]ch bin (?P<o>\d{1,3}) Jahre alt"),
    ("married_to", "", "verheiratet", r"\b[Ii]ch bin (verheiratet mit|mit) WHO(?=\s+verheiratet|[.,!]|$)"),
)  # fmt: skip

SPANISH: tuple[Row, ...] = (
    ("lives_in", "", "vivo", r"(?<![Nn]o )\b[Vv]ivo( ahora)? en WHO"),
    ("name", "", "llamo nombre", r"\b([Mm]e llamo|[Mm]i nombre es) WHO"),
    ("works_at", "", "trabajo", r"(?<![Nn]o )\b[Tt]rabajo (en|para) WHO"),
    ("from", "", "soy", r"(?<![Nn]o )\b[Ss]oy de WHO"),
    ("likes", "", "gusta gustan encanta encantan", r"(?<![Nn]o )\b[Mm]e (gustan?|encantan?) (?!(que|mucho|eso)\b)THING"),
    ("dislikes", "", "gusta gustan", r"\b[Nn]o me gustan? (?!(que|mucho|eso)\b)THING"),
    ("allergic_to", "", "alérgico alérgica", r"(?<![Nn]o )\b[Ss]oy alérgic[oa] a THING"),
    ("age", "", "años", r"(?<![Nn]o )\b[Tt]engo (?P<o>\d{1,3}) años"),
    ("married_to", "", "casado casada", r"(?<![Nn]o )\b[Ee]stoy casad[oa] con WHO"),
)  # fmt: skip

FRENCH: tuple[Row, ...] = (
    ("lives_in", "", "habite vis", r"\b[Jj](['’]habite|e vis)( maintenant)? (à|en|au|aux) WHO"),
    ("name", "", "appelle nom", r"\b([Jj]e m['’]appelle|[Mm]on nom est) WHO"),
    ("works_at", "", "travaille", r"\b[Jj]e travaille (chez|pour) WHO"),
    ("from", "", "viens", r"\b[Jj]e viens de WHO"),
    ("likes", "", "aime adore", r"\b[Jj]['’](aime|adore) (?!(pas|que|ça|bien)\b)THING"),
    ("allergic_to", "", "allergique", r"\b[Jj]e suis allergique (à|aux|au) THING"),
    ("age", "", "ans", r"\b[Jj]['’]ai (?P<o>\d{1,3}) ans\b"),
    ("married_to", "", "marié mariée", r"\b[Jj]e suis mariée? (à|avec) WHO"),
)  # fmt: skip

CHINESE: tuple[Row, ...] = (
    ("lives_in", "", "", r"我(现在|現在|一直)?(住|居住|定居|生活)在(?P<o>HAN{2,8}?)(?=[，。！,.!]|$|的|已)"),
    ("name", "", "", r"我(的名字)?叫(做)?(?P<o>HAN{2,10})(?=[，。！,.!]|$)"),
    ("works_at", "", "", r"我(现在|現在)?在(?P<o>HAN{2,12}?)(工作|上班)"),
    ("from", "", "", r"我(来自|來自)(?P<o>HAN{2,8})(?=[，。！,.!]|$)"),
    ("likes", "", "", r"我(很|非常|最|特别)?(喜欢|喜歡|爱|愛)(?P<o>HAN{1,12})(?=[，。！,.!]|$)"),
    ("dislikes", "", "", r"我(不喜欢|不喜歡|讨厌|討厭)(?P<o>HAN{1,12})(?=[，。！,.!]|$)"),
    ("allergic_to", "", "", r"我对(?P<o>HAN{1,8})过敏"),
    ("age", "", "", r"我(今年)?(?P<o>\d{1,3})[岁歲]"),
)  # fmt: skip

ROWS = {"en": ENGLISH, "de": GERMAN, "es": SPANISH, "fr": FRENCH, "zh": CHINESE}
