"""Reads an archive with DuckDB and its extension httpfs, and prints what it finds as JSON.

    httpfs.py column URL PV     one column of all files of a PV
    httpfs.py hour URL PV       one column of an hour of the last day
    httpfs.py page PAGE URL     runs the SQL of a page of the documentation, word by word, except for INSTALL

The first two results are {"count": number of values, "sum": their sum, "files": bytes of all files}, the last one is
{"rows": [rows of each query]}.
"""

import json
import pathlib
import re
import sys
import urllib.parse
import urllib.request

import duckdb
import duckdb_extension_httpfs


def connect():
    """Returns a connection that reads URLs. INSTALL would download the extension from a host of DuckDB."""
    connection = duckdb.connect()
    package = pathlib.Path(duckdb_extension_httpfs.__file__).parent
    [extension] = package.glob("extensions/*/httpfs.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
    return connection


def files_of(base, pv):
    """Returns the URLs of the files of a PV, and the bytes of all files."""
    with urllib.request.urlopen(base + "/api/v1/files?" + urllib.parse.urlencode({"pv": pv})) as answer:
        urls = [base + day["url"] for day in json.load(answer)["days"]]
    size = 0
    for url in urls:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
            size += int(answer.headers["Content-Length"])
    return urls, size


def column(base, pv, hour):
    urls, size = files_of(base, pv)
    where = ""
    if hour:
        where = f"WHERE time >= TIMESTAMPTZ '{urls[-1][-18:-8]} 12:00:00Z' AND time < TIMESTAMPTZ '{urls[-1][-18:-8]} 13:00:00Z'"
    count, total = connect().execute(f"SELECT count(value), sum(value) FROM read_parquet($1) {where}", [urls]).fetchone()
    return {"count": count, "sum": total, "files": size}


def page(name, base):
    with open(name, encoding="utf-8") as f:
        examples = re.findall(r"^```sql\n(.*?)^```$", f.read(), re.DOTALL | re.MULTILINE)
    connection, rows = connect(), []
    for example in examples:
        for statement in example.replace("http://127.0.0.1:17665", base).split(";"):
            if statement.strip().startswith("SELECT"):
                rows.append(connection.execute(f"SELECT count(*) FROM ({statement})").fetchone()[0])
    return {"rows": rows}


def main():
    mode, *args = sys.argv[1:]
    if mode == "page":
        found = page(*args)
    else:
        found = column(*args, hour=mode == "hour")
    json.dump(found, sys.stdout)


main()
