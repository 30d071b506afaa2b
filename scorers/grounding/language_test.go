package grounding

import (
	"fmt"
	"path/filepath"
	"testing"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

func TestLanguages(t *testing.T) {
	for _, c := range []struct {
		codes []string
		text  string
		known bool
	}{
		{[]string{"en"}, "The bridge opened to traffic in 1932 and it is still open today.", true},
		{[]string{"en"}, "Die Brücke wurde im Jahr 1932 für den Verkehr freigegeben und ist bis heute in Gebrauch.", false},
		{[]string{"en"}, "El Pueblo de Los Angeles was founded by Felipe de Neve in 1781.", true},
		{[]string{"en", "de"}, "Die Brücke wurde im Jahr 1932 für den Verkehr freigegeben.", true},
		{[]string{"en"}, "Die Brücke ist alt.", true}, // too short to tell
		{[]string{"en"}, "Þórunn Guðmundsdóttir", true},
		{[]string{"en"}, "Мост открыли в 1932 году.", false},
		{[]string{"ru"}, "Мост открыли в 1932 году.", true},
		{[]string{"en"}, "The composer is Пётр Ильич Чайковский.", true},
		{[]string{"zh"}, "这是对的。", true},
		{[]string{"ja"}, "これは東京です。", true},
		{[]string{"en"}, "1932", true},
		{nil, "这是对的。", true},
		{[]string{"no such code"}, "这是对的。", true},
	} {
		if got := newLanguages(c.codes).check(c.text) == nil; got != c.known {
			t.Errorf("%v, %q: %v", c.codes, c.text, got)
		}
	}
}

// TestLongClaimsInTheirOwnLanguage are long enough for detection, which names
// languages where verifiers name macrolanguages, or scripts.
func TestLongClaimsInTheirOwnLanguage(t *testing.T) {
	texts := map[string]string{
		"zh":  "这座大桥于一九三二年三月十九日正式通车，历时八年建成，至今仍然承载着铁路、公路和行人交通，是这座城市最著名的地标之一，也是世界上最宽的长跨度桥梁。",
		"ar":  "افتتح الجسر أمام حركة المرور في التاسع عشر من مارس عام ألف وتسعمائة واثنين وثلاثين بعد ثماني سنوات من العمل المتواصل.",
		"fa":  "این پل پس از هشت سال کار در نوزدهم مارس هزار و نهصد و سی و دو به روی وسایل نقلیه باز شد و هنوز هم استفاده خواهد شد.",
		"nb":  "Broen ble åpnet for trafikk den nittende mars etter åtte års arbeid, og den brukes fortsatt av både tog, biler og fotgjengere.",
		"no":  "Broen ble åpnet for trafikk den nittende mars etter åtte års arbeid, og den brukes fortsatt av både tog, biler og fotgjengere.",
		"gu":  "આ પુલ આઠ વર્ષના કામ પછી ઓગણીસમી માર્ચે વાહનવ્યવહાર માટે ખોલવામાં આવ્યો હતો અને હજુ પણ વપરાય છે.",
		"pa":  "ਇਹ ਪੁਲ ਅੱਠ ਸਾਲਾਂ ਦੇ ਕੰਮ ਤੋਂ ਬਾਅਦ ਉੱਨੀ ਮਾਰਚ ਨੂੰ ਆਵਾਜਾਈ ਲਈ ਖੋਲ੍ਹਿਆ ਗਿਆ ਸੀ ਅਤੇ ਅਜੇ ਵੀ ਵਰਤਿਆ ਜਾਂਦਾ ਹੈ।",
		"kn":  "ಈ ಸೇತುವೆಯನ್ನು ಎಂಟು ವರ್ಷಗಳ ಕೆಲಸದ ನಂತರ ಮಾರ್ಚ್ ಹತ್ತೊಂಬತ್ತರಂದು ಸಂಚಾರಕ್ಕೆ ತೆರೆಯಲಾಯಿತು.",
		"km":  "ស្ពាននេះត្រូវបានបើកសម្រាប់ចរាចរណ៍នៅថ្ងៃទីដប់ប្រាំបួនខែមីនាបន្ទាប់ពីធ្វើការប្រាំបីឆ្នាំ។",
		"am":  "ድልድዩ ከስምንት ዓመታት ሥራ በኋላ በመጋቢት አሥራ ዘጠኝ ቀን ለትራፊክ ክፍት ሆኖ እስካሁን ድረስ ጥቅም ላይ ይውላል።",
		"gl":  "A ponte abriuse ao tráfico o dezanove de marzo despois de oito anos de traballo e segue a usarse para trens, coches e peóns.",
		"yue": "這座大橋於一九三二年三月十九日正式通車，歷時八年建成，至今仍然承載著鐵路、公路和行人交通。",
	}
	for code, text := range texts {
		if why := newLanguages([]string{"en", code}).check(text); why != nil {
			t.Errorf("%s: %v", code, why)
		}
		if code != "nb" && code != "no" && newLanguages([]string{"en"}).check(text) == nil {
			t.Errorf("%s is taken for English", code)
		}
	}
	// A code of the past is its language's.
	if l := newLanguages([]string{"iw", "en"}); l.alike || l.check(texts["ar"]) == nil {
		t.Error("a code of the past turns detection off")
	}
	// A script without a table here restricts nothing.
	if why := newLanguages([]string{"en", "got"}).check(texts["ar"]); why != nil {
		t.Error(why)
	}
}

// TestForeignLanguagesAreSeen on single sentences, some of languages that are
// close to each other.
func TestForeignLanguagesAreSeen(t *testing.T) {
	for code, texts := range foreignTexts {
		for _, text := range texts {
			if newLanguages([]string{"en"}).check(text) == nil {
				t.Errorf("%s is taken for English: %s", code, text)
			}
			if why := newLanguages([]string{"en", code}).check(text); why != nil {
				t.Errorf("%s: %v: %s", code, why, text)
			}
		}
	}
}

var foreignTexts = map[string][]string{
	"nl": {"De brug werd in 1932 geopend voor het verkeer en wordt nog steeds gebruikt.", "Het bedrijf heeft zijn hoofdkantoor in Rotterdam en verkoopt schepen aan klanten over de hele wereld.", "Zij schreef haar eerste roman toen ze nog student was in Utrecht.", "De minister zei dat de maatregel niet zou worden ingetrokken."},
	"da": {"Broen blev åbnet for trafik i 1932 og bruges stadig hver dag.", "Virksomheden har hovedkontor i København og sælger skibe til kunder i hele verden.", "Hun skrev sin første roman, mens hun stadig var studerende i Aarhus.", "Ministeren sagde, at loven ikke ville blive trukket tilbage."},
	"nb": {"Broen ble åpnet for trafikk i 1932 og brukes fortsatt hver dag.", "Selskapet har hovedkontor i Oslo og selger skip til kunder over hele verden.", "Hun skrev sin første roman mens hun fortsatt var student i Bergen.", "Ministeren sa at loven ikke ville bli trukket tilbake."},
	"sv": {"Bron öppnades för trafik 1932 och används fortfarande varje dag.", "Företaget har sitt huvudkontor i Stockholm och säljer fartyg till kunder över hela världen.", "Hon skrev sin första roman medan hon fortfarande var student i Lund.", "Ministern sade att lagen inte skulle dras tillbaka."},
	"af": {"Die brug is in 1932 vir verkeer oopgestel en word nog steeds elke dag gebruik.", "Die maatskappy het sy hoofkantoor in Kaapstad en verkoop skepe aan kliënte oor die hele wêreld.", "Sy het haar eerste roman geskryf terwyl sy nog 'n student was."},
	"de": {"Die Brücke wurde 1932 für den Verkehr geöffnet und wird noch heute benutzt.", "Sie schrieb ihren ersten Roman, als sie noch Studentin in Leipzig war."},
	"fr": {"Le pont a été ouvert à la circulation en 1932 et sert encore chaque jour.", "Elle a écrit son premier roman alors qu'elle était encore étudiante à Lyon."},
	"es": {"El puente se abrió al tráfico en 1932 y todavía se usa todos los días.", "Escribió su primera novela cuando aún era estudiante en Sevilla."},
	"it": {"Il ponte fu aperto al traffico nel 1932 ed è ancora usato ogni giorno.", "Scrisse il suo primo romanzo quando era ancora studentessa a Bologna."},
	"pt": {"A ponte foi aberta ao trânsito em 1932 e ainda é usada todos os dias.", "Ela escreveu o seu primeiro romance quando ainda era estudante em Coimbra."},
	"ca": {"El pont es va obrir al trànsit el 1932 i encara s'utilitza cada dia.", "Va escriure la seva primera novel·la quan encara era estudiant a Girona."},
	"ro": {"Podul a fost deschis traficului în 1932 și este folosit și astăzi.", "Ea a scris primul său roman pe când era încă studentă la Cluj."},
	"pl": {"To był pierwszy most w mieście, a to dlatego że król tego chciał.", "Most został otwarty dla ruchu w 1932 roku i jest nadal używany.", "Napisała swoją pierwszą powieść, gdy była jeszcze studentką w Krakowie."},
	"cs": {"Most byl otevřen pro dopravu v roce 1932 a používá se dodnes.", "Svůj první román napsala, když ještě studovala v Brně."},
	"hu": {"A város is szép, a folyó is széles, és a híd is régi, de a vár még régebbi.", "A hidat 1932-ben nyitották meg a forgalom előtt, és ma is használják.", "Első regényét akkor írta, amikor még egyetemista volt Szegeden."},
	"fi": {"Silta avattiin liikenteelle vuonna 1932, ja se on edelleen käytössä joka päivä.", "Hän kirjoitti ensimmäisen romaaninsa ollessaan vielä opiskelija Turussa."},
	"id": {"Jembatan itu dibuka untuk lalu lintas pada tahun 1932 dan masih digunakan setiap hari.", "Dia menulis novel pertamanya ketika masih menjadi mahasiswa di Bandung."},
	"vi": {"Cây cầu được thông xe vào năm 1932 và vẫn được sử dụng mỗi ngày."},
	"hr": {"Most je otvoren za promet 1932. godine i još uvijek se koristi svaki dan.", "Svoj prvi roman napisala je dok je još bila studentica u Zagrebu."},
	"eo": {"La ponto estis malfermita al trafiko en 1932 kaj ankoraŭ estas uzata ĉiutage."},
}

// TestForeignPassagesAreTold: they are scored, with a warning.
func TestForeignPassagesAreTold(t *testing.T) {
	v := described{Verifier: neutral(), change: func(d *entail.Description) { d.Languages = []string{"en"} }}
	req := evidenceOf(foreignTexts["nl"][0], "The bridge opened to traffic in 1932 and it is still open today.")
	req.Claims = []*plumblinev1.Claim{{Text: "The bridge opened in 1932."}}
	r := newScorer(t).Score(t.Context(), v, req)
	want := "[1 of 2 passages are in a language that the verifier does not know: their scores may say little]"
	if got := fmt.Sprint(r.GetWarnings()); got != want || r.GetStatus() != plumblinev1.Status_STATUS_OK {
		t.Errorf("%v, warnings %s", r.GetStatus(), got)
	}
}

// TestEnglishIsRarelyTakenForForeign on the claims of all development sets.
func TestEnglishIsRarelyTakenForForeign(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "data", "dev"), "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLanguages([]string{"en"})
	claims, foreign := 0, 0
	for _, file := range files {
		read := 0
		for row := range shareddata.Rows[row](t, "data", "dev", filepath.Base(file)) {
			if read == 80 {
				break
			}
			read++
			if all, _ := l.letters(row.Claim); all < minDetectable {
				continue
			}
			claims++
			if l.check(row.Claim) != nil {
				foreign++
			}
		}
	}
	t.Logf("%d of %d English claims are taken for foreign", foreign, claims)
	if claims < 1000 || foreign*1000 > claims*2 {
		t.Errorf("%d of %d English claims are taken for foreign", foreign, claims)
	}
}

type row struct{ Doc, Claim string }
