package dev.shardsmith.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Optional;

/** Where reports go. It remembers why writing failed, which a {@link PrintStream} above it does not tell. */
final class ReportStream extends OutputStream {
    private final OutputStream target;
    private Optional<IOException> failure = Optional.empty();

    ReportStream(OutputStream target) {
        this.target = target;
    }

    @Override
    public void write(int one) throws IOException {
        write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        try {
            target.write(bytes, offset, length);
        } catch (IOException e) {
            failure = failure.or(() -> Optional.of(e));
            throw e;
        }
    }

    /**
     * How a run ends whose report was written here: a report that did not arrive is said so. A reader that has seen enough, as
     * {@code head} does, is no failure.
     */
    ExitCode exit(ExitCode exit, PrintStream messages) {
        Optional<String> reason =
                failure.map(e -> String.valueOf(e.getMessage())).filter(message -> !message.contains("Broken pipe"));
        reason.ifPresent(message -> {
            messages.println("shardsmith: the report could not be written: " + message);
            messages.println("  at: standard output");
            messages.println("  try: make room, or send the report somewhere else");
        });
        return reason.isPresent() ? ExitCode.ENVIRONMENT : exit;
    }
}
