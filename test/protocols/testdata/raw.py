"""Reads PVs from an archive as pyarchappl does, in the Archiver Appliance's format
(PB), and prints their samples as JSON.

    raw.py URL PV...
"""

import json
import math
import sys

import requests
from archappl.data.pb import unpack_raw_data


def plain(v):
    """Converts values of NumPy and protobuf to values that JSON can represent."""
    if isinstance(v, bytes):
        return list(v)
    if hasattr(v, "tolist"):
        v = v.tolist()
    if isinstance(v, str):
        return v
    if hasattr(v, "__iter__"):
        return [plain(x) for x in v]
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def samples(url, pv):
    session = requests.Session()
    session.trust_env = False  # no proxies
    answer = session.get(url + "/retrieval/data/getData.raw", params={"pv": pv, "from": "1980-01-01T00:00:00Z"})
    answer.raise_for_status()
    return [
        {
            "time": int(s["secs"]) * 10**9 + int(s["nanos"]), "value": plain(s["val"]),
            "severity": int(s["severity"]), "status": int(s["status"]),
        }
        for part in unpack_raw_data(answer.content) for s in part["data"]
    ]


json.dump({pv: samples(sys.argv[1], pv) for pv in sys.argv[2:]}, sys.stdout)
