"""What a run would ask of a language model, without asking it: for cost forecasts and for batches.

Extractor, matcher and judges run as always, over a `DryRunModel` in the model's place. So the requests are those of a
live run.
"""
