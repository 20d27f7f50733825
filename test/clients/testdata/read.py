"""Reads an archive with aapy and pyarchappl, and prints the results as JSON.

    read.py HOST PORT FROM TO PV...
"""

import json
import sys
from datetime import datetime

import numpy
import requests
from aa.js import JsonFetcher
from aa.pb import PbFetcher
from aa.rest import AaRestClient
from archappl.admin import ArchiverMgmtClient
from archappl.data import ArchiverDataClient
from archappl.data.pb import unpack_raw_data


def plain(v):
    """Converts values of NumPy, pandas and protobuf to values that JSON can represent."""
    if isinstance(v, bytes):
        return list(v)
    if isinstance(v, str):
        return v
    if hasattr(v, "tolist"):
        return plain(v.tolist())
    if hasattr(v, "__iter__"):
        return [plain(x) for x in v]
    if isinstance(v, float) and not numpy.isfinite(v):
        return str(v)
    return v


def aapy(fetcher, pv, start, end):
    got = fetcher.get_values(pv, start, end)
    return {
        "values": plain(got.values),
        "times": plain(got.timestamps),
        "severities": plain(got.severities),
        "labels": {str(k): v for k, v in got.enum_options.items()},
    }


def frame(url, form, pv, start, end):
    """Returns the content of the pandas.DataFrame that pyarchappl creates."""
    client = ArchiverDataClient(url, format=form)
    df = client.get_data(pv, from_time=start, to_time=end, tz="UTC")
    if df is None:
        return None
    return {
        "values": [plain(v) for v in df["val"]],
        "millis": [round(t.timestamp() * 1000) for t in df.index],
        "severities": plain(df["severity"]),
        "status": plain(df["status"]),
    }


def samples(url, pv, start, end):
    """Returns the samples as pyarchappl decodes them, before it rounds times to ms."""
    query = {"pv": pv, "from": start, "to": end, "fetchLatestMetadata": "true"}
    raw = requests.get(url + "/retrieval/data/getData.raw", params=query)
    text = requests.get(url + "/retrieval/data/getData.json", params=query)
    return {
        "raw": [{k: plain(v) for k, v in s.items()} for s in unpack_raw_data(raw.content)[0]["data"]],
        "meta": unpack_raw_data(raw.content)[0]["meta"],
        "json": [{k: plain(v) for k, v in s.items()} for part in text.json() for s in part["data"]],
    }


def main(host, port, start, end, *pvs):
    url = f"http://{host}:{port}"
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    rest, mgmt = AaRestClient(host, port), ArchiverMgmtClient(url)
    json.dump({
        "pvs": {pv: {
            "aapyJSON": aapy(JsonFetcher(host, port), pv, first, last),
            # aapy fails because it decodes the bytes of a CHAR waveform as text.
            "aapyRaw": None if pv == "T:CHARS" else aapy(PbFetcher(host, port), pv, first, last),
            "frameJSON": frame(url, "json", pv, start, end),
            "frameRaw": frame(url, "raw", pv, start, end),
            "samples": samples(url, pv, start, end),
        } for pv in pvs},
        "aapyAllPVs": rest.get_all_pvs(),
        "aapyGlob": rest.get_all_pvs(pv="T*:F*"),
        "aapyStatus": rest.get_pv_status(pvs[0]),
        "aapyStatuses": rest.get_pv_statuses([*pvs, "NO:SUCH"]),
        "archapplAllPVs": mgmt.get_all_pvs("T*", limit=2),
        "archapplStatus": {k: vars(v) for k, v in mgmt.get_pv_status("T*").items()},
    }, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
