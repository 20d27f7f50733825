"""Prints the records of the demo's IOC: 50 pumps of a storage ring.

Each pump has a pressure that varies, with alarm limits, a current that follows the pressure,
and a valve that closes from time to time.
"""

RECORDS = """
record(calc, "SR{n:02}-VA:PRES-01") {{
  field(SCAN, ".5 second") field(INPA, "SR{n:02}-VA:PRES-01")
  field(CALC, "MAX(1e-10,A*0.95+5e-11*RNDM+(RNDM>0.98)*5e-9)")
  field(EGU, "mbar") field(PREC, "3") field(DESC, "Pressure in sector {n}")
  field(HIGH, "3e-9") field(HSV, "MINOR") field(HIHI, "5e-9") field(HHSV, "MAJOR")
  field(FLNK, "SR{n:02}-VA:PUMP-01:I")
}}
record(calc, "SR{n:02}-VA:PUMP-01:I") {{
  field(INPA, "SR{n:02}-VA:PRES-01") field(CALC, "A*2e4")
  field(EGU, "mA") field(PREC, "3") field(DESC, "Pump current in sector {n}")
}}
record(calcout, "SR{n:02}-VA:VALVE-01:CALC") {{
  field(SCAN, "5 second") field(CALC, "RNDM<0.9") field(OOPT, "On Change")
  field(OUT, "SR{n:02}-VA:VALVE-01 PP")
}}
record(bi, "SR{n:02}-VA:VALVE-01") {{
  field(ZNAM, "closed") field(ONAM, "open") field(ZSV, "MINOR")
  field(DESC, "Valve in sector {n}")
}}
"""

for sector in range(1, 51):
    print(RECORDS.format(n=sector))
