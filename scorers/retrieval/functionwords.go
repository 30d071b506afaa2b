package retrieval

// isFunctionWord reports whether a folded word is one that carries grammar and
// names nothing, so that a capital at the head of a sentence says nothing.
// English is complete as questions need it, with the verbs that ask for an
// answer ("Name the …"); of other languages there are the interrogatives and
// the articles that are no part of English names. Words such as Spanish "los"
// and German "die" are left out: Los Angeles and Die Hard weigh more.
func isFunctionWord(word string) bool {
	switch word {
	// Interrogatives.
	case "what", "whats", "which", "who", "whos", "whom", "whose", "where", "wheres", "when", "why", "how", "whether":
	// Articles, determiners and quantifiers.
	case "a", "an", "the", "this", "that", "these", "those", "each", "every", "either", "neither", "some", "any",
		"no", "all", "both", "half", "many", "much", "more", "most", "few", "fewer", "several", "such", "other", "another":
	// Pronouns.
	case "i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its",
		"our", "their", "mine", "yours", "hers", "ours", "theirs", "one", "someone", "anyone", "something", "anything",
		"there", "here":
	// Auxiliaries and modals, with their negations.
	case "am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "have", "has", "had", "having",
		"can", "could", "will", "would", "shall", "should", "may", "might", "must", "isnt", "arent", "wasnt", "werent",
		"dont", "doesnt", "didnt", "havent", "hasnt", "hadnt", "cant", "couldnt", "wont", "wouldnt", "shouldnt":
	// Prepositions.
	case "about", "above", "across", "after", "against", "along", "among", "around", "as", "at", "before", "behind",
		"below", "beneath", "beside", "besides", "between", "beyond", "by", "despite", "during", "except", "for", "from",
		"in", "inside", "into", "like", "near", "of", "off", "on", "onto", "out", "outside", "over", "per", "since",
		"than", "through", "throughout", "till", "to", "toward", "towards", "under", "until", "up", "upon", "via",
		"with", "within", "without":
	// Conjunctions and adverbs that open sentences.
	case "and", "or", "but", "nor", "so", "yet", "if", "because", "while", "although", "though", "unless", "once",
		"also", "then", "thus", "however", "not", "only", "just", "according", "given", "please":
	// Verbs that ask for an answer.
	case "name", "list", "tell", "give", "find", "show", "describe", "explain", "identify", "state", "compare", "define":
	// German.
	case "wer", "wem", "wen", "wessen", "wann", "wo", "woher", "wohin", "warum", "wieso", "weshalb", "wie", "wieviel",
		"welche", "welcher", "welches", "welchen", "welchem", "ist", "sind", "wurde", "wurden", "hat", "haben", "der", "das",
		"ein", "eine", "einer", "nenne":
	// French.
	case "qui", "que", "quoi", "quand", "où", "pourquoi", "comment", "combien", "quel", "quelle", "quels", "quelles",
		"est", "sont", "les", "une", "dans":
	// Spanish, Italian, Portuguese.
	case "qué", "quién", "quiénes", "cuándo", "cuál", "cuáles", "cuánto", "cuántos", "cuántas", "dónde", "cómo", "en", //nolint:misspell // Spanish
		"chi", "che", "cosa", "quando", "dove", "perché", "quale", "quali", "quanto", "quanti", "quante", "il", "gli",
		"quem", "qual", "quais", "onde", "como", "quantos", "quantas", "são", "foi":
	// Dutch.
	case "wat", "wanneer", "waar", "waarom", "hoe", "hoeveel", "welk", "het", "een":
	// Russian.
	case "кто", "кого", "кому", "что", "чего", "когда", "где", "куда", "откуда", "почему", "зачем", "как", "какой",
		"какая", "какое", "какие", "каком", "какого", "чей", "чья", "чьё", "сколько", "в", "на", "из", "о", "по", "с", "и":
	default:
		return false
	}
	return true
}

// isNameConnector reports whether a folded word may stand uncapitalised inside
// a name: "Lord of the Rings", "Vincent van Gogh", "Rio de la Plata". "and" is
// no connector: "Paris and London" are two.
func isNameConnector(word string) bool {
	switch word {
	case "of", "the",
		"de", "du", "des", "d", "la", "le", "l", "les", "el", "los", "las", "del", "della", "dello", "dei", "degli",
		"di", "da", "do", "dos", "y",
		"van", "von", "der", "ten", "ter", "zu", "zum", "zur", "op",
		"al", "bin", "ibn", "bint", "ben":
		return true
	}
	return false
}
