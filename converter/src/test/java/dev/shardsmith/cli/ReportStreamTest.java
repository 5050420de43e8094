package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ReportStreamTest {
    private final ByteArrayOutputStream messages = new ByteArrayOutputStream();

    @Test
    void aReportThatDoesNotFitOnTheDiskIsNoSuccess() {
        assertThat(exit(failing("No space left on device"))).isEqualTo(ExitCode.ENVIRONMENT);
        assertThat(messages.toString(StandardCharsets.UTF_8))
                .contains("the report could not be written: No space left on device")
                .contains("at: standard output");
    }

    @Test
    void aReaderThatHasSeenEnoughIsNoFailure() {
        assertThat(exit(failing("Broken pipe"))).isEqualTo(ExitCode.NO);
        assertThat(messages.size()).isZero();
    }

    @Test
    void aReportThatArrivesChangesNothing() {
        ByteArrayOutputStream arrived = new ByteArrayOutputStream();
        assertThat(exit(arrived)).isEqualTo(ExitCode.NO);
        assertThat(arrived.toString(StandardCharsets.UTF_8)).isEqualTo("report");
        assertThat(messages.size()).isZero();
    }

    private ExitCode exit(OutputStream target) {
        ReportStream stream = new ReportStream(target);
        PrintStream reports = Main.stream(stream, false);
        reports.print("report");
        reports.flush();
        return stream.exit(ExitCode.NO, Main.stream(messages, true));
    }

    private static OutputStream failing(String reason) {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                throw new IOException(reason);
            }
        };
    }
}
