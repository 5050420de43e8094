package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** What one command line printed and how it ended, run inside the test's process. */
record CommandRun(ExitCode exit, String out, String err) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Runs a command line without a terminal. */
    static CommandRun of(String... words) {
        return with(Map.of(), words);
    }

    /** Runs a command line in the given environment. */
    static CommandRun with(Map<String, String> environment, String... words) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        ExitCode exit = new Shardsmith(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8),
                        environment)
                .run(words);
        return new CommandRun(exit, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** The report as the one JSON document that it is. */
    JsonNode json() {
        try (JsonParser parser = JSON.createParser(out)) {
            JsonNode document = JSON.readTree(parser);
            if (parser.nextToken() != null) {
                throw new AssertionError("more than one document: " + out);
            }
            return document;
        } catch (IOException unreadable) {
            throw new AssertionError("no JSON: " + out, unreadable);
        }
    }

    /** The lines of the report. */
    List<String> lines() {
        return out.lines().toList();
    }
}
