"""Reads an archive as Arrow and as Parquet with programs for data analysis, and prints what they find as JSON.

    tables.py URL FROM TO PV...

The result is {client: {PV: {"times": [ns], "values": […], "severity": […], "status": […]}}}.
"""

import io
import json
import os
import sys
import tempfile
from datetime import datetime, timezone

import duckdb
import fsspec
import numpy
import pandas
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import requests


class Ranges(io.RawIOBase):
    """A file on an HTTP server that is read in ranges, all of one version."""

    def __init__(self, url):
        head = requests.head(url)
        head.raise_for_status()
        self.url, self.tag = url, head.headers["ETag"]
        self.size, self.at = int(head.headers["Content-Length"]), 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def tell(self):
        return self.at

    def readinto(self, buffer):
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        answer = requests.get(self.url, headers={"Range": f"bytes={self.at}-{end - 1}", "If-Match": self.tag})
        answer.raise_for_status()
        if answer.status_code != 206 or len(answer.content) != end - self.at:
            raise OSError(f"bytes {self.at} to {end} are {answer.status_code}, {len(answer.content)} bytes")
        buffer[: len(answer.content)] = answer.content
        self.at = end
        return len(answer.content)


class Varve(fsspec.AbstractFileSystem):
    """Files of an archive for DuckDB: varve://127.0.0.1:17665/api/v1/files/…"""

    protocol = "varve"

    def _url(self, path):
        return "http://" + self._strip_protocol(path)

    def info(self, path, **kwargs):
        return {"name": path, "size": Ranges(self._url(path)).size, "type": "file"}

    def modified(self, path):
        return datetime.fromtimestamp(0, timezone.utc)

    def glob(self, path, **kwargs):
        return [path]

    def _open(self, path, mode="rb", **kwargs):
        return Ranges(self._url(path))


def plain(v):
    """Converts a value of a client to one that JSON can represent."""
    if hasattr(v, "tolist"):
        v = v.tolist()
    if isinstance(v, (list, tuple, polars.Series)):
        return [plain(x) for x in v]
    if isinstance(v, float) and not numpy.isfinite(v):
        return str(v)
    return v


def of_json(answer):
    samples = [s for run in answer["runs"] for s in run["samples"]]
    names = {"NaN": "nan", "-Infinity": "-inf"}
    return {
        "times": [pandas.Timestamp(s["time"]).value for s in samples],
        "values": [names.get(s["value"], s["value"]) if isinstance(s["value"], str) else s["value"] for s in samples],
        "severity": [s["severity"] for s in samples],
        "status": [s["status"] for s in samples],
    }


def of_pandas(df):
    return {
        "times": df["time"].astype("datetime64[ns, UTC]").astype("int64").tolist(),
        "values": [plain(v) for v in df["value"]],
        "severity": df["severity"].astype(str).tolist(),
        "status": df["status"].astype(str).tolist(),
    }


def of_polars(df):
    return {
        "times": df["time"].dt.epoch("ns").to_list(),
        "values": [plain(v) for v in df["value"]],
        "severity": df["severity"].cast(polars.String).to_list(),
        "status": df["status"].cast(polars.String).to_list(),
    }


def of_arrow(table):
    return {
        "times": table["time"].cast(pyarrow.int64()).to_pylist(),
        "values": plain(table["value"].to_pylist()),
        "severity": table["severity"].to_pylist(),
        "status": table["status"].to_pylist(),
    }


def of_duckdb(relation):
    rows = relation.project("epoch_ns(time), value, severity, status").fetchall()
    return {
        "times": [r[0] for r in rows],
        "values": [plain(r[1]) for r in rows],
        "severity": [r[2] for r in rows],
        "status": [r[3] for r in rows],
    }


def read(base, pv, start, end):
    """Yields the name of each client, and what it reads."""
    span = {"pv": pv, "from": start, "to": end}

    def url(form):
        return requests.Request("GET", base + "/api/v1/samples", params=dict(span, format=form)).prepare().url

    yield "JSON", of_json(requests.get(base + "/api/v1/samples", params=span).json())
    arrow = pyarrow.ipc.open_stream(requests.get(url("arrow")).content).read_all()
    yield "pyarrow, Arrow", of_arrow(arrow)
    yield "polars, Arrow", of_polars(polars.read_ipc_stream(io.BytesIO(requests.get(url("arrow")).content)))
    yield "DuckDB, Arrow", of_duckdb(duckdb.from_arrow(arrow))
    yield "pandas, Parquet", of_pandas(pandas.read_parquet(url("parquet")))
    yield "polars, Parquet", of_polars(polars.read_parquet(io.BytesIO(requests.get(url("parquet")).content)))

    days = requests.get(base + "/api/v1/files", params=span).json()["days"]
    files = [base + d["url"] for d in days]
    yield "pyarrow, files", of_arrow(pyarrow.concat_tables(pyarrow.parquet.ParquetFile(Ranges(f)).read() for f in files))
    yield "pandas, files", of_pandas(pandas.concat([pandas.read_parquet(Ranges(f)) for f in files]))
    yield "polars, files", of_polars(polars.scan_parquet(files).collect())
    connection = duckdb.connect()
    connection.register_filesystem(Varve())
    yield "DuckDB, files", of_duckdb(connection.read_parquet([f.replace("http://", "varve://") for f in files]))
    with tempfile.TemporaryDirectory() as directory:
        saved = [os.path.join(directory, d["day"] + ".parquet") for d in days]
        for name, f in zip(saved, files):
            with open(name, "wb") as out:
                out.write(requests.get(f).content)
        yield "DuckDB, saved files", of_duckdb(duckdb.connect().read_parquet(saved))


def main():
    base, start, end, *pvs = sys.argv[1:]
    found = {}
    for pv in pvs:
        for client, series in read(base, pv, start, end):
            found.setdefault(client, {})[pv] = series
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
