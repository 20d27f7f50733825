package standin;

import static standin.Cassandra.STORAGE;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import standin.Server.Answer;

/** The operations that cass-operator v1.31 calls: see its pkg/httphelper/client.go. */
final class Operations {
  private static final String VERSION = System.getProperty("standin.version", "5.0");
  private static final String STRINGS = String[].class.getName(), STRING = String.class.getName();

  private final Cassandra cassandra;
  private final Jobs jobs = new Jobs();

  Operations(Cassandra cassandra) {
    this.cassandra = cassandra;
  }

  Answer answer(String method, String path, Map<String, Object> p) throws Exception {
    return switch (method + " " + path) {
      case "GET /api/v0/probes/liveness" -> Answer.OK;
      case "GET /api/v0/probes/readiness" -> ready() ? Answer.OK : new Answer(500, "not ready");
      case "GET /api/v0/probes/cluster" -> cluster(p);
      case "POST /api/v0/lifecycle/start" -> new Answer(cassandra.start((String) p.get("replace_ip")) ? 201 : 202, "OK");
      case "POST /api/v0/lifecycle/stop" -> stop();
      case "GET /api/v0/lifecycle/pid" -> cassandra.alive() ? new Answer(200, "" + cassandra.pid()) : new Answer(204, "");
      case "GET /api/v0/metadata/versions/release" -> new Answer(200, cassandra.<String>get(STORAGE, "ReleaseVersion"));
      case "GET /api/v0/metadata/versions/features" -> new Answer(200, Map.of("cassandra_version", VERSION, "features", List.of(
          "async_sstable_tasks", "async_upgrade_sstable_task", "async_compaction_task", "async_scrub_task", "async_gc_task",
          "async_flush_task", "async_move_task", "rebuild")));
      case "GET /api/v0/metadata/endpoints" -> new Answer(200, Map.of("entity", Endpoints.list(cassandra)));
      case "GET /api/v1/ops/node/schema/versions" ->
          new Answer(200, cassandra.<Object>get("org.apache.cassandra.db:type=StorageProxy", "SchemaVersions"));
      case "POST /api/v0/ops/seeds/reload" -> new Answer(200, cassandra.invoke("org.apache.cassandra.net:type=Gossiper", "reloadSeeds", List.of()));
      case "GET /api/v0/ops/executor/job" -> job((String) p.get("job_id"));
      case "GET /api/v0/ops/auth/role" -> new Answer(200, cassandra.node().roles());
      case "POST /api/v0/ops/auth/role" -> createRole(p);
      case "DELETE /api/v0/ops/auth/role" -> {
        cassandra.node().dropRole((String) p.get("username"));
        yield Answer.OK;
      }
      case "GET /api/v0/ops/node/fullquerylogging" -> new Answer(200, Map.of("entity", false));
      case "POST /api/v0/ops/node/drain" -> now("drain", List.of());
      case "GET /api/v0/ops/keyspace" -> new Answer(200, keyspaces((String) p.get("keyspaceName")));
      case "GET /api/v0/ops/keyspace/replication" -> replication((String) p.get("keyspaceName"));
      case "POST /api/v0/ops/keyspace/create" -> keyspace("CREATE KEYSPACE IF NOT EXISTS", p);
      case "POST /api/v0/ops/keyspace/alter" -> keyspace("ALTER KEYSPACE", p);
      case "GET /api/v0/ops/tables" -> new Answer(200, cassandra.node().tables((String) p.get("keyspaceName")));
      default -> method.equals("POST") ? work(path, p) : Answer.ABSENT;
    };
  }

  private boolean ready() throws Exception {
    return cassandra.alive() && "NORMAL".equals(cassandra.get(STORAGE, "OperationMode"))
        && cassandra.<Boolean>get(STORAGE, "NativeTransportRunning");
  }

  private Answer cluster(Map<String, Object> p) throws Exception {
    String missing = cassandra.node().missingReplicas(
        (String) p.getOrDefault("consistency_level", "LOCAL_QUORUM"), Integer.parseInt((String) p.getOrDefault("rf_per_dc", "3")));
    return missing.isEmpty() ? Answer.OK : new Answer(500, missing);
  }

  private Answer stop() {
    new Thread(cassandra::stop).start();
    return Answer.OK;
  }

  private Answer job(String id) {
    Map<String, String> job = jobs.get(id);
    return job == null ? new Answer(404, "there is no job " + id) : new Answer(200, job);
  }

  private Answer createRole(Map<String, Object> p) throws Exception {
    cassandra.node().createRole((String) p.get("username"), (String) p.get("password"),
        "true".equals(p.get("is_superuser")), !"false".equals(p.get("can_login")));
    return Answer.OK;
  }

