"""Serves PVs of every normative type, and of other types, with p4p. A put to P:ROUND
sets each PV to its value of that round. All PVs get the time stamp and the alarm of the
round.

    serve_p4p.py INTERFACE
"""

import threading
import time

import numpy
from p4p import Type, Value
from p4p.nt import NTEnum, NTNDArray, NTScalar, NTTable, alarm, timeStamp
from p4p.server import Server
from p4p.server.thread import SharedPV

START = int(time.time())
ALARMS = [(0, 0, ""), (1, 3, "HIGH"), (3, 1, "LINK")]  # severity, status, message

# The value of each scalar type in each round.
SCALARS = {
    "?": [True, False, True], "s": ["text", "", "Größe"],
    "b": [-128, 127, 0], "B": [255, 0, 128], "h": [-32768, 32767, 0], "H": [65535, 1, 0],
    "i": [-(2**31), 2**31 - 1, 0], "I": [2**32 - 1, 1, 0], "l": [-(2**63), 2**63 - 1, 0], "L": [2**64 - 1, 1, 0],
    "f": [0.1, -3.25, 1e30], "d": [0.1, -1e300, float("inf")],
}


def stamped(v, k):
    v["timeStamp.secondsPastEpoch"], v["timeStamp.nanoseconds"] = START, 123456789 + k
    v["alarm.severity"], v["alarm.status"], v["alarm.message"] = ALARMS[k]
    return v


def described(v):
    """Sets the metadata fields that the structure has."""
    for path, x in {
        "display.units": "mA", "display.description": "a PV of p4p", "display.precision": 4,
        "display.limitLow": 1, "display.limitHigh": 100, "control.limitLow": 2, "control.limitHigh": 99,
        "valueAlarm.active": True, "valueAlarm.lowAlarmLimit": 3, "valueAlarm.lowWarningLimit": 4,
        "valueAlarm.highWarningLimit": 97, "valueAlarm.highAlarmLimit": 98,
    }.items():
        part, _, name = path.partition(".")
        if part in v and name in v[part]:
            v[path] = x
    return v


def scalars():
    for code, values in SCALARS.items():
        number = code not in "?s"
        nt = NTScalar(code, display=True, control=number, valueAlarm=number, form=number)
        yield "P:" + code, [described(Value(nt.type, {"value": x})) for x in values]
        nt = NTScalar("a" + code, display=True)
        yield "P:A:" + code, [described(Value(nt.type, {"value": x})) for x in (values, values[:1], [])]


def enums():
    kind = NTEnum.buildType()
    choices = ["Off", "On", "Fault"]
    yield "P:ENUM", [Value(kind, {"value": {"index": i, "choices": choices}}) for i in (1, 0, 2)]


def tables():
    kind = NTTable.buildType(columns=[("x", "ad"), ("n", "ai"), ("name", "as")])
    for_rows = [
        {"labels": ["X", "N", "Name"], "value": {"x": [0.5] * n, "n": list(range(n)), "name": [f"row {i}" for i in range(n)]}}
        for n in (2, 0, 5)
    ]
    yield "P:TABLE", [Value(kind, rows) for rows in for_rows]


def images():
    for name, dtype in {"P:IMAGE8": numpy.uint8, "P:IMAGE16": numpy.uint16}.items():
        pixels = numpy.arange(200 * 1000).reshape(200, 1000)
        yield name, [NTNDArray().wrap((pixels * 7 + k).astype(dtype)) for k in range(3)]


STRUCTURE = Type([
    ("scalar", "i"),
    ("words", "as"),
    ("inner", ("S", "inner_t", [("x", "d"), ("deeper", ("S", None, [("flags", "a?")]))])),
    ("list", ("aS", "item_t", [("key", "s"), ("value", "l")])),
    ("choice", ("U", "choice_t", [("number", "d"), ("text", "s"), ("pair", ("S", None, [("a", "i"), ("b", "i")]))])),
    ("choices", ("aU", None, [("number", "d"), ("text", "s")])),
    ("any", "v"),
    ("anys", "av"),
    ("alarm", alarm),
    ("timeStamp", timeStamp),
], id="example:everything:1.0")


def structures():
    values = []
    for k, (choice, something) in enumerate(((("number", 0.5), 7), (("text", "chosen"), "any"), (("pair", {"a": 1, "b": -1}), numpy.array([1.5, 2.5])))):
        values.append(Value(STRUCTURE, {
            "scalar": k, "words": ["w"] * k, "inner": {"x": k / 8, "deeper": {"flags": [True, False]}},
            "list": [{"key": f"key {i}", "value": i} for i in range(k + 1)],
            "choice": choice, "choices": [("number", 1.0), ("text", "two")], "any": something, "anys": [k, "text"],
        }))
    yield "P:STRUCT", values
    union = Type([("value", ("U", None, [("i", "i"), ("s", "s")])), ("alarm", alarm), ("timeStamp", timeStamp)], id="epics:nt/NTUnion:1.0")
    yield "P:UNION", [Value(union, {"value": x}) for x in (("i", 5), ("s", "five"), ("i", 6))]
    anything = Type([("value", "v"), ("alarm", alarm), ("timeStamp", timeStamp)], id="epics:nt/NTUnion:1.0")
    yield "P:ANY", [Value(anything, {"value": x}) for x in (5, "five", 5.5)]


values = dict(pv for make in (scalars, enums, tables, images, structures) for pv in make())
for rounds in values.values():
    for k, v in enumerate(rounds):
        stamped(v, k)
pvs = {name: SharedPV(initial=rounds[0]) for name, rounds in values.items()}
starter = SharedPV(nt=NTScalar("i"), initial=0)


@starter.put
def step(pv, op):
    k = int(op.value())
    for name, shared in pvs.items():
        shared.post(values[name][k])
    pv.post(k)
    op.done()


with Server(providers=[{**pvs, "P:ROUND": starter}]):
    threading.Event().wait()
