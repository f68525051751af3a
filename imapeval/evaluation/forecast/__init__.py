"""Which requests a run would send to a language model, without sending them: for cost forecasts and for batches.

Extractor, matcher and judges run as usual, with a `DryRunModel` in place of the model, so the requests are those of a
live run.
"""
