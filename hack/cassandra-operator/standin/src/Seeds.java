package standin;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.locator.SeedProvider;

/** Seeds that are all addresses of some Services' names. A Service without pods has no name. */
public final class Seeds implements SeedProvider {
  private final String[] names;

  public Seeds(Map<String, String> parameters) {
    names = parameters.get("seeds").split(",");
  }

  @Override
  public List<InetAddressAndPort> getSeeds() {
    List<InetAddressAndPort> out = new ArrayList<>();
    for (String name : names) {
      try {
        for (InetAddress address : InetAddress.getAllByName(name.trim())) out.add(InetAddressAndPort.getByAddress(address));
      } catch (UnknownHostException none) {
        // others have seeds, or this node is the first
      }
    }
    return out;
  }
}
