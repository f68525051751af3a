import time

import pytest

from imapeval.study.closed.choices import read_choice

LABELS = ("A", "B", "C", "D")
TEXTS = {"A": "Aspirin", "B": "Paracetamol 500 mg", "C": "Both of them", "D": "None"}


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("B", "B"),
        (" b ", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("**B.** Paracetamol, because it is safe.", "B"),
        ("B) Paracetamol 500 mg", "B"),
        ("$\\boxed{B}$", "B"),
        ("\\boxed{\\text{C}}", "C"),
        ("The answer is (B) because A is not safe.", "B"),
        ("The correct answer is B.", "B"),
        ("Answer: B", "B"),
        ("The best option would be option D, since none helps.", "D"),
        ("I would choose C.", "C"),
        ("B is the correct answer; A is wrong.", "B"),
        ("<think>It could be A. The answer is A?</think>The answer is B.", "B"),
        ("At first the answer is A. No: therefore, the final answer is B.", "B"),
        ("选B", "B"),
        ("故选B。", "B"),
        ("答案：B", "B"),
        ("正确答案是B，因为A不安全。", "B"),
        ("Ｂ", "B"),
        ("本题应选D项。", "D"),
        ("B项正确", "B"),
        ("La réponse est B.", "B"),
        ("La bonne réponse est la B, car A est faux.", "B"),
        ("La réponse correcte est (C).", "C"),
        ("Réponse : B", "B"),
        ("Je choisirais B.", "B"),
        ("J'opterais pour la proposition D.", "D"),
        ("B est la bonne réponse.", "B"),
        ("La réponse est A. Non : la réponse finale est donc C.", "C"),
        ("B. En effet. A. est faux, car trop risqué.", "B"),
        ("La réponse est : aspirin.", "A"),
        ("Aspirin.", "A"),
        ("paracetamol 500 mg", "B"),
        ("The answer is aspirin", "A"),
        ("The answer is: Paracetamol 500 mg.", "B"),
        # What SmolLM2 writes, and what larger models write.
        ("A)\n\nThe answer is A, and the solution is D.", "A"),
        ("A) Aspirin\nTherefore, the answer is C) Both of them", "C"),
        ("B) Paracetamol 500 mg\n\nExplanation:\nA) Aspirin is not safe.\nC) Both of them are not.", "B"),
        ("B. Paracetamol. Option A is wrong because of its risks.", "B"),
        ("The answer is definitely B", "B"),
        ("Answer: Aspirin (A)", "A"),
        ("The answer is aspirin because it is safe.", "A"),
        ("La bonne réponse est l'aspirin, car elle suffit.", "A"),
        ("答案是aspirin，因为安全", "A"),
        ("The answer is not B but C", "C"),
        ("不是A而是B", "B"),
        ("Option A is incorrect. Option B is correct.", "B"),
        ("Les réponses A et B sont fausses, donc la réponse est C", "C"),
        ("A项错误，选C。", "C"),
        ("I cannot rule out heparin, but the answer is B.", "B"),
        ("The answer is A because it is safe.", "A"),
        ("I choose A Aspirin", "A"),
        # The label and its option's text, without a mark between them.
        ("A Aspirin", "A"),
        ("A (Aspirin)", "A"),
        ("B Paracetamol 500 mg", "B"),
        # Angle brackets.
        ("<B>", "B"),
        ("The answer is <B>.", "B"),
        ("<answer><B></answer>", "B"),
        ("<b>C</b>", "C"),
        ("<B>C</B>", "C"),
        ("B<|im_end|>", "B"),
        # Several that are denied together.
        ("AC错误，故选B", "B"),
        ("A、C两项都不对，选B", "B"),
        ("A and C are incorrect. The answer is B.", "B"),
        ("A et C sont faux. La réponse est B.", "B"),
    ],
)
def test_what_is_chosen(answer: str, label: str):
    choice = read_choice(answer, LABELS, texts=TEXTS)
    assert (choice.label, choice.reading) == (label, "read")


