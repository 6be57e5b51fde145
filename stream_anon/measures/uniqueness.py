"""How many people of a population are unique, estimated from a sample: Zayatz, Pitman, slide negative binomial.

All three extrapolate from the classes of one, two, ... in the sample. Dankar et al. compare them ("Estimating the
re-identification risk of clinical data sets", BMC Medical Informatics and Decision Making 2012) and choose between
them by a rule, which is here too. Without a unique record in the sample each estimate is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, exp, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

_CLOSE = 1e-13  # of a root: bisection ends there
_LARGE = 1e7  # from here on the difference of two logarithms of gamma loses more digits than the series
_SERIES_FROM = 10.0  # from here on the asymptotic series of digamma is right to 1e-13
_SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)
_LEAST = 1e-12  # stands for 0 in a divisor
_SMALL_SAMPLE = 0.1  # share of the population up to which Dankar et al. take Pitman's estimate


@dataclass(frozen=True, slots=True, eq=False)
class SampleClasses:
    """The classes of a sample of a population, by size.

    Parameters
    ----------
    sizes
        int64[s], sizes that occur, ascending.
    counts
        int64[s], classes of each size.
    population
        People in the population, no fewer than in the sample.
    """

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]
    population: int

    def __post_init__(self) -> None:
        if self.population < self.records:
            raise ValueError("a population is no smaller than its sample")

    @classmethod
    def of(cls, classes: NDArray[np.integer], population: int) -> SampleClasses:
        """Return the sizes of classes and how often each occurs; integers [c], all positive."""
        sizes, counts = np.unique(classes.astype(np.int64), return_counts=True)
        return cls(sizes, counts.astype(np.int64), population)

    @property
    def records(self) -> int:
        """Return n, the people in the sample."""
        return int(self.sizes @ self.counts)

    @property
    def classes(self) -> int:
        """Return u, the number of classes in the sample."""
        return int(self.counts.sum())

    @property
    def fraction(self) -> float:
        """Return the share of the population that is in the sample."""
        return self.records / self.population

    def of_size(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Estimated shares of the population that are unique; None where a model has no solution.

    Parameters
    ----------
    chosen
        By the rule of Dankar et al.: Pitman for samples of up to a tenth; else the lesser of SNB and Zayatz; Zayatz
        where the other has no solution.
    """

    zayatz: float
    pitman: float | None
    snb: float | None
    chosen: float


def population_uniqueness(sample: SampleClasses) -> Uniqueness:
    """Return the three estimates, each as a share of the population."""
    first, second, third = zayatz(sample), pitman(sample), slide_negative_binomial(sample)
    if sample.fraction <= _SMALL_SAMPLE:
        chosen = first if second is None else second
    else:
        chosen = first if third is None else min(first, third)
    return Uniqueness(first, second, third, chosen)


def zayatz(sample: SampleClasses) -> float:
    """Return the share of the population that is unique, by Bayes' rule on class sizes (Zayatz 1991).

    Classes of the population are taken to be as large as those of the sample. Then the probability that a class of
    one in the sample is one in the population follows from the hypergeometric distribution. L. Zayatz, "Estimation
    of the number of unique population elements using a sample", American Statistical Association 1991. O(sizes).
    """
    ones = sample.of_size(1)
    if not ones:
        return 0.0
    shares = sample.counts / sample.classes
    drawn = np.array([_drawn_once(size, sample.records, sample.population) for size in sample.sizes.tolist()])
    truly_one = shares[0] * drawn[0] / float(shares @ drawn)
    return float(min(1.0, ones * truly_one / sample.fraction / sample.population))


def _drawn_once(size: int, sample: int, population: int) -> float:
    """Return the probability that a sample holds exactly one of `size` people of a population."""
    if sample - 1 > population - size:
        return 0.0
    return size * exp(_log_choose(population - size, sample - 1) - _log_choose(population, sample))


def _log_choose(total: int, chosen: int) -> float:
    return lgamma(total + 1) - lgamma(chosen + 1) - lgamma(total - chosen + 1)


def pitman(sample: SampleClasses) -> float | None:
    """Return the share of the population that is unique, by Pitman's sampling formula; None without a solution.

    The two parameters, 0 <= alpha < 1 and theta > -alpha, are those of the greatest likelihood of the sample; the
    answer is the expected number of uniques of a population of that kind. N. Hoshino, "Applying Pitman's sampling
    formula to microdata disclosure risk assessment", Journal of Official Statistics 17 (2001). O(sizes) a step.
    """
    if not sample.of_size(1):
        return 0.0
    if sample.classes == sample.records:
        return 1.0  # all are unique: the likelihood grows with alpha up to 1
    if sample.classes == 1:
        return None
    alpha = _falling_root(lambda each: _slope_of_alpha(sample, each, _theta(sample, each)), 0.0, 1 - 1e-9)
    theta = _theta(sample, alpha)
    rest = 1 - alpha
    return min(1.0, exp(_log_rise(theta + alpha, rest) - _log_rise(sample.population + theta - rest, rest)))


def _log_rise(x: float, step: float) -> float:
    """Return log gamma(x + step) - log gamma(x) for a step from 0 to 1, where x is large by its series."""
    if x < _LARGE:
        return lgamma(x + step) - lgamma(x)
    return step * log(x) - step * (1 - step) / 2 / x


