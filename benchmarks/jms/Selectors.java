/*
 * ActiveMQ's own JMS selectors over the benchmarks' files.
 *
 *     java -cp JARS Selectors.java SUBSCRIPTIONS EVENTS SECONDS COUNTED
 *
 * prints the same report as the other engines. Selectors are parsed by ActiveMQ's parser and each is evaluated on each
 * event, as its broker does for the consumers of a topic. Events become messages before the clock starts, so no JSON is
 * parsed in the measured time, and the runtime's compiler and collector may use the other cores: both in its favour.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.jms.JMSException;
import org.apache.activemq.command.ActiveMQMessage;
import org.apache.activemq.filter.BooleanExpression;
import org.apache.activemq.filter.MessageEvaluationContext;
import org.apache.activemq.selector.SelectorParser;

public final class Selectors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int REPETITIONS = 5;

    private final List<BooleanExpression> selectors = new ArrayList<>();
    private final List<ActiveMQMessage> messages = new ArrayList<>();
    private final int[] found;

    private Selectors(Path subscriptions, Path events) throws IOException, JMSException {
        try (BufferedReader lines = Files.newBufferedReader(subscriptions)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                selectors.add(SelectorParser.parse(JSON.readTree(line).get("filter").asText()));
            }
        }
        try (BufferedReader lines = Files.newBufferedReader(events)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                messages.add(message(JSON.readTree(line)));
            }
        }
        found = new int[selectors.size()];
    }

    private static ActiveMQMessage message(JsonNode event) throws JMSException {
        ActiveMQMessage message = new ActiveMQMessage();
        for (var fields = event.fields(); fields.hasNext(); ) {
            Map.Entry<String, JsonNode> field = fields.next();
            JsonNode value = field.getValue();
            if (value.isIntegralNumber()) {
                message.setLongProperty(field.getKey(), value.asLong());
            } else if (value.isNumber()) {
                message.setDoubleProperty(field.getKey(), value.asDouble());
            } else {
                message.setStringProperty(field.getKey(), value.asText());
            }
        }
        return message;
    }

    /** The selectors that accept a message are written to `found`; how many they are is returned. */
    private int match(ActiveMQMessage message) throws JMSException {
        MessageEvaluationContext context = new MessageEvaluationContext();
        context.setMessageReference(message);
        int filled = 0;
        for (int i = 0; i < selectors.size(); i++) {
            if (selectors.get(i).matches(context)) {
                found[filled++] = i;
            }
        }
        return filled;
    }

    private double seconds(int events) throws JMSException {
        long start = System.nanoTime();
        for (int i = 0; i < events; i++) {
            match(messages.get(i));
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private Map<String, Object> report(double seconds, int counted, double built)
            throws IOException, JMSException {
        int events = 1;
        double took = seconds(events);
        for (double warmed = took; warmed < seconds; warmed += took) {
            if (took < seconds / REPETITIONS / 4) {
                events = Math.min(messages.size(), events * 4);
            }
            took = seconds(events);
        }
        events = (int) Math.max(1, Math.min(messages.size(), events * seconds / REPETITIONS / took));
        double[] rates = new double[REPETITIONS];
        for (int i = 0; i < REPETITIONS; i++) {
            rates[i] = events / seconds(events);
        }
        Arrays.sort(rates);
        long matches = 0;
        List<Integer> counts = new ArrayList<>();
        for (int i = 0; i < events; i++) {
            int count = match(messages.get(i));
            matches += count;
            if (i < counted) {
                counts.add(count);
            }
        }
        Map<String, Object> rate = new LinkedHashMap<>();
        rate.put("events", events);
        rate.put("median", rates[REPETITIONS / 2]);
        rate.put("slowest", rates[0]);
        rate.put("fastest", rates[REPETITIONS - 1]);
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("engine", "ActiveMQ");
        report.put("rate", rate);
        report.put("build_s", built);
        report.put("parse_share", null);
        report.put("matches_per_event", (double) matches / events);
        report.put("peak_rss_bytes", peakRssBytes());
        report.put("index_bytes", null);
        report.put("counts", counts);
        return report;
    }

    private static long peakRssBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new AssertionError("no VmHWM");
    }

    public static void main(String[] given) throws IOException, JMSException {
        long start = System.nanoTime();
        Selectors selectors = new Selectors(Path.of(given[0]), Path.of(given[1]));
        double built = (System.nanoTime() - start) / 1e9;
        double seconds = Double.parseDouble(given[2]);
        System.out.println(JSON.writeValueAsString(selectors.report(seconds, Integer.parseInt(given[3]), built)));
    }
}
