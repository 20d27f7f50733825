"""Records pvAccess sessions of other software: python record.py [SERVER...] > NAME.txt

A p4p client (PVXS) reads the PVs of a server through a proxy. The server is p4p,
too, or a command that gets EPICS_PVAS_* and must serve PVs with the names below.
REQUEST is the pvRequest of the monitor.
Lines are messages as they were sent, by UDP (u) or TCP (t), from the client (>)
or from the server (<); and what the client made of a PV (=), as JSON.
"""
import json, os, queue, socket, subprocess, sys, threading, time

HOST = "127.0.0.1"
out = queue.Queue()


def bound(kind):
    s = socket.socket(socket.AF_INET, kind)
    s.bind((HOST, 0))
    return s


def free_port():
    with bound(socket.SOCK_STREAM) as s:
        return s.getsockname()[1]


def frames(conn, direction, sink):
    """Passes a stream on and records it by frames."""
    data = b""
    while chunk := conn.recv(1 << 16):
        data += chunk
        while len(data) >= 8:
            size = int.from_bytes(data[4:8], "big" if data[2] & 0x80 else "little")
            end = 8 + (0 if data[2] & 1 else size)
            if len(data) < end:
                break
            out.put(f"t{direction} {data[:end].hex()}")
            sink.sendall(data[:end])
            data = data[end:]
    sink.shutdown(socket.SHUT_WR)


def tcp_proxy(listener, port):
    while True:
        client, _ = listener.accept()
        server = socket.create_connection((HOST, port))
        for args in ((client, ">", server), (server, "<", client)):
            threading.Thread(target=frames, args=args, daemon=True).start()


def udp_proxy(sock, server, tcp_port):
    """Sends searches on as its own, and answers with the port of the TCP proxy."""
    client = None
    back = bound(socket.SOCK_DGRAM)

    def answers():
        while True:
            data, _ = back.recvfrom(1 << 16)
            out.put(f"u< {data.hex()}")
            order = "big" if data[2] & 0x80 else "little"
            sock.sendto(data[:24] + bytes(16) + tcp_port.to_bytes(2, order) + data[42:], client)

    threading.Thread(target=answers, daemon=True).start()
    while True:
        data, sender = sock.recvfrom(1 << 16)
        out.put(f"u> {data.hex()}")
        order = "big" if data[2] & 0x80 else "little"
        port = int.from_bytes(data[32:34], order)
        client = (HOST, port) if port else sender
        port = back.getsockname()[1]
        back.sendto(data[:16] + bytes(10) + b"\xff\xff\x7f\0\0\1" + port.to_bytes(2, order) + data[34:], server)


def beacons(sock):
    out.put(f"u< {sock.recvfrom(1 << 16)[0].hex()}")


ALL = [(f"f_{ord(c)}", c) for c in "?bBhHiIlLfds"] + [(f"a_{ord(c)}", "a" + c) for c in "?bBhHiIlLfds"]
NUMBERS = {"b": -5, "B": 250, "h": -300, "H": 60000, "i": -70000, "I": 4000000000, "l": -(1 << 40), "L": 1 << 63, "f": 0.5, "d": -0.1}


def serve():
    """The PVs, served by p4p."""
    from p4p import Type, Value
    from p4p.nt import NTEnum, NTNDArray, NTScalar, NTTable
    from p4p.server import Server
    from p4p.server.thread import SharedPV
    import numpy

    stamp = 1700000000.25
    scalar = NTScalar("d", display=True, control=True, valueAlarm=True)
    pvs = {
        "scalar": SharedPV(initial=scalar.wrap({"value": 1.5, "alarm": {"severity": 2, "status": 1, "message": "HIHI"}, "display": {"units": "mA"}}, timestamp=stamp)),
        "enum": SharedPV(nt=NTEnum(), initial={"index": 1, "choices": ["Off", "On"]}, timestamp=stamp),
        "array": SharedPV(nt=NTScalar("ai"), initial=list(range(300)), timestamp=stamp),
        "table": SharedPV(nt=NTTable([("name", "s"), ("x", "d")]), initial=[{"name": "Q1", "x": 1.25}, {"name": "Q2", "x": -2.0}], timestamp=stamp),
        "image": SharedPV(nt=NTNDArray(), initial=numpy.arange(6, dtype="u2").reshape(2, 3), timestamp=stamp),
    }
    values = {"?": (True, [True, False, True]), "s": ("text °", ["", "x", "y" * 300]), **{c: (v, [v, 0, 1]) for c, v in NUMBERS.items()}}
    every = {f"{p}_{ord(c)}": v for c, pair in values.items() for p, v in zip("fa", pair)}
    pvs["every"] = SharedPV(initial=Value(Type(ALL, id="all"), every))
    point = [("x", "i"), ("name", "s")]
    nested = Type([
        ("empty", ("S", None, [])), ("points", ("aS", "point", point)), ("choice", ("U", None, [("number", "d"), ("text", "s")])),
        ("none", ("U", None, [("number", "d")])), ("choices", ("aU", None, [("number", "d"), ("point", ("S", "point", point))])),
        ("any", "v"), ("nothing", "v"), ("anys", "av"), ("deep", ("S", None, [("er", ("S", None, [("est", "h")]))])),
    ], id="nested")
    v = Value(nested)
    v.points = [{"x": 1, "name": "a"}, {"x": 2, "name": "b"}]
    v.choice = ("text", "chosen")
    v.choices = [("number", 2.5), ("point", {"x": 3, "name": "c"})]
    v.any = Value(Type(point, id="point"), {"x": 4, "name": "d"})
    v.anys = [1.5, "two"]
    v["deep.er.est"] = -7
    pvs["nested"] = SharedPV(initial=v)
    server = Server(providers=[pvs])
    sys.stdin.readline()
    for k in range(3):
        pvs["scalar"].post(scalar.wrap(2.5 + k, timestamp=stamp + k))
    sys.stdin.readline()
    server.stop()


