"""DrBenchmark (Labrak et al. 2024): its twenty tasks as data, and readers of its runs and data sets.

None of its texts is shipped.
"""
