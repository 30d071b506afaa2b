"""The prompts of the loops. Each starts with a line of its own."""


def evidence(passages):
    """Passages as a block of a prompt; nothing if there are none."""
    if not passages:
        return ""
    return "Passages:\n" + "".join(f"[{p['title']}] {p['text']}\n" for p in passages) + "\n"


def answer(question, passages=()):
    """Asks for a short answer, from passages if there are any."""
    source = "from the passages" if passages else "from what you know"
    return f"Answer the question {source}, with the answer alone and as short as it can be.\n\n{evidence(passages)}Question: {question}\nAnswer:"


def is_it_right(question, proposed, passages=()):
    """Asks for P(true): the probabilities of the first token are what counts."""
    return f"Judge whether the proposed answer is right. Reply with Yes or No.\n\n{evidence(passages)}Question: {question}\nProposed answer: {proposed}\nRight:"


def next_query(question, guess, passages):
    """Asks what to search for next."""
    return f"Write one search query for what is still needed to answer the question. Reply with the query alone.\n\n{evidence(passages)}Question: {question}\nBest guess so far: {guess}\nQuery:"


SELF_ASK = """Answer the last question in the way that the others are answered.

Question: Who was born earlier, the painter of The Gleaners or the painter of Olympia?
Are follow up questions needed here: Yes.
Follow up: When was the painter of The Gleaners born?
Intermediate answer: Jean-François Millet was born in 1814.
Follow up: When was the painter of Olympia born?
Intermediate answer: Édouard Manet was born in 1832.
So the final answer is: Jean-François Millet

Question: How many legs has a spider?
Are follow up questions needed here: No.
So the final answer is: eight

Question: {question}
Are follow up questions needed here:"""


def action(question, guess, passages, block, turn, turns):
    """Asks an agent what to do next. block is Plumbline's prompt block; it is
    the only thing that tells this prompt from one without telemetry."""
    return f"""You answer a question in turns. Choose what to do next.
Reply with one JSON object and nothing around it, one of:
{{"action": "commit", "answer": "...", "reason": "..."}} - the answer is final
{{"action": "retrieve", "query": "...", "reason": "..."}} - search for passages first
{{"action": "refine", "reason": "..."}} - answer again from the passages in hand
{{"action": "decompose", "reason": "..."}} - ask a smaller question first

Turn {turn} of {turns}
Question: {question}
Current answer: {guess}
{evidence(passages)}
{block}
"""
