"""The k-forest of Aggarwal et al. (ICDT 2005), exact, with cuts that count real rows only: a file a stage."""
