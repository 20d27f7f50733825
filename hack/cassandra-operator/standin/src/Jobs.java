package standin;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Runs jobs that take longer than a request, one after another. It keeps the last 100 jobs. */
final class Jobs {
  private final ExecutorService worker = Executors.newSingleThreadExecutor();
  private final Map<String, Map<String, String>> jobs = Collections.synchronizedMap(new LinkedHashMap<>() {
    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Map<String, String>> e) {
      return size() > 100;
    }
  });

  /** submit queues a job and returns its ID. */
  String submit(String type, Callable<Object> work) {
    Map<String, String> job = Collections.synchronizedMap(new TreeMap<>());
    job.put("id", UUID.randomUUID().toString());
    job.put("type", type);
    job.put("status", "WAITING");
    job.put("submit_time", Instant.now().toString());
    jobs.put(job.get("id"), job);
    worker.submit(() -> {
      try {
        work.call();
        job.put("status", "COMPLETED");
      } catch (Throwable e) {
        job.put("error", String.valueOf(e));
        job.put("status", "ERROR");
      }
      job.put("end_time", Instant.now().toString());
      System.out.println("management: job " + new TreeMap<>(job));
    });
    return job.get("id");
  }

  /** get returns a job, or null. */
  Map<String, String> get(String id) {
    Map<String, String> job = jobs.get(id);
    return job == null ? null : new TreeMap<>(job);
  }
}
