"""A model of Apache Kafka 4.1: frames come in and go out, and what a cluster remembers lies between.

`frames` reads and writes them, and `broker` answers them, in one or two nodes. `transactions`, `groups` and
`partition` hold what is known of transactional ids, consumer groups and logs. `codes` names what is refused, and
`describing` is a request by which scripts look at a transactional id.
"""
