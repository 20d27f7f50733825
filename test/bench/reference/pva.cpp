/* Subscribes to PVs with PVXS, as an archiver does, and measures the cost.
 *
 *   reference-pva FORMAT COUNT SECONDS
 *
 * Arguments and output are those of reference-ca.
 */
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <pvxs/client.h>

namespace {

double cpu() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

double since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s FORMAT COUNT SECONDS\n", argv[0]);
        return 2;
    }
    const int count = std::atoi(argv[2]), seconds = std::atoi(argv[3]);
    std::atomic<long> events{0}, connected{0};
    auto context = pvxs::client::Context::fromEnv();
    std::vector<std::shared_ptr<pvxs::client::Subscription>> subscriptions;
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < count; i++) {
        char name[256];
        std::snprintf(name, sizeof name, argv[1], i);
        subscriptions.push_back(context.monitor(name)
                                    .record("pipeline", true)
                                    .record("queueSize", 4)
                                    .maskConnected(false)
                                    .maskDisconnected(true)
                                    .event([&](pvxs::client::Subscription &s) {
                                        for (;;) try {
                                            auto v = s.pop();
                                            if (!v) break;
                                            events++;
                                        } catch (pvxs::client::Connected &) {
                                            connected++;
                                        } catch (std::exception &e) {
                                            std::fprintf(stderr, "%s\n", e.what());
                                        }
                                    })
                                    .exec());
    }
    while (connected < count && since(begun) < seconds) usleep(1000);
    if (connected < count) {
        std::printf("connected %ld\ncpu_us %.0f\n", connected.load(), cpu());
        std::_Exit(0);
    }
    std::printf("connected_s %.3f\n", since(begun));
    sleep(2); // the first values arrive
    const long before = events;
    double cost = cpu();
    sleep(seconds);
    cost = cpu() - cost;
    std::printf("events %ld\ncpu_us %.0f\n", events - before, cost);
    std::fflush(stdout);
    std::_Exit(0); // the process ends without closing the subscriptions
}
