package standin;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The gossip state of each node, with the names of the management API. */
final class Endpoints {
  private static final String DETECTOR = "org.apache.cassandra.net:type=FailureDetector";

  /**
   * list parses Cassandra's gossip report: for each node a line "name/address:port", followed by
   * lines "  KEY:generation:value".
   */
  static List<Map<String, String>> list(Cassandra cassandra) throws Exception {
    Map<String, String> states = cassandra.get(DETECTOR, "SimpleStatesWithPort");
    String self = cassandra.get(Cassandra.STORAGE, "LocalHostId");
    List<Map<String, String>> out = new ArrayList<>();
    Map<String, String> node = Map.of();
    for (String line : cassandra.<String>get(DETECTOR, "AllEndpointStatesWithPort").split("\n")) {
      if (!line.startsWith(" ")) {
        String address = line.substring(line.indexOf('/') + 1).trim();
        if (address.isEmpty()) continue;
        node = new TreeMap<>();
        node.put("ENDPOINT_IP", address.substring(0, address.lastIndexOf(':')));
        node.put("IS_ALIVE", "" + "UP".equals(states.getOrDefault(address, states.get("/" + address))));
        out.add(node);
      } else {
        String[] p = line.trim().split(":", 3);
        if (p.length == 3) node.put(p[0], p[2]);
      }
    }
    for (Map<String, String> n : out) n.put("IS_LOCAL", "" + self.equals(n.get("HOST_ID")));
    return out;
  }
}
