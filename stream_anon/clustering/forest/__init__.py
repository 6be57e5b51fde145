"""The cluster forest: a learned line, a sparse forest over it, its layout, an optimal cut, refinement."""
