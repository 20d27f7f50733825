"""Compresses columns with pcodec and prints how much they take, and how long.

Standard input holds, for each column, a line "NAME TYPE COUNT" and the values,
little-endian, TYPE being int64 or float64. A line of output is "NAME BYTES ENCODE
DECODE", times in ns, the least of many.
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
