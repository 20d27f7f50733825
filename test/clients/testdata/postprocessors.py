"""Reads a PV through post-processors with aapy and pyarchappl, and prints the results as JSON.

    postprocessors.py HOST PORT FROM TO PV POST_PROCESSOR...
"""

import json
import sys
from datetime import datetime

import requests
from aa.js import JsonFetcher
from aa.pb import PbFetcher
from archappl.data.pb import unpack_raw_data
from read import aapy, frame, plain


def raw(url, pv, start, end):
    """Returns the samples as the protobuf classes of pyarchappl decode them."""
    query = {"pv": pv, "from": start, "to": end}
    answer = requests.get(url + "/retrieval/data/getData.raw", params=query)
    return [{k: plain(v) for k, v in s.items()} for s in unpack_raw_data(answer.content)[0]["data"]]


def main(host, port, start, end, pv, *post_processors):
    url = f"http://{host}:{port}"
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    wrong = requests.get(url + "/retrieval/data/getData.raw", params={"pv": f"average_5({pv})", "from": start, "to": end})
    json.dump({
        "all": raw(url, pv, start, end),
        "wrong": {"code": wrong.status_code, "text": wrong.text},
        "post_processors": {op: {
            "aapyJSON": aapy(JsonFetcher(host, port), f"{op}({pv})", first, last),
            "aapyRaw": aapy(PbFetcher(host, port), f"{op}({pv})", first, last),
            "frameJSON": frame(url, "json", f"{op}({pv})", start, end),
            "frameRaw": frame(url, "raw", f"{op}({pv})", start, end),
            "raw": raw(url, f"{op}({pv})", start, end),
        } for op in post_processors},
    }, sys.stdout)


main(*sys.argv[1:])