@pytest.mark.parametrize("answer", ['No, the answer is not "yes."', "No, the answer is not maybe.", "No."])
def test_a_verdict_that_denies_another_one(answer: str):
    """SmolLM2-135M in lm-evaluation-harness 0.4.13 (benchmarks/closed_logs.py)."""
    assert read_choice(answer, ("maybe", "no", "yes")).label == "no"


@pytest.mark.parametrize(
    ("answer", "reading"),
    [
        ("A and C", "several"),
        ("A, C", "several"),
        ("The answer is A and B.", "several"),
        ("The answer is A. Or the answer is B.", "several"),
        ("选A和C", "several"),
        ("(A) and (C)", "several"),
        ("A), C)", "several"),
        ("Les réponses A et C sont correctes.", "several"),
        ("Réponses : A, C", "several"),
        ("La réponse a été donnée.", "unread"),
        ("La vitamine B est bonne.", "unread"),
        ("Le choix d'un antibiotique dépend du cas.", "unread"),
        ("Both (A) and (B)", "several"),
        ("A) Aspirin\nThe answer is C) Both of them", "several"),
        ("A) Vitamin E Deficiencies \nB) Primary Deficiencies \nC) Primary Deficiencies ", "unread"),
        ("(A) aspirin: no (B) rest: yes", "unread"),
        ("A)\n\n2\n\nD)", "unread"),
        ("I'm sorry, but I cannot give medical advice.", "refused"),
        ("抱歉，我无法回答这个问题。", "refused"),
        ("Je suis désolé, mais je ne peux pas répondre.", "refused"),
        ("A patient should see a doctor.", "unread"),
        ("A. Aspirin: no. B. Paracetamol: yes.", "unread"),
        ("Vitamin B is found in meat.", "unread"),
        ("I think it depends on the case", "unread"),
        ("这要看情况", "unread"),
        ("Aspirin or paracetamol 500 mg", "unread"),
        ("", "missing"),
        (None, "missing"),
        ("Banana", "unread"),
        ("Answer: Always ask", "unread"),
        # "a" is an article.
        ("We choose a treatment with paracetamol", "unread"),
        ("Select a drug: heparin", "unread"),
        ("The option a patient prefers is heparin", "unread"),
        ("The best choice a doctor can make is warfarin", "unread"),
        # Denied, or asked.
        ("I would not choose A", "unread"),
        ("I don't think the answer is A.", "unread"),
        ("The answer is not A.", "unread"),
        ("Option A is wrong", "unread"),
        ("Answer A is wrong", "unread"),
        ("不能选A", "unread"),
        ("选项A是错误的", "unread"),
        ("这题不应选B", "unread"),
        ("L'option B est fausse", "unread"),
        ("Is the answer A? No, it's B.", "unread"),
        ("The answer is aspirin or paracetamol 500 mg", "unread"),
        # Together.
        ("答案是 A B", "several"),
        ("选A还是B?", "several"),
        ("ABD", "several"),
        ("A B", "several"),
        ("正确答案:ABD", "several"),
        ("A and C are wrong.", "unread"),
        ("B Aspirin", "unread"),
    ],
)
def test_what_chooses_nothing(answer: str | None, reading: str):
    choice = read_choice(answer, LABELS, texts=TEXTS)
    assert (choice.label, choice.reading) == (None, reading)


