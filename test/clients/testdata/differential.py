"""Compares post-processors over HTTP with those of appliance_operators.py, and prints the result as JSON.

    differential.py URL SERIES.json [weigh]

With weigh, it also counts the calls that equal the Appliance's, and calls on which each departure has an effect.

SERIES.json is a list of series:

    {"pv", "from", "to",           times in ns since 1970
     "samples": [{"t", "v", "text", "sev", "status"}, ...],
     "calls": ["mean_60", ...]}

The samples are those that the archive stores, so that the reference does not depend on the server.
"""

import http.client
import json
import math
import sys
import time
from collections import Counter
from urllib.parse import quote, urlsplit

from appliance_operators import ALL, DEPARTURES, SECOND, VARIANTS, Doubtful, Request, Sample, served

EVERY = frozenset(DEPARTURES)


def clock(ns):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // SECOND)) + f".{ns % SECOND:09d}Z"


def read(server, series, call):
    """Returns the answer to a request for a PV through a post-processor."""
    query = f"pv={quote(call)}({series['pv']})&from={clock(series['from'])}&to={clock(series['to'])}"
    server.request("GET", "/retrieval/data/getData.json?" + query)
    answer = server.getresponse()
    text = answer.read()
    if answer.status == 400 and refusable(series, text.decode()):
        return None
    if answer.status != 200:
        sys.exit(f"{call} of {series['pv']}: {answer.status} {text.decode()}")
    parts = json.loads(text)
    return parts[0]["data"] if parts else []


def refusable(series, text):
    """Reports whether a series has values that a post-processor may refuse: texts, or arrays for optimized."""
    return (
        "needs numbers" in text and any("text" in s for s in series["samples"])
        or "needs scalars" in text and any(s.get("array") for s in series["samples"])
    )


def samples_of(series):
    return [
        Sample(s["t"], s["text"] if "text" in s else float(s["v"]), s["sev"], s["status"]) for s in series["samples"]
    ]


def expected(samples, series, call, departures):
    """Returns the points of the reference."""
    name, *arguments = call.split("_")
    numbers = [float(a) if "." in a else int(a) for a in arguments]
    request = Request(series["from"], series["to"], departures)
    return served(ALL[name](samples, request, *numbers), request)


def number(value):
    """A value of JSON, in which null is NaN and 1e999 is infinite."""
    if isinstance(value, list):
        return [number(v) for v in value]
    return math.nan if value is None else value


def same(a, b):
    return a == b or a != a and b != b


def near(name, k, got, want, largest):
    """Reports whether a number is right but for rounding. largest is the greatest finite number of the series."""
    if same(got, want):
        return True
    off, scale = abs(got - want), abs(want)
    if name in ("mean", "linear", "rms") or name in ("errorbar", "stats", "optimized", "optimLastSample") and k == 0:
        return off <= 1e-13 * largest
    if name == "loess":
        return off <= 1e-6 * max(largest, scale)  # a line or a spline may reach far beyond the samples
    if name in ("std", "variance", "popvariance", "jitter", "errorbar", "stats", "optimized", "optimLastSample") and k < 2:
        return off <= 1e-5 * scale or off <= 1e-16 * largest
    if name in ("skewness", "kurtosis"):
        return off <= 1e-5 * max(1, scale)
    return off <= 1e-15 * scale  # median


def unequal(name, got, want, largest):
    """Returns how an element of an answer differs from a point of the reference, or ""."""
    at = got["secs"] * SECOND + got["nanos"]
    if at != want.time:
        return f"it is {(at - want.time) / SECOND} s late"
    if (got["severity"], got["status"]) != (want.severity, want.status):
        return f"its severity and status are {got['severity']} {got['status']}, want {want.severity} {want.status}"
    if want.doubtful:
        return ""
    value, wanted = number(got["val"]), want.value
    if isinstance(wanted, str) or isinstance(value, str):
        return "" if value == wanted else f"it is {value!r}, want {wanted!r}"
    if not isinstance(wanted, list):
        value = value[:1] if isinstance(value, list) else [value]  # the rest of an array is the archive's own
        wanted = [wanted] + list(want.fields.values())
        value += [float(got.get("fields", {}).get(field, "nan")) for field in want.fields]
    if len(value) != len(wanted):
        return f"it has {len(value)} numbers, want {len(wanted)}"
    for k, (g, w) in enumerate(zip(value, wanted)):
        if not near(name, k, g, w, largest):
            return f"number {k} is {g}, want {w}"
    return ""


def differ(name, got, want, largest):
    """Returns how an answer differs from the reference, or ""."""
    for i, (g, w) in enumerate(zip(got, want)):
        if why := unequal(name, g, w, largest):
            return f"element {i} of {len(want)}, at {w.time}: {why}"
    return "" if len(got) == len(want) else f"there are {len(got)} elements, want {len(want)}"


def compare(server, series, weigh, result):
    samples = samples_of(series)
    finite = [abs(s.value) for s in samples if not isinstance(s.value, str) and math.isfinite(s.value)]
    largest = max(finite, default=0)
    for call in series["calls"]:
        full = call.split("_")[0]
        name = full.removesuffix("Sample") if full in VARIANTS else full
        try:
            want = expected(samples, series, call, EVERY)
        except Doubtful:
            result["doubtful"] += 1
            continue
        got = read(server, series, call)
        if got is None:
            result["refused"] += 1
            continue
        result["calls"][full] += 1
        result["points"] += len(want)
        result["doubtful points"] += sum(p.doubtful for p in want)
        if why := differ(name, got, want, largest):
            result["differences"].append(f"{call} of {series['pv']}: {why}")
        if weigh:
            weigh_departures(samples, series, call, want, (name, got, largest), result)


def weigh_departures(samples, series, call, want, answer, result):
    """Counts the calls that equal the Appliance's, and for each departure up to 5 calls on which it has an effect."""
    try:
        if not differ(answer[0], answer[1], expected(samples, series, call, frozenset()), answer[2]):
            result["appliance"][call.split("_")[0]] += 1
            return
        for departure in EVERY:
            if result["departures"][departure] < 5:
                without = expected(samples, series, call, EVERY - {departure})
                result["departures"][departure] += repr(without) != repr(want)
    except Doubtful:
        return


def main(url, file, *weigh):
    server = http.client.HTTPConnection(urlsplit(url).netloc)
    with open(file) as f:
        all_series = json.load(f)
    result = {"calls": Counter(), "appliance": Counter(), "departures": Counter(dict.fromkeys(sorted(EVERY), 0)),
              "points": 0, "refused": 0, "doubtful": 0, "doubtful points": 0, "differences": []}
    for series in all_series:
        compare(server, series, bool(weigh), result)
    json.dump(result, sys.stdout)


main(*sys.argv[1:])
