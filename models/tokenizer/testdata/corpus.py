"""The texts of the golden corpus: sentences in many scripts, texts made from
every Unicode block, and the inputs that tokenizers get wrong."""

import random
import unicodedata

SENTENCES = [
    "The committee didn't approve the $3.5 million budget until 12 March 2021.",
    "In Zürich, Müller's naïve café résumé cost €1,299.00 — a façade!",
    "Der Straßenbahnfahrer aß drei Brötchen über Mittag; GROẞE FREUDE.",
    "L'été dernier, nous avons mangé des crêpes à la crème brûlée près d'Œuilly.",
    "¿Dónde está el niño? ¡Mañana será otro día, señor Ibáñez!",
    "A praça de São Tomé não tem mais água, disse João ao irmão.",
    "Perché l'università è così lontana dalla città più antica?",
    "Zażółć gęślą jaźń, a Łódź leży w środku Polski.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Kŕdeľ šťastných ďatľov učí pri ústí Váhu mĺkveho koňa.",
    "Árvíztűrő tükörfúrógép, kérem szépen.",
    "Şoförün İstanbul'dan Iğdır'a gidişi ılık bir gündü; DİYARBAKIR.",
    "Ðað er gott að þið komuð, sagði Þórður.",
    "Smørrebrød på Østerbro koster øre, Ålesund ligger ved havet.",
    "Õhtul jäi öö külmaks, ütles Jüri.",
    "Glāžšķūņa rūķīši dzērumā čiepj Baha koncertflīģeļu vākus.",
    "Tiếng Việt có rất nhiều dấu: ậ, ễ, ỗ, ự và ỹ.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. ЁЛКА и Йод.",
    "Щастя, здоров'я та їжак ґречний прийшли в Київ.",
    "Ђак је учио ћирилицу у Нишу; Љубав и Њива, Џем.",
    "Ο Οδυσσέας ΕΠΕΣΤΡΕΨΕ στην Ἰθάκη· «ἐν ἀρχῇ ἦν ὁ λόγος»; ΟΔΟΣ.",
    "Հայերենը հնագույն լեզու է։ Երևան, Գյումրի՛։",
    "საქართველოს დედაქალაქი თბილისია. ᲗᲑᲘᲚᲘᲡᲘ",
    "שָׁלוֹם עֲלֵיכֶם, מה שלומך היום? ירושלים היא עיר־קודש.",
    "السَّلامُ عَلَيْكُم، كيف حالك؟ ١٢٣٤ كتابًا في المكتبة ـــ ﷲ.",
    "این کتاب‌ها را می‌خواهم؛ قیمت ۴۵۰ تومان است.",
    "اردو ایک خوبصورت زبان ہے۔",
    "ܫܠܡܐ ܥܠܝܟܘܢ܀",
    "हिन्दी में लिखा हुआ वाक्य: क्षेत्रफल ३२८७ हज़ार वर्ग कि॰मी॰ है। क़लम फ़िल्म",
    "বাংলাদেশের রাজধানী ঢাকা; ড়, ঢ়, য় আলাদা অক্ষর।",
    "ਪੰਜਾਬੀ ਸ਼ਬਦ ਖ਼ਾਸ ਹਨ।",
    "ગુજરાતી ભાષા મીઠી છે.",
    "ଓଡ଼ିଆ ଭାଷା ଭଲ।",
    "தமிழ் மொழி தொன்மையானது; கொழும்பு சென்றோம்.",
    "తెలుగు భాష చాలా తీయనైనది.",
    "ಕನ್ನಡ ನಾಡು ಬೆಂಗಳೂರು ಸೇರಿದೆ.",
    "മലയാളം സംസാരിക്കുന്നവർ കേരളത്തിൽ കൊല്ലം.",
    "සිංහල භාෂාව ශ්‍රී ලංකාවේ කථා කරයි.",
    "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ น้ำ ๑๒๓ ฯลฯ",
    "ພາສາລາວ ຄືກັນກັບພາສາໄທ.",
    "བོད་སྐད་ནི་རྙིང་པ་ཡིན། ཱི ཱུ",
    "မြန်မာဘာသာ စကားပြောသည်။",
    "ភាសាខ្មែរ ពិរោះណាស់។ ៛",
    "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠃",
    "አማርኛ ቋንቋ በኢትዮጵያ ይነገራል። ፩፪፫",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꭰꭱꭲ",
    "ᐃᓄᒃᑎᑐᑦ ᐊᑐᖅᐳᖅ",
    "我们在北京大学学习人工智能，2024年毕业。你好！「引号」",
    "繁體中文：臺灣、香港與澳門。龍龜鬱",
    "日本語の文章です。カタカナ、ひらがな、漢字。ガギグ パピプ ﾊﾝｶｸ、ｶﾞｷﾞ 東京へ行った〜",
    "한국어 문장입니다. 서울특별시는 대한민국의 수도이다. 각 값 닭",
    "ㄅㄆㄇㄈ 注音符號",
    "ꆈꌠꉙ ꀀꀁ",
    "ⵜⴰⵎⴰⵣⵉⵖⵜ ⵜⴰⵎⴰⵣⵉⵖⵜ",
    "ꦧꦱꦗꦮ ᬩᬲᬩᬮᬶ ᮘᮞ ᮞᮥᮔ᮪ᮓ",
    "𐌲𐌿𐍄𐌹𐍃𐌺 𐤀𐤁𐤂 𐎀𐎁 𒀀𒀁 𓀀𓀁 𐐀𐐨 𞤀𞤢",
    "ℌ𝔢𝔩𝔩𝔬 𝐰𝐨𝐫𝐥𝐝 𝟙𝟚𝟛 ﬁﬂﬃ ①②③ ㎏㏒ Ⅻ ½ x² Å Ω K",
    "E = mc²; ∑ᵢ xᵢ ≤ ∞ ∴ ∀x∈ℝ: √x ≥ 0 ± 5‰ → ⇒ ⊂",
    "C:\\Users\\name\\file.txt http://example.org/a_b?c=d&e=f#g user@mail.example",
    "def f(x): return x**2  # {'a': [1, 2], \"b\": None}\n\tif (a && b) || !c { x += 1; }",
    "Line one\r\nLine two\rLine three\n\n\tTabbed\u000bvertical\u000cform\u0085next\u2028line\u2029para",
    "zero\u200bwidth\u200cnon\u200djoiner\u2060word\ufeffbom soft\u00adhyphen \u202ertl\u202c \u2066iso\u2069",
    "no\u00a0break\u2007figure\u202fnarrow\u3000ideographic\u1680ogham\u205fmath\u180emongolian",
    "nul\u0000bell\u0007esc\u001b[0m del\u007f c1\u009f repl\ufffd nonchar\uffff private\ue000\U000f0000",
    "“Quotes” ‘single’ „low‟ «guillemets» ‹x› … – — ― ‐ ‑ ‒ ⁓ ′ ″ ‡ † • ‣ ※",
    "$ € £ ¥ ₹ ₽ ₩ ₿ ¢ ¤ + < = > ^ ` | ~ ¬ ¦ ¨ ¯ ´ ¸ ° § ¶ © ® ™",
    "I'm we've they'll he'd it's don't 'tis o'clock y'all'd've IT'S",
    "3.14159 1,000,000 1e-10 0xFF 50% 10:30 2021-03-12 +49-170 ½",
    "Zalgo: t̷̢̛h̵͙́e̶̗͐ ̸̱̈n̴̖̏a̷̰͝m̵̼̽e̴͚̓",
    "A\u030a \u212b \u00c5 e\u0301 \u00e9 o\u0323\u0302 o\u0302\u0323 \u1ed9 q\u0307\u0323 \u0344 \u0f73\u0f72",
    "\U0001d15e\U0001d160 \U0001d158\U0001d165\U0001d16e \u302e\u302f 가\u302e \u1b06\u1b44",
]

