"""Self-Ask: the model asks itself follow-up questions, and each is searched for.

native     the model's own marker: "Follow up:" searches, the final answer stops;
           policy "self_ask"
plumbline  after each step, the running answer to the question is scored by its
           samples and by the passages found so far; the loop stops as soon as it
           is trusted, whatever marker the model wrote; policy
           "self_ask.plumbline". The model's follow-up stays the query
calvert    the same scores in the prompt; the model chooses. When the turns run
           out, the policy "calvert" says whether the running answer will do
"""

import gates
import prompts

TURNS = 4


def solve(tools, run, gate):
    """Answers run.question."""
    return GATES[gate](tools, run)


def native(tools, run):
    transcript, answer = prompts.SELF_ASK.format(question=run.question), ""
    for _ in range(TURNS):
        completion = next_step(tools, transcript)
        decision = tools.plumbline.decide("self_ask", completion=completion)
        answer = decision.get("query", "")  # what stands after the marker
        if run.decided(decision) == "COMMIT":
            return answer
        transcript += " " + completion + intermediate(tools, run, answer or run.question)
    return gates.answer(tools, run)["text"]


def plumbline(tools, run):
    transcript = prompts.SELF_ASK.format(question=run.question)
    for _ in range(TURNS):
        guess, request = gates.belief(tools, run, gates.sample(tools, run))
        action = gates.replacement(tools, run, "self_ask.plumbline", confidence=request, **gates.grounded(run, guess))
        if action != "RETRIEVE":
            return guess
        completion = next_step(tools, transcript)
        transcript += " " + completion + intermediate(tools, run, follow_up(completion) or run.question)
    return gates.answer(tools, run)["text"]


def calvert(tools, run):
    transcript = prompts.SELF_ASK.format(question=run.question)
    guess, request = gates.belief(tools, run, gates.sample(tools, run))
    confidence = {"confidence": request}
    for turn in range(1, TURNS + 1):
        observed = tools.plumbline.observe(subgoal_key=run.key, **confidence, **gates.grounded(run, guess))
        choice = gates.agent_chooses(tools, run, guess, observed, turn, TURNS)
        if choice.action == "commit":
            return choice.answer
        if choice.action == "decompose":  # a smaller question is what Self-Ask writes
            completion = next_step(tools, transcript)
            transcript += " " + completion + intermediate(tools, run, follow_up(completion) or run.question)
        elif choice.action == "retrieve":
            run.search(tools, choice.query)
        guess = gates.answer(tools, run)["text"]
        confidence = {}  # the server keeps it under the key
    last = tools.plumbline.observe(subgoal_key=run.key, **gates.grounded(run, guess))
    run.decided(tools.plumbline.decide_on_telemetry("calvert", last["telemetry"]))
    return guess  # this loop has no planner to give a smaller question to


def next_step(tools, transcript):
    """What the model writes up to its next question or its final answer."""
    return tools.model.chat(transcript, stop=["Intermediate answer:"])[0]["text"]


def follow_up(completion):
    """The question that the completion asks; empty if it asks none."""
    for line in reversed(completion.splitlines()):
        if line.lower().startswith("follow up:"):
            return line[len("follow up:") :].strip()
    return ""


def intermediate(tools, run, question):
    """Searches for a follow-up question and answers it from what was found."""
    found = run.search(tools, question)
    reply = tools.model.chat(prompts.answer(question, found), max_tokens=32)[0]["text"]
    return f"\nIntermediate answer: {reply}\n"


GATES = {"native": native, "plumbline": plumbline, "calvert": calvert}