@pytest.mark.parametrize(
    ("answer", "several"),
    [
        ("AC都正确", "AC"),
        ("A、C两项", "AC"),
        ("A、C两项正确", "AC"),
        ("ABD项正确", "ABD"),
        ("ABE是正确的", "ABE"),
        ("选ABD", "ABD"),
        ("A et Dérivé", ""),
        ("The answer is A et Dérivé", ""),
    ],
)
def test_where_labels_together_end(answer: str, several: str):
    """A Chinese character may follow a label, and a letter with an accent may not."""
    assert read_choice(answer, "ABCDE").several == set(several)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("The answer I believe is B", None),
        ("The option I would select is B.", "B"),
        ("The answer is B, and I am sure.", "B"),
        ("The answer is I", "I"),
        ("The answer is I because it is safe", "I"),
        ("B, I think", "B"),
        ("B and I are correct", None),
    ],
)
def test_the_pronoun_is_no_label(answer: str, label: str | None):
    assert read_choice(answer, "ABCDEFGHIJ").label == label


@pytest.mark.parametrize(
    ("answer", "texts", "label"),
    [
        ("<35 or >45", {"A": "<35 or >45", "B": "45"}, "A"),
        ("B（阿司匹林）", {"A": "对乙酰氨基酚", "B": "阿司匹林"}, "B"),
        ("1,25-dihydroxyvitamin D", {"1": "calcitonin", "2": "PTH", "3": "1,25-dihydroxyvitamin D"}, "3"),
        ("1, 2", {"1": "calcitonin", "2": "PTH", "3": "1,25-dihydroxyvitamin D"}, None),
    ],
)
def test_texts_of_options(answer: str, texts: dict[str, str], label: str | None):
    assert read_choice(answer, tuple(texts), texts=texts).label == label


@pytest.mark.parametrize("answer", ["İ", "ı.", "The answer is İ", "The answer is ı", "H and İ"])
def test_turkish_letters_are_an_i(answer: str):
    choice = read_choice(answer, tuple("ABCDEFGHI"))
    assert choice.label == "I" or choice.several == {"H", "I"}


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("E. coli", "D"),
        ("The answer is E. coli because it is frequent.", "D"),
        ("The answer is **E. coli**.", "D"),
        ("The correct answer is C. difficile.", "E"),
        ("D-dimer", "C"),
        ("The answer is D-dimer.", "C"),
        ("D) E. coli", "D"),
        ("D. E. coli", "D"),
        ("(E) C. difficile", "E"),
        ("The answer is (D) E. coli.", "D"),
        ("B. B-cell lymphoma", "B"),
        ("D - because it is frequent", "D"),
        ("E-C. difficile", "E"),
        ("D-", "D"),
        ("答案：E. coli", "D"),
        ("选E. coli", None),
        ("D, E. coli", "D"),
        ("The answer is D, E. coli", "D"),
    ],
)
def test_options_that_begin_like_a_label(answer: str, label: str | None):
    texts = {"A": "S. aureus", "B": "B-cell lymphoma", "C": "D-dimer", "D": "E. coli", "E": "C. difficile"}
    assert read_choice(answer, "ABCDE", texts=texts).label == label


def test_options_that_repeat_their_label():
    texts = {"A": "A. Aspirin", "B": "B. Heparin"}
    assert read_choice("B. Heparin because it is safe", "AB", texts=texts).label == "B"


@pytest.mark.parametrize(
    "answer",
    [
        "B-Aspirin",
        "The answer is B-Aspirin.",
        "B-aspirin",
        "I would choose B-aspirin because it is safe",
        "B-阿司匹林",
        "The answer is B-阿司匹林",
    ],
)
def test_a_hyphen_after_a_label(answer: str):
    assert read_choice(answer, "ABC", texts={"A": "Paracetamol", "B": "Aspirin", "C": "E-cell"}).label == "B"


@pytest.mark.parametrize("answer", ["A-fib", "The answer is B-cell lymphoma."])
def test_a_name_that_begins_like_a_label_is_none(answer: str):
    assert read_choice(answer, "ABCDE").reading == "unread"


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Yes, no difference was seen.", "yes"),
        ("No, no significant difference was seen.", "no"),
        ("The answer is no, no effect was found.", "no"),
        ("No, no.", "no"),
        ("B, B is right", "B"),
        ("B, a beta blocker, is best.", "B"),
        ("The answer is B, a beta blocker.", "B"),
    ],
)
def test_an_explanation_is_no_second_label(answer: str, label: str):
    assert read_choice(answer, "ABCDE" if "B" in answer else ("yes", "no", "maybe")).label == label


