package standin;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;

/**
 * Stands in for Cassandra's management API, whose image is in no package registry:
 *
 * <pre>
 * cass-operator, probes, hooks ──HTTP :8080──▶ Server ──JMX on loopback──▶ Cassandra (Node), a child
 * </pre>
 *
 * It is the first process of its container and ends when Cassandra ends.
 */
public final class Server {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Operations operations;

  private Server(Operations operations) {
    this.operations = operations;
  }

  public static void main(String[] args) throws Exception {
    Cassandra cassandra = new Cassandra(Config.OUT);
    HttpServer http = HttpServer.create(new InetSocketAddress(8080), 64);
    http.setExecutor(Executors.newFixedThreadPool(8));
    http.createContext("/", new Server(new Operations(cassandra))::handle);
    http.start();
    System.out.println("management: listening on " + http.getAddress());
    Runtime.getRuntime().addShutdownHook(new Thread(cassandra::stop));
    while (cassandra.ended() < 0) Thread.sleep(500);
    System.out.println("management: Cassandra has ended with status " + cassandra.ended());
    System.exit(1);
  }

  private void handle(HttpExchange x) throws IOException {
    String path = x.getRequestURI().getPath();
    Answer answer;
    try {
      answer = operations.answer(x.getRequestMethod(), path, parameters(x));
    } catch (Throwable e) {
      if (!path.contains("/probes/readiness")) e.printStackTrace();
      answer = new Answer(500, String.valueOf(e));
    }
    if (!path.contains("/probes/"))
      System.out.println("management: " + x.getRequestMethod() + " " + path + " " + answer.code() + (answer.code() < 400 ? "" : " " + answer.body()));
    byte[] body = (answer.body() instanceof String s ? s : JSON.writeValueAsString(answer.body())).getBytes(StandardCharsets.UTF_8);
    x.getResponseHeaders().set("Content-Type", answer.body() instanceof String ? "text/plain" : "application/json");
    x.sendResponseHeaders(answer.code(), answer.code() == 204 ? -1 : body.length);
    if (answer.code() != 204) x.getResponseBody().write(body);
    x.close();
  }

  /** parameters returns the parameters of the query and of a JSON body. */
  @SuppressWarnings("unchecked")
  private static Map<String, Object> parameters(HttpExchange x) throws IOException {
    Map<String, Object> out = new HashMap<>();
    String query = x.getRequestURI().getRawQuery();
    if (query != null) {
      for (String pair : query.split("&")) {
        String[] p = pair.split("=", 2);
        out.put(URLDecoder.decode(p[0], StandardCharsets.UTF_8), p.length < 2 ? "" : URLDecoder.decode(p[1], StandardCharsets.UTF_8));
      }
    }
    byte[] body = x.getRequestBody().readAllBytes();
    if (body.length > 0 && body[0] == '{') out.putAll(JSON.readValue(body, Map.class));
    return out;
  }

  /** Answer is a text, or an object that is sent as JSON. */
  record Answer(int code, Object body) {
    static final Answer OK = new Answer(200, "OK"), ABSENT = new Answer(404, "the stand-in has no such operation");
  }
}
