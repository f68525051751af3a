"""Permutation tests of one metric against another: PERM-INPUTS and PERM-BOTH of Deutsch, Dror and Roth 2021."""