def _theta(sample: SampleClasses, alpha: float) -> float:
    """Return theta of the greatest likelihood at a given alpha."""

    def slope(shift: float) -> float:
        theta = exp(shift) - alpha
        records = digamma(theta + sample.records) - digamma(theta + 1)
        return _sum_of_inverses(sample.classes, theta, alpha) - records

    return exp(_falling_root(slope, -30.0, 40.0)) - alpha


def _sum_of_inverses(classes: int, theta: float, alpha: float) -> float:
    """Return the sum over i from 1 to classes - 1 of 1 / (theta + i alpha)."""
    if alpha < 1e-9:
        return (classes - 1) / theta
    return (digamma(theta / alpha + classes) - digamma(theta / alpha + 1)) / alpha


def _slope_of_alpha(sample: SampleClasses, alpha: float, theta: float) -> float:
    """Return how the logarithm of the likelihood changes with alpha at a given theta."""
    if alpha < 1e-9:
        first = sample.classes * (sample.classes - 1) / 2 / theta
    else:
        first = (sample.classes - 1 - theta * _sum_of_inverses(sample.classes, theta, alpha)) / alpha
    below = digamma(1 - alpha)
    sizes = zip(sample.sizes.tolist(), sample.counts.tolist(), strict=True)
    return float(first) - sum(float(count * (digamma(size - alpha) - below)) for size, count in sizes if size > 1)


def slide_negative_binomial(sample: SampleClasses) -> float | None:
    """Return the share of the population that is unique if class sizes less one are negative binomial; or None.

    Of K classes in the population, each has 1 + G people, G negative binomial with parameters alpha and beta; K
    times beta to the power of alpha are unique. G. Chen, S. Keller-McNulty, "Estimation of identification
    disclosure risk in microdata", Journal of Official Statistics 14 (1998). K is the modified estimator of Shlosser
    (Haas, Stokes, Journal of the American Statistical Association 1998); alpha and beta are those by which as many
    classes of one and of two people are expected in the sample as there are. None where no parameters give such a
    sample.

    Notes
    -----
    With f the sampling fraction, r = 1 - f, x = 1 - beta, z = x / (1 - r x), y = alpha z and
    A = (beta / (1 - r x)) ** alpha, a class has one person in the sample with probability f A (1 + r y), and two
    with f f A y (2 + r y + r z) / 2. Their ratio gives z for each y, and one equation in y is left.
    """
    ones, twos = sample.of_size(1), sample.of_size(2)
    if not ones:
        return 0.0
    f = sample.fraction
    if f == 1:
        return ones / sample.records
    if not twos:
        return None
    r, ratio = 1 - f, 2 * twos / ones / f
    classes = _classes_of_population(sample)

    def spread(y: float) -> float:
        return max(_LEAST, (ratio * (1 + r * y) / y - 2 - r * y) / r)

    def less_beta(y: float) -> float:
        return min(1 - _LEAST, spread(y) / (1 + r * spread(y)))

    def excess(y: float) -> float:
        kept = y / spread(y) * (log1p(-less_beta(y)) - log1p(-r * less_beta(y)))
        return log(ones / classes / f) - kept - log1p(r * y)

    # z falls from 1 / f, where x is 1, to 0.
    low, high = (_positive_root(r, 2 + r * z - ratio * r, -ratio) for z in (1 / f, 0.0))
    if excess(high) > 0:
        return None
    y = _falling_root(excess, low, high)
    return min(1.0, classes * exp(y / spread(y) * log1p(-less_beta(y))) / sample.population)


def _positive_root(a: float, b: float, c: float) -> float:
    """Return the positive root of a x^2 + b x + c, for a > 0 > c."""
    q = -(b + copysign(sqrt(b * b - 4 * a * c), b)) / 2
    return max(q / a, c / q)


def _classes_of_population(sample: SampleClasses) -> float:
    """Return the estimated number of classes of the population: Shlosser's, modified by Haas and Stokes."""
    q, sizes, counts = sample.fraction, sample.sizes.astype(np.float64), sample.counts
    missed = (1 - q) ** sizes
    first = float(counts @ (sizes * q**2 * (1 - q**2) ** (sizes - 1)))
    second = float(counts @ ((1 - q**2) ** sizes - missed))
    third = float(counts @ missed) / float(counts @ (sizes * q * (1 - q) ** (sizes - 1)))
    return sample.classes + sample.of_size(1) * first / second * third**2


def _falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls, or rises first and then falls, crosses 0; an end where it does not."""
    while high - low > _CLOSE * max(1.0, abs(low), abs(high)):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def digamma(x: float) -> float:
    """Return the logarithmic derivative of the gamma function for x > 0, to about 12 digits; numpy has none.

    By the recurrence psi(x) = psi(x + 1) - 1/x up to 10, then the asymptotic series (Abramowitz, Stegun 6.3.18).
    """
    found = 0.0
    while x < _SERIES_FROM:
        found -= 1 / x
        x += 1
    inverse = 1 / (x * x)
    power = inverse
    found += log(x) - 0.5 / x
    for factor in _SERIES:
        found += factor * power
        power *= inverse
    return found