  private List<String> keyspaces(String name) throws Exception {
    List<String> all = cassandra.get(STORAGE, "Keyspaces");
    return all.stream().filter(k -> name == null || name.equals(k)).collect(Collectors.toList());
  }

  private Answer replication(String name) throws Exception {
    Map<String, String> found = cassandra.node().replication().get(name);
    return found == null ? new Answer(404, "there is no keyspace " + name) : new Answer(200, found);
  }

  private Answer keyspace(String statement, Map<String, Object> p) throws Exception {
    String options = ((List<?>) p.get("replication_settings")).stream().map(o -> (Map<?, ?>) o)
        .map(o -> "'" + o.get("dc_name") + "': " + o.get("replication_factor")).collect(Collectors.joining(", "));
    cassandra.node().execute(statement + " \"" + p.get("keyspace_name")
        + "\" WITH replication = {'class': 'NetworkTopologyStrategy', " + options + "}");
    return Answer.OK;
  }

  /** work runs a long operation. v1 answers at once with the ID of a job, v0 when it is done. */
  private Answer work(String path, Map<String, Object> p) throws Exception {
    if (path.endsWith("/ops/node/decommission")) {
      String refusal = cassandra.node().refusal();
      if (!refusal.isEmpty()) return new Answer(500, "refusing to decommission: " + refusal);
    }
    Callable<Object> work = task(path.replaceFirst("^/api/v[01]/ops/", ""), p);
    if (work == null) return Answer.ABSENT;
    if (path.startsWith("/api/v1/") || path.endsWith("/node/decommission") || path.endsWith("/node/move"))
      return new Answer(200, jobs.submit(path.substring(path.lastIndexOf('/') + 1), work));
    work.call();
    return Answer.OK;
  }

  private Callable<Object> task(String name, Map<String, Object> p) {
    String[] tables = p.get("tables") instanceof List<?> l ? l.toArray(String[]::new) : new String[0];
    int threads = Integer.parseInt(String.valueOf(p.getOrDefault("jobs", "0")));
    return switch (name) {
      case "node/decommission" -> () -> now("decommission", List.of("boolean"), true);
      case "node/move" -> () -> now("move", List.of(STRING), p.get("newToken"));
      case "node/rebuild" -> () -> now("rebuild", List.of(STRING), p.get("src_dc"));
      case "keyspace/cleanup" -> () -> each(p, k -> now("forceKeyspaceCleanup", List.of("int", STRING, STRINGS), threads, k, tables));
      case "tables/sstables/upgrade" -> () -> each(p,
          k -> now("upgradeSSTables", List.of(STRING, "boolean", "int", STRINGS), k, true, threads, tables));
      case "tables/compact" -> () -> each(p,
          k -> now("forceKeyspaceCompaction", List.of("boolean", STRING, STRINGS), Boolean.TRUE.equals(p.get("split_output")), k, tables));
      case "tables/flush" -> () -> each(p, k -> now("forceKeyspaceFlush", List.of(STRING, STRINGS), k, tables));
      case "tables/garbagecollect" -> () -> each(p,
          k -> now("garbageCollect", List.of(STRING, "int", STRING, STRINGS), "ROW", threads, k, tables));
      case "tables/scrub" -> () -> each(p, k -> now("scrub",
          List.of("boolean", "boolean", "boolean", "boolean", "int", STRING, STRINGS), Boolean.TRUE.equals(p.get("disable_snapshot")),
          Boolean.TRUE.equals(p.get("skip_corrupted")), Boolean.TRUE.equals(p.get("check_data")),
          Boolean.TRUE.equals(p.get("reinsert_overflowed_ttl")), threads, k, tables));
      case "node/encryption/internode/truststore/reload" ->
          () -> cassandra.invoke("org.apache.cassandra.net:type=MessagingService", "reloadSslCertificates", List.of());
      default -> null;
    };
  }

  private interface OfKeyspace {
    void run(String keyspace) throws Exception;
  }

  /** each runs on the given keyspace, or on all non-local keyspaces. */
  private Answer each(Map<String, Object> p, OfKeyspace work) throws Exception {
    Object name = p.get("keyspace_name");
    if (name != null && !name.equals("") && !name.equals("ALL")) work.run((String) name);
    else for (String k : new TreeMap<>(cassandra.node().replication()).keySet()) work.run(k);
    return Answer.OK;
  }

  /** now calls an operation of Cassandra's StorageService at once. */
  private Answer now(String operation, List<String> signature, Object... arguments) throws Exception {
    cassandra.invoke(STORAGE, operation, signature, arguments);
    return Answer.OK;
  }
}
