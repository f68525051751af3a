"""Which requests a run would send to a language model, without sending them: for cost forecasts and for batches.

Extractor, matcher and judges run as always, over a `DryRunModel` in the model's place. So the requests are those of a
live run.
"""
