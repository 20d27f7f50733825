"""Compresses columns with pcodec and prints their sizes and the times that it takes.

For each column, standard input holds a line "NAME TYPE COUNT" and the little-endian
values. TYPE is int64 or float64. A line of output is "NAME BYTES ENCODE DECODE". ENCODE
and DECODE are the shortest of many times, in ns.
"""

import sys
import time

import numpy
from pcodec import ChunkConfig, standalone


def least(work):
    best, until = 1e18, time.perf_counter() + 0.3
    while time.perf_counter() < until:
        start = time.perf_counter_ns()
        work()
        best = min(best, time.perf_counter_ns() - start)
    return best


for line in iter(sys.stdin.buffer.readline, b""):
    name, kind, count = line.decode().split()
    values = numpy.frombuffer(sys.stdin.buffer.read(8 * int(count)), dtype=kind)
    config = ChunkConfig()
    packed = standalone.simple_compress(values, config)
    out = numpy.empty_like(values)
    encode = least(lambda: standalone.simple_compress(values, config))
    decode = least(lambda: standalone.simple_decompress_into(packed, out))
    assert (out.view("int64") == values.view("int64")).all()
    print(name, len(packed), encode, decode, flush=True)
