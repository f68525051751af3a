"""Closed answers (labels, lists, tags, rankings): their metrics, each with a confidence interval, and comparisons.

Values equal those of scikit-learn and seqeval. This package adds what neither has (BioASQ's accuracies, the volume
under the ROC surface) and the jackknife, which weights answers instead of calling a library thousands of times.
"""
