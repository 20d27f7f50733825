"""Watches PVs over pvAccess with p4p, and puts values. Prints the updates and the
metadata as JSON.

    watch_pva.py {"pvs": [NAME...], "puts": [[NAME, VALUE, [NAMES THAT CHANGE...]]...]}
"""

import json
import math
import sys
import threading
import time

from p4p import Value
from p4p.client.thread import Context

PATIENCE = 30  # s

STATUSES = (
    "NO_ALARM READ WRITE HIHI HIGH LOLO LOW STATE COS COMM TIMEOUT HWLIMIT CALC SCAN LINK SOFT BAD_SUB UDF DISABLE SIMM "
    "READ_ACCESS WRITE_ACCESS"
).split()

LIMITS = {
    "displayLow": "display.limitLow", "displayHigh": "display.limitHigh",
    "warnLow": "valueAlarm.lowWarningLimit", "warnHigh": "valueAlarm.highWarningLimit",
    "alarmLow": "valueAlarm.lowAlarmLimit", "alarmHigh": "valueAlarm.highAlarmLimit",
    "controlLow": "control.limitLow", "controlHigh": "control.limitHigh",
}


def plain(v):
    """Converts values of p4p and NumPy to values that JSON can represent."""
    if isinstance(v, Value):
        return {name: plain(v[name]) for name in v}
    if hasattr(v, "tolist"):
        v = v.tolist()
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def field(v, path, default):
    """Returns a field of a structure, or default if the structure lacks the field."""
    for name in path.split("."):
        if not isinstance(v, Value) or name not in v:
            return default
        v = v[name]
    return v


def value_of(v):
    """Returns the value that an archive stores: the value of an NTScalar or
    NTScalarArray, the index of an NTEnum, and any other structure as a whole."""
    kind = v.getID()
    if kind.startswith("epics:nt/NTEnum:"):
        return v["value.index"]
    if kind.startswith(("epics:nt/NTScalar:", "epics:nt/NTScalarArray:")):
        return plain(v["value"])
    return plain(v)


# A typical EPICS status for each alarm status of pvAccess, by its number.
CLASSES = [0, 1, 9, 15, 18, 16, 17, 15]


def status_of(v):
    """Returns the number of the EPICS status. A record has the name of the status as its
    message."""
    message = field(v, "alarm.message", "").removesuffix("_ALARM")
    if message in STATUSES:
        return STATUSES.index(message)
    return CLASSES[field(v, "alarm.status", 0)]


def is_update(v):
    """Returns False if only metadata has changed."""
    if not v.getID().startswith("epics:nt/NT"):
        return True
    value = "value.index" if v.getID().startswith("epics:nt/NTEnum:") else "value"
    return v.changed(value) or v.changed("alarm") or v.changed("timeStamp")


def metadata(v):
    limits = {ours: field(v, theirs, math.nan) for ours, theirs in LIMITS.items()}
    return {
        "units": field(v, "display.units", ""), "precision": field(v, "display.precision", 0),
        "properties": {k: x for k, x in {"DESC": field(v, "display.description", "")}.items() if x},
        "limits": {k: x for k, x in limits.items() if math.isfinite(x)},
        "labels": list(field(v, "value.choices", [])),
    }


class Watch:
    """Subscribes to PVs and collects their updates."""

    def __init__(self, names):
        self.context = Context("pva", nt=False)
        self.changed = threading.Condition()
        self.updates = {name: [] for name in names}
        self.metadata = {}
        self.subscriptions = [self.monitor(name) for name in names]

    def monitor(self, name):
        def take(v):
            if not isinstance(v, Value):
                sys.exit(f"{name}: {v}")
            update = {
                "time": field(v, "timeStamp.secondsPastEpoch", 0) * 10**9 + field(v, "timeStamp.nanoseconds", 0),
                "value": value_of(v), "severity": field(v, "alarm.severity", 0), "status": status_of(v),
            }
            with self.changed:
                self.metadata[name] = metadata(v)
                if is_update(v):
                    self.updates[name].append(update)
                self.changed.notify()

        subscription = self.context.monitor(name, take)
        # p4p drops the notice of an update that comes before monitor has returned. This reads it.
        subscription._event()
        return subscription

    def wait(self, counts):
        """Waits until each PV has at least its given number of updates."""
        with self.changed:
            if not self.changed.wait_for(lambda: all(len(self.updates[n]) >= c for n, c in counts.items()), PATIENCE):
                few = {n: len(self.updates[n]) for n, c in counts.items() if len(self.updates[n]) < c}
                sys.exit(f"too few updates of {few}, want {counts}")

    def put(self, name, value, changes):
        with self.changed:
            counts = {n: len(self.updates[n]) + 1 for n in changes}
        self.context.put(name, value, timeout=PATIENCE)
        self.wait(counts)


def main(job):
    watch = Watch(job["pvs"])
    watch.wait({name: 1 for name in job["pvs"]})
    for name, value, changes in job["puts"]:
        watch.put(name, value, changes)
    time.sleep(0.2)  # unexpected updates would arrive in this time
    with watch.changed:
        json.dump({n: {"updates": watch.updates[n], "metadata": watch.metadata[n]} for n in job["pvs"]}, sys.stdout)


main(json.loads(sys.stdin.read()))
