"""The post-processors of the Archiver Appliance, from its documentation.

This module is a reference for tests. Its definitions were written before
their author had read Varve's post-processors; the departures, rms and the
variants without fill were added afterwards. Each function states the sentence
that defines its operator, where that sentence is, and computes it in the
plainest way.
Sums are exact: they are sums of rational numbers, so that no order of
additions and no rounding is part of a definition.

Sources, read at commit a7a938e of archiver-appliance/epicsarchiverap:

  GUIDE    docs/source/reader/references/post-processors.md
  CODE     src/main/org/epics/archiverappliance/retrieval/postprocessors
  CONSUMER src/main/org/epics/archiverappliance/retrieval/MergeDedupConsumer.java
  MATH     the class comments of org.apache.commons.math3 (Apache Commons
           Math 3), which GUIDE names as the definition of the statistics

GUIDE comes first. Where it is silent, the comments in CODE decide, and
then what CODE does. Where the comments and the statements of CODE
disagree, the function says which of them it follows and why.

    samples -> seen -> operator -> served -> what a client receives

Times are whole nanoseconds since 1970, UTC.

Varve departs from the Appliance on purpose in a few places. A Request says
which of these DEPARTURES apply; without them, it is a request to the
Appliance.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

SECOND = 10**9
DEFAULT_INTERVAL = 900  # GUIDE: "The default binning interval is 900 seconds"
DEFAULT_POINTS = 1000  # CODE, Optimized: DEFAULT_NUMBER_OF_POINTS
DEFAULT_DEVIATIONS = 3.0  # GUIDE: "(by default, 3.0)"
DEFAULT_DEADBAND = 1.0  # CODE, DeadBand: DEFAULT_ADEL

NAN = math.nan

# The departures, each with its reason. docs/reading.md lists them for users.
DEPARTURES = {
    "equal times": "an archive of Varve holds samples of equal time; an Appliance never stores them",
    "carried apart": "a carried sample is alone in its bin for every operator, as for the statistics of CODE",
    "fractions": "a time is not cut to whole seconds",
    "no NaN in curves": "linear and loess skip NaN, as the other statistics do",
    "infinite flyers": "an infinite sample is a flyer, and no other sample of its bin is lost",
    "infinite loess": "a curve beside an infinite sample is NaN, and not the first sample",
    "only outliers": "a loess line through outliers only is the sample in the middle, and not NaN",
    "all points": "points before the start are sent; CONSUMER drops all but the last one",
}


@dataclass(frozen=True)
class Sample:
    """A stored sample: what an operator reads, and what some return.

    The value of an enumeration is the number of its state, and that of an
    array its first element (CODE, VectorValue: "we always return the first
    value"). A text is not a number.
    """

    time: int
    value: object  # a float, or a str
    severity: int = 0
    status: int = 0


@dataclass(frozen=True)
class Point:
    """One element of an answer."""

    time: int
    value: object  # a float, or a list of floats
    severity: int = 0
    status: int = 0
    fields: dict = field(default_factory=dict)
    doubtful: bool = False  # rounding decides about the value


class Doubtful(Exception):
    """Rounding decides which samples an operator returns."""


@dataclass(frozen=True)
class Request:
    """A request for the samples from start to end, both included."""

    start: int
    end: int
    departures: frozenset = frozenset()


def point(sample, time=None):
    """A sample as an element of an answer, at its own time or another one."""
    time = sample.time if time is None else time
    return Point(time, sample.value, sample.severity, sample.status)


# --- What an operator reads, and what a client receives -----------------


def carried(samples, request):
    """The last sample before the start of the request, or None.

    CODE, SummaryStatsPostProcessor: "keep track of the last value before
    the start time and then add that in as a single sample".
    """
    before = [s for s in samples if s.time < request.start]
    return before[-1] if before else None


def inside(samples, request):
    """The samples of the request: "isBefore(end) || equals(end)" in CODE."""
    return [s for s in samples if request.start <= s.time <= request.end]


def once(samples, request):
    """Of samples with the same time, the first.

    CODE: "ETL is not transactional; so we can get the same event twice
    from different stores", so an event that is not after the previous
    one is skipped.
    """
    if "equal times" in request.departures:
        return samples
    kept = []
    for sample in samples:
        if not kept or sample.time > kept[-1].time:
            kept.append(sample)
    return kept


def seen(samples, request):
    """The samples that an operator reads: the carried one and those inside.

    A sample at the start replaces the carried one (CODE: "if
    (eventInstant.equals(start)) shouldAddLastSampleBeforeStart = false").
    """
    first, within = carried(samples, request), inside(samples, request)
    if first and not (within and within[0].time == request.start):
        within = [first] + within
    return once(within, request)


def numeric(samples):
    """The samples that are numbers. A PV of an Appliance has one type for
    ever, so that no text is among numbers there.
    """
    return [s for s in samples if not isinstance(s.value, str)]


def served(points, request):
    """What a client receives of the points of an operator.

    CONSUMER keeps one event at or before the start, the latest, and sends
    it first: "if(e.getEventTimeStamp().isBefore(this.startTimeStamp) ||
    equals) firstEvent = e".
    """
    if "all points" in request.departures:
        return points
    early = [i for i, p in enumerate(points) if p.time <= request.start]
    return points[early[-1] :] if early else points


# --- Bins ---------------------------------------------------------------


def bin_of(time, interval):
    """GUIDE: "Two samples belong to the same bin if the quotient of the
    sample's epoch seconds after integer division by the binning interval
    is the same."
    """
    return time // SECOND // interval


def middle(number, interval):
    """The middle of a bin.

    CODE, SummaryStatsCollectorEventStream: the bin's start plus half of
    the interval, with half a second more if the interval is odd.
    """
    return (2 * number + 1) * interval * SECOND // 2


def middle_second(number, interval, request):
    """The whole second of the middle of a bin.

    CODE, FillsCollectorEventStream: "we put the event time stamp in the
    center of the bin", in whole seconds.
    """
    time = middle(number, interval)
    return time if "fractions" in request.departures else time // SECOND * SECOND


def gather(samples, request, interval):
    """GUIDE: "Samples belonging to the same bin are gathered together".

    In CODE, only the statistics put the carried sample apart. For the other
    operators it is in the bin of its time, which may be the first bin of
    the request. GUIDE says nothing about it.
    """
    bins = {}
    for sample in samples:
        number = bin_of(sample.time, interval)
        if sample.time < request.start and "carried apart" in request.departures:
            number = bin_of(request.start, interval) - 1
        bins.setdefault(number, []).append(sample)
    return bins


def summary_bins(samples, request, interval):
    """The bins of a statistic, in order.

    CODE, SummaryStatsPostProcessor: "We only add bins for the specified
    time frame. [...] We could add a firstbin-1 and put all values before
    the starting timestamp in that bin but that would give incorrect
    summaries." The carried sample is a bin of its own, before the first
    one, unless a sample is at the start.
    """
    read = seen(samples, request)
    bins = gather([s for s in read if s.time >= request.start], request, interval)
    first = [s for s in read if s.time < request.start]
    if first:
        bins[bin_of(request.start, interval) - 1] = first
    return dict(sorted(bins.items()))


def numeric_bins(samples, request, interval):
    """The bins of a statistic of numbers."""
    bins = summary_bins(samples, request, interval).items()
    return {number: numeric(bin) for number, bin in bins if numeric(bin)}


def numbers_of(bin):
    """The numbers of a bin. CODE: "Skipping NAN"."""
    return [s.value for s in numeric(bin) if not math.isnan(s.value)]


def summarize(bins, request, interval, fills, statistic, empty=None):
    """One point per bin, of the statistic of the bin.

    The severity is the greatest one (CODE, SummaryValue: "Maximize
    severity"), the status is 0. An empty bin after a full one repeats the
    point before it (CODE, FillNoFillSupport: "by default, we inherit values
    from the previous bins"), or has what empty() makes of that point. It is
    left out if the operator does not fill.

    CODE gives the carried sample severity 0, because it adds that sample
    outside of the loop that compares severities. No comment says so, and
    a bin with one sample has that sample's severity everywhere else.
    """
    if not bins:
        return []
    points, last = [], None
    for number in range(min(bins), bin_of(request.end, interval) + 1):
        if number in bins:
            last = statistic(number, bins[number])
            last = replace(last, severity=max(s.severity for s in bins[number]))
        elif not fills:
            continue
        elif empty is not None:
            last = empty(last)
        points.append(replace(last, time=middle(number, interval)))
    return points


def summary(statistic):
    """The operator of a statistic of numbers."""

    def operator(samples, request, interval=DEFAULT_INTERVAL, fills=True):
        bins = numeric_bins(samples, request, interval)
        return summarize(bins, request, interval, fills, lambda _, bin: Point(0, statistic(numbers_of(bin))))

    return operator


# --- Statistics of numbers, by the definitions of MATH -------------------


def divide(a, b):
    """Division of IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return NAN
        return math.copysign(math.inf, a) * math.copysign(1, b)


def rounded(number):
    """A rational number as a float."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def root(number):
    """The square root of a rational number, as a float. The square of a float
    may be beyond the greatest one.
    """
    scale = Fraction(2) ** (2 * (max(number.numerator.bit_length(), 1) // 2 - number.denominator.bit_length() // 2))
    return math.sqrt(number / scale) * 2.0 ** ((scale.numerator.bit_length() - scale.denominator.bit_length()) // 2)


def exact(numbers):
    """The numbers as rational ones, or None if one is infinite."""
    if any(math.isinf(x) for x in numbers):
        return None
    return [Fraction(x) for x in numbers]


def whole(numbers):
    """The numbers as whole multiples of a fraction of 1, and that fraction's
    denominator. Floats have powers of 2 as denominators.
    """
    denominator = max(x.denominator for x in numbers)
    return [x.numerator * (denominator // x.denominator) for x in numbers], denominator


def average(numbers):
    """The sum of the numbers, divided by their count."""
    multiples, denominator = whole(numbers)
    return Fraction(sum(multiples), denominator * len(numbers))


def central(numbers, power):
    """The sum of the powers of the distances from the mean."""
    multiples, denominator = whole(numbers)
    n, total = len(numbers), sum(multiples)
    return Fraction(sum((n * x - total) ** power for x in multiples), (n * denominator) ** power)


def mean_of(numbers):
    """MATH, SummaryStatistics.getMean: "the mean of the values that have been
    added. Double.NaN is returned if no values have been added."
    """
    if not numbers:
        return NAN
    exactly = exact(numbers)
    return sum(numbers) / len(numbers) if exactly is None else rounded(average(exactly))


def variance_of(numbers, less=1):
    """MATH, SummaryStatistics.getVariance: "the bias-corrected sample variance
    (using n - 1 in the denominator)"; getPopulationVariance divides by n.
    MATH, Variance: 0 for a single value.
    """
    if not numbers:
        return NAN
    if len(numbers) == 1:
        return 0.0
    exactly = exact(numbers)
    return NAN if exactly is None else rounded(central(exactly, 2) / (len(numbers) - less))


def deviation_of(numbers):
    """MATH, SummaryStatistics.getStandardDeviation: the root of the variance,
    0 for a single value, NaN for none.
    """
    if len(numbers) < 2 or exact(numbers) is None:
        return variance_of(numbers)
    return root(central(exact(numbers), 2) / (len(numbers) - 1))


def median_of(numbers):
    """MATH, Percentile: "pos = p * (n + 1) / 100 [...] Return lower + d *
    (upper - lower)", where d is the fractional part of pos.

    For p = 50 this is the middle number, or the mean of the two in the
    middle. d is 0 for an odd count: then the middle number is the result,
    also beside an infinite one.
    """
    if not numbers:
        return NAN
    ordered = sorted(numbers)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return mean_of(ordered[half - 1 : half + 1])


def skewness_of(numbers):
    """MATH, Skewness: "[n / (n -1) (n - 2)] sum[(x_i - mean)^3] / std^3"; NaN
    for less than 3 values, and 0/0 if all are equal.
    """
    n = len(numbers)
    exactly = exact(numbers)
    if n < 3 or exactly is None or not central(exactly, 2):
        return NAN
    variance = central(exactly, 2) / (n - 1)
    ratio = Fraction(n, (n - 1) * (n - 2)) * central(exactly, 3)
    return math.copysign(root((ratio / variance) ** 2 / variance), ratio)


def kurtosis_of(numbers):
    """MATH, Kurtosis: "{ [n(n+1) / (n -1)(n - 2)(n-3)] sum[(x_i - mean)^4] /
    std^4 } - [3(n-1)^2 / (n-2)(n-3)] [...] undefined for n < 4", and 0/0 if
    all are equal.
    """
    n = len(numbers)
    exactly = exact(numbers)
    if n < 4 or exactly is None or not central(exactly, 2):
        return NAN
    variance = central(exactly, 2) / (n - 1)
    ratio = Fraction(n * (n + 1), (n - 1) * (n - 2) * (n - 3)) * central(exactly, 4) / variance**2
    return rounded(ratio - Fraction(3 * (n - 1) ** 2, (n - 2) * (n - 3)))


def min_of(numbers):
    """MATH, SummaryStatistics.getMin: NaN if there are none."""
    return min(numbers, default=NAN)


def max_of(numbers):
    """MATH, SummaryStatistics.getMax: NaN if there are none."""
    return max(numbers, default=NAN)


def rms_of(numbers):
    """The root of the mean of the squares, NaN if there are no numbers."""
    if not numbers:
        return NAN
    exactly = exact(numbers)
    return math.inf if exactly is None else root(average([x * x for x in exactly]))


def five_of(numbers):
    """CODE, Statistics: "The order of parameters is: mean, std, min, max,
    count."
    """
    return [
        mean_of(numbers),
        deviation_of(numbers),
        min_of(numbers),
        max_of(numbers),
        float(len(numbers)),
    ]


# --- Operators with one point per bin -------------------------------------
#
# CODE, PostProcessors, registers each of them a second time, with "Sample"
# after its name: "the no fill variant".


def mean(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the average value of a bin [...] SummaryStatistics.getMean()"."""
    return summary(mean_of)(samples, request, interval, fills)


def minimum(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE, min: "Returns the minimum value in a bin"."""
    return summary(min_of)(samples, request, interval, fills)


def maximum(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE, max: "Returns the maximum value in a bin"."""
    return summary(max_of)(samples, request, interval, fills)


def count(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the number of samples in a bin [...]
    SummaryStatistics.getN()". CODE, FillNoFillSupport: "For some post
    processors, we do fill empty bins but with zeroes instead"; count is
    the one. Its zeroes have severity 0.

    A text counts: GUIDE speaks of samples. CODE fails for texts.
    """

    def number(_, bin):
        return Point(0, float(len(numbers_of(bin)) + len(bin) - len(numeric(bin))))

    bins = summary_bins(samples, request, interval)
    return summarize(bins, request, interval, fills, number, lambda _: Point(0, 0.0))


def median(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the median value of a bin [...]
    DescriptiveStatistics.getPercentile(50)"."""
    return summary(median_of)(samples, request, interval, fills)


def std(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the standard deviation of a bin [...]
    SummaryStatistics.getStandardDeviation()"."""
    return summary(deviation_of)(samples, request, interval, fills)


def jitter(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the jitter (the standard deviation divided by the mean)
    of a bin"."""

    def ratio(_, bin):
        numbers = numbers_of(bin)
        divisor = mean_of(numbers)
        tiny = abs(divisor) < 1e-6 * max((abs(x) for x in numbers), default=0)
        return Point(0, divide(deviation_of(numbers), divisor), doubtful=tiny)

    return summarize(numeric_bins(samples, request, interval), request, interval, fills, ratio)


def variance(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the variance of a bin [...] SummaryStatistics.getVariance()"."""
    return summary(variance_of)(samples, request, interval, fills)


def popvariance(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the population variance of a bin [...]
    SummaryStatistics.getPopulationVariance()"."""
    return summary(lambda numbers: variance_of(numbers, less=0))(samples, request, interval, fills)


def rms(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """CODE, RMS: "Implements the RMS across an interval": the root of the mean
    of the squares. CODE does not register it, and GUIDE does not name it.
    """
    return summary(rms_of)(samples, request, interval, fills)


def kurtosis(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the kurtosis of a bin [...]
    DescriptiveStatistics.getKurtosis()"."""
    return summary(kurtosis_of)(samples, request, interval, fills)


def skewness(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Returns the skewness of a bin [...]
    DescriptiveStatistics.getSkewness()"."""
    return summary(skewness_of)(samples, request, interval, fills)


def stats(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """CODE, Statistics: "provides a set of statistical numbers for a specific
    bin. The order of parameters is: mean, std, min, max, count." GUIDE does
    not name this operator.
    """
    return summary(five_of)(samples, request, interval, fills)


def errorbar(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Similar to the mean operator; in addition, the std is passed in
    as an extra column". CODE: the column is "stdz".
    """

    def pair(_, bin):
        numbers = numbers_of(bin)
        return Point(0, mean_of(numbers), fields={"stdz": deviation_of(numbers)})

    return summarize(numeric_bins(samples, request, interval), request, interval, fills, pair)


# --- Operators that return samples of bins --------------------------------


def first_sample(samples, request, interval=DEFAULT_INTERVAL):
    """GUIDE, firstSample: "Returns the first sample in a bin." """
    return [point(bin[0]) for bin in gather(seen(samples, request), request, interval).values()]


def last_sample(samples, request, interval=DEFAULT_INTERVAL):
    """GUIDE, lastSample: "Returns the last sample in a bin." """
    return [point(bin[-1]) for bin in gather(seen(samples, request), request, interval).values()]


def fill(samples, request, interval, choose):
    """The chosen sample of each bin, from the one before the first bin.

    CODE, FirstFill: the carried sample is in the bin before the first,
    unless it is in the first bin.
    """
    first = bin_of(request.start, interval)
    chosen = {}
    for number, bin in gather(seen(samples, request), request, interval).items():
        chosen[max(number, first - 1)] = choose(bin)
    if not chosen:
        return []
    points, last = [], None
    for number in range(min(chosen), bin_of(request.end, interval) + 1):
        last = chosen.get(number, last)
        points.append(point(last, middle_second(number, interval, request)))
    return points


def first_fill(samples, request, interval=DEFAULT_INTERVAL):
    """GUIDE, firstFill: "Similar to the firstSample operator with the
    exception that we alter the timestamp to the middle of the bin and copy
    over the previous bin's value if a bin does not have any samples." """
    return fill(samples, request, interval, lambda bin: bin[0])


def last_fill(samples, request, interval=DEFAULT_INTERVAL):
    """GUIDE, lastFill: "Similar to the firstFill operator with the exception
    that we use the last sample in the bin." """
    return fill(samples, request, interval, lambda bin: bin[-1])


# --- Operators that choose samples ---------------------------------------


def divided(samples, request, interval, deviations, keep):
    """The samples whose distance from their bin's mean keep() accepts.

    GUIDE, ignoreflyers: "Math.abs(val - SummaryStatistics.getMean()) <=
    numDeviations*SummaryStatistics.getStandardDeviation()". A comparison
    with NaN is false, so that a NaN is neither a flyer nor none.
    """
    points = []
    for bin in gather(numeric(seen(samples, request)), request, interval).values():
        numbers = numbers_of(bin)
        if "infinite flyers" in request.departures:
            numbers = [x for x in numbers if math.isfinite(x)]
        middle_value, cutoff = mean_of(numbers), deviations * deviation_of(numbers)
        for sample in bin:
            distance = abs(sample.value - middle_value)
            if math.isinf(sample.value) and "infinite flyers" in request.departures:
                distance, cutoff = math.inf, 0.0 if math.isnan(cutoff) else cutoff
            elif len(set(numbers)) > 1 and abs(distance - cutoff) < 1e-9 * abs(max_of([abs(x) for x in numbers])):
                raise Doubtful
            if keep(distance, cutoff):
                points.append(point(sample))
    return points


def ignoreflyers(samples, request, interval=DEFAULT_INTERVAL, deviations=DEFAULT_DEVIATIONS):
    """GUIDE: "Ignores data that is more than the specified amount of std
    deviation from the mean in the bin." """
    return divided(samples, request, interval, deviations, lambda distance, cutoff: distance <= cutoff)


def flyers(samples, request, interval=DEFAULT_INTERVAL, deviations=DEFAULT_DEVIATIONS):
    """GUIDE: "Opposite of ignoreflyers - only returns data that is more than
    the specified amount of std deviation from the mean in the bin." """
    return divided(samples, request, interval, deviations, lambda distance, cutoff: distance > cutoff)


def nth(samples, request, every=DEFAULT_INTERVAL):
    """GUIDE: "Returns every n-th value." CODE: of the selected time span, from
    the first one on; the default n is 900.
    """
    return [point(s) for s in once(inside(samples, request), request)[::every]]


def ncount(samples, request):
    """GUIDE: "Returns the total number of samples in a selected time span."
    CODE: one sample at the start of the span, also for none.
    """
    return [Point(request.start, float(len(once(inside(samples, request), request))))]


def dead_band(samples, request, width=DEFAULT_DEADBAND):
    """GUIDE, deadBand: "The intent is to mimic ADEL". CODE: "The very first
    sample we get we write out [...] If either current value or previous
    value is NAN/INF, unconditionally write out [...] Also need to to write
    out when alarm severity changes".

    The comment of CODE says "If Diff >= ADEL", its statement says ">". An
    IOC posts an archive event if the value has changed by more than ADEL,
    which is the intent that GUIDE names.
    """
    points, last = [], None
    for sample in numeric(seen(samples, request)):
        if (
            last is None
            or not math.isfinite(sample.value)
            or not math.isfinite(last.value)
            or sample.severity != last.severity
            or abs(sample.value - last.value) > width
        ):
            last = sample
            points.append(point(sample))
    return points


# --- Operators for plots -------------------------------------------------


def caplotbinning(samples, request, interval=DEFAULT_INTERVAL):
    """GUIDE: "Approx implementation of ChannelArchiver plotbinning. If there is
    no sample for the time span of a bin, the bin remains empty. If there is
    one sample, it is placed in the bin. If there are two samples, they are
    placed in the bin. If there are more than two samples, the first and last
    one are placed in the bin. In addition, two artificial samples are created
    [...] One contains the minimum, the other the maximum [...] in the sequence
    initial, minimum, maximum, final."

    GUIDE quotes the Channel Archiver, where the artificial samples are "right
    between the first and last sample". CODE, SampleLocation, is the
    approximation: the four are at the start and the quarters of the bin, and
    all times are whole seconds. CODE: "Maximize severity" of the bin.
    """

    def cut(time):
        return time if "fractions" in request.departures else time // SECOND * SECOND

    points = []
    for number, bin in gather(numeric(seen(samples, request)), request, interval).items():
        severity = max(s.severity for s in bin)
        placed = [(s.time, s.value) for s in bin]
        if len(bin) > 2:
            numbers = numbers_of(bin)
            four = (bin[0].value, min_of(numbers), max_of(numbers), bin[-1].value)
            placed = [((4 * number + k) * interval * SECOND // 4, value) for k, value in enumerate(four)]
        points += [Point(cut(time), value, severity) for time, value in placed]
    return points


def width_for(request, points):
    """The interval of a bin for a number of points, in seconds.

    CODE, Optimized: the seconds of the span divided by the number of
    points, at least 1.
    """
    return max(1, (request.end // SECOND - request.start // SECOND) // points)


def few(samples, request, points):
    """All samples as points if there are not more than requested, else None.

    CODE, Optimized: "If there are less samples in the time interval than
    requested (with a certain deadband), all samples will be returned." The
    carried sample counts as one, unless a sample is at the start.
    """
    read = seen(samples, request)
    return [point(s) for s in read] if len(read) <= points else None


def optimized(samples, request, points=DEFAULT_POINTS, fills=True):
    """GUIDE: "Expects one parameter at initialization, which is the number of
    requested points. If there are less samples in the time interval than
    requested (with a certain deadband), all samples will be returned. If
    there are more samples than requested, the samples will be collected
    into bins. Mean, std, min, max and count of each bin is calculated and
    returned as a single sample." """
    all_of_them = few(samples, request, points)
    if all_of_them is not None:
        return all_of_them
    return stats(samples, request, width_for(request, points), fills)


def optim_last_sample(samples, request, points=DEFAULT_POINTS, fills=True):
    """GUIDE: "This differs from the optimized post processor in that if a bin
    is empty, instead of repeating the last bin with samples, the bin uses
    the last value of the last recorded sample instead (as mean, min and
    max; stddev is zero and number of samples is also zero)."

    CODE adds the last value as a sixth number, which a NaN does not change.
    CODE gives an empty bin the severity of the bin after it, because it
    fills when it has already read that bin. Its carried sample may be in the
    first bin, unlike that of optimized. No comment says so.
    """
    all_of_them = few(samples, request, points)
    if all_of_them is not None:
        return all_of_them
    interval = width_for(request, points)
    held = NAN

    def six(_, bin):
        nonlocal held
        numbers = numbers_of(bin)
        held = numbers[-1] if numbers else held
        return Point(0, five_of(numbers) + [held])

    def hold(last):
        value = last.value[5]
        return replace(last, value=[value, 0.0, value, value, 0.0, value])

    return summarize(numeric_bins(samples, request, interval), request, interval, fills, six, hold)


# --- Interpolations ------------------------------------------------------


def interpolate(samples, request, interval, fills, curve):
    """The value of a curve through a bin's samples at the middle of the bin.

    CODE, LinearInterpolation and LoessInterpolation: the curve is asked at
    the whole second of the middle. If there is no curve or the middle is
    not within it, "we return the first value".
    """

    def value(number, bin):
        if "no NaN in curves" in request.departures:
            bin = [s for s in bin if not math.isnan(s.value)]
        if not bin:
            return Point(0, NAN)
        at = middle_second(number, interval, request)
        if len(bin) == 1 or not bin[0].time <= at <= bin[-1].time:
            return Point(0, bin[0].value)
        found, doubtful = curve([s.time for s in bin], [s.value for s in bin], at, request)
        return Point(0, found, doubtful=doubtful)

    return summarize(numeric_bins(samples, request, interval), request, interval, fills, value)


def line(times, values, at, _):
    """The line between the two samples beside a time. Of samples of equal
    time, the line before them ends at the first and that after them begins
    at the last, which is the value at that time.
    """
    i = max(k for k, time in enumerate(times) if time <= at)
    if times[i] == at:
        return values[i], False
    part = Fraction(at - times[i], times[i + 1] - times[i])
    if math.isfinite(values[i]) and math.isfinite(values[i + 1]):
        return rounded((1 - part) * Fraction(values[i]) + part * Fraction(values[i + 1])), False
    return float(1 - part) * values[i] + float(part) * values[i + 1], False


def linear(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Implements the Linear arithmetic mean across an interval". CODE:
    the LinearInterpolator of MATH.
    """
    return interpolate(samples, request, interval, fills, line)


def nearest(times, i, size):
    """The size times nearest to times[i], as the first of them.

    MATH, LoessInterpolator: "this fraction of source points closest to the
    current point is taken into account".
    """
    low = 0
    while low + size < len(times) and times[low + size] - times[i] < times[i] - times[low]:
        low += 1
    return low


def smooth(times, values, request):
    """The robust, locally weighted regression of W. S. Cleveland.

    MATH, LoessInterpolator: a bandwidth of 0.3, two iterations with the
    bisquare weights of the residuals, and an accuracy of 1e-12 under which
    the median residual ends them. Times are taken relative to the point
    that is fitted.
    """
    n, size = len(times), int(0.3 * len(times))
    robust = [1.0] * n
    fitted = []
    for iteration in range(3):
        fitted = []
        for i in range(n):
            low = nearest(times, i, size)
            near = range(low, low + size)
            reach = max(abs(times[k] - times[i]) for k in near)
            weights = {}
            for k in near:
                part = abs(times[k] - times[i]) / reach
                weights[k] = (1 - part**3) ** 3 * robust[k] if part < 1 else 0.0
            total = sum(weights.values())
            if total == 0:
                fitted.append(values[low + size // 2] if "only outliers" in request.departures else NAN)
                continue
            x = {k: (times[k] - times[i]) / SECOND for k in near}
            mean_x = sum(weights[k] * x[k] for k in near) / total
            mean_y = sum(weights[k] * values[k] for k in near) / total
            spread = sum(weights[k] * (x[k] - mean_x) ** 2 for k in near) / total
            slope = 0.0
            if math.sqrt(spread) >= 1e-12:
                slope = sum(weights[k] * (x[k] - mean_x) * (values[k] - mean_y) for k in near) / total / spread
            fitted.append(mean_y - slope * mean_x)
        residuals = [abs(v - f) for v, f in zip(values, fitted)]
        typical = sorted(residuals)[n // 2]
        if typical < 1e-12:
            break
        robust = [(1 - (r / (6 * typical)) ** 2) ** 2 if r < 6 * typical else 0.0 for r in residuals]
    return fitted


def spline(times, values, at):
    """The natural cubic spline through the points, at a time.

    MATH, LoessInterpolator.interpolate: "building a cubic spline [...] on
    the resulting fit". The second derivatives are 0 at both ends.
    """
    x = [(t - times[0]) / SECOND for t in times]
    at = (at - times[0]) / SECOND
    h = [b - a for a, b in zip(x, x[1:])]
    slopes = [(b - a) / d for a, b, d in zip(values, values[1:], h)]
    n = len(x)
    upper, right = [0.0] * n, [0.0] * n
    for i in range(1, n - 1):
        pivot = 2 * (h[i - 1] + h[i]) - h[i - 1] * upper[i - 1]
        upper[i] = h[i] / pivot
        right[i] = (6 * (slopes[i] - slopes[i - 1]) - h[i - 1] * right[i - 1]) / pivot
    bend = [0.0] * n
    for i in range(n - 2, 0, -1):
        bend[i] = right[i] - upper[i] * bend[i + 1]
    i = max(k for k in range(n - 1) if x[k] <= at)
    a, b = (x[i + 1] - at) / h[i], (at - x[i]) / h[i]
    line_part = a * values[i] + b * values[i + 1]
    return line_part + ((a**3 - a) * bend[i] + (b**3 - b) * bend[i + 1]) * h[i] ** 2 / 6


def smoothed(times, values, at, request):
    """The spline through the smoothed values.

    MATH, LoessInterpolator: numbers must be finite, and "the bandwidth must
    be larger than 2/n"; else CODE returns the first value. Of samples of
    equal time, the last counts.
    """
    last = [i for i in range(len(times)) if i + 1 == len(times) or times[i + 1] != times[i]]
    knots, first = [times[i] for i in last], values[0]
    if int(0.3 * len(knots)) < 2:
        return first, False
    if not all(math.isfinite(v) for v in values):
        return (NAN if "infinite loess" in request.departures else first), False

    def found(change):
        heights = [values[i] * (1 + change * (i % 3 - 1)) for i in last]
        return spline(knots, smooth(knots, heights, request), at)

    exactly, changed = found(0), found(1e-13)
    scale = max(abs(v) for v in values)
    return exactly, math.isnan(exactly) != math.isnan(changed) or abs(exactly - changed) > 1e-8 * scale


def loess(samples, request, interval=DEFAULT_INTERVAL, fills=True):
    """GUIDE: "Implements the Loess arithmetic mean across an interval". CODE:
    the LoessInterpolator of MATH with its default parameters.

    MATH asks for the nearest points, and moves by at most one point from
    each fitted point to the next, so that it lags behind a change of the
    rate. Its sums of seconds since 1970 lose nearly all digits. Neither is
    part of the definition.
    """
    return interpolate(samples, request, interval, fills, smoothed)


# The operators with one value per bin, by the names that a client uses.
SUMMARIES = {
    "mean": mean,
    "min": minimum,
    "max": maximum,
    "count": count,
    "median": median,
    "std": std,
    "jitter": jitter,
    "variance": variance,
    "popvariance": popvariance,
    "kurtosis": kurtosis,
    "skewness": skewness,
    "linear": linear,
    "loess": loess,
    "optimized": optimized,
    "optimLastSample": optim_last_sample,
    "errorbar": errorbar,
    "stats": stats,
}

# All operators. CODE, PostProcessors, registers 27, and the no fill variants
# of the 17 with one value per bin. rms is not registered.
OPERATORS = {
    "firstSample": first_sample,
    "lastSample": last_sample,
    "firstFill": first_fill,
    "lastFill": last_fill,
    "ncount": ncount,
    "nth": nth,
    "ignoreflyers": ignoreflyers,
    "flyers": flyers,
    "caplotbinning": caplotbinning,
    "deadBand": dead_band,
    **SUMMARIES,
}


def no_fill(operator):
    """The no fill variant of an operator: empty bins are left out."""
    return lambda samples, request, argument: operator(samples, request, argument, fills=False)


VARIANTS = {name + "Sample": no_fill(operator) for name, operator in {**SUMMARIES, "rms": rms}.items()}
ALL = {**OPERATORS, "rms": rms, **VARIANTS}
