"""Why a score is what it is: the facts compared, the evidence for each match, and the sentences that say so."""
