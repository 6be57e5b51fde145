"""Complete classes of a recoded file that have too few people, by records that are nobody's."""