EMOJI = (
    "😀 😂 ❤️ ❤ 👍 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ 🇩🇪 🇺🇸🇫🇷 1️⃣ #️⃣ ☎️ ☎︎ 🧑🏿‍🚀 👩‍❤️‍💋‍👨 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ✌🏻 🤷‍♀️ 🙂‍↔️ 🫠 🫱🏼‍🫲🏿 ⌚ ⭐ ✨ ㊗️ 🅰️ 🈁 ™️ ©️"
).split(" ")

CONTROL_TOKENS = (
    "[SEP] [CLS] [PAD] [UNK] [MASK] [unused1] [sep] ##ing ## </s> <s> <pad> <unk> <mask> <extra_id_0> "
    "<|endoftext|> <0x41> ▁ ▁the Ġ Ġthe"
).split(" ")


def assigned_blocks():
    """Groups of up to 128 neighbouring code points that have characters."""
    for start in range(0, 0x20000, 128):
        chars = [chr(c) for c in range(start, start + 128) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
        if chars and unicodedata.category(chars[0]) != "Co":
            yield chars


def word_like(rng, chars):
    return " ".join("".join(rng.choices(chars, k=rng.randint(1, 9))) for _ in range(rng.randint(1, 6)))


def english_like(rng, words):
    out = []
    for _ in range(rng.randint(3, 30)):
        w = rng.choice(words)
        shape = rng.random()
        w = w.capitalize() if shape < 0.15 else w.upper() if shape < 0.2 else w + rng.choice(words) if shape < 0.3 else w
        out.append(w + rng.choice(["", "", "", "", ",", ".", "!", "?", ";", "'s", "-", ")", "…", "\n", "  "]))
    return " ".join(out)


def long_words():
    for n in (1, 15, 16, 17, 99, 100, 101, 102, 200, 513, 1000):
        for unit in ("a", "é", "e\u0301", "한", "я", "中", "😀", "ab1", "a\u200b", "A\u0334\u0323", "\u0301"):
            yield unit * n
            yield "x " + unit * n + " y"
    yield "ab" * 5000
    yield "\u0301\u0323\u302e" * 700
    yield " " * 300 + "a" + "\n" * 300


def edge_cases():
    """Short texts for the borders of words and of normalisation."""
    rng = random.Random(13)
    chars = [
        *" \t\n\u00a0\u3000\u2581a'séÉ1.,中각ﬁ™²\u0000\u0001\u0085\u00ad\u200b\u200d\ufeff\ufffd\u0301\u0323\u0600\u070f",
        "  ", "   ", "\r\n", "'re", "'LL", " 's", "e\u0301", "ｶ\uff9e", "\u1100\u1161", "😀", "☎\ufe0f", "½",
    ]
    return ["".join(rng.choices(chars, k=rng.randint(1, 8))) for _ in range(500)]


def texts(words):
    """All texts, without repetitions, in a fixed order."""
    rng = random.Random(20240229)
    out = ["", " ", "\n", "a", "A", ".", "\u0301", "\ufffd", "\u0000"]
    for s in SENTENCES:
        out += [s, s.upper(), s.lower(), s.swapcase()]
        out += [unicodedata.normalize(form, s) for form in ("NFC", "NFD", "NFKC", "NFKD")]
        out += [s.replace(" ", "\r\n"), s.replace(" ", ""), "  " + s + "\t"]
    for token in CONTROL_TOKENS:
        out += [token, f"a {token} b", f"a{token}b", token * 3, f"{token} {rng.choice(SENTENCES)} {token}"]
    for e in EMOJI:
        out += [e, f"ok {e}!", f"a{e}b", e * 3]
    for chars in assigned_blocks():
        out += [word_like(rng, chars) for _ in range(4)]
        out += ["".join(rng.sample(chars, min(len(chars), 12)))]
    out += long_words()
    for _ in range(1200):
        out.append(english_like(rng, words))
    for _ in range(500):
        out.append(" ".join(rng.sample(SENTENCES, 2))[rng.randint(0, 20) : rng.randint(30, 200)])
    pool = [c for s in SENTENCES for c in s] + list("".join(EMOJI)) + list(" \t\r\n\u0301\u0323\u200d")
    for _ in range(1000):
        out.append("".join(rng.choices(pool, k=rng.randint(1, 60))))
    out += edge_cases()
    return list(dict.fromkeys(out))


def pairs(count):
    """Indices of a premise and a hypothesis."""
    rng = random.Random(7)
    return [[rng.randrange(count), rng.randrange(count)] for _ in range(1000)]
