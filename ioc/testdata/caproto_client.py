"""Reads PVs with caproto, and prints the results as JSON.

caproto_client.py read PV...         in all types, and tries to write
caproto_client.py monitor COUNT PV   until it had COUNT events, then reads once more
"""
import json
import sys
import threading

from caproto import ChannelType
from caproto.sync.client import read, write
from caproto.threading.client import Context


def plain(v):
    return v.decode() if isinstance(v, bytes) else str(v)


def read_all(names):
    out = {}
    for name in names:
        for t in ChannelType:
            if t >= 35 or t == ChannelType.CTRL_STRING:  # caproto decodes it wrongly, from any IOC
                continue
            r = read(name, data_type=t, timeout=10, repeater=False)
            out[f"{name} {int(t)}"] = plain(r.data[0]) if r.status.success else r.status.name
        out[name] = write(name, "1", notify=True, timeout=10, repeater=False).status.name
    return out


def monitor(count, name):
    values, done = [], threading.Event()

    def update(sub, response):
        values.append(float(response.data[0]))
        if len(values) == count:
            done.set()

    context = Context()
    (pv,) = context.get_pvs(name)
    pv.wait_for_connection(timeout=20)
    sub = pv.subscribe(data_type="time")
    sub.add_callback(update)
    complete = done.wait(30)
    sub.clear()
    after = float(pv.read(timeout=10).data[0])
    context.disconnect()
    return {"complete": complete, "values": values, "after": after}


if sys.argv[1] == "read":
    print(json.dumps(read_all(sys.argv[2:])))
else:
    print(json.dumps(monitor(int(sys.argv[2]), sys.argv[3])))