@pytest.mark.parametrize(
    "answer",
    ["yes or no", "Yes and no, it depends", "The answer is yes and no depending on dose", "yes/no", "yes, no or maybe"],
)
def test_words_as_labels_together(answer: str):
    assert read_choice(answer, ("yes", "no", "maybe")).reading == "several"


def test_words_as_labels():
    labels = ("yes", "no", "maybe")
    assert read_choice("Yes, it does.", labels).label == "yes"
    assert read_choice("The answer is no.", labels).label == "no"
    assert read_choice("No. The answer is no", labels).label == "no"
    assert read_choice("Nobody knows.", labels).reading == "unread"


def test_an_answer_at_the_token_limit():
    assert read_choice("Let us look at the options one by one: first", LABELS, cut=True).reading == "cut"
    assert read_choice("The answer is B. Let us look at", LABELS, cut=True).label == "B"


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("B，C反应蛋白明显升高支持感染", "B"),
        ("D，B超是首选检查", "D"),
        ("A，B型钠尿肽升高", "A"),
        ("答案是B，C反应蛋白升高", "B"),
        ("B，A错误", "B"),
        ("B，A为错误选项", "B"),
        ("A，B错误，C错误，D错误", "A"),
        ("B，A、C不对", "B"),
        ("B, A is incorrect", "B"),
        ("A,B错误,选C", "C"),
        ("A、B均错误，选C", "C"),
        ("A，B，D错误，选C", "C"),
        ("A, B and C are incorrect", None),
        ("A，B都错", None),
    ],
)
def test_what_follows_a_comma_after_a_label(answer: str, label: str | None):
    assert read_choice(answer, LABELS).label == label


@pytest.mark.parametrize(
    ("answer", "several"), [("ABD，C错误", "ABD"), ("AC，BD错误", "AC"), ("A，C符合题意", "AC"), ("A，C选项正确", "AC")]
)
def test_several_labels_before_a_comma(answer: str, several: str):
    assert read_choice(answer, LABELS).several == frozenset(several)


@pytest.mark.parametrize(
    ("answer", "label", "several"),
    [
        ("Answer: I (heparin)", "I", ""),
        ("Answer: I\nheparin is best", "I", ""),
        ("The best answer is I only", "I", ""),
        ("The answer is I rather than B", "I", ""),
        ("A and I because both help", None, "AI"),
        ("A, C and I only", None, "ACI"),
        ("B, and I am sure", "B", ""),
        ("B, and I also think so", "B", ""),
        ("Answer: I think B", None, ""),
        ("My answer is I personally prefer B", None, ""),
    ],
)
def test_the_label_i_and_the_pronoun(answer: str, label: str | None, several: str):
    choice = read_choice(answer, "ABCDEFGHIJ")
    assert (choice.label, choice.several) == (label, frozenset(several))


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("AB型", ("A型", "B型", "AB型", "O型")),
        ("C，AB型", ("A型", "B型", "AB型", "O型")),
        ("The answer is AB", ("A", "B", "AB", "O")),
        ("pH < 7.35 or > 7.45", ("pH 7.45", "x", "pH < 7.35 or > 7.45", "y")),
        ("< 35 or > 45", ("or", "45", "< 35 or > 45", "y")),
    ],
)
def test_a_text_that_looks_like_labels_or_a_tag(answer: str, texts: tuple[str, ...]):
    assert read_choice(answer, LABELS, texts=dict(zip(LABELS, texts, strict=True))).label == "C"


def test_many_tags_take_linear_time():
    start = time.perf_counter()
    read_choice("<B>" * 40_000, LABELS)
    # Quadratic time would be a minute; linear time is a tenth of a second.
    assert time.perf_counter() - start < 10
