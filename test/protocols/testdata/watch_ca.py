"""Watches PVs over Channel Access with EPICS's own client library, puts values,
and reads metadata with caproto. Prints the updates and the metadata as JSON.

    watch_ca.py {"pvs": [NAME...], "puts": [[NAME, VALUE, [NAMES THAT CHANGE...]]...]}
"""

import json
import math
import sys
import threading
import time

import epics
from caproto import ChannelType, field_types
from caproto.sync.client import read
from epics.dbr import DBE_ALARM, DBE_LOG

PATIENCE = 30  # s

LIMITS = {
    "displayLow": "lower_disp_limit", "displayHigh": "upper_disp_limit",
    "warnLow": "lower_warning_limit", "warnHigh": "upper_warning_limit",
    "alarmLow": "lower_alarm_limit", "alarmHigh": "upper_alarm_limit",
    "controlLow": "lower_ctrl_limit", "controlHigh": "upper_ctrl_limit",
}


def text(b):
    return b.split(b"\0")[0].decode(errors="replace") if isinstance(b, bytes) else b


def number(v):
    return v[0] if isinstance(v, bytes) else v  # a CHAR has bytes


def plain(v):
    """Converts values of NumPy to values that JSON can represent."""
    if hasattr(v, "tolist"):
        v = v.tolist()
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return text(v)


class Watch:
    """Subscribes to PVs and collects their updates."""

    def __init__(self, names):
        self.changed = threading.Condition()
        self.updates = {name: [] for name in names}
        self.pvs = {name: self.monitor(name) for name in names}

    def monitor(self, name):
        def take(value, severity, status, posixseconds, nanoseconds, count, nelm, **_):
            if name.endswith("$"):
                value = bytes(value).split(b"\0")[0].decode(errors="replace") if count > 0 else ""
            elif nelm > 1 and count < 2 and not isinstance(value, list):
                value = [value][:count]
            update = {
                "time": int(posixseconds) * 10**9 + int(nanoseconds), "value": plain(value),
                "severity": severity, "status": status,
            }
            with self.changed:
                self.updates[name].append(update)
                self.changed.notify()

        return epics.PV(name, callback=take, form="time", auto_monitor=DBE_LOG | DBE_ALARM)

    def wait(self, counts):
        """Waits until each PV has at least its given number of updates."""
        with self.changed:
            if not self.changed.wait_for(lambda: all(len(self.updates[n]) >= c for n, c in counts.items()), PATIENCE):
                few = {n: len(self.updates[n]) for n, c in counts.items() if len(self.updates[n]) < c}
                sys.exit(f"too few updates of {few}, want {counts}")

    def put(self, name, value, changes):
        with self.changed:
            counts = {n: len(self.updates[n]) + 1 for n in changes}
        if name.endswith("$"):
            value = list(value.encode() + b"\0")
        pv = self.pvs.get(name) or epics.PV(name)
        pv.wait_for_connection(timeout=PATIENCE)
        if pv.put(value, wait=True, timeout=PATIENCE) != 1:
            sys.exit(f"putting {value} to {name} fails")
        self.wait(counts)


def metadata(name):
    """Returns the metadata as caproto reads it. A long string has none. Only the array of
    CHAR, as which it is transferred, has metadata."""
    if name.endswith("$"):
        return {}
    native = read(name, timeout=PATIENCE, repeater=False, force_int_enums=True).data_type
    control = field_types["control"][ChannelType(native)]
    meta = read(name, data_type=control, data_count=1, timeout=PATIENCE, repeater=False).metadata
    limits = {ours: number(getattr(meta, theirs, math.nan)) for ours, theirs in LIMITS.items()}
    return {
        "units": text(getattr(meta, "units", b"")), "precision": getattr(meta, "precision", 0),
        "limits": {k: v for k, v in limits.items() if math.isfinite(v)},
        "labels": [text(s) for s in getattr(meta, "enum_strings", ())],
    }


def main(job):
    watch = Watch(job["pvs"])
    watch.wait({name: 1 for name in job["pvs"]})
    for name, value, changes in job["puts"]:
        watch.put(name, value, changes)
    time.sleep(0.2)  # unexpected updates would arrive in this time
    for pv in watch.pvs.values():
        pv.clear_callbacks()
    json.dump({n: {"updates": watch.updates[n], "metadata": metadata(n)} for n in job["pvs"]}, sys.stdout)


main(json.loads(sys.stdin.read()))
