package standin;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** A real Cassandra as a child process, and its JMX connection. */
final class Cassandra {
  static final String STORAGE = "org.apache.cassandra.db:type=StorageService";
  private static final int JMX_PORT = 7199;

  private final Path config;
  private Process process; // guarded by this, as connector is
  private JMXConnector connector;

  Cassandra(Path config) {
    this.config = config;
  }

  /** start starts Cassandra unless it is running. If replaced is not null, it replaces that node. */
  synchronized boolean start(String replaced) throws IOException {
    if (alive()) return false;
    process = new ProcessBuilder(command(replaced)).inheritIO().start();
    return true;
  }

  private List<String> command(String replaced) throws IOException {
    List<String> out = new ArrayList<>(List.of("/opt/jre/bin/java"));
    for (String line : Files.readAllLines(config.resolve("jvm-server.options")))
      if (!line.isBlank() && !line.startsWith("#")) out.add(line.trim());
    String heap = System.getenv().getOrDefault("MAX_HEAP_SIZE", "384M");
    if (out.stream().noneMatch(o -> o.startsWith("-Xmx"))) out.add("-Xmx" + heap);
    try (var jars = Files.newDirectoryStream(Path.of("/opt/cassandra"), "jamm-*.jar")) {
      jars.forEach(jamm -> out.add("-javaagent:" + jamm));
    }
    if (replaced != null) out.add("-Dcassandra.replace_address_first_boot=" + replaced);
    String dir = config.toAbsolutePath().toString();
    out.addAll(List.of("-Dcassandra.config=file://" + dir + "/cassandra.yaml", "-Dlogback.configurationFile=" + dir + "/logback.xml",
        "-Dcassandra.logdir=/var/log/cassandra", "-Dcassandra.storagedir=/var/lib/cassandra", "-Dcassandra-foreground=yes",
        "-Dcassandra.jmx.local.port=" + JMX_PORT, "-cp", dir + ":/opt/standin:/opt/cassandra/*", "standin.Node"));
    return out;
  }

  synchronized boolean alive() {
    return process != null && process.isAlive();
  }

  synchronized long pid() {
    return process.pid();
  }

  /** ended returns the exit status of the last process, or -1. */
  synchronized int ended() {
    return process == null || process.isAlive() ? -1 : process.exitValue();
  }

  /** stop terminates Cassandra, which drains it, and waits for its end. */
  void stop() {
    Process p;
    synchronized (this) {
      p = process;
    }
    if (p == null) return;
    p.destroy();
    try {
      p.waitFor(100, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized MBeanServerConnection jmx() throws IOException {
    if (!alive()) throw new IOException("Cassandra is not running");
    if (connector != null) {
      try {
        connector.getConnectionId();
        return connector.getMBeanServerConnection();
      } catch (IOException closed) {
        connector = null;
      }
    }
    connector = JMXConnectorFactory.connect(new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + JMX_PORT + "/jmxrmi"));
    return connector.getMBeanServerConnection();
  }

  @SuppressWarnings("unchecked")
  <T> T get(String bean, String attribute) throws Exception {
    return (T) jmx().getAttribute(new ObjectName(bean), attribute);
  }

  /** invoke calls a JMX operation. signature is the type of each argument. */
  Object invoke(String bean, String operation, List<String> signature, Object... arguments) throws Exception {
    return jmx().invoke(new ObjectName(bean), operation, arguments, signature.toArray(String[]::new));
  }

  NodeMBean node() throws Exception {
    return JMX.newMBeanProxy(jmx(), new ObjectName(Node.NAME), NodeMBean.class);
  }
}
