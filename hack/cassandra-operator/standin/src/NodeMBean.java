package standin;

import java.util.List;
import java.util.Map;

/** What the management API does in Cassandra's process, without a user of Cassandra's. */
public interface NodeMBean {
  void createRole(String name, String password, boolean superuser, boolean login);

  void dropRole(String name);

  List<Map<String, String>> roles();

  /** replication of all keyspaces that have one. */
  Map<String, Map<String, String>> replication();

  void execute(String cql);

  List<String> tables(String keyspace);

  /** missingReplicas says which tokens have too few live replicas, if each datacenter had rf of each; empty if none. */
  String missingReplicas(String consistency, int rf);

  /** refusal says why this node can not leave without a loss of replicas; empty if it can. */
  String refusal();
}
