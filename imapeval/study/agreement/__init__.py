"""Agreement among raters: shares, chance-corrected coefficients, intraclass correlations, correlations.

The functions take ratings of shape (answers, raters), NaN where a rater did not rate an answer, and give a
`Statistic`, which knows its value and what it becomes on resamples; or `Undefined`, with the reason.
`measuring.measure_agreement` makes findings of them.
"""
