"""Changes what an archive archives with aapy and pyarchappl, as scripts do, and prints the answers as JSON.

    scripts.py HOST PORT PV
"""

import json
import sys
import time

from aa.rest import AaRestClient
from archappl.admin import ArchiverMgmtClient


def main(host, port, pv):
    aapy = AaRestClient(host, port)
    archappl = ArchiverMgmtClient("http://{}:{}".format(host, port))

    def status(wanted):
        """Waits for a status, as scripts for the Appliance do after each change."""
        for _ in range(1200):
            got = aapy.get_pv_status(pv)[0]["status"]
            if got == wanted:
                return got
            time.sleep(0.1)
        return got

    answers = {
        "archive": aapy.archive_pv(pv, 1.0, "MONITOR"),
        "archived": status("Being archived"),
        "again": archappl.archive_pv(pv, samplingperiod=1.0, samplingmethod="MONITOR"),
        "pause": archappl.archive_pv(pv, "pause"),
        "paused": status("Paused"),
        "resume": aapy.resume_archiving_pv(pv),
        "resumed": status("Being archived"),
        "change": aapy.change_archival_parameters(pv, 2.0, "Scan"),
        "abort": aapy.abort_archiving_pv(pv),
        "tooEarly": aapy.delete_pv(pv),
        "pauseAgain": aapy.pause_archiving_pv(pv),
        "delete": aapy.delete_pv(pv),
        "deleted": status("Not being archived"),
        "unknown": aapy.pause_archiving_pv(pv),
    }
    json.dump(answers, sys.stdout)


main(*sys.argv[1:])
