"""Calls an archive with archapp, aapy and pyarchappl, reads a MATLAB file with SciPy, and prints the
results as JSON.

    calls.py HOST PORT AT FROM TO PV...
"""

import io
import json
import sys
from datetime import datetime

import requests
import scipy.io
from aa.rest import AaRestClient
from archapp.data import ArchiveData
from archapp.interactive import EpicsArchive
from archappl.admin import ArchiverMgmtClient
from archappl.data import ArchiverDataClient
from read import plain


def refused(call, *args, **keys):
    """Returns the status code with which the server refuses a call."""
    try:
        return call(*args, **keys)
    except requests.HTTPError as err:
        return err.response.status_code


def matlab(url, pvs, start, end):
    """Returns what SciPy reads from getData.mat."""
    query = {"pv": pvs, "from": start, "to": end}
    answer = requests.get(url + "/retrieval/data/getData.mat", params=query)
    answer.raise_for_status()
    file = scipy.io.loadmat(io.BytesIO(answer.content), struct_as_record=False, squeeze_me=False)
    pairs = zip(file["header"].flat, file["data"].flat)
    return {str(h.pvName[0]): {
        "seconds": [int(s) for s in d.epochSeconds.flat],
        "nanos": [int(n) for n in d.nanos.flat],
        "severities": [int(s) for s in d.severity.flat],
        "values": [plain(v) for v in d.values],
    } for h, d in pairs}


def archapp(host, port, at, start, end, pvs):
    archive = EpicsArchive(hostname=host, data_port=port, mgmt_port=port)
    got = archive.get(pvs[0], start=start, end=end, xarray=True)
    raw = ArchiveData(hostname=host, data_port=port).get_raw(pvs[0], start, end)
    return {
        "search": archive.search("T*:F*", do_print=False),
        "values": plain(got[pvs[0]].values[0]),
        "raw": len(raw["data"]),
        "snapshot": archive.get_snapshot(*pvs, at=at),
        "snapshotOfGlob": sorted(archive.get_snapshot("T*:S*", at=at)),
    }


def main(host, port, at, start, end, *pvs):
    url = f"http://{host}:{port}"
    rest, mgmt, data = AaRestClient(host, port), ArchiverMgmtClient(url), ArchiverDataClient(url)
    local = [datetime.fromisoformat(t).replace(tzinfo=None) for t in (at, start, end)]
    json.dump({
        "archapp": archapp(host, port, *local, pvs),
        "atTime": data.get_data_at_time([*pvs, "NO:SUCH"], at),
        "applianceInfo": mgmt.get_appliance_info(),
        "expanded": mgmt.get_all_pvs("T*", limit=-1, expanded=True),
        "typeInfo": vars(mgmt.get_pv_type_info(pvs[0])),
        "noTypeInfo": mgmt.get_pv_type_info("NO:SUCH"),
        "details": len(mgmt.get_pv_details(pvs[0])),
        "stores": mgmt.get_stores_for_pv(pvs[0]),
        "change": mgmt.archive_pv(pvs[0], op="pause"),
        "neverConnected": rest.get_never_connected_pvs(),
        "disconnected": sorted(rest.get_currently_disconnected_pvs()),
        "metrics": rest.get_appliance_metrics(),
        "metricsOfAppliance": len(rest.get_appliance_metrics_for_appliance("varve")),
        "policies": rest.get_policy_list(),
        "pause": refused(rest.pause_archiving_pv, pvs[0]),
        "matlab": matlab(url, pvs, start, end),
    }, sys.stdout)


main(*sys.argv[1:])
