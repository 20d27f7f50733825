package standin;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.yaml.snakeyaml.Yaml;

/**
 * Writes a node's configuration, as `k8ssandra-client config build` does in an init container:
 *
 * <pre>
 * CONFIG_FILE_DATA, RACK_NAME, POD_IP ──┐
 * /cassandra-base-config ───────────────┴──▶ /config
 * </pre>
 *
 * A value of cassandra-yaml replaces the existing value, and null removes it. Mappings are merged
 * member by member. Unknown sections and options are refused.
 */
final class Config {
  static final Path BASE = Path.of("/cassandra-base-config"), OUT = Path.of("/config");

  public static void main(String[] args) throws Exception {
    write(System.getenv(), BASE, OUT);
  }

  static void write(Map<String, String> env, Path base, Path out) throws Exception {
    Map<String, Object> config = map(new ObjectMapper().readValue(env.get("CONFIG_FILE_DATA"), Map.class));
    Yaml yaml = new Yaml();
    Map<String, Object> cassandra = yaml.load(Files.readString(base.resolve("cassandra.yaml")));
    List<String> jvm = new ArrayList<>(Files.readAllLines(base.resolve("jvm-server.options")));
    String datacenter = null;
    for (var section : config.entrySet()) {
      Map<String, Object> values = map(section.getValue());
      switch (section.getKey()) {
        case "cassandra-yaml" -> merge(cassandra, values);
        case "cluster-info" -> cluster(cassandra, values, env);
        case "datacenter-info" -> datacenter = (String) values.get("name");
        case "jvm-server-options", "jvm17-server-options", "cassandra-env-sh" -> jvm.addAll(options(values));
        case "jvm11-server-options" -> {} // for another Java
        default -> throw new IllegalArgumentException("the config has an unknown section: " + section.getKey());
      }
    }
    Files.writeString(out.resolve("cassandra.yaml"), yaml.dump(cassandra));
    Files.write(out.resolve("jvm-server.options"), jvm);
    Files.writeString(out.resolve("cassandra-rackdc.properties"), "dc=" + datacenter + "\nrack=" + env.get("RACK_NAME") + "\n");
    Files.copy(base.resolve("logback.xml"), out.resolve("logback.xml"), java.nio.file.StandardCopyOption.REPLACE_EXISTING);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object o) {
    return (Map<String, Object>) o;
  }

  private static void merge(Map<String, Object> into, Map<String, Object> from) {
    from.forEach((key, value) -> {
      if (value == null) into.remove(key);
      else if (value instanceof Map && into.get(key) instanceof Map) {
        Map<String, Object> both = new LinkedHashMap<>(map(into.get(key)));
        merge(both, map(value));
        into.put(key, both);
      } else into.put(key, value);
    });
  }

  /** cluster sets the values that depend on the pod. They override the config. */
  private static void cluster(Map<String, Object> cassandra, Map<String, Object> info, Map<String, String> env) {
    Map<String, Object> set = new LinkedHashMap<>();
    set.put("cluster_name", info.get("name"));
    set.put("listen_address", env.get("POD_IP"));
    set.put("broadcast_address", null);
    set.put("rpc_address", "0.0.0.0");
    set.put("broadcast_rpc_address", "true".equals(env.get("USE_HOST_IP_FOR_BROADCAST")) ? env.get("HOST_IP") : env.get("POD_IP"));
    set.put("endpoint_snitch", "GossipingPropertyFileSnitch");
    set.put("seed_provider", List.of(Map.of("class_name", "standin.Seeds", "parameters", List.of(Map.of("seeds", info.get("seeds"))))));
    merge(cassandra, set);
  }

  /**
   * known refuses the options of k8ssandra-operator that make JMX ask for a password. The stand-in itself
   * uses JMX, on the loopback address, where the management API uses a Unix socket.
   */
  private static boolean known(String option) {
    return List.of("-Dcom.sun.management.jmxremote.", "-Dcassandra.jmx.", "-Djava.security.auth.login.config=").stream()
        .noneMatch(option::startsWith);
  }

  /** options converts Java options from their names in cass-operator's configuration. */
  private static List<String> options(Map<String, Object> values) {
    List<String> out = new ArrayList<>();
    values.forEach((key, value) -> {
      switch (key) {
        case "initial_heap_size" -> out.add("-Xms" + value);
        case "max_heap_size" -> out.add("-Xmx" + value);
        case "heap_size_young_generation" -> out.add("-Xmn" + value);
        case "max_direct_memory" -> out.add("-XX:MaxDirectMemorySize=" + value);
        case "cassandra_ring_delay_ms" -> out.add("-Dcassandra.ring_delay_ms=" + value);
        case "additional-jvm-opts" -> ((List<?>) value).stream().map(option -> (String) option).filter(Config::known).forEach(out::add);
        case "garbage_collector" -> {
          out.add("-XX:-UseG1GC");
          out.add("-XX:+Use" + (value.equals("G1GC") ? value : value.equals("ZGC") ? value : value + "GC"));
        }
        case "malloc-arena-max", "heap-dump-dir" -> {} // of the shell
        default -> throw new IllegalArgumentException("the config has an unknown Java option: " + key);
      }
    });
    return out;
  }
}