def plain(v):
    """The JSON of a value, with unions and anys as what stands in them."""
    if isinstance(v, tuple):
        return plain(v[1])
    if hasattr(v, "todict"):
        return plain(v.todict())
    if hasattr(v, "tolist"):
        return v.tolist()
    if isinstance(v, dict):
        return {k: plain(e) for k, e in v.items()}
    if isinstance(v, list):
        return [plain(e) for e in v]
    return v


def read(server):
    from p4p.client.thread import Context

    context = Context("pva", nt=False)
    for name in ("scalar", "enum", "array", "table", "image", "every", "nested"):
        out.put("= " + name + " " + json.dumps(plain(context.get(name, timeout=10)), ensure_ascii=False))
    seen = queue.Queue()
    subscription = context.monitor("scalar", seen.put, request=os.environ.get("REQUEST", "field()record[pipeline=true,queueSize=4]"))
    out.put("= scalar " + json.dumps(plain(seen.get(timeout=10))))
    server.stdin.write("post\n")
    server.stdin.flush()
    value = 0
    while value != 4.5:  # the last one
        v = plain(seen.get(timeout=10))
        value = v["value"]
        out.put("= scalar " + json.dumps(v))
    subscription.close()
    try:
        context.put("scalar", {"value": 9.0}, timeout=5)
    except Exception as e:  # these PVs are read only
        print(e, file=sys.stderr)
    context.close()


def main():
    if sys.argv[1:] == ["serve"]:
        return serve()
    tcp, udp, news = bound(socket.SOCK_STREAM), bound(socket.SOCK_DGRAM), bound(socket.SOCK_DGRAM)
    tcp.listen()
    ports = {"tcp": free_port(), "udp": free_port()}
    env = dict(os.environ, EPICS_PVAS_INTF_ADDR_LIST=HOST, EPICS_PVAS_SERVER_PORT=str(ports["tcp"]), EPICS_PVAS_BROADCAST_PORT=str(ports["udp"]),
               EPICS_PVAS_BEACON_ADDR_LIST=f"{HOST}:{news.getsockname()[1]}", EPICS_PVAS_AUTO_BEACON_ADDR_LIST="NO",
               EPICS_PVA_ADDR_LIST=HOST, EPICS_PVA_AUTO_ADDR_LIST="NO", EPICS_PVA_BROADCAST_PORT=str(ports["udp"]))
    server = subprocess.Popen(sys.argv[1:] or [sys.executable, __file__, "serve"], env=env, stdin=subprocess.PIPE, text=True)
    for target, args in ((tcp_proxy, (tcp, ports["tcp"])), (udp_proxy, (udp, (HOST, ports["udp"]), tcp.getsockname()[1])), (beacons, (news,))):
        threading.Thread(target=target, args=args, daemon=True).start()
    os.environ.update(EPICS_PVA_ADDR_LIST=f"{HOST}:{udp.getsockname()[1]}", EPICS_PVA_AUTO_ADDR_LIST="NO", EPICS_PVA_BROADCAST_PORT=str(free_port()))
    time.sleep(2)
    try:
        read(server)
        time.sleep(1)
    finally:
        server.kill()
        while not out.empty():
            print(out.get())


main()
