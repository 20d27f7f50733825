package standin;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.locator.SeedProvider;

/** Uses all addresses of Services as seeds. The name of a Service without pods does not resolve. */
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
        // other names have addresses, or this is the first node
      }
    }
    return out;
  }
}
