"""What the offline reader takes for the statements of an answer; the sentences were written for this table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.extraction.lexicon.statements import MAX_STATEMENT_CHARACTERS, read_statements
from imapeval.text.markup import PlainText
from imapeval.text.negation.stance import read_stance

ENGLISH = {
    # An imperative that looks like a noun is no member of a list of what to avoid; a noun is one.
    "Avoid triggers, sleep regularly and eat on time.": ["Avoid triggers", "sleep regularly", "eat on time"],
    "Avoid smoking and exercise daily.": ["Avoid smoking", "exercise daily"],
    "Avoid coffee, sleep deprivation, exercise at night.": [
        "Avoid coffee",
        "Avoid sleep deprivation",
        "Avoid exercise at night",
    ],
    "Avoid cold air or exercise daily.": ["Avoid cold air", "Avoid exercise daily"],
    # A denying predicate of its own clause frees no item from the denial of the list.
    "Avoid raw milk and cheese that hasn't been pasteurized.": [
        "Avoid raw milk",
        "Avoid cheese that hasn't been pasteurized",
    ],
    "Neither cancer nor infection has been ruled out.": ["Neither cancer", "Neither infection has been ruled out"],
    "It is not hepatitis A, B or C.": ["not hepatitis A", "not B", "not C"],
    # An item with a verb of its own does not get that of the first.
    "You do not need to avoid exercise or be hospitalized.": [
        "do not need to avoid exercise",
        "do not need to be hospitalized",
    ],
    "Do not delay treatment, self-medicate or drive.": [
        "Do not delay treatment",
        "Do not self-medicate",
        "Do not drive",
    ],
    "Recovery takes 6 weeks approx. Avoid sports.": ["Recovery takes 6 weeks approx", "Avoid sports"],
    "You do not need to:\n- fast\n- stop warfarin": ["do not need to fast", "do not need to stop warfarin"],
    # Two steps and their order are one statement.
    "Use salbutamol first, then the steroid inhaler.": ["Use salbutamol before the steroid inhaler"],
    "Avoid:\n- salbutamol first, then the steroid\n- smoking": ["Avoid salbutamol before the steroid", "Avoid smoking"],
    "Children under 12:\n- fluids first, then food": ["fluids before food (Children under 12)"],
    "Take 40 mg for 5 days, then 20 mg.": ["Take 40 mg for 5 days", "20 mg"],
    "If it lasts, then see a doctor.": ["see a doctor (If it lasts)"],
    # What others believe is what the answer says to it.
    "Some people think that vaccines cause autism, but studies show they don't.": ["not vaccines cause autism"],
    "Some people think vaccines don't cause autism, but they do.": ["not vaccines don't cause autism"],
    "You may have heard that milk is bad. It isn't. Rest.": ["not milk is bad", "Rest"],
    "Many believe milk helps, but water is better.": ["water is better"],
    "Some patients say it helps. Try it.": ["Some patients say it helps", "Try it"],
    # What is denied behind any subject, or by a predicate.
    "Tested negative for HIV, hepatitis B and syphilis.": [
        "Tested negative for HIV",
        "Tested negative for hepatitis B",
        "Tested negative for syphilis",
    ],
    "The scan ruled out stroke, tumour and bleeding.": [
        "The scan ruled out stroke",
        "The scan ruled out tumour",
        "The scan ruled out bleeding",
    ],
    "Free of fever and cough.": ["Free of fever", "Free of cough"],
    "Stroke, tumour and bleeding were excluded.": [
        "Stroke were excluded",
        "tumour were excluded",
        "bleeding were excluded",
    ],
    "Pertinent negatives: fever, rash.": ["no fever", "no rash"],
    # A kind, side or value before a colon is a case as well.
    "Mild croup: dexamethasone. Severe croup: adrenaline.": ["dexamethasone (Mild croup)", "adrenaline (Severe croup)"],
    "Type 1: insulin; type 2: metformin.": ["insulin (Type 1)", "metformin (type 2)"],
    "> 3 cm: surgery; < 3 cm: observation.": ["surgery (> 3 cm)", "observation (< 3 cm)"],
    "1st line: amlodipine; 2nd line: losartan.": ["amlodipine (1st line)", "losartan (2nd line)"],
    "Severe side effects: rash, jaundice.": ["Severe side effects", "rash", "jaundice"],
    # A condition without a comma.
    "If you are pregnant ibuprofen is not safe.": ["ibuprofen is not safe (If you are pregnant)"],
    "If you have asthma do not take ibuprofen.": ["do not take ibuprofen (If you have asthma)"],
    "Unless you have a fever no treatment is needed.": ["no treatment is needed (Unless you have a fever)"],
    "When the rash appears you must stop the drug.": ["stop the drug (When the rash appears)"],
    "If it lasts then please see a doctor.": ["see a doctor (If it lasts)"],
    "If you both do not have it and are well you can travel.": ["travel (If you both do not have it and are well)"],
    "If the pain you had is back, call.": ["call (If the pain you had is back)"],
    "Rest until the doctor who treats you says you can run.": ["Rest until the doctor who treats you says you can run"],
    # A name that is asked, with its answer.
    "Beer? No. Milk? Yes.": ["no Beer", "Milk"],
    "- Beer? No, it is not allowed.\n- Cola, tea? No.": ["no Beer", "not allowed", "no Cola", "no tea"],
    "Is it safe? No. Why? No idea.": ["safe: no", "Why", "No idea"],
    # A question that is quoted.
    "Q: Is surgery necessary? A: No, rest.": ["surgery necessary: no", "rest"],
    "Can I drive?\nNo.\nCan I drink alcohol?\nAbsolutely not. Can I fly? Sure.": [
        "drive: no",
        "drink alcohol: no",
        "fly",
    ],
    "Q1: Is it bad? A: No. Answer: gout?": ["bad: no", "Answer", "gout"],
    # A denial or warning goes with each thing of its list.
    "Avoid coffee and beer.": ["Avoid coffee", "Avoid beer"],
    "Avoid coffee, tea and beer.": ["Avoid coffee", "Avoid tea", "Avoid beer"],
    "Mothers should avoid fish, liver and wine.": [
        "Mothers should avoid fish",
        "Mothers should avoid liver",
        "Mothers should avoid wine",
    ],
    "Avoid: salt, sugar, fat.": ["Avoid salt", "Avoid sugar", "Avoid fat"],
    # What a colon introduces goes on to the end of the sentence.
    "Avoid: salt and sugar, fat (butter, cream) and alcohol.": [
        "Avoid salt",
        "Avoid sugar",
        "Avoid fat",
        "Avoid butter",
        "Avoid cream",
        "Avoid alcohol",
    ],
    "Avoid: aspirin because it thins the blood.": ["Avoid aspirin", "it thins the blood"],
    "Rest and avoid sharing towels, pillows or cups.": [
        "Rest",
        "avoid sharing towels",
        "avoid pillows",
        "avoid cups",
    ],
    "Stop ibuprofen and smoking.": ["Stop ibuprofen", "Stop smoking"],
    "Quit smoking and drinking.": ["Quit smoking", "Quit drinking"],
    "Limit salt and sugar.": ["Limit salt", "Limit sugar"],
    "Nothing to eat or drink for 6 hours.": ["Nothing to eat", "Nothing to drink for 6 hours"],
    "No food or drink for 6 hours.": ["No food", "No drink for 6 hours"],
    "Nothing to eat, drink or smoke.": ["Nothing to eat", "Nothing to drink", "Nothing to smoke"],
    # A group of people, a severity or a time before a colon is the case of all that follows it in the sentence or list.
    "Mild: amoxicillin and rest; severe: ceftriaxone.": [
        "amoxicillin (Mild)",
        "rest (Mild)",
        "ceftriaxone (severe)",
    ],
    "Children under 12:\n- fluids\n- ibuprofen\n\nCall us.": [
        "fluids (Children under 12)",
        "ibuprofen (Children under 12)",
        "Call us",
    ],
    "Morning: levothyroxine. Before surgery: stop warfarin.": [
        "levothyroxine (Morning)",
        "stop warfarin (Before surgery)",
    ],
    "Avoid:\n- Children: aspirin\n- Adults: alcohol": ["Avoid aspirin", "Avoid alcohol"],
    "At risk: children, adults.": ["At risk", "children", "adults"],
    # A label that calls what follows untrue.
    "Myth: antibiotics help against flu. Fact: they do not.": ["not antibiotics help against flu", "do not"],
    "Myth: You should not exercise. Myth: stopping early.": [],
    # A case above a paragraph, and a name that is no case, are statements of their own.
    "Mild:\nGive amoxicillin. Pregnant women: yes.": ["Mild", "Give amoxicillin", "Pregnant women"],
    "Acute pancreatitis: raised lipase.": ["Acute pancreatitis", "raised lipase"],
    "Statins are contraindicated in pregnancy and require tests.": [
        "Statins are contraindicated in pregnancy",
        "require tests",
    ],
    "Take it at 8 a.m. Monday and 9 p.m. Tuesday.": ["Take it at 8 a.m. Monday", "9 p.m. Tuesday"],
    "Common mistakes: scratching, hot baths.": ["not scratching", "not hot baths"],
    # A denial turned round, and one that applies to a list of cases.
    "Surgery is not needed, nor are antibiotics.": ["Surgery is not needed", "nor are antibiotics"],
    "Aspirin is contraindicated in ulcers, asthma and gout.": [
        "Aspirin is contraindicated in ulcers",
        "Aspirin is contraindicated in asthma",
        "Aspirin is contraindicated in gout",
    ],
    "Aspirin must not be given in asthma or gout.": [
        "Aspirin must not be given in asthma",
        "Aspirin must not be given in gout",
    ],
    # Abbreviations end no sentence, a letter behind a capital and a time do.
    "Avoid St. John's wort.": ["Avoid St. John's wort"],
    "Give Vitamin K. Take it at 8 p.m. Do not skip.": ["Give Vitamin K", "Take it at 8 p.m", "Do not skip"],
    # Several conditions, and a condition within a case.
    "If it bleeds, or if it hurts, call us.": ["call us (If it bleeds, if it hurts)"],
    "Mild: if it lasts, rest. Severe: operate.": ["rest (if it lasts, Mild)", "operate (Severe)"],
    "Go on, even if you feel better.": ["Go on, even if you feel better"],
    # A label belongs to the amount or the level behind it, unless it only says what kind of amount it is.
    "Amoxicillin: 500 mg twice a day, ibuprofen: 200 mg.": ["Amoxicillin 500 mg twice a day", "ibuprofen 200 mg"],
    "Adults and children: 500 mg.": ["Adults 500 mg", "children 500 mg"],
    "Sodium: 135–145, ferritin: low.": ["Sodium 135–145", "ferritin low"],
    "Usual dose: 500 mg.": ["500 mg"],
    "Mitral stenosis: mild. Gout: likely. Kidney: left.": ["Mitral stenosis mild", "Gout likely", "Kidney left"],
    # A unit of one letter ends a sentence, an initial does not.
    "The sodium is 120 mmol/L. Give 2 L. Avoid tea. J. Smith": [
        "The sodium is 120 mmol/L",
        "Give 2 L",
        "Avoid tea",
        "J. Smith",
    ],
    # An abbreviation before an amount ends none.
    "Do not take approx. 500 mg. Take max. 4 g. Take 4 g max. Rest.": [
        "Do not take approx. 500 mg",
        "Take max. 4 g",
        "Take 4 g max",
        "Rest",
    ],
    # A letter or number that only its noun makes a name.
    "Get vaccinated against hepatitis A and B.": ["Get vaccinated against hepatitis A and B"],
    "It is caused by influenza A or B.": ["caused by influenza A or B"],
    "Take 1 or 2 tablets, 5 mg or 10 mg.": ["Take 1 or 2 tablets", "5 mg", "10 mg"],
    "You can't. The drug is toxic.": ["can't", "The drug is toxic"],
    "They don't: a cold is viral.": ["don't", "a cold is viral"],
    "You can't: smoke, drink.": ["can't smoke", "can't drink"],
    "Refrain from alcohol and tobacco.": ["Refrain from alcohol", "Refrain from tobacco"],
    "Keep away from pollen and dust.": ["Keep away from pollen", "Keep away from dust"],
    "Do not take aspirin, ibuprofen or naproxen.": [
        "Do not take aspirin",
        "Do not take ibuprofen",
        "Do not take naproxen",
    ],
    "Patients should not eat nuts, eggs or milk.": ["not eat nuts", "not eat eggs", "not eat milk"],
    "You do not need antibiotics or steroids.": ["do not need antibiotics", "do not need steroids"],
    "You do not need to take aspirin, ibuprofen or naproxen.": [
        "do not need to take aspirin",
        "do not need to take ibuprofen",
        "do not need to take naproxen",
    ],
    "You don't have to avoid coffee, tea or beer.": [
        "don't have to avoid coffee",
        "don't have to avoid tea",
        "don't have to avoid beer",
    ],
    "You don't have to fast or stop drinking.": ["don't have to fast", "don't have to stop drinking"],
    "Children don't need to fast or stop drinking.": [
        "Children don't need to fast",
        "Children don't need to stop drinking",
    ],
    # A verb without which the denial would mean the opposite.
    "Do not ignore chest pain, bleeding or fever.": [
        "Do not ignore chest pain",
        "Do not ignore bleeding",
        "Do not ignore fever",
    ],
    "We cannot exclude cancer or infection.": ["We cannot exclude cancer", "We cannot exclude infection"],
    "I can't rule out cancer or infection.": ["I can't rule out cancer", "I can't rule out infection"],
    "Don't delay or stop treatment.": ["Don't delay", "Don't stop treatment"],
    # What nothing is said to support.
    "There is no evidence that vaccines cause autism, asthma or diabetes.": [
        "no evidence that vaccines cause autism",
        "no evidence that vaccines cause asthma",
        "no evidence that vaccines cause diabetes",
    ],
    "There is no evidence that milk causes acne and doctors recommend it.": [
        "no evidence that milk causes acne",
        "doctors recommend it",
    ],
    "There is no fracture or dislocation.": ["no fracture", "no dislocation"],
    "He has no fever, cough or rash.": ["has no fever", "has no cough", "has no rash"],
    "The patient reports no pain, cough or rash.": ["reports no pain", "reports no cough", "reports no rash"],
    "Negative for fever, chills and cough.": ["Negative for fever", "Negative for chills", "Negative for cough"],
    "The X-ray shows no fracture or effusion.": ["The X-ray shows no fracture", "The X-ray shows no effusion"],
    "It is unlikely to be cancer or gout.": ["unlikely to be cancer", "unlikely to be gout"],
    "No biopsy, scan or surgery.": ["No biopsy", "No scan", "No surgery"],
    "No biopsy or surgery is needed.": ["No biopsy", "No surgery is needed"],
    "Neither aspirin nor ibuprofen.": ["Neither aspirin", "Neither ibuprofen"],
    "Take neither aspirin nor ibuprofen.": ["Take neither aspirin", "Take neither ibuprofen"],
    "Take no aspirin or ibuprofen.": ["Take no aspirin", "Take no ibuprofen"],
    "It is neither contagious nor dangerous.": ["neither contagious", "neither dangerous"],
    "Without fever or rash.": ["Without fever", "Without rash"],
    # A clause with a negation of its own is not governed as well.
    "Avoid smoking, and aspirin should not be taken.": ["Avoid smoking", "aspirin should not be taken"],
    "No surgery, and exercise is not forbidden.": ["No surgery", "exercise is not forbidden"],
    # Also from behind, and with its subject.
    "NSAIDs and smoking should be avoided.": ["NSAIDs should be avoided", "smoking should be avoided"],
    "Coffee and tea must not be drunk.": ["Coffee must not be drunk", "tea must not be drunk"],
    "Surgery or chemotherapy is not necessary.": ["Surgery is not necessary", "chemotherapy is not necessary"],
    "Rest, ibuprofen should be avoided.": ["Rest", "ibuprofen should be avoided"],
    "Ice, rest and walks are fine, smoking and beer are forbidden.": [
        "Ice",
        "rest",
        "walks are fine",
        "smoking are forbidden",
        "beer are forbidden",
    ],
    "Cancer or infection has not been found.": ["Cancer has not been found", "infection has not been found"],
    "Fever or rash wasn't seen.": ["Fever wasn't seen", "rash wasn't seen"],
    "Cancer and bleeding have been ruled out.": ["Cancer have been ruled out", "bleeding have been ruled out"],
    "Bleeding or scarring are unlikely.": ["Bleeding are unlikely", "scarring are unlikely"],
    "Gout is not contagious or hereditary.": ["Gout is not contagious", "Gout is not hereditary"],
    "Gout is not contagious, hereditary or fatal.": [
        "Gout is not contagious",
        "Gout is not hereditary",
        "Gout is not fatal",
    ],
    "It does not cause infertility or cancer.": ["It does not cause infertility", "It does not cause cancer"],
    "It is not recommended for pregnant or breastfeeding women.": [
        "not recommended for pregnant",
        "not recommended for breastfeeding women",
    ],
    "Children should not take aspirin or drink alcohol.": [
        "Children should not take aspirin",
        "Children should not drink alcohol",
    ],
    "The size hasn't changed in length or width.": [
        "The size hasn't changed in length",
        "The size hasn't changed width",
    ],
    "Children should not take aspirin or ibuprofen.": [
        "Children should not take aspirin",
        "Children should not take ibuprofen",
    ],
    # Where the things have verbs of their own, only the denial goes with them.
    "Do not: take aspirin, drink alcohol.": ["Do not take aspirin", "Do not drink alcohol"],
    "Do not smoke or drink alcohol.": ["Do not smoke", "Do not drink alcohol"],
    "Do not massage or heat it.": ["Do not massage", "Do not heat it"],
    "Do not change formula or stop breastfeeding.": ["Do not change formula", "Do not stop breastfeeding"],
    "Avoid eating spicy food and drinking alcohol.": ["Avoid eating spicy food", "Avoid drinking alcohol"],
    # Also with examples, and past a remark in brackets.
    "Avoid foods such as coffee, tea and chocolate.": ["Avoid foods", "Avoid coffee", "Avoid tea", "Avoid chocolate"],
    "Avoid NSAIDs (ibuprofen, naproxen).": ["Avoid NSAIDs", "Avoid ibuprofen", "Avoid naproxen"],
    "Avoid NSAIDs (e.g. ibuprofen) and alcohol.": ["Avoid NSAIDs", "Avoid ibuprofen", "Avoid alcohol"],
    "Avoid NSAIDs (risk of bleeding) and alcohol.": ["Avoid NSAIDs", "risk of bleeding", "Avoid alcohol"],
    "You do not need antibiotics such as amoxicillin.": ["do not need antibiotics", "do not need amoxicillin"],
    # But not with those of something else, and not with reasons in brackets.
    "Do not ignore symptoms such as chest pain.": ["Do not ignore symptoms", "chest pain"],
    "Avoid dehydration by drinking fluids such as water.": ["Avoid dehydration by drinking fluids", "water"],
    "Avoid NSAIDs (risk of bleeding, kidney damage).": ["Avoid NSAIDs", "risk of bleeding", "kidney damage"],
    "No fever (temperature 36.8, pulse 72), cough for three days.": [
        "No fever",
        "temperature 36.8",
        "pulse 72",
        "cough for three days",
    ],
    # A verdict behind a name says it of the name.
    "Coffee and tea: avoid, they irritate.": ["avoid Coffee", "avoid tea", "irritate"],
    "Ibuprofen: avoid if you have ulcers.": ["avoid Ibuprofen if you have ulcers"],
    "Aspirin – not recommended. Naproxen – with food.": ["Aspirin not recommended", "Naproxen", "with food"],
    "Vaccines: contraindicated in pregnancy.": ["Vaccines contraindicated in pregnancy"],
    "Fever: no. Cough: yes.": ["no Fever", "Cough"],
    "Cough: absent.": ["Cough absent"],
    "Patient: No.": ["Patient", "No"],
    "Exercise: avoid heavy lifting.": ["Exercise", "avoid heavy lifting"],
    "There's no need for an X-ray or blood tests.": ["no need for an X-ray", "no blood tests"],
    "Try not to scratch, rub or cover it.": ["Try not to scratch", "Try not to rub", "Try not to cover it"],
    "Exercise to prevent cramps, falls and stroke.": ["Exercise to prevent cramps, falls and stroke"],
    "While surgery isn't needed, a scan is.": ["surgery isn't needed", "a scan is"],
    "Foods to avoid include coffee, tea and chocolate.": [
        "Foods to avoid include coffee",
        "Foods to avoid include tea",
        "Foods to avoid include chocolate",
    ],
    # And no further than its list.
    "No. Avoid aspirin; use paracetamol.": ["No", "Avoid aspirin", "use paracetamol"],
    "No, it is not contagious.": ["No", "not contagious"],
    "Avoid alcohol, but drink plenty of water.": ["Avoid alcohol", "drink plenty of water"],
    "Avoid salt, drink plenty of water and rest.": ["Avoid salt", "drink plenty of water", "rest"],
    "Avoid alcohol and rest.": ["Avoid alcohol", "rest"],
    "Stop aspirin and start paracetamol.": ["Stop aspirin", "start paracetamol"],
    "Do not take aspirin, but you can take paracetamol.": ["Do not take aspirin", "take paracetamol"],
    "No imaging is needed, and most people improve within weeks.": [
        "No imaging is needed",
        "most people improve within weeks",
    ],
    "Paracetamol is fine, but ibuprofen and aspirin should be avoided.": [
        "Paracetamol is fine",
        "ibuprofen should be avoided",
        "aspirin should be avoided",
    ],
    # What looks like a denial, and is none.
    "Drink water to avoid stones.": ["Drink water to avoid stones"],
    "Not only rest but also ice helps.": ["Not only rest", "ice helps"],
    "It's not only safe, but also effective.": ["not only safe", "effective"],
    "It is not without risk.": ["not without risk"],
    "Do not worry, just rest.": ["Do not worry", "just rest"],
    "Don't hesitate to ask, and rest.": ["rest"],
    "Do not stop the tablets.": ["Do not stop the tablets"],
    # What is named only to reject or except it.
    "Use ice instead of heat or massage, and rest.": ["Use ice", "not heat", "not massage", "rest"],
    "Instead of soap, gel or foam is fine.": ["not soap", "gel is fine", "foam is fine"],
    "Eat fish rather than beef and pork, and drink tea in place of coffee.": [
        *("Eat fish", "not beef", "not pork", "drink tea", "not coffee"),
    ],
    "Take paracetamol instead of aspirin if you have asthma.": [
        "Take paracetamol if you have asthma",
        "not aspirin if you have asthma",
    ],
    "Surgery, not drugs, for most patients.": ["Surgery", "not drugs", "for most patients"],
    "All fruit except grapes is fine.": ["All fruit", "not grapes is fine"],
    "All vaccines but MMR. Eat everything but nuts and figs.": [
        *("All vaccines", "not MMR"),
        *("Eat everything", "not nuts", "not figs"),
    ],
    "All drugs failed but aspirin helped. Do all exercises but slowly.": [
        *("All drugs failed", "aspirin helped"),
        *("Do all exercises", "slowly"),
    ],
    "Everyone apart from children. Apart from figs, no fruit helps.": [
        *("Everyone", "not children"),
        *("figs", "no fruit helps"),
    ],
    "Apart from the diet, all patients need exercise.": ["Apart from the diet", "all patients need exercise"],
    "With the exception of codeine, all drugs are safe.": ["not codeine", "all drugs are safe"],
    # An exception goes on to the "and" that ends its list.
    "Any drug except aspirin, ibuprofen and naproxen.": ["Any drug", "not aspirin", "not ibuprofen", "not naproxen"],
    "All fruit is allowed with the exception of figs, grapes, and kiwis, and rest.": [
        *("All fruit is allowed", "not figs", "not grapes", "not kiwis", "rest"),
    ],
    "Eat anything except figs, drink plenty of water and rest.": [
        *("Eat anything", "not figs", "drink plenty of water", "rest"),
    ],
    "Eat anything except figs, and fluids are fine.": ["Eat anything", "not figs", "fluids are fine"],
    "No drug other than paracetamol.": ["No drug", "paracetamol"],
    "Except for rice, do not eat anything.": ["rice", "do not eat anything"],
    "All tests were normal except a raised CRP.": ["All tests were normal", "a raised CRP"],
    # What looks like it, and rejects nothing.
    "Should I use heat instead of ice?": ["Should I use heat instead of ice"],
    "Do not use heat instead of ice.": ["Do not use heat instead of ice"],
    "Use ice instead of  just heat.": ["Use ice instead of  just heat"],
    "See a doctor sooner rather than later.": ["See a doctor sooner rather than later"],
    "No fever except at night.": ["No fever except at night"],
    "Causes other than infection are rare.": ["Causes other than infection are rare"],
    "Other than a fever, he may have a rash.": ["Other than a fever", "have a rash"],
    # A condition belongs to its clause, wherever it is.
    "If the fever lasts, see a doctor.": ["see a doctor (If the fever lasts)"],
    "See a doctor if the fever lasts.": ["See a doctor if the fever lasts"],
    "See a doctor, if the fever lasts.": ["See a doctor (if the fever lasts)"],
    "Take naproxen (if kidneys are healthy).": ["Take naproxen (if kidneys are healthy)"],
    "Unless you are pregnant, take ibuprofen.": ["take ibuprofen (Unless you are pregnant)"],
    "If it swells or reddens, stop the exercise.": ["stop the exercise (If it swells or reddens)"],
    "If you have symptoms such as fever, chills or cough, see a doctor.": [
        "see a doctor (If you have symptoms such as fever, chills or cough)"
    ],
    "If you develop symptoms such as fever or pain, I recommend calling.": [
        "calling (If you develop symptoms such as fever or pain)"
    ],
    "If the fever lasts see a doctor.": ["see a doctor (If the fever lasts)"],
    "If you have a doubt then get back to me.": [],
    "If you take aspirin.": [],
    # What opens, closes or surrounds a statement adds nothing.
    "You should take amoxicillin for 7 days and avoid alcohol or smoking.": [
        "take amoxicillin for 7 days",
        "avoid alcohol",
        "avoid smoking",
    ],
    "You may take 1) paracetamol 2) loratadine but not 3) ibuprofen.": [
        "take",
        "paracetamol",
        "loratadine",
        "not 3) ibuprofen",
    ],
    "All NSAIDs except for low-dose aspirin are contraindicated.": [
        "All NSAIDs except for low-dose aspirin are contraindicated"
    ],
    "There are no restrictions except heavy lifting.": ["no restrictions", "not heavy lifting"],
    "Choose fish instead of red meat and brown rice instead of white rice.": [
        "Choose fish",
        "not red meat",
        "brown rice",
        "not white rice",
    ],
    "1. Rest. 2. Ice. 3. Compression.": ["Rest", "Ice", "Compression"],
    "Hello, thank you for your question. Take care.": [],
    "This is not a substitute for medical advice.": [],
}
CHINESE = {
    "不要忽视症状、自行停药。": ["不要忽视症状", "不要自行停药"],
    "禁用激素、抗生素直到感染已排除。": ["禁用激素", "禁用抗生素直到感染已排除"],
    "有些患者会觉得恶心、头晕，但可以继续服药。": ["有些患者会觉得恶心", "头晕", "继续服药"],
    "有些患者觉得感冒要吃抗生素，其实不用。": ["不是感冒要吃抗生素"],
    "先补液，再输血。": ["先补液后输血"],
    "不要：\n1. 先热敷，再按摩\n2. 喝酒": ["不要先热敷后按摩", "不要喝酒"],
    "孕妇：\n先补液，再输血": ["先补液后输血（孕妇）"],
    "很多人以为感冒要吃抗生素，其实不用。": ["不是感冒要吃抗生素"],
    "有人说感冒不用吃抗生素，这是错的。多喝水。": ["不是感冒不用吃抗生素", "多喝水"],
    "很多人认为多喝水好，这是对的。": ["多喝水好"],
    # A question with its answer.
    "能洗澡吗？能。\n能喝酒吗？不能，会出血。": ["能洗澡", "能喝酒：不能", "会出血"],
    "患者：能走路吗？\n医生：可以。\n患者：能跑步吗？\n医生：不能。": ["能走路", "能跑步：不能"],
    "1型：胰岛素；2型：二甲双胍。": ["胰岛素（1型）", "二甲双胍（2型）"],
    "细菌性：抗生素；病毒性：休息。": ["抗生素（细菌性）", "休息（病毒性）"],
    "左眼：青光眼；右眼：白内障。": ["青光眼（左眼）", "白内障（右眼）"],
    "直径＞3 cm：手术；＜3 cm：观察。": ["手术（直径＞3 cm）", "观察 (＜3 cm)"],
    "体温超过38.5℃：布洛芬。安全性：好。": ["布洛芬（体温超过38.5℃）", "安全性"],
    "如果持续发热则就诊。": ["就诊（如果持续发热）"],
    # A prohibition behind its subject or time governs its list as well.
    "孕妇避免饮酒、吸烟。": ["孕妇避免饮酒", "孕妇避免吸烟"],
    "痛风患者忌海鲜、内脏、啤酒。": ["痛风患者忌海鲜", "痛风患者忌内脏", "痛风患者忌啤酒"],
    "用药期别喝酒、开车。": ["用药期别喝酒", "用药期别开车"],
    "高血压患者应少吃盐、糖，多运动。": ["高血压患者应少吃盐", "高血压患者应少吃糖", "多运动"],
    "术后停用阿司匹林、氯吡格雷。": ["术后停用阿司匹林", "术后停用氯吡格雷"],
    "吸烟者应戒烟、运动。": ["吸烟者应戒烟", "运动"],
    "特别注意血压、血糖。": ["注意血压", "血糖"],
    "多喝水可避免便秘、结石。": ["多喝水可避免便秘、结石"],
    "禁止饮酒、高空作业。": ["禁止饮酒", "禁止高空作业"],
    "轻症：在家休息，多喝水；重症：住院。": ["在家休息（轻症）", "多喝水（轻症）", "住院（重症）"],
    "术前：停华法林\n术后：用肝素": ["停华法林（术前）", "用肝素（术后）"],
    "患者：我发烧了。": ["我发烧了"],
    "误区：捂汗。错误做法：热敷、按摩。": ["不是捂汗", "不是热敷", "不是按摩"],
    "啤酒？不行。牛奶？可以。要手术吗？不要。": ["无啤酒", "牛奶", "要手术：不要"],
    "问：需要手术吗？答：不需要。": ["需要手术：不需要"],
    "不宜接种流感疫苗，也不接种肺炎球菌疫苗。": ["不宜接种流感疫苗", "不接种肺炎球菌疫苗"],
    "避免吸烟，意识障碍者不应行高压氧治疗。": ["避免吸烟", "意识障碍者不应行高压氧治疗"],
    "不能吃，因其含氯化钾。": ["不能吃", "因其含氯化钾"],
    "不要A、B或C。": ["不要A", "不要B", "不要C"],
    "无A、B。": ["无A", "无B"],
    "患者无发热、皮疹，头痛三天。": ["无发热", "无皮疹", "头痛三天"],
    "经检查排除了肺炎、结核，诊断为支气管炎。": ["经检查排除了肺炎", "经检查排除了结核", "诊断为支气管炎"],
    "孕妇应避免饮酒、吸烟。": ["孕妇应避免饮酒", "孕妇应避免吸烟"],
    "不要喝咖啡、浓茶或啤酒。": ["不要喝咖啡", "不要喝浓茶", "不要喝啤酒"],
    "48小时内不要热敷、按摩或饮酒。": ["48小时内不要热敷", "48小时内不要按摩", "48小时内不要饮酒"],
    "阿莫西林：每次500mg，每天2次；血压：升高。": ["阿莫西林每次500mg", "每天2次", "血压升高"],
    "用法：每天2次。": ["每天2次"],
    "千万不要热敷、按摩。": ["千万不要热敷", "千万不要按摩"],
    "切勿热敷、按摩。": ["切勿热敷", "切勿按摩"],
    "没有发热、皮疹和关节痛。": ["没有发热", "没有皮疹", "没有关节痛"],
    "不需要手术或抗生素。": ["不需要手术", "不需要抗生素"],
    "没有必要做CT或核磁。": ["没有必要做CT", "没有必要做核磁"],
    "不建议使用激素和抗生素。": ["不建议使用激素", "不建议使用抗生素"],
    "不会引起不孕或癌症。": ["不会引起不孕", "不会引起癌症"],
    "并不是癌症或结核。": ["不是癌症", "不是结核"],
    "并非癌症、结核。": ["并非癌症", "并非结核"],
    "不能排除感染、肿瘤。": ["不能排除感染", "不能排除肿瘤"],
    "无需禁食牛奶、鸡蛋。": ["无需禁食牛奶", "无需禁食鸡蛋"],
    "不要忽视胸痛、气短。": ["不要忽视胸痛", "不要忽视气短"],
    "不要延误或停止治疗。": ["不要延误", "不要停止治疗"],
    "没有证据表明会致癌、致畸，要休息。": ["没有证据表明会致癌", "没有证据表明会致畸", "休息"],
    "肿瘤、感染均已排除。": ["肿瘤均已排除", "感染均已排除"],
    "补充维生素B、C。": ["补充维生素B、C"],
    "忌烟酒、辛辣食物。": ["忌烟酒", "忌辛辣食物"],
    "禁食辛辣、刺激性食物。": ["禁食辛辣", "禁食刺激性食物"],
    "停用布洛芬和阿司匹林。": ["停用布洛芬", "停用阿司匹林"],
    "少吃内脏、海鲜。": ["少吃内脏", "少吃海鲜"],
    "避免：盐、糖、油。": ["避免盐", "避免糖", "避免油"],
    "导致足下垂、不能背伸，足外翻。": ["导致足下垂", "不能背伸", "足外翻"],
    # Also with examples.
    "避免辛辣食物，如辣椒、花椒。": ["避免辛辣食物", "避免辣椒", "避免花椒"],
    "不要吃刺激性食物（如咖啡、酒）。": ["不要吃刺激性食物", "不要吃咖啡", "不要吃酒"],
    "没有慢性病，例如糖尿病、高血压，今天发热。": ["没有慢性病", "没有糖尿病", "没有高血压", "今天发热"],
    # From behind.
    "咖啡、浓茶都不能喝。": ["咖啡都不能喝", "浓茶都不能喝"],
    "阿司匹林和布洛芬应避免使用。": ["阿司匹林应避免使用", "布洛芬应避免使用"],
    "阿司匹林、布洛芬禁用。": ["阿司匹林禁用", "布洛芬禁用"],
    "手术和化疗都不需要。": ["手术都不需要", "化疗都不需要"],
    "冷敷，咖啡、浓茶都不能喝，可以喝水。": ["冷敷", "咖啡都不能喝", "浓茶都不能喝", "喝水"],
    "咖啡、浓茶：避免。": ["避免咖啡", "避免浓茶"],
    "布洛芬：肾病患者避免使用。": ["布洛芬肾病患者避免使用"],
    "发热：无。": ["无发热"],
    "既往无糖尿病、高血压。": ["既往无糖尿病", "既往无高血压"],
    # With verbs of their own.
    "避免饮酒和吸烟。": ["避免饮酒", "避免吸烟"],
    "避免饮酒、熬夜，保持清洁。": ["避免饮酒", "避免熬夜", "保持清洁"],
    "严禁饮酒、吸烟及辛辣饮食。": ["严禁饮酒", "严禁吸烟", "严禁辛辣饮食"],
    "不要吃辛辣食物、喝酒。": ["不要吃辛辣食物", "不要喝酒"],
    "不可剧烈运动或提重物。": ["不可剧烈运动", "不可提重物"],
    # No further than the list.
    "无发热、皮疹，头痛三天。": ["无发热", "无皮疹", "头痛三天"],
    "没有发热，头痛三天。": ["没有发热", "头痛三天"],
    "忌酒，辛辣食物。": ["忌酒", "忌辛辣食物"],
    "不要过度劳累、熬夜，要多休息。": ["不要过度劳累", "不要熬夜", "多休息"],
    "避免剧烈运动，多休息、多喝水。": ["避免剧烈运动", "多休息", "多喝水"],
    "忌食海鲜、动物内脏，多饮水。": ["忌食海鲜", "忌食动物内脏", "多饮水"],
    "避免油腻食物，增加蛋白质。": ["避免油腻食物", "增加蛋白质"],
    "不要吃药，但可以理疗。": ["不要吃药", "理疗"],
    "不能吃海鲜、牛羊肉，可以吃鸡蛋。": ["不能吃海鲜", "不能吃牛羊肉", "吃鸡蛋"],
    "不会传染，也不会遗传。": ["不会传染", "不会遗传"],
    "并发症并不是每个患者都会出现，具体情况需要根据医生的检查和诊断。": ["并发症并不是每个患者都会出现"],
    # What is named only to reject or except it.
    "用氯吡格雷代替阿司匹林、华法林，继续服药。": ["用氯吡格雷", "不用阿司匹林", "不用华法林", "继续服药"],
    "考虑是湿疹而不是银屑病。": ["湿疹", "不是银屑病"],
    "这是生理性黄疸，而非病理性黄疸。": ["这是生理性黄疸", "不是病理性黄疸"],
    "不用阿司匹林而用布洛芬。": ["不用阿司匹林", "用布洛芬"],
    "除海鲜、牛肉以外，其他食物都可以吃。": ["海鲜除外", "牛肉除外", "其他食物都可以吃"],
    "水果都可以吃，榴莲、荔枝除外。": ["水果都可以吃", "榴莲除外", "荔枝除外"],
    "与其吃药，不如休息。": ["不吃药", "休息"],
    "与其吃药不如休息。": ["不吃药", "休息"],
    "除白开水外，什么都不能喝。": ["白开水", "什么都不能喝"],
    "除皮疹外，其余均正常。": ["皮疹", "其余均正常"],
    # What looks like it, and rejects nothing.
    "除了吃药以外，还要运动。": ["除了吃药以外", "运动"],
    "使用激素替代治疗。": ["激素替代治疗"],
    "胰岛素不能代替饮食控制。": ["胰岛素不能代替饮食控制"],
    "反而不发热。": ["反而不发热"],
    "不能因感冒而用抗生素。": ["不能因感冒而用抗生素"],
    # No denials.
    "定期测量血压（如有高血压应治疗）。": ["定期测量血压（如有高血压应治疗）"],
    "不仅要休息，还要冷敷。": ["不仅要休息", "冷敷"],
    "不能不吃药。": ["不能不吃药"],
    "不要停药。": ["不要停药"],
    # Conditions.
    "如果发烧，请看医生。": ["看医生（如果发烧）"],
    "请看医生，如果发烧。": ["看医生（如果发烧）"],
    "高烧不退时，及时就医。": ["就医（高烧不退时）"],
    "除非怀孕，可以吃布洛芬。": ["吃布洛芬（除非怀孕）"],
    "只有培养阳性才需要用抗生素。": ["用抗生素（只有培养阳性）"],
    "皮肤没有破损时才可以涂药膏。": ["涂药膏（皮肤没有破损时）"],
    "不要等发烧时才考虑就诊。": ["不要等发烧时才考虑就诊"],
    "一旦出血，立即停药。": ["立即停药（一旦出血）"],
    "若疼痛加重或红肿，停止运动。": ["停止运动（若疼痛加重或红肿）"],
    # Nothing that is added.
    "应检查类风湿因子、C反应蛋白和血常规等项目。": ["检查类风湿因子", "C反应蛋白", "血常规"],
    "您好，祝您早日康复。": [],
    "仅供参考，不能代替医生。": [],
    "可以吃①苹果②香蕉，不能吃③柿子④螃蟹。": ["苹果", "香蕉", "不能吃③柿子④螃蟹"],
    "除了吃药，所有患者都要运动。": ["除了吃药", "所有患者都要运动"],
    "患者无发热、有咳嗽、有咳痰。": ["无发热", "咳嗽", "咳痰"],
    "患者应避免受凉、保暖、多喝水。": ["避免受凉", "保暖", "多喝水"],
    "不要因血压正常而不用降压药。": ["不要因血压正常而不用降压药"],
    "心脏彩超未见异常、心电图提示早搏。": ["心脏彩超未见异常", "心电图提示早搏"],
}


@pytest.mark.parametrize(("text", "statements"), ENGLISH.items())
def test_english(text, statements):
    assert [piece.text for piece in read_statements(text, "en")] == statements


@pytest.mark.parametrize(("text", "statements"), CHINESE.items())
def test_chinese(text, statements):
    assert [piece.text for piece in read_statements(text, "zh")] == statements


@pytest.mark.parametrize(
    ("text", "lang", "denied"),
    [
        ("Do not smoke or drink alcohol.", "en", [True, True]),
        ("It is not without risk, and it is not only safe but also cheap.", "en", [False, False, False]),
        ("Stop warfarin, but do not stop aspirin.", "en", [True, False]),
        ("He denies smoking, drinks alcohol daily.", "en", [True, False]),
        ("He denied chest pain and fever, took aspirin and went home.", "en", [True, True, False, False]),
        ("Denies fever or chills, temperature 37.2.", "en", [True, True, False]),
        ("不能不吃药，不要停药，不仅要休息。", "zh", [False, False, False]),
        ("腹泻停止前不要喝牛奶，多喝水以避免脱水。", "zh", [True, False]),
        ("Avoid alcohol after stopping metronidazole. Drink water to avoid stones.", "en", [True, False]),
        ("水果都可以吃，榴莲除外，结核不能除外。", "zh", [False, True, False]),
        ("咖啡、浓茶都不能喝，可以喝水。", "zh", [True, True, False]),
    ],
)
def test_statements_keep_their_stance(text, lang, denied):
    found = [read_stance(piece.text).denies for piece in read_statements(text, lang)]
    assert found == denied


def test_a_long_clause_is_cut():
    (piece,) = read_statements("rest " * 100, "en")
    assert len(piece.text) == MAX_STATEMENT_CHARACTERS - 1, "a space at the end is none of it"


@given(st.text(max_size=200), st.sampled_from(["en", "zh"]))
def test_every_statement_has_its_place(text, lang):
    plain = PlainText(text).text
    last = 0
    for piece in read_statements(plain, lang):
        assert last <= piece.start < piece.end <= len(plain)
        assert piece.text
        last = piece.start


@pytest.mark.parametrize(
    ("text", "lang", "possible"),
    [
        ("It could be gout, an infection or an injury. Rest.", "en", [True, True, True, False]),
        ("This may be gout, and you should see a doctor.", "en", [True, False]),
        ("Tea may help, rest and fluids.", "en", [True, False, False]),
        ("病情较重，可能是肺炎、哮喘，建议休息。", "zh", [False, True, True, False]),
    ],
)
def test_a_hedge_applies_to_the_list_after_it(text, lang, possible):
    assert [piece.possible for piece in read_statements(text, lang)] == possible
