"""Serves a PV of every Channel Access type with caproto. A put to C:ROUND sets each PV
to its value of that round. All PVs get the time stamp and the alarm of the round.

    serve_caproto.py INTERFACE
"""

import logging
import sys
import time

from caproto import (
    AlarmSeverity, AlarmStatus, ChannelByte, ChannelChar, ChannelDouble, ChannelEnum, ChannelFloat, ChannelInteger,
    ChannelShort, ChannelString,
)
from caproto.asyncio.server import run

START = int(time.time())

NUMBERS = {
    "units": "mA", "lower_disp_limit": -10, "upper_disp_limit": 10, "lower_ctrl_limit": -8, "upper_ctrl_limit": 8,
    "lower_warning_limit": -5, "upper_warning_limit": 5, "lower_alarm_limit": -7, "upper_alarm_limit": 7,
}
FLOATS = {**NUMBERS, "precision": 4}
ENUM = {"enum_strings": ["Off", "On", "Fault"]}

# The class of each PV, its value in each round, and its other arguments.
TYPES = {
    "C:SHORT": (ChannelShort, [-32768, 32767, 0], NUMBERS),
    "C:LONG": (ChannelInteger, [-2147483648, 2147483647, 0], NUMBERS),
    "C:FLOAT": (ChannelFloat, [0.1, -3.25, 1e30], FLOATS),
    "C:DOUBLE": (ChannelDouble, [0.1, -1e300, float("inf")], FLOATS),
    "C:BYTE": (ChannelByte, [b"\x01", b"\xff", b"\x80"], {"max_length": 1}),
    "C:STRING": (ChannelString, ["text", "", "39 characters and not one more than them"[:39]], {}),
    "C:ENUM": (ChannelEnum, ["On", "Off", "Fault"], ENUM),
    "C:A:SHORT": (ChannelShort, [[1], [1, -2, 3], [32767, -32768]], {"max_length": 4}),
    "C:A:LONG": (ChannelInteger, [[1, 2], [2147483647, -2147483648], [7]], {"max_length": 4}),
    "C:A:FLOAT": (ChannelFloat, [[0.1, 0.2], [1e30], [-1.5, 2.5, 3.5]], {**FLOATS, "max_length": 4}),
    "C:A:DOUBLE": (ChannelDouble, [[0.1, 0.2], [1e300], [-1.5, 2.5, 3.5]], {**FLOATS, "max_length": 4}),
    "C:A:BYTE": (ChannelByte, [b"\x01\x00\xff", b"\x0a\x0d\x1b\x20", b"xyz"], {"max_length": 8}),
    "C:A:STRING": (ChannelString, [["a", "bc"], ["", "d"], ["e"]], {"max_length": 3}),
    "C:CHARS": (ChannelChar, ["a text of fifty characters, which no string can hold", "", "short"], {"max_length": 100}),
    "C:LARGE": (ChannelDouble, [[0.5], [k / 8 for k in range(200_000)], [1.5, 2.5]], {"max_length": 200_000}),
}

ALARMS = [
    {"severity": AlarmSeverity.NO_ALARM, "status": AlarmStatus.NO_ALARM},
    {"severity": AlarmSeverity.MINOR_ALARM, "status": AlarmStatus.HIGH},
    {"severity": AlarmSeverity.INVALID_ALARM, "status": AlarmStatus.LINK},
]


class Round(ChannelInteger):
    """The PV that sets all other PVs to their values of a round."""

    async def verify_value(self, data):
        k = data[0] if hasattr(data, "__len__") else data
        for name, (_, values, _) in TYPES.items():
            await pvs[name].write(values[k], verify_value=False, timestamp=START + k / 4, **ALARMS[k])
        return data


logging.getLogger("caproto").setLevel(logging.CRITICAL)  # hides errors about beacons that no client receives
pvs = {
    name: kind(value=values[0], timestamp=START, **settings)
    for name, (kind, values, settings) in TYPES.items()
}
run({**pvs, "C:ROUND": Round(value=0)}, interfaces=[sys.argv[1]])
