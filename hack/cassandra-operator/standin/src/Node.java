package standin;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.management.ObjectName;
import org.apache.cassandra.auth.AuthenticatedUser;
import org.apache.cassandra.auth.IRoleManager;
import org.apache.cassandra.auth.RoleOptions;
import org.apache.cassandra.auth.RoleResource;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.UntypedResultSet;
import org.apache.cassandra.db.ConsistencyLevel;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.gms.FailureDetector;
import org.apache.cassandra.locator.AbstractReplicationStrategy;
import org.apache.cassandra.locator.NetworkTopologyStrategy;
import org.apache.cassandra.locator.Replica;
import org.apache.cassandra.locator.TokenMetadata;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.service.CassandraDaemon;
import org.apache.cassandra.service.StorageService;
import org.apache.cassandra.utils.FBUtilities;

/** Runs the unchanged Cassandra, and an MBean for functions that its JMX lacks. */
public final class Node implements NodeMBean {
  static final String NAME = "standin:type=Node";

  public static void main(String[] args) throws Exception {
    ManagementFactory.getPlatformMBeanServer().registerMBean(new Node(), new ObjectName(NAME));
    CassandraDaemon.main(args);
  }

  @Override
  public void createRole(String name, String password, boolean superuser, boolean login) {
    RoleOptions options = new RoleOptions();
    options.setOption(IRoleManager.Option.SUPERUSER, superuser);
    options.setOption(IRoleManager.Option.LOGIN, login);
    options.setOption(IRoleManager.Option.PASSWORD, password);
    DatabaseDescriptor.getRoleManager().createRole(AuthenticatedUser.SYSTEM_USER, RoleResource.role(name), options);
  }

  @Override
  public void dropRole(String name) {
    DatabaseDescriptor.getRoleManager().dropRole(AuthenticatedUser.SYSTEM_USER, RoleResource.role(name));
  }

  @Override
  public List<Map<String, String>> roles() {
    List<Map<String, String>> out = new ArrayList<>();
    for (UntypedResultSet.Row row : QueryProcessor.process("SELECT role, is_superuser, can_login FROM system_auth.roles", ConsistencyLevel.LOCAL_ONE))
      out.add(new TreeMap<>(Map.of("name", row.getString("role"), "super", "" + row.getBoolean("is_superuser"),
          "login", "" + row.getBoolean("can_login"), "options", "{}", "datacenters", "ALL")));
    return out;
  }

  @Override
  public Map<String, Map<String, String>> replication() {
    Map<String, Map<String, String>> out = new TreeMap<>();
    for (KeyspaceMetadata k : Schema.instance.distributedKeyspaces()) out.put(k.name, new HashMap<>(k.params.replication.asMap()));
    return out;
  }

  @Override
  public void execute(String cql) {
    QueryProcessor.process(cql, ConsistencyLevel.ONE);
  }

  @Override
  public List<String> tables(String keyspace) {
    List<String> out = new ArrayList<>();
    KeyspaceMetadata k = Schema.instance.getKeyspaceMetadata(keyspace);
    if (k != null) k.tables.forEach(table -> out.add(table.name));
    return out;
  }

  @Override
  public String missingReplicas(String consistency, int rf) {
    TokenMetadata ring = StorageService.instance.getTokenMetadata().cloneOnlyTokenMap();
    Map<String, String> wanted = new HashMap<>();
    for (var d : ring.getTopology().getDatacenterEndpoints().asMap().entrySet())
      wanted.put(d.getKey(), "" + Math.min(rf, d.getValue().size()));
    String here = DatabaseDescriptor.getLocalDataCenter();
    boolean local = ConsistencyLevel.valueOf(consistency).isDatacenterLocal();
    int needed = Integer.parseInt(wanted.getOrDefault(here, "1")) / 2 + 1;
    AbstractReplicationStrategy strategy = AbstractReplicationStrategy.createReplicationStrategy(
        "probe", NetworkTopologyStrategy.class, ring, DatabaseDescriptor.getEndpointSnitch(), wanted);
    int missing = 0;
    for (Token token : ring.sortedTokens()) {
      int alive = 0;
      for (Replica r : strategy.calculateNaturalReplicas(token, ring)) {
        boolean counts = !local || DatabaseDescriptor.getEndpointSnitch().getDatacenter(r.endpoint()).equals(here);
        if (counts && FailureDetector.instance.isAlive(r.endpoint())) alive++;
      }
      if (alive < needed) missing++;
    }
    return missing == 0 ? "" : missing + " ranges have fewer than " + needed + " live replicas";
  }

  /** Cassandra's own keyspaces that have more replicas than a small cluster has nodes. */
  private static final Set<String> OWN = Set.of("system_distributed", "system_traces");

  /**
   * Cassandra refuses this too, but not with force. cass-operator always forces, because
   * Cassandra's own keyspaces would otherwise prevent fewer than three nodes.
   */
  @Override
  public String refusal() {
    TokenMetadata ring = StorageService.instance.getTokenMetadata().cloneAfterAllLeft();
    String here = DatabaseDescriptor.getLocalDataCenter();
    var self = FBUtilities.getBroadcastAddressAndPort();
    if (!ring.isMember(self)) return ""; // on its way out
    int nodes = ring.getTopology().getDatacenterEndpoints().get(here).size();
    if (nodes < 2) return "this is the only node";
    for (KeyspaceMetadata k : Schema.instance.distributedKeyspaces()) {
      if (OWN.contains(k.name)) continue;
      var options = k.params.replication.asMap();
      String rf = options.getOrDefault(here, options.getOrDefault("replication_factor", "0"));
      if (nodes <= Integer.parseInt(rf)) return "keyspace " + k.name + " has " + rf + " replicas on " + nodes + " nodes";
    }
    return "";
  }
}
