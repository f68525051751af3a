"""Permutation tests of one metric against another: PERM-INPUTS and PERM-SYSTEMS of Deutsch, Dror and Roth 2021."""
