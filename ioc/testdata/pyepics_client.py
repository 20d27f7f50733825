"""Monitors PVs with pyepics, which is libca, and prints the results as JSON.

pyepics_client.py EVENTS PV...  ends when every PV had that many events.
"""
import json
import sys
import threading

import epics

wanted, names = int(sys.argv[1]), sys.argv[2:]
events = {name: [] for name in names}
done = threading.Event()


def text(value):
    """Arrays are printed as their bytes."""
    return value.astype("<f8").tobytes().hex() if hasattr(value, "astype") else str(value)


def update(pvname, value, severity, status, posixseconds, nanoseconds, **_):
    seen = events[pvname]
    seen.append([text(value), severity, status, int(posixseconds), int(nanoseconds)])
    if all(len(e) >= wanted for e in events.values()):
        done.set()


pvs = [epics.PV(name, form="time", callback=update) for name in names]
complete = done.wait(30)
out = {}
for pv in pvs:
    control = epics.ca.get_ctrlvars(pv.chid)
    out[pv.pvname] = {
        "events": events[pv.pvname][:wanted],
        "type": pv.type,
        "writable": pv.write_access,
        "text": text(pv.get(as_string=True)),
        "meta": {k: str(v) for k, v in control.items()},
    }
for pv in pvs:
    pv.disconnect()
print(json.dumps({"complete": complete, "pvs": out}))
