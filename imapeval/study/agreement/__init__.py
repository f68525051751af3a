"""Agreement among raters: shares, chance-corrected coefficients, intraclass correlations, correlations.

The functions take ratings of shape (answers, raters), NaN if a rater did not rate an answer, and return an
`AgreementStatistic`, which can be computed on resamples, or `Undefined`, with the reason.
`measure.measure_agreement` turns them into findings.
"""
