package standin;

import java.util.List;
import java.util.Map;

/** The functions of the management API that run in Cassandra's process, without a Cassandra user. */
public interface NodeMBean {
  void createRole(String name, String password, boolean superuser, boolean login);

  void dropRole(String name);

  List<Map<String, String>> roles();

  /** replication returns the replication of all keyspaces that have one. */
  Map<String, Map<String, String>> replication();

  void execute(String cql);

  List<String> tables(String keyspace);

  /** missingReplicas returns the tokens with fewer live replicas than rf per datacenter requires. */
  String missingReplicas(String consistency, int rf);

  /** refusal returns why this node cannot leave without losing replicas, or an empty string. */
  String refusal();
}
