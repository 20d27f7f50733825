"""Writes a large tree of files as the Archiver Appliance does, and what a reader of it must find.

usage: large.py write DIR PVS SAMPLES    writes the files, SAMPLES per PV over three years
       large.py read DIR                 reads the files and prints, for each PV and month, the number of samples and a hash

"read" decodes the files by the protobuf classes of the package aapy. It knows nothing of what "write" did: it skips what cannot
be read, and what a file of that name must not hold.
"""
import hashlib
import json
import os
import random
import struct
import sys
from datetime import datetime, timezone

import generate as g

BEGINS = datetime(2022, 1, 1, tzinfo=timezone.utc)
SECONDS = 3 * 365 * 86400
BY_TYPE = {number: (message, kind) for kind, (number, message, _) in g.KINDS.items()}
NAMES = ["LRG%02d:PV/%d:%s", "LRG%02d-DI:PV-%d:%s", "LRG%02d:a:b:%d:%s", "lrg%02d.x/%d/%s"]


def damage(rng, data, year):
    """Damages the lines of a file in one of five ways, or not at all."""
    lines = bytes(data).split(b"\n")
    where = rng.randrange(1, max(len(lines) - 1, 2))
    how = rng.randrange(10)
    if how == 0:
        lines[where] = lines[where][: len(lines[where]) // 2]  # a truncated line
    elif how == 1 and lines[where]:
        flipped = bytearray(lines[where])
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        lines[where] = bytes(flipped)
    elif how == 2:
        return bytes(data[: len(data) - rng.randrange(1, 9)])  # being written
    elif how == 3 and rng.randrange(4) == 0:
        lines[0] = g.info(rng.pv, rng.kind, year + 1)[:-1]  # a wrong year
    return b"\n".join(lines)


def write(root, pvs, samples):
    kinds = sorted(g.KINDS)
    for i in range(pvs):
        rng = random.Random(i)
        kind = kinds[i % len(kinds)] if i % 4 == 0 else "DOUBLE"
        other = kinds[(i + 3) % len(kinds)]
        rng.pv = NAMES[i % len(NAMES)] % (i % 9, i, kind)
        changed = rng.randrange(SECONDS) if i % 5 == 0 else SECONDS
        count = samples // 8 if kind.startswith("W") else samples
        files, lost = {}, None
        for at in sorted(rng.sample(range(SECONDS), min(count, SECONDS))):
            if lost is None and rng.randrange(500) == 0:
                lost = at  # the PV is away for a while
            if lost is not None and at - lost < 86400:
                continue
            rng.kind = kind if at < changed else other
            ns = (int(BEGINS.timestamp()) + at) * 10**9 + rng.randrange(10**9)
            when = datetime.fromtimestamp(ns // 10**9, timezone.utc)
            name = rng.pv.replace(":", "/").replace("-", "/") + ":" + when.strftime(["%Y", "%Y_%m"][i % 2]) + ".pb"
            if name not in files:
                files[name] = [rng.kind, bytearray(g.info(rng.pv, rng.kind, when.year)), when.year]
            held, data, _ = files[name]
            value, _ = g.KINDS[held][2](rng)
            event = g.KINDS[held][1](secondsintoyear=ns // 10**9 - int(datetime(when.year, 1, 1, tzinfo=timezone.utc).timestamp()), nano=ns % 10**9)
            if held.startswith("W") and held != "WBYTE":
                event.val.extend(value)
            else:
                event.val = value
            if rng.randrange(20) == 0:
                event.severity, event.status = rng.choice([(1, 4), (2, 3), (3, 17)])
            if lost is not None:
                event.fieldvalues.add(name="cnxlostepsecs", val=str(int(BEGINS.timestamp()) + lost))
                event.fieldvalues.add(name="cnxregainedepsecs", val=str(ns // 10**9))
                lost = None
            data.extend(g.escape(event.SerializeToString()))
        for name, (rng.kind, data, year) in files.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(damage(rng, data, year))


def unescape(line):
    """Returns a line without escapes, or None if it has another escape."""
    out, at = bytearray(), 0
    while (next := line.find(b"\x1b", at)) >= 0:
        code = line[next + 1 : next + 2]
        if code not in (b"\x01", b"\x02", b"\x03"):
            return None
        out += line[at:next] + {1: b"\x1b", 2: b"\n", 3: b"\r"}[code[0]]
        at = next + 2
    return bytes(out + line[at:])


def stored(kind, value):
    """Returns the bytes that Varve has of a value."""
    if kind == "STRING":
        return value.encode()
    if kind == "WSTRING":
        return b"".join(bytes([len(s.encode())]) + s.encode() for s in value)
    if kind == "FLOAT":
        return struct.pack("<fi", value, 0)
    if kind == "DOUBLE":
        return struct.pack("<d", value)
    if kind == "BYTE":
        return g.word(value[0])
    if kind == "WBYTE":
        return value
    if kind.startswith("W"):
        return g.packed({"WSHORT": "h", "WFLOAT": "f", "WENUM": "H", "WINT": "i", "WDOUBLE": "d"}[kind], value)
    return g.word(value)


def bounds(name):
    """Returns the times that a file may have, from its name."""
    part = [int(x) for x in name[name.rindex(":") + 1 : -3].split("_")]
    if len(part) == 1:
        return datetime(part[0], 1, 1, tzinfo=timezone.utc), datetime(part[0] + 1, 1, 1, tzinfo=timezone.utc)
    return (datetime(part[0], part[1], 1, tzinfo=timezone.utc), datetime(part[0] + part[1] // 12, part[1] % 12 + 1, 1, tzinfo=timezone.utc))


def sample(line, kind, message, year):
    """Returns (ns, severity, status, stored bytes), or None if the line cannot be read."""
    plain = unescape(line)
    try:
        event = message.FromString(plain)
        if not event.IsInitialized():
            return None
        ns = (year + event.secondsintoyear) * 10**9 + event.nano
        if event.secondsintoyear >= 366 * 86400 or event.nano >= 10**9:
            return None
        return ns, event.severity, event.status, stored(kind, event.val)
    except Exception:  # whatever is wrong with it
        return None


def read(root):
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                lines = file.read().split(b"\n")
            lines.pop()  # what follows the last line end
            head = g.pb.PayloadInfo.FromString(unescape(lines[0]))
            message, kind = BY_TYPE[head.type]
            year = int(datetime(head.year, 1, 1, tzinfo=timezone.utc).timestamp())
            first, end = (int(b.timestamp()) * 10**9 for b in bounds(name))
            for line in lines[1:]:
                s = sample(line, kind, message, year)
                if s and first <= s[0] < end:
                    found.setdefault(head.pvname, []).append(s)
    out = {}
    for pv, samples in found.items():
        months = out[pv] = {}
        for ns, severity, status, value in sorted(set(samples)):
            month = months.setdefault(datetime.fromtimestamp(ns // 10**9, timezone.utc).strftime("%Y-%m"), [0, hashlib.sha256()])
            month[0] += 1
            month[1].update(struct.pack("<qii", ns, severity, status) + value)
        out[pv] = {m: {"count": n, "hash": h.hexdigest()} for m, (n, h) in months.items()}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        read(sys.argv[2])
