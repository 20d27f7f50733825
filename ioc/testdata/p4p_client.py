"""Reads PVs with p4p, which is PVXS, and prints the results as JSON.

p4p_client.py get PV...             once, with the type; and tries to write
p4p_client.py monitor EVENTS PV...  until every PV had that many updates; the variable
                                    PVREQUEST says how
"""
import json
import os
import sys
import threading

from p4p.client.thread import Context

context = Context("pva", nt=False)


def text(value):
    """Arrays are printed as their bytes."""
    return value.astype("<f8").tobytes().hex() if hasattr(value, "astype") else str(value)


def attempt(call):
    try:
        return call()
    except Exception as err:
        return "%s: %s" % (type(err).__name__, err)


def get(name):
    value = context.get(name, timeout=20)
    only = context.get(name, request="field(alarm.severity,timeStamp)", timeout=20)
    return {
        "type": "%s %s" % (value.getID(), value.type().aspy()),
        "value": json.loads(json.dumps(value.todict(), default=text), parse_constant=str),
        "only": sorted(only.changedSet()),
        "put": str(attempt(lambda: context.put(name, {"value": 1}, timeout=20))),
    }


def monitor(wanted, names):
    events = {name: [] for name in names}
    done = threading.Event()

    def update(name, value):
        seen = events[name]
        at = value.value
        seen.append([
            text(at.index if hasattr(at, "index") and hasattr(at, "choices") else at),
            value.alarm.severity, value.alarm.message,
            value.timeStamp.secondsPastEpoch, value.timeStamp.nanoseconds, sorted(value.changedSet()),
        ])
        if all(len(e) >= wanted for e in events.values()):
            done.set()

    subs = [context.monitor(name, lambda v, name=name: update(name, v), request=os.environ.get("PVREQUEST")) for name in names]
    complete = done.wait(30)
    for sub in subs:
        sub.close()
    return {"complete": complete, "pvs": {name: {"events": seen[:wanted]} for name, seen in events.items()}}


if sys.argv[1] == "get":
    print(json.dumps({name: get(name) for name in sys.argv[2:]}))
else:
    print(json.dumps(monitor(int(sys.argv[2]), sys.argv[3:])))
context.close()
