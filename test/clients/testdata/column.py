"""Reads one column of a PV's files with a program for data analysis, and prints what it finds as JSON.

    column.py PROGRAM URL PV

The result is {"count": number of values, "sum": their sum, "files": bytes of all files}.
"""

import json
import sys

import duckdb
import pandas
import polars
import requests
from tables import Ranges, Varve


def of_pandas(files):
    return pandas.concat([pandas.read_parquet(Ranges(f), columns=["value"]) for f in files])["value"].to_numpy()


def of_polars(files):
    return polars.scan_parquet(files).select("value").collect()["value"].to_numpy()


def of_duckdb(files):
    connection = duckdb.connect()
    connection.register_filesystem(Varve())
    return connection.read_parquet([f.replace("http://", "varve://") for f in files]).project("value").fetchnumpy()["value"]


def main():
    program, base, pv = sys.argv[1:]
    days = requests.get(base + "/api/v1/files", params={"pv": pv}).json()["days"]
    files = [base + d["url"] for d in days]
    values = {"pandas": of_pandas, "polars": of_polars, "DuckDB": of_duckdb}[program](files)
    json.dump({"count": len(values), "sum": float(values.sum()), "files": sum(Ranges(f).size for f in files)}, sys.stdout)


main()
