"""A fuzzer of what reads bytes of others: made-up records that are wrong in many ways, and what must hold of each.

`python -m tests.fuzz` runs it, see `__main__`. A `Case` is drawn by one of the modules of inputs, changed by
`mutations`, and judged by the oracle of its target; `targets` has the table of these. `fuzzer` runs cases by turns
and makes a failing one small. What was found once is kept in `findings` and replayed by the tests.
"""
