"""Closed answers: labels, lists, tags and ranks beside the right ones, each metric with a confidence interval.

Arrays in, numbers out. The numbers are scikit-learn's and seqeval's (extra "closed"); ours is what neither has
(BioASQ's accuracies, the volume under the ROC surface) and the bootstrap, which weighs answers in place of calling a
library thousands of times.
"""
