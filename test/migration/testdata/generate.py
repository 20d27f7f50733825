"""Writes files as the Archiver Appliance does, and prints the samples that a reader must find.

usage: generate.py DIR PVS SAMPLES

The messages are those of EPICSEvent.proto as published in the Python package aapy; names of files,
partitions and escapes follow the Appliance's PlainPBPathNameUtility, TimeUtils and LineEscaper.
The output is JSON: for each PV and month, the number of samples and a hash of them.
"""
import hashlib
import json
import os
import random
import struct
import sys
from datetime import datetime, timedelta, timezone

from aa import epics_event_pb2 as pb

STARTS = datetime(2024, 11, 1, tzinfo=timezone.utc)
DAYS = 150  # with the end of a leap year

# kind: payload type, message, and a function that returns a value and the bytes that Varve stores
def word(v):
    return struct.pack("<q", v)


def packed(form, values):
    return b"".join(struct.pack("<" + form, v) for v in values)


KINDS = {
    "STRING": (0, pb.ScalarString, lambda r: (lambda s: (s, s.encode()))("text\n\r\x1b%d" % r.randrange(9))),
    "SHORT": (1, pb.ScalarShort, lambda r: (lambda v: (v, word(v)))(r.randrange(-32768, 32768))),
    "FLOAT": (2, pb.ScalarFloat, lambda r: (lambda v: (v, struct.pack("<fi", v, 0)))(r.randrange(-999, 999) / 4)),
    "ENUM": (3, pb.ScalarEnum, lambda r: (lambda v: (v, word(v)))(r.randrange(16))),
    "BYTE": (4, pb.ScalarByte, lambda r: (lambda v: (bytes([v]), word(v)))(r.randrange(256))),
    "INT": (5, pb.ScalarInt, lambda r: (lambda v: (v, word(v)))(r.randrange(-(2**31), 2**31))),
    "DOUBLE": (6, pb.ScalarDouble, lambda r: (lambda v: (v, struct.pack("<d", v)))(r.gauss(0, 1e3))),
    "WSTRING": (7, pb.VectorString, lambda r: (lambda v: (v, b"".join(bytes([len(s)]) + s.encode() for s in v)))(["a" * r.randrange(5), "\n"])),
    "WSHORT": (8, pb.VectorShort, lambda r: (lambda v: (v, packed("h", v)))([r.randrange(-99, 99) for _ in range(10)])),
    "WFLOAT": (9, pb.VectorFloat, lambda r: (lambda v: (v, packed("f", v)))([r.randrange(99) / 8 for _ in range(10)])),
    "WENUM": (10, pb.VectorEnum, lambda r: (lambda v: (v, packed("H", v)))([r.randrange(9) for _ in range(4)])),
    "WBYTE": (11, pb.VectorChar, lambda r: (lambda v: (v, v))(bytes(r.randrange(256) for _ in range(40)))),
    "WINT": (12, pb.VectorInt, lambda r: (lambda v: (v, packed("i", v)))([r.randrange(-99, 2**30) for _ in range(10)])),
    "WDOUBLE": (13, pb.VectorDouble, lambda r: (lambda v: (v, packed("d", v)))([r.random() for _ in range(10)])),
}
PARTITIONS = ["%Y", "%Y_%m", "%Y_%m_%d", "%Y_%m_%d_%H"]


def escape(message):
    return message.replace(b"\x1b", b"\x1b\x01").replace(b"\n", b"\x1b\x02").replace(b"\r", b"\x1b\x03") + b"\n"


def info(pv, kind, year):
    h = pb.PayloadInfo(type=KINDS[kind][0], pvname=pv, year=year, elementCount=1)
    h.headers.add(name="EGU", val="mA")
    return escape(h.SerializeToString())


def write(root, pv, partition, events):
    """Writes the events of a PV: (ns since 1970, kind). Damages some files. Returns the digests."""
    rng = random.Random(pv)
    files, months = {}, {}
    for ns, kind in events:
        at = datetime.fromtimestamp(ns // 10**9, timezone.utc)
        year = datetime(at.year, 1, 1, tzinfo=timezone.utc)
        name = pv.replace(":", "/").replace("-", "/") + ":" + at.strftime(partition) + ".pb"
        if name not in files:
            files[name] = (kind, bytearray(info(pv, kind, at.year)))
        if files[name][0] != kind:
            continue  # the Appliance begins another file after a change of type
        _, message, make = KINDS[kind]
        value, stored = make(rng)
        event = message(secondsintoyear=ns // 10**9 - int(year.timestamp()), nano=ns % 10**9)
        if kind.startswith("W") and kind != "WBYTE":
            event.val.extend(value)
        else:
            event.val = value
        severity, status = rng.choice([(0, 0), (0, 0), (1, 4), (3, 17)])
        if severity:
            event.severity, event.status = severity, status
        if rng.randrange(50) == 0:
            event.fieldvalues.add(name="cnxlostepsecs", val=str(ns // 10**9 - 30))
            event.fieldvalues.add(name="cnxregainedepsecs", val=str(ns // 10**9))
        files[name][1].extend(escape(event.SerializeToString()))
        if rng.randrange(200) == 0:
            files[name][1].extend(b"\x08\x1b\x09damaged\n")
        month = months.setdefault(at.strftime("%Y-%m"), [0, hashlib.sha256()])
        month[0] += 1
        month[1].update(struct.pack("<qii", ns, severity, status) + stored)
    for name, (kind, data) in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if rng.randrange(4) == 0:
            data.extend(b"\x08\x01\x10")  # being written
        with open(path, "wb") as out:
            out.write(data)
    return {m: {"count": n, "hash": h.hexdigest()} for m, (n, h) in months.items()}


def main(root, pvs, samples):
    kinds = sorted(KINDS)
    result = {}
    for i in range(pvs):
        rng = random.Random(i)
        pv = "MIG%02d-DI:PV-%d:%s" % (i % 7, i, kinds[i % len(kinds)])
        begins = int(STARTS.timestamp()) * 10**9
        times = sorted({begins + rng.randrange(DAYS * 86400 * 10**9) for _ in range(samples)})
        changed = begins + rng.randrange(DAYS * 86400 * 10**9) if i % 3 == 0 else times[-1] + 1
        events = [(t, kinds[i % len(kinds)] if t < changed else kinds[(i + 1) % len(kinds)]) for t in times]
        result[pv] = write(root, pv, PARTITIONS[i % len(PARTITIONS)], events)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
